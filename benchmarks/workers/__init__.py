"""What workers reach together: waiting, cancelling, throughput."""
