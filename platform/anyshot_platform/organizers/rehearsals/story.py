"""What happened in a rehearsal, a sentence a line, for its reader in their language."""

from __future__ import annotations

import json

from anyshot_platform.competitions.models import Rehearsal
from anyshot_platform.kernel.kept import to_json


def tell(rehearsal: Rehearsal, words: str) -> None:
    """Add a sentence."""
    rehearsal.story += f"{json.dumps(to_json(words))}\n"


def story_of(rehearsal: Rehearsal) -> list[str]:
    """The sentences so far; those of earlier releases were kept as English texts."""
    return [_sentence(line) for line in rehearsal.story.splitlines()]


def _sentence(line: str) -> str:
    try:
        return json.loads(line)
    except ValueError:
        return line
