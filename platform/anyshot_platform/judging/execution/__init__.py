"""From a claim to a score: leases, jobs for workers, their results, what a run's end means."""
