"""Code that runs at home and fails, or finds something else, in the sandbox: found in its syntax, nothing is run."""

import ast
import sys
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from anyshot_core.bundle.report import Check, CheckOutcome

_DOWNLOADS = frozenset(
    {
        "load_state_dict_from_url",
        "download_url_to_file",
        "urlretrieve",
        "hf_hub_download",
        "snapshot_download",
    }
)
_NAMED_WEIGHTS = ("DEFAULT", "IMAGENET")  # how torchvision's names of weights begin
_MOST_NAMED = 3


@dataclass(frozen=True, slots=True)
class Place:
    """A call in a file of a zip: `path`, `line` from 1, and the call in short."""

    path: str
    line: int
    call: str


def check_names(paths: Iterable[str]) -> list[Check]:
    """A warning about modules at the root of a zip that are named like modules of Python."""
    roots = {
        path.removesuffix("/__init__.py").removesuffix(".py"): path for path in paths if path.endswith(".py")
    }
    taken = sorted(
        path for name, path in roots.items() if "/" not in name and name in sys.stdlib_module_names
    )
    if not taken:
        return []
    named = ", ".join(taken)
    found = f"Modules of Python have the same name as {named}: `import` finds the one or the other."
    return [
        _warn(
            "names",
            "Names of modules",
            found,
            f"Rename {named} and what imports it, for instance to my_{taken[0]}.",
        )
    ]


def check_gpu_calls(places: list[Place]) -> list[Check]:
    """A warning about calls of `gpu_calls`, for a phase without a GPU."""
    if not places:
        return []
    found = f"{_where(places)} asks for a GPU, and this phase has none."
    remedy = 'Choose the device by `"cuda" if torch.cuda.is_available() else "cpu"` and use `.to(device)`.'
    return [_warn("gpu", "Use of a GPU", found, remedy)]


def check_downloads(places: list[Place]) -> list[Check]:
    """A warning about calls of `downloads`."""
    if not places:
        return []
    found = f"{_where(places)} fetches weights when it runs, and the sandbox has no network."
    remedy = (
        "Put the file into the zip, or take one of the weights that the site offers in /weights, and load it with"
        " `load_state_dict`; with timm say `pretrained=False`."
    )
    return [_warn("downloads", "Weights from the network", found, remedy)]


def gpu_calls(path: str, tree: ast.Module) -> Iterator[Place]:
    """Calls that ask for a GPU, in a file that never asks whether there is one."""
    nodes = list(ast.walk(tree))
    if any(_name(node) in ("is_available", "device_count") for node in nodes):
        return
    for node in nodes:
        if isinstance(node, ast.Call) and (_name(node.func) == "cuda" or _names_cuda(node)):
            yield _place(path, node)


def downloads(path: str, tree: ast.Module, paths: Collection[str]) -> Iterator[Place]:
    """Calls that fetch weights; `paths` are the files of the zip, which `from_pretrained` may name."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and _fetches(node, paths):
            yield _place(path, node)


def _fetches(call: ast.Call, paths: Collection[str]) -> bool:
    name = _name(call.func)
    if name in _DOWNLOADS or (
        name == "load" and isinstance(call.func, ast.Attribute) and _name(call.func.value) == "hub"
    ):
        return not any(one.arg == "source" and _text(one.value) == "local" for one in call.keywords)
    if name == "from_pretrained" and call.args:
        model = _text(call.args[0])
        return bool(model) and model[0] not in "./" and not any(path.startswith(model) for path in paths)
    return any(_asks_for_weights(keyword) for keyword in call.keywords)


def _asks_for_weights(keyword: ast.keyword) -> bool:
    if keyword.arg == "pretrained":
        return isinstance(keyword.value, ast.Constant) and keyword.value.value is True
    if keyword.arg != "weights":
        return False
    value = keyword.value
    return _text(value).startswith(_NAMED_WEIGHTS) or (
        isinstance(value, ast.Attribute) and _name(value.value).endswith("_Weights")
    )


def _names_cuda(call: ast.Call) -> bool:
    devices = [keyword.value for keyword in call.keywords if keyword.arg in ("device", "map_location")]
    if _name(call.func) in ("to", "device"):
        devices += call.args[:1]
    return any(_text(device).startswith("cuda") for device in devices)


def _name(node: ast.AST) -> str:
    """The last part of a dotted name."""
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _text(node: ast.AST) -> str:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def _place(path: str, call: ast.Call) -> Place:
    asked = "pretrained=True" if any(one.arg == "pretrained" for one in call.keywords) else ""
    return Place(path, call.func.end_lineno or call.lineno, f"{_name(call.func)}({asked})")


def _where(places: list[Place]) -> str:
    named = [f"`{one.call}` in {one.path}, line {one.line}" for one in places[:_MOST_NAMED]]
    more = len(places) - _MOST_NAMED
    return ", ".join(named) + (f", and {more} more" if more > 0 else "")


def _warn(name: str, title: str, found: str, remedy: str) -> Check:
    return Check(name, title, CheckOutcome.WARNING, found, remedy)
