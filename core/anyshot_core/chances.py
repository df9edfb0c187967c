"""How probabilities of a model are written. It loads nothing, so that pages need no charts for it."""


def chance_words(probability: float, places: int = 2) -> str:
    """A probability of a model: what rounds to 0 or 1 is no certainty."""
    least = 10.0**-places
    if probability < least / 2:
        return f"under {least:.{places}f}"
    if probability > 1 - least / 2:
        return f"over {1 - least:.{places}f}"
    return f"{probability:.{places}f}"
