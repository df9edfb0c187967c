"""A competition back to `competition.yaml` and a zip."""

from typing import Any

import yaml

from anyshot_core.protocols.registry import SEEDS
from anyshot_platform.contest.bundles.files import write_zip
from anyshot_platform.contest.bundles.schema import CompetitionSpec


def write_definition(spec: CompetitionSpec, *, secrets: bool) -> bytes:
    """The text of competition.yaml; without `secrets` the key and the seeds of hidden tasks and splits are left out."""
    data = spec.model_dump(mode="json", exclude_defaults=True)
    data = {"anyshot": spec.anyshot, **{key: value for key, value in data.items() if key != "anyshot"}}
    if not secrets:
        for phase in data.get("phases", []):
            for key in ("train_seeds", "test_seeds", "key"):
                phase.get("tasks", {}).pop(key, None)
            for key in SEEDS:
                phase.get("tasks", {}).get("protocol", {}).pop(key, None)
    text: str = yaml.dump(data, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=110)
    return text.encode()


def write_bundle(spec: CompetitionSpec, files: dict[str, bytes], *, secrets: bool) -> bytes:
    """The bundle as a zip whose bytes depend on its content alone."""
    return write_zip({**files, "competition.yaml": write_definition(spec, secrets=secrets)})


class _Dumper(yaml.SafeDumper):
    """Long texts as blocks, lists indented below their key, no aliases."""

    def ignore_aliases(self, data: Any) -> bool:
        return True

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        super().increase_indent(flow, False)


def _represent_text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = "|" if "\n" in text.strip() else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _represent_text)
