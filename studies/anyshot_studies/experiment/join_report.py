"""A join of experiments as a report that carries itself: estimates, conditions, manifest, code."""

import hashlib
import json
import shlex
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from anyshot_analysis.pages import Manifest, PageTable, ReportPage
from anyshot_core.charts import Chart
from anyshot_core.report.estimates import Estimate, around
from anyshot_core.report.published_values import CONDITIONS, EXPERIMENT
from anyshot_scoring.summary import Group
from anyshot_studies.experiment.conditions import conditions_of_experiments
from anyshot_studies.experiment.facts import COMMAND
from anyshot_studies.experiment.finding import OTHER_TASKS, UNIT, Finding, FindingVerdict
from anyshot_studies.experiment.tables import Row

FACTS, SCORES = "facts.json", "scores.json"
TITLE = "Experiments side by side"


@dataclass(frozen=True)
class Scores:
    """The tables of one experiment under the title that it has in the report; what was run, and the packs' digests.

    `facts` name no folders of this machine (`portable`).
    """

    title: str
    rows: tuple[Row, ...]
    findings: tuple[Finding, ...] = ()
    facts: dict[str, str] = field(default_factory=dict)
    packs: dict[str, str] = field(default_factory=dict)

    def groups(self, by: str) -> dict[str, list[Group]]:
        """Of each baseline the means by a column, in its order."""
        found: dict[str, list[Group]] = {}
        for row in self.rows:
            if row.by == by:
                key = int(row.key) if by in ("ways", "shots") else row.key
                found.setdefault(row.baseline, []).append(Group(key, row.mean, row.half_width, row.tasks))
        return found


def write_facts(facts: dict[str, str], packs: dict[str, str], folder: Path) -> None:
    """`facts.json`: what was run, and the digest of each pack."""
    text = json.dumps({"facts": facts, "packs": packs}, indent=1)
    (folder / FACTS).write_text(text + "\n", encoding="utf-8")


def report_of(
    experiments: Sequence[Scores], compared: Sequence[Finding], figures: Sequence[Chart]
) -> ReportPage:
    """Scores and findings of all experiments, and what only their comparison tells."""
    own = [replace(one, claim=f"{each.title}: {one.claim}") for each in experiments for one in each.findings]
    findings = [*compared, *own]
    counts = Counter(one.verdict for one in findings)
    words = ", ".join(f"{counts[verdict]} {verdict.value}" for verdict in FindingVerdict if counts[verdict])
    return ReportPage(
        name=EXPERIMENT,
        title=TITLE,
        finding=f"{len(experiments)} experiments; of {len(findings)} claims {words or 'none'}.",
        population=f"{OTHER_TASKS}; unit of resampling: the task.",
        estimates=[*_scores(experiments), *_unique(experiments, compared)],
        charts=figures,
        listings=[
            PageTable(
                "Findings",
                ("claim", "verdict", "evidence"),
                [[one.claim, one.verdict.value, one.evidence] for one in findings],
            )
        ],
        notes=[_words(one) for one in experiments if one.facts],
        result={
            "findings": [one.to_dict() for one in findings],
            CONDITIONS: conditions_of_experiments([one.facts for one in experiments]),
        },
        table=_columns(experiments),
    )


def manifest_of(experiments: Sequence[Scores], folders: Sequence[Path]) -> Manifest:
    """What was run, without folders of this machine; scores and packs by digest; the code, as it is now."""
    from anyshot_studies.reproduce.sources import code_of_experiment

    baselines = sorted({row.baseline.partition(" ")[0] for one in experiments for row in one.rows})
    parameters = {"baselines": baselines} | {one.title: one.facts for one in experiments}
    scores = [
        (one.title, hashlib.sha256((folder / SCORES).read_bytes()).hexdigest())
        for one, folder in zip(experiments, folders, strict=True)
    ]
    packs = sorted({item for one in experiments for item in one.packs.items()})
    versions = {
        name: version(name) for name in ("anyshot-analysis", "anyshot-starting-kit", "numpy", "torch")
    }
    return Manifest(parameters, {"scores": scores, "packs": packs}, versions, code_of_experiment(parameters))


def _scores(experiments: Sequence[Scores]) -> list[Estimate]:
    return [
        around(f"{name}, {one.title}", total.mean, total.half_width, UNIT, OTHER_TASKS)
        for one in experiments
        for name, (total,) in one.groups("all").items()
    ]


def _unique(experiments: Sequence[Scores], compared: Sequence[Finding]) -> list[Estimate]:
    """Estimates of findings under the names that `published.toml` has; of those that several experiments have, the
    first across domains keeps it, as the paper's are, and the others say their title.
    """
    found = {one.estimate.name: one.estimate for one in compared if one.estimate is not None}
    for each in sorted(experiments, key=lambda one: not one.title.lower().startswith("cross")):
        for one in each.findings:
            if one.estimate is not None:
                name = one.estimate.name
                name = f"{name}, {each.title}" if name in found else name
                found[name] = replace(one.estimate, name=name)
    return list(found.values())


def _columns(experiments: Sequence[Scores]) -> dict[str, Any]:
    rows = [(one.title, row) for one in experiments for row in one.rows]
    return {
        "experiment": [title for title, _ in rows],
        **{
            key: [getattr(row, key) for _, row in rows] for key in ("baseline", "by", "key", "tasks", "seeds")
        },
        "mean": np.array([row.mean for _, row in rows]),
        "half_width": np.array([np.nan if row.half_width is None else row.half_width for _, row in rows]),
    }


def portable(facts: dict[str, str]) -> dict[str, str]:
    """Facts whose command names folders by their last part only."""
    words = [Path(word).name if "/" in word else word for word in shlex.split(facts.get(COMMAND, ""))]
    return facts | ({COMMAND: shlex.join(words)} if words else {})


def _words(one: Scores) -> str:
    return f"{one.title}: " + "; ".join(f"{name.lower()} {value}" for name, value in one.facts.items())
