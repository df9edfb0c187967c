"""What `anyshot init` copies."""
