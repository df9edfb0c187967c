"""Each command of the documentation is run by a test: from the installed packages, or by one that is named."""

import re
from itertools import takewhile

import click

from anyshot_core.command import main
from anyshot_platform.app import feature_routers
from anyshot_platform.site.shell.act_routes import acts_of
from tests.documentation.commands import ELSEWHERE, ROOT, documented, elsewhere
from tests.packages.test_documented_commands import ON_A_SITE, WITHOUT_A_SITE


def test_every_command_of_the_documentation_is_run_by_a_test() -> None:
    run = {*WITHOUT_A_SITE, *ON_A_SITE}
    lines = {command for _, command in documented()}
    assert {line for line in lines if elsewhere(line) is None} == run
    unused = [start for start in ELSEWHERE if not any(line.startswith(start) for line in lines)]
    assert unused == []


def test_the_tests_that_run_the_others_are_there() -> None:
    for place in ELSEWHERE.values():
        file, _, name = place.partition("::")
        text = (ROOT / file).read_text()
        assert not name or f"def {name}(" in text, place


def test_every_documented_command_of_ours_exists() -> None:
    """A command that was renamed, and an option that is gone, in any fence."""
    for page, line in documented():
        words = line.split()
        if words[0] == "anyshot":
            command, depth = resolve(words)
            options = {option for parameter in command.params for option in parameter.opts}
            ours = takewhile(lambda word: word != "--", words)  # what follows is for another program
            asked = {word.partition("=")[0] for word in ours if word.startswith("--")}
            assert depth > 1 and asked <= options | {"--help"}, (page.name, line, asked - options)


def test_every_act_that_the_documentation_names_exists() -> None:
    """Their names have underscores; hyphens were documented, which no act has."""
    known = {act.key for _, act in acts_of(r for router in feature_routers() for r in router.routes)}
    pages = {page: page.read_text() for page in (ROOT / "docs").rglob("*.md")}
    named = {
        act for text in pages.values() for act in re.findall(r"organize do COMPETITION ([a-z]\S+)", text)
    }
    assert len(named) > 5 and named <= known, named - known


def resolve(words: list[str]) -> tuple[click.Command, int]:
    """The command that a line names, and how many of its words do."""
    command: click.Command = main
    for depth, word in enumerate(words[1:], 1):
        inner = (
            command.get_command(click.Context(command), word) if isinstance(command, click.Group) else None
        )
        if inner is None:
            return command, depth
        command = inner
    return command, len(words)
