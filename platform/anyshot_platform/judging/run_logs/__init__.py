"""Log lines of runs, kept and sent live to the browser."""
