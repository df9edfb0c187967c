"""How long the sandbox takes from a zip to its first task, what it adds to each task, and that it does not grow."""
