"""Writes the reference pages of the documentation from the code: `python -m tests.documentation.reference`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import click
from pydantic_settings import BaseSettings

from anyshot_core.command import main
from anyshot_platform.described.quantities import write_number, write_size
from anyshot_platform.described.settings import Setting, Widget, plain
from anyshot_platform.kernel.filters import sentence
from anyshot_platform.phases.description import SETTINGS as SETTINGS_OF_PHASE
from anyshot_platform.phases.description import PhaseSpec
from anyshot_platform.settings import PlatformSettings
from anyshot_worker.settings import WorkerSettings

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
# Where the commands of each package are described.
COMMANDS = {
    "anyshot_core": DOCS / "participants" / "commands.md",
    "anyshot_starting_kit": DOCS / "participants" / "commands.md",
    "anyshot_platform": DOCS / "operators" / "commands.md",
    "anyshot_worker": DOCS / "operators" / "commands.md",
    "anyshot_analysis": DOCS / "science" / "commands.md",
    "anyshot_studies": DOCS / "science" / "commands.md",
}
SETTINGS = DOCS / "operators" / "settings.md"
PHASES = DOCS / "organizers" / "competition-file.md"


def walk(command: click.Command, name: str) -> Iterator[tuple[str, click.Command]]:
    """The command and all below it, each with its full name."""
    yield name, command
    if isinstance(command, click.Group):
        context = click.Context(command, info_name=name)
        for part in command.list_commands(context):
            child = command.get_command(context, part)
            if child is not None and not child.hidden:
                yield from walk(child, f"{name} {part}")


def commands_by_page() -> dict[Path, list[tuple[str, click.Command]]]:
    """Every command under the page that describes it, those that other packages add included."""
    pages: dict[Path, list[tuple[str, click.Command]]] = {}
    for name, command in walk(main, "anyshot"):
        package = (getattr(command.callback, "__module__", "") or "").partition(".")[0]
        pages.setdefault(COMMANDS[package], []).append((name, command))
    return pages


def options_of(command: click.Command) -> list[str]:
    """The long names of a command's options."""
    return [
        next((name for name in option.opts if name.startswith("--")), option.opts[0])
        for option in command.params
        if isinstance(option, click.Option) and not option.hidden
    ]


def write_commands(commands: list[tuple[str, click.Command]]) -> str:
    """A section for each command, with its usage and options as `--help` shows them."""
    parts = [
        "# Commands",
        "Written from the code by `python -m tests.documentation.reference`; `anyshot COMMAND --help` shows the same.",
    ]
    for name, command in commands:
        context = click.Context(command, info_name=name, terminal_width=100, max_content_width=100)
        text = command.get_help(context).strip()
        parts += [
            f"## {name}",
            "```text\n" + "\n".join(line.rstrip() for line in text.splitlines()) + "\n```",
        ]
    return "\n\n".join(parts) + "\n"


def write_settings() -> str:
    """A table of the platform's and one of the worker's settings."""
    parts = [
        "# Settings",
        "Read from the environment. Written from the code by `python -m tests.documentation.reference`.",
    ]
    for title, settings in (("The platform", PlatformSettings), ("The worker", WorkerSettings)):
        rows = "\n".join(_rows(settings))
        parts += [f"## {title}", f"| variable | default | meaning |\n| --- | --- | --- |\n{rows}"]
    return "\n\n".join(parts) + "\n"


def variables(settings: type[BaseSettings]) -> dict[str, str]:
    """The environment variable of each field."""
    prefix = settings.model_config.get("env_prefix", "")
    return {name: f"{prefix}{name}".upper() for name in settings.model_fields}


def _rows(settings: type[BaseSettings]) -> Iterator[str]:
    for name, variable in variables(settings).items():
        field = settings.model_fields[name]
        default = (
            "required" if field.is_required() else _default(field.get_default(call_default_factory=False))
        )
        words = (field.description or "").replace("|", "\\|").replace("\n", " ")
        yield f"| `{variable}` | {default} | {words} |"


def _default(value: object) -> str:
    if value is None or str(value) in ("", "PydanticUndefined"):
        return "not set"
    return f"`{value}`"


def phase_tables(page: str) -> str:
    """The page on competition files with the tables of a phase's settings as the code describes them."""
    groups: dict[str, list[Setting]] = {}
    for setting in SETTINGS_OF_PHASE:
        groups.setdefault(setting.path.rpartition(".")[0], []).append(setting)
    for part, settings in groups.items():
        heading = f"## {part} (of a phase)\n" if part else "## phases\n"
        before, found, rest = page.partition(heading)
        assert found, f"{PHASES} has no section {heading.strip()}"
        lead, table, after = rest.partition("| key | default | meaning |\n| --- | --- | --- |\n")
        kept = re.sub(r"\A(?:\|.*\n)*", "", after)
        rows = [_row(setting) for setting in settings]
        if not part:
            rows += [
                f"| `{name}` | below | {sentence(PhaseSpec.model_fields[name].title or '')} |"
                for name in groups
                if name
            ]
        page = before + found + lead + table + "\n".join(rows) + "\n" + kept
    return page


def _row(setting: Setting) -> str:
    words = [text for text in (setting.info.title, setting.meaning) if text]
    if setting.choices:
        words.append("One of " + "; ".join(f"`{value}`: {choice}" for value, choice in setting.choices))
    key = setting.path.rpartition(".")[2]
    return f"| `{key}` | {_of_phase(setting)} | {' '.join(sentence(text) for text in words)} |"


def _of_phase(setting: Setting) -> str:
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
    PHASES.write_text(phase_tables(PHASES.read_text()))
    for page, commands in commands_by_page().items():
        page.write_text(write_commands(commands))
    SETTINGS.parent.mkdir(exist_ok=True)
    SETTINGS.write_text(write_settings())
