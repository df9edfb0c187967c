"""What runs as a process: the server with its loops, commands, the demo."""
