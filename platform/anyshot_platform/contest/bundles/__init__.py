"""A competition as a folder or zip: read, check, convert from Codabench, write, import and export."""
