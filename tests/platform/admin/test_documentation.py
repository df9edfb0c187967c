"""Every key of competition.yaml stands in the documentation, and nothing there that is none."""

import re
from pathlib import Path

import yaml

from anyshot_platform.contest.bundles import schema
from anyshot_platform.contest.bundles.schema import CompetitionSpec
from anyshot_platform.contest.bundles.yaml_lines import Marked
from anyshot_platform.contest.leagues import description as leagues
from anyshot_platform.contest.phases import description as phases
from anyshot_platform.foundation.schema.parts import Part
from releasing.reference import phase_settings_page

PAGE = Path(__file__).parents[3] / "docs" / "organizers" / "competition-file.md"


def parts() -> list[type[Part]]:
    modules = (schema, leagues, phases)
    found = [v for m in modules for v in vars(m).values() if isinstance(v, type) and issubclass(v, Part)]
    return [part for part in found if part is not Part]


def test_every_key_is_documented_and_no_other() -> None:
    text = PAGE.read_text() + phase_settings_page()
    documented = set(re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE))
    known = {key for part in parts() for key in part.model_fields}
    assert documented == known
    assert all(line.count("|") == 4 for line in text.splitlines() if line.startswith("| `"))
    assert re.findall(r"^\| `(\w+)` \| [^|]+ \|\s*\|$", text, re.MULTILINE) == []


def test_the_example_of_the_documentation_is_valid() -> None:
    example = re.search(r"```yaml\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert example is not None
    marked = Marked(data=yaml.safe_load(example[1]))
    spec = CompetitionSpec.model_validate(marked.data)
    assert spec.phases[0].budget.run == 18_000
