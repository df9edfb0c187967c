"""How fast tasks come: against a loader that does what the 2022 kit did, in the same run."""
