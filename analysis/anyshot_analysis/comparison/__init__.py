"""Two learners: different, equivalent or undecided."""
