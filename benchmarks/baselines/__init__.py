"""Meta-training throughput of the prototypical baseline beside a loop in the manner of 2022."""
