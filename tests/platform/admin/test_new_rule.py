"""A new ranking rule is one class and its line in the table of known answers; everything else follows."""

from dataclasses import dataclass
from pathlib import Path

import pytest

from anyshot_scoring.joins import MEAN
from anyshot_scoring.rules import RULES, Floats, Rule
from tests.platform.admin import test_rules as way
from tests.platform.site import Site
from tests.scoring.known_rules import KNOWN, TABLE, Known


@dataclass(frozen=True)
class BySteadiness(Rule):
    """The mean of the runs, less the distance from the best to the worst of them."""

    def score(self, runs: Floats, datasets: Floats) -> Floats:
        return runs.mean(axis=-2) - (runs.max(axis=-2) - runs.min(axis=-2))

    def words(self, runs: int | str | None = None) -> str:
        return "The mean of the runs counts, less the distance from the best to the worst. Steady wins."


@pytest.mark.seconds("a rule from its registration to a board")
def test_a_new_rule_works_everywhere(site: Site, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Form, page, board, JSON, export, gate, final phase and report, of a class that they have never seen."""
    known = Known(
        ("bob", "ada", "cyd"),
        scores := {"ada": 0.60 - 0.20, "bob": 0.55, "cyd": 0.62 - 0.34},
        {team: -score for team, score in scores.items()},
    )
    monkeypatch.setitem(RULES, "steady", BySteadiness("steady", "Steadiness", MEAN))
    monkeypatch.setitem(KNOWN, "steady", known)
    way.add_dataset(site)
    way.choose(site, **{"scoring.ranking": "steady", "scoring.runs": "3"})
    assert "Steadiness" in way.text_of(way.page(site.owner(), f"{way.BASE}/phases/feedback"))
    worker = site.worker()
    for team, runs in TABLE.items():
        way.play(site, worker, team, [{"alpha": x, "beta": y} for _, x, y in runs])
    way.see_the_board(site, "steady")
    way.see_the_export(site, "steady", tmp_path)
    way.see_who_enters_the_final_phase(site, known.scores["ada"], above={"bob"})
    way.see_the_report(site, "steady", known.order, tmp_path)
