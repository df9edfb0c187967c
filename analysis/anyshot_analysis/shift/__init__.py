"""In and out of distribution: base and novel classes, mixtures, fixed supports, the choice of snapshots."""
