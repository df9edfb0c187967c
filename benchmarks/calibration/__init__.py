"""Whether the probabilities on a board hold: simulated competitions whose truth is known."""
