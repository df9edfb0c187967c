"""Every option of every analysis explains itself, and names its choices, which are those that the analysis takes."""

import click
import pytest
from click.testing import CliRunner

from anyshot_analysis.cli import analyse, command_of
from anyshot_analysis.jobs import JOBS
from anyshot_analysis.jobs.options import settings_of
from anyshot_analysis.jobs.registry import read_parameters
from anyshot_core.wire.reports import REPORTS


@pytest.mark.parametrize("name", JOBS)
def test_every_option_explains_itself(name: str) -> None:
    options = [p for p in command_of(name).params if isinstance(p, click.Option)]
    assert all(option.help and len(option.help) > 12 for option in options)
    kind, _ = JOBS[name].load()
    for option in options:
        if isinstance(option.type, click.Choice):
            for value in option.type.choices:
                kind(**{str(option.name): value})  # refused by none


@pytest.mark.parametrize("name", REPORTS)
def test_what_the_form_proposes_the_analysis_takes(name: str) -> None:
    there = settings_of(JOBS[name].load()[0])
    read_parameters(name, {one.name: one.default for one in REPORTS[name].asked() if one.name in there})


@pytest.mark.parametrize(("name", "option"), [("diversity", "--distance"), ("representations", "--maps")])
def test_another_choice_is_refused_in_words(name: str, option: str) -> None:
    done = CliRunner().invoke(analyse, [name, option, "foo"])
    assert done.exit_code == 2 and "is not one of" in done.output and "Traceback" not in done.output
