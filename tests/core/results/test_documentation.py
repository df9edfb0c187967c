from pathlib import Path

from anyshot_core.results import predictions, tasks
from anyshot_scoring.reliability import POPULATIONS
from anyshot_scoring.rules import RULES
from anyshot_starting_kit.cli.score import score
from releasing.reference import generated_pages

DOCS = Path(__file__).parents[3] / "docs" / "science"


def test_every_column_of_both_formats_is_documented():
    text = (DOCS / "result-files.md").read_text()
    for name in {*tasks.SCHEMA.names, *predictions.SCHEMA.names}:
        assert f"`{name}`" in text


def test_every_option_of_the_command_is_documented():
    text = (DOCS / "result-files.md").read_text()
    for parameter in score.params:
        for option in parameter.opts:
            if option.startswith("--"):
                assert option in text


def test_every_rule_and_population_is_documented():
    text = (DOCS / "scoring.md").read_text() + generated_pages()["science/ranking-rules.md"]
    for name in [*RULES, *POPULATIONS]:
        assert f"`{name}`" in text
