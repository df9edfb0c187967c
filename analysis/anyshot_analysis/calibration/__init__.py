"""How far the probabilities of a learner can be believed."""
