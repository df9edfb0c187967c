"""Every option of every analysis explains itself, and names its choices, which are those that the analysis takes."""

from __future__ import annotations

from dataclasses import fields

import click
import pytest
from click.testing import CliRunner

from anyshot_analysis.cli import analyse, command_of
from anyshot_analysis.jobs import JOBS
from anyshot_analysis.jobs.options import CHOICES, OWN, WORDS


@pytest.mark.parametrize("name", JOBS)
def test_every_option_explains_itself(name: str) -> None:
    options = [p for p in command_of(name).params if isinstance(p, click.Option)]
    assert all(option.help and len(option.help) > 12 for option in options)
    kind, _ = JOBS[name].load()
    for option in options:
        if isinstance(option.type, click.Choice):
            for value in option.type.choices:
                kind(**{str(option.name): value})  # refused by none


def test_no_text_is_for_an_option_that_does_not_exist() -> None:
    there = {(name, field.name) for name in JOBS for field in fields(JOBS[name].load()[0])}
    assert set(WORDS) == {option for _, option in there}
    assert set(OWN) <= there and set(CHOICES) <= set(WORDS)


@pytest.mark.parametrize(("name", "option"), [("diversity", "--distance"), ("representations", "--maps")])
def test_another_choice_is_refused_in_words(name: str, option: str) -> None:
    done = CliRunner().invoke(analyse, [name, option, "foo"])
    assert done.exit_code == 2 and "is not one of" in done.output and "Traceback" not in done.output
