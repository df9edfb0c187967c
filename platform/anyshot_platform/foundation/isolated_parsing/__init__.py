"""Work on files of strangers, in a process that can use little memory and time."""
