"""What measures speed and memory: `make bench NAME=<name>`. Never run as a timed test."""
