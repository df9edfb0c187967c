"""What plays the part of a worker or of the platform in a test says what real ones were recorded saying."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from anyshot_core.wire import worker_api
from anyshot_core.wire.message import Message
from tests.contract.recording import MODELS

TESTS = Path(__file__).parents[1]
# There both sides are real, or the models themselves are what is tested.
MAY_SAY = ("contract/", "core/wire/")
# Parts of messages that name a test's own data: files, limits.
DATA = {"BlobRef", "PackRef", "ResultsRef", "ArtifactRef", "Budget", "Limits"}
SAID = {
    name
    for name, model in vars(worker_api).items()
    if isinstance(model, type) and issubclass(model, Message) and name not in DATA
}
ADDRESS = re.compile(r"\.call\([^)]*/claim\"|/runs/\{[^}]*\}/(?:heartbeat|events|complete|fail|release)\b")
TWIN = "platform/site.py"  # where PaperWorker is


def _tests() -> Iterator[tuple[str, str]]:
    for path in sorted(TESTS.rglob("*.py")):
        name = path.relative_to(TESTS).as_posix()
        if not name.startswith(MAY_SAY):
            yield name, path.read_text()


def _of_the_wire(module: ast.Module) -> set[str]:
    """The names under which a module knows messages."""
    return {
        alias.asname or alias.name
        for node in ast.walk(module)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("anyshot_core.wire")
        for alias in node.names
        if alias.name in SAID
    }


def made_by_hand(source: str) -> Iterator[tuple[int, str]]:
    """The messages that a test writes itself: lines and models."""
    module = ast.parse(source)
    known = _of_the_wire(module)
    for node in ast.walk(module):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in known:
            yield node.lineno, node.func.id


def test_no_test_writes_a_message_of_the_other_side_by_hand() -> None:
    found = [f"{name}:{line}: {model}" for name, text in _tests() for line, model in made_by_hand(text)]
    assert not found, "play what was recorded, see tests/contract/recording.py:\n" + "\n".join(found)


def test_only_the_paper_worker_speaks_to_the_workers_addresses() -> None:
    found = [
        f"{name}: {match[0]}" for name, text in _tests() for match in ADDRESS.finditer(text) if name != TWIN
    ]
    assert not found, "let PaperWorker say it:\n" + "\n".join(found)
    assert len(ADDRESS.findall((TESTS / TWIN).read_text())) >= 6, "the twin has moved"


def test_a_message_by_hand_is_found() -> None:
    source = "from anyshot_core.wire.worker_api import Release\nrelease = Release(epoch=1)\n"
    assert list(made_by_hand(source)) == [(2, "Release")]
    assert {model.__name__ for model in MODELS.values()} <= SAID
