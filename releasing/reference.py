"""`python -m releasing.reference`: pages of the documentation that follow from the code.

They are made where the documentation, the packages or the images are built, and are not part of the repository.
"""

import json
from collections.abc import Iterator
from pathlib import Path

import click
from pydantic_settings import BaseSettings

from anyshot_core.command import main
from anyshot_core.report.documentation import GENERATED
from anyshot_platform.contest.phases.description import SETTINGS as SETTINGS_OF_PHASE
from anyshot_platform.contest.phases.description import PhaseSpec
from anyshot_platform.foundation.filters import sentence
from anyshot_platform.foundation.schema.quantities import write_number, write_size
from anyshot_platform.foundation.schema.settings import Setting, Widget, plain
from anyshot_platform.foundation.settings import PlatformSettings
from anyshot_scoring.rules import RULES
from anyshot_worker.settings import WorkerSettings
from tests.hostile.table import hostile_page

DOCS = Path(__file__).parents[1] / "platform" / "anyshot_platform" / "_docs"  # a link to docs/
# The page that describes the commands of each package.
_COMMANDS = {
    "anyshot_core": "participants/commands.md",
    "anyshot_starting_kit": "participants/commands.md",
    "anyshot_platform": "operators/commands.md",
    "anyshot_worker": "operators/commands.md",
    "anyshot_analysis": "science/commands.md",
    "anyshot_studies": "science/commands.md",
}


def generated_pages() -> dict[str, str]:
    """The text of each page by its path below the documentation."""
    return {page: _commands_page(commands) for page, commands in commands_by_page().items()} | {
        "operators/settings.md": _settings_page(),
        "operators/hostile-suite.md": hostile_page(),
        "organizers/phase-settings.md": phase_settings_page(),
        "science/ranking-rules.md": _rules_page(),
    }


def write_pages() -> None:
    """Write every page where the site of this checkout and the packages that are built of it have it."""
    for name, text in generated_pages().items():
        file = DOCS.with_name(GENERATED) / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)


def commands_by_page() -> dict[str, list[tuple[str, click.Command]]]:
    """Every command with its full name, under the page that describes it."""
    pages: dict[str, list[tuple[str, click.Command]]] = {}
    for name, command in _walk(main, "anyshot"):
        package = (getattr(command.callback, "__module__", "") or "").partition(".")[0]
        pages.setdefault(_COMMANDS[package], []).append((name, command))
    return pages


def _walk(command: click.Command, name: str) -> Iterator[tuple[str, click.Command]]:
    yield name, command
    if isinstance(command, click.Group):
        context = click.Context(command, info_name=name)
        for part in command.list_commands(context):
            child = command.get_command(context, part)
            if child is not None and not child.hidden:
                yield from _walk(child, f"{name} {part}")


def _commands_page(commands: list[tuple[str, click.Command]]) -> str:
    parts = ["# Commands", "As `anyshot COMMAND --help` shows them."]
    for name, command in commands:
        context = click.Context(command, info_name=name, terminal_width=100, max_content_width=100)
        lines = [line.rstrip() for line in command.get_help(context).strip().splitlines()]
        parts += [f"## {name}", "\n".join(["```text", *lines, "```"])]
    return "\n\n".join(parts) + "\n"


def _settings_page() -> str:
    parts = ["# Settings", "Read from the environment."]
    for title, settings in (("The platform", PlatformSettings), ("The worker", WorkerSettings)):
        parts += [f"## {title}", _table("variable", _variables(settings))]
    return "\n\n".join(parts) + "\n"


def _table(first: str, rows: Iterator[str]) -> str:
    return "\n".join([f"| {first} | default | meaning |", "| --- | --- | --- |", *rows])


def variables(settings: type[BaseSettings]) -> dict[str, str]:
    """The environment variable of each field."""
    prefix = settings.model_config.get("env_prefix", "")
    return {name: f"{prefix}{name}".upper() for name in settings.model_fields}


def _variables(settings: type[BaseSettings]) -> Iterator[str]:
    for name, variable in variables(settings).items():
        field = settings.model_fields[name]
        default = (
            "required" if field.is_required() else _default(field.get_default(call_default_factory=False))
        )
        words = (field.description or "").replace("|", "\\|").replace("\n", " ")
        yield f"| `{variable}` | {default} | {words} |"


def _default(value: object) -> str:
    return "not set" if value is None or str(value) in ("", "PydanticUndefined") else f"`{value}`"


def _rules_page() -> str:
    rows = [f"| `{name}` | {rule.title} | {rule.words()} |" for name, rule in RULES.items()]
    return "\n".join(
        ["# Ranking rules", "", "| rule | name | what counts |", "| --- | --- | --- |", *rows, ""]
    )


def phase_settings_page() -> str:
    """The keys of a phase in a competition's file, a table for each of its parts."""
    groups: dict[str, list[Setting]] = {}
    for setting in SETTINGS_OF_PHASE:
        groups.setdefault(setting.path.rpartition(".")[0], []).append(setting)
    parts = ["# Settings of a phase", "Keys of `phases` in [the competition's file](competition-file.md)."]
    for part, settings in groups.items():
        rows = [_setting(one) for one in settings]
        if part:
            parts += [f"## {part}", _table("key", iter(rows))]
        else:
            titles = {name: sentence(PhaseSpec.model_fields[name].title or "") for name in groups if name}
            rows += [f"| `{name}` | below | {title} |" for name, title in titles.items()]
            parts.append(_table("key", iter(rows)))
    return "\n\n".join(parts) + "\n"


def _setting(setting: Setting) -> str:
    words = [text for text in (setting.info.title, setting.meaning) if text]
    if setting.choices:
        words.append("One of " + "; ".join(f"`{value}`: {choice}" for value, choice in setting.choices))
    key = setting.path.rpartition(".")[2]
    return f"| `{key}` | {_default_of(setting)} | {' '.join(sentence(text) for text in words)} |"


def _default_of(setting: Setting) -> str:
    if setting.info.is_required():
        return "needed"
    value = setting.info.get_default(call_default_factory=True)
    if value is None:
        return "none"
    if setting.widget == Widget.SIZE:
        return write_size(value)
    if value in ("", [], {}):
        return "empty"
    if isinstance(value, bool):
        return f"`{json.dumps(value)}`"
    return f"`{write_number(value) if isinstance(value, float) else plain(value)}`"


if __name__ == "__main__":
    write_pages()
