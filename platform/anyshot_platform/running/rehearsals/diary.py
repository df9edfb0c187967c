"""What happened in a rehearsal, a sentence a line."""

from anyshot_platform.contest.competitions.models import Rehearsal


def tell(rehearsal: Rehearsal, words: str) -> None:
    """Add a sentence."""
    rehearsal.story += f"{' '.join(words.split())}\n"


def story_of(rehearsal: Rehearsal) -> list[str]:
    """The sentences so far."""
    return rehearsal.story.splitlines()
