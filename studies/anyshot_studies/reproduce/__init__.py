"""Published figures beside what Anyshot finds, one reproduction a module, at a scale that is stated."""
