"""Which code computed a stored result, so that a test can tell when the result is older than it."""

import ast
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

import anyshot_studies
from anyshot_studies.experiment.facts import settings_of

HERE = "anyshot_studies.reproduce"
KIT = "anyshot_starting_kit"
OURS = ("anyshot_studies", "anyshot_analysis", "anyshot_scoring", "anyshot_core", KIT, "benchmarks")
# What only shows numbers or stores data, what runs export of a learner once it is scored, and the secrets of phases: a
# study draws from small numbers.
BESIDE = (
    "anyshot_core.protocols.keys",
    "anyshot_core.data",
    "anyshot_core.charts",
    "anyshot_core.report",
    "anyshot_core.words",
    "anyshot_analysis.pages",
    "anyshot_studies.reproduce.sources",
    "anyshot_studies.reproduce.trained_bundles",
    "anyshot_analysis.jobs.inputs",
    "anyshot_analysis.jobs.options",
    "anyshot_core.wire.reports",
    "anyshot_analysis.jobs.registry",
    "anyshot_starting_kit.dryrun",
    "anyshot_starting_kit.networks.layers",
    "anyshot_core.results",
)


# What an experiment's numbers follow from: the kit's training, the tasks, the scores, and what is concluded of them.
EXPERIMENT = (
    "anyshot_starting_kit.training",
    "anyshot_starting_kit.networks",
    "anyshot_core.protocols",
    "anyshot_core.episodes",
    "anyshot_scoring.metrics",
    "anyshot_scoring.summary",
    "anyshot_scoring.reliability.matrix",
    "anyshot_scoring.reliability.paired",
    "anyshot_scoring.reliability.resampling",
    "anyshot_studies.experiment.comparisons",
    "anyshot_studies.experiment.findings",
    "anyshot_studies.experiment.shape",
    "anyshot_studies.experiment.tables",
)
# Studies that train bundles, which no import shows: the bundles, and their settings.
TRAINED = {
    "in-distribution": {
        "baselines": ("prototypical_networks", "r2d2", "metaoptnet_svm", "fo_maml"),
        "settings": {"Settings": "quick"},
    }
}
BUNDLES = Path(anyshot_studies.__path__[0]) / "_baselines"  # a link to baselines/


def code_of_experiment(parameters: Mapping[str, Any]) -> dict[str, str]:
    """Digests of the modules of `EXPERIMENT` and what is in them, of each bundle that ships with Anyshot, and of the
    modules of the kit that it imports besides.

    A manifest's parameters name the bundles, and the files of settings that lay over their `config.json`: others do
    not count.
    """
    settings = settings_of([one for one in parameters.values() if isinstance(one, Mapping)])
    bundles = [name for name in parameters["baselines"] if (BUNDLES / name).is_dir()]
    modules = {own for module in EXPERIMENT for own in _all_in(module)} | set(_imported_by(bundles))
    found = {
        module: _digest(module)
        for module in sorted(modules)
        if not any(module == part or module.startswith(f"{part}.") for part in BESIDE)
    }
    return found | {f"baselines/{name}": _bundle(name, settings) for name in bundles}


def _imported_by(bundles: Sequence[str]) -> Iterator[str]:
    """The modules of the kit that the code of bundles names."""
    for name in bundles:
        for path in (BUNDLES / name).glob("*.py"):
            found = _imports(ast.parse(path.read_text(encoding="utf-8")))
            yield from (module for module in found if module.partition(".")[0] == KIT)


def _all_in(module: str) -> Iterator[str]:
    """A module, and those of its package."""
    spec = find_spec(module)
    assert spec is not None  # the list above names what is there
    yield module
    for part in iter_modules(spec.submodule_search_locations or ()):
        yield from _all_in(f"{module}.{part.name}")


def _without_export(tree: ast.Module) -> ast.Module:
    """Bare, and without the learners' optional method `features`, which no score comes from."""
    tree = _bare(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            node.body = [part for part in node.body if getattr(part, "name", "") != "features"]
    return tree


def _bundle(name: str, settings: Sequence[str]) -> str:
    """Of a bundle's Python files without layout and words, and of the settings that were used."""
    used = {"config", *settings}
    parts = [
        f"{path.name} {_words(_without_export(ast.parse(path.read_text(encoding='utf-8'))))}"
        if path.suffix == ".py"
        else f"{path.name} {json.dumps(json.loads(path.read_text(encoding='utf-8')), sort_keys=True)}"
        for path in sorted((BUNDLES / name).iterdir())
        if path.suffix == ".py" or (path.suffix == ".json" and path.stem in used)
    ]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:12]


def code_of(name: str) -> dict[str, str]:
    """Digest of each module that a reproduction computes with, itself first, and of the bundles that it trains."""
    own = code_from(f"{HERE}.{name.replace('-', '_')}")
    return own | (code_of_experiment(TRAINED[name]) if name in TRAINED else {})


def code_from(start: str) -> dict[str, str]:
    """Digest of a module and of each that it computes with, itself first.

    Layout, words, types and imports do not count.
    """
    found, waiting = {}, [start]
    while waiting:
        module = waiting.pop()
        if module in found or any(module == part or module.startswith(f"{part}.") for part in BESIDE):
            continue
        tree = _tree(module)
        if tree is None:
            continue
        found[module] = _digest(module)
        waiting += _imports(tree)
    return {module: found[module] for module in [start, *sorted(set(found) - {start})]}


def changed(stored: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    """Modules that are not those that a stored result was computed by."""
    return sorted(module for module in {*stored, *now} if stored.get(module) != now.get(module))


@cache
def _digest(module: str) -> str:
    tree = _tree(module)
    assert tree is not None  # only modules that were found come here
    own = _without_export(tree) if module.startswith(KIT) else _bare(tree)
    return hashlib.sha256(_words(own).encode()).hexdigest()[:12]


@cache
def _tree(module: str) -> ast.Module | None:
    if module.partition(".")[0] not in OURS:
        return None
    try:
        spec = find_spec(module)
    except ModuleNotFoundError:  # a name imported from a module, not a module
        return None
    if spec is None or spec.origin is None:
        return None
    return ast.parse(Path(spec.origin).read_text(encoding="utf-8"))


def _imports(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from (_home(node.module, alias.name) for alias in node.names)


def _home(module: str, name: str) -> str:
    """The module that `from module import name` takes its content from: packages pass names on."""
    if _tree(f"{module}.{name}") is not None:
        return f"{module}.{name}"
    tree = _tree(module)
    for node in tree.body if tree is not None else ():
        if isinstance(node, ast.ImportFrom) and node.module and name in {alias.name for alias in node.names}:
            return _home(node.module, name)
    return module


def _bare(tree: ast.Module) -> ast.Module:
    """Without docstrings and imports: what is imported has a digest of its own, wherever it stands."""
    tree = ast.parse(ast.unparse(tree))
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            node.body = [  # pyright: ignore[reportAttributeAccessIssue]
                part
                for part in body
                if not isinstance(part, ast.Import | ast.ImportFrom)
                and not (isinstance(part, ast.Expr) and isinstance(part.value, ast.Constant))
            ]
    return tree


def _words(node: Any) -> str:
    """The tree as text, the same under every Python: empty fields, types and what newer ones add do not count."""
    if isinstance(node, list):
        return "[" + ",".join(map(_words, node)) + "]"
    if not isinstance(node, ast.AST):
        return repr(node)
    fields = [
        f"{name}={_words(value)}"
        for name, value in ast.iter_fields(node)
        if value not in (None, []) and name not in ("type_params", "kind", "ctx", "annotation", "returns")
    ]
    return f"{type(node).__name__}({','.join(fields)})"
