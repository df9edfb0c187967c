"""Speed and memory of scoring, and of the bootstrap behind the reliability report."""
