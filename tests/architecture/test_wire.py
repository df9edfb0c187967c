"""What platform and worker say to each other is typed: no message holds a dictionary of anything."""

from pathlib import Path

import pytest

from anyshot_core.wire.jobs import Analyse, Evaluate, JobKind, MetaTest, Rescore, Smoke
from anyshot_worker.chain import KINDS

WIRE = sorted((Path(__file__).parents[2] / "core/anyshot_core/wire").glob("*.py"))


@pytest.mark.parametrize("module", WIRE, ids=lambda path: path.name)
def test_no_message_holds_a_dictionary_of_anything(module: Path) -> None:
    text = module.read_text()
    assert "dict[str, Any]" not in text and "dict[str, object]" not in text


def test_a_worker_has_a_way_for_every_kind_of_job_and_no_default() -> None:
    messages = {
        kind.model_fields["kind"].default: kind for kind in (Evaluate, Smoke, MetaTest, Rescore, Analyse)
    }
    assert set(messages) == set(JobKind)
    assert set(KINDS) == set(messages.values())
