"""A stored result names the code that computed it: formatting and words are no change, numbers are."""

import ast
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from click.testing import CliRunner
from threadpoolctl import threadpool_info

from anyshot_analysis.pages import ReportPage
from anyshot_core.report.estimates import share
from anyshot_core.report.storage import manifest_markup, read_report
from anyshot_studies.reproduce import __main__ as reproduce
from anyshot_studies.reproduce import sources
from anyshot_studies.reproduce.sources import changed, code_of


def words(text: str) -> str:
    return sources._words(sources._bare(ast.parse(text)))


def test_types_are_no_change() -> None:
    assert words("def f(x: int | str) -> int:\n    return x\n") == words("def f(x):\n    return x\n")
    assert words("class A:\n    x: int = 1\n") != words("class A:\n    x: int = 2\n")


def test_formatting_and_docstrings_are_no_change() -> None:
    plain = 'def f(x):\n    """What it does."""\n    return x + 1  # one more\n'
    assert words(plain) == words("def f(x):\n    return (x\n        + 1)\n")
    assert words(plain) != words("def f(x):\n    return x + 2\n")


def test_a_module_that_moves_changes_no_module_that_imports_it() -> None:
    """What it computes has a digest of its own."""
    moved = "from {} import f\n\n\ndef g(x):\n    return f(x)\n"
    assert words(moved.format("here")) == words(moved.format("elsewhere.f"))
    assert words(moved.format("here")) != words(moved.format("here").replace("f(x)", "f(x) + 1"))


def test_the_code_of_a_reproduction_is_what_it_computes_with() -> None:
    found = code_of("svcca")
    assert next(iter(found)) == "anyshot_studies.reproduce.svcca"
    assert {"anyshot_analysis.representations.cca", "anyshot_analysis.representations.chance"} <= set(found)
    assert not [name for name in found if "charts" in name or "report" in name.split(".")[1]]
    assert "anyshot_scoring.reliability.planning" not in found  # a package is not all of its modules


def test_a_changed_module_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    before = code_of("hellinger")
    assert changed(before, code_of("hellinger")) == []
    assert changed(before | {"anyshot_analysis.diversity.hellinger": "0" * 12}, before) == [
        "anyshot_analysis.diversity.hellinger"
    ]
    assert changed({}, before) == sorted(before) == changed(before, {})


def test_what_a_learner_exports_is_no_change_of_an_experiment() -> None:
    learner = "class L(ModelLearner):\n    def fit(self, s):\n        return {}\n{}"
    told = "    def features(self, images):\n        return {'features': images}\n"

    def of_kit(text: str) -> str:
        return sources._words(sources._without_export(ast.parse(text)))

    assert of_kit(learner.format(1, told)) == of_kit(learner.format(1, ""))
    assert of_kit(learner.format(1, told)) != of_kit(learner.format(2, told))
    decides = "def features(x):\n    return {}\n"
    assert of_kit(decides.format(1)) != of_kit(decides.format(2)), "a function of that name may decide"
    found = sources.code_of_experiment({"baselines": ["random"]})
    assert "anyshot_starting_kit.networks.layers" not in found
    assert "anyshot_starting_kit.training.learners" in found


def test_settings_that_an_experiment_did_not_use_make_it_no_older(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Those that it did use do, and so does what lies under them."""
    bundle = tmp_path / "mine"
    bundle.mkdir()
    (bundle / "model.py").write_text("x = 1\n")
    for name in ("config", "quick", "paper"):
        (bundle / f"{name}.json").write_text('{"a": 1}')
    monkeypatch.setattr(sources, "BUNDLES", tmp_path)
    parameters = {"baselines": ["mine"], "cross": {"Settings": "quick, width 16"}, "within": {}}
    before = sources.code_of_experiment(parameters)
    for name, older in (("paper", []), ("quick", ["baselines/mine"]), ("config", ["baselines/mine"])):
        (bundle / f"{name}.json").write_text('{"a": 2}')
        assert changed(before, sources.code_of_experiment(parameters)) == older
        (bundle / f"{name}.json").write_text('{"a": 1}')
    (bundle / "two-sides.json").write_text("{}")
    assert not changed(before, sources.code_of_experiment(parameters))


def test_what_a_bundle_takes_from_the_kit_counts_wherever_it_stands(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Adaptation as in 2022 lies beside the kit's training, and only the bundles that name it follow from it."""
    beside = "anyshot_starting_kit.adaptation_2022"
    for name, text in (("names", f"from {beside} import adapt_as_2022\n"), ("other", "x = 1\n")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "model.py").write_text(text)
    monkeypatch.setattr(sources, "BUNDLES", tmp_path)
    assert beside in sources.code_of_experiment({"baselines": ["names"]})
    assert beside not in sources.code_of_experiment({"baselines": ["other"]})


def test_a_study_sums_in_one_thread_and_says_on_which_machine(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Two threads add in another order, whose last digits grow while a network is trained."""
    threads: list[int] = []

    def make(material: object) -> ReportPage:
        threads.append(torch.get_num_threads())
        threads.extend(pool["num_threads"] for pool in threadpool_info())
        found = share("a share", 1, 4, "other examples")
        return ReportPage("reproduce-svcca", "A title", "A finding.", "other examples", [found])

    monkeypatch.setattr(reproduce, "module_of", lambda name: SimpleNamespace(make=make))
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        made = CliRunner().invoke(reproduce.main, ["svcca", "--out", str(tmp_path)], catch_exceptions=False)
        assert torch.get_num_threads() == 2, "what comes after has its threads again"
    finally:
        torch.set_num_threads(before)
    assert made.exit_code == 0 and set(threads) == {1}
    summary, *_ = read_report(tmp_path / "svcca")
    machine = summary["manifest"]["machine"]
    assert machine == {"instructions": torch.backends.cpu.get_cpu_capability(), "threads": 1}
    assert machine["instructions"] in manifest_markup(summary["manifest"])
