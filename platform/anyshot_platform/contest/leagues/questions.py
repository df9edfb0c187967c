"""A league's questions as lines of text, for the organizers' form.

A line is `key [kind]: question`, where the kind is confirm (left out: confirm), text or link; `(team)` at the end shows
the answers to the team, `(optional)` lets a member leave it out.
"""

import re
from collections.abc import Sequence
from typing import Any

from anyshot_platform.foundation.errors import Invalid

_LINE = re.compile(r"(?P<key>[a-z0-9][a-z0-9-]*)(?: \[(?P<kind>confirm|text|link)\])?: *(?P<label>.+)")
_MARK = re.compile(r" *\((?P<mark>team|optional)\)$")


def read_questions(text: str) -> list[dict[str, Any]]:
    """The questions of a form; raises `Invalid` with the line that is none."""
    return [_read(line.strip()) for line in text.splitlines() if line.strip()]


def _read(line: str) -> dict[str, Any]:
    match = _LINE.fullmatch(line)
    if match is None:
        raise Invalid(
            (
                "Write a question like “qualifies: I qualify” or “paper [link]: My first "
                f"publication”; found “{line[:80]}”."
            ),
            field="questions",
        )
    label, marks = match["label"], set()
    while mark := _MARK.search(label):
        marks.add(mark["mark"])
        label = label[: mark.start()]
    return {
        "key": match["key"],
        "label": label,
        "answer": match["kind"] or "confirm",
        "required": "optional" not in marks,
        "shown_to": "team" if "team" in marks else "organizers",
    }


def write_questions(questions: Sequence[dict[str, Any]]) -> str:
    """The lines that `read_questions` reads back."""
    return "\n".join(_write(question) for question in questions)


def _write(question: dict[str, Any]) -> str:
    kind = "" if question["answer"] == "confirm" else f" [{question['answer']}]"
    marks = ("" if question["required"] else " (optional)") + (
        " (team)" if question["shown_to"] == "team" else ""
    )
    return f"{question['key']}{kind}: {question['label']}{marks}"
