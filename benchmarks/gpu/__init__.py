"""`make gpu`: everything that needs a GPU, in one command of eight minutes without a network."""
