"""What is stored as JSON has a model: no new column holds a dictionary or a list of anything."""

import importlib
import pkgutil

import anyshot_platform
from anyshot_platform.foundation.database import Base, Json, TypedJson

PLAIN = {
    "audit_entries": {"before", "after"},  # of any object, as it was described
    "board_rows": {"by_dataset"},  # name to number
    "competitions": {"email_domains", "fact_sheet", "retention"},
    "fact_sheets": {"answers", "history"},
    "emails": {"said_late"},  # mark to id
    "further_tests": {"protocol"},
    "league_answers": {"answers"},
    "leagues": {"questions", "columns", "awards"},
    "baselines": {"leagues"},
    "phase_versions": {
        "protocol",
        "train_protocol",
        "validation_protocol",
        "train_seeds",
        "test_seeds",
    },
    "packs": {"details"},
    "pools": {"combines"},
    "submission_scores": {"by_dataset"},  # name to number
    "submissions": {"checks", "people"},
    "uploads": {"checks"},
    "team_verdicts": {"people"},
    "published_results": {"leagues"},
    "api_tokens": {"scopes"},
    "webhook_deliveries": {"payload"},
    "webhooks": {"events"},
}
"""What people write, and lists of names and numbers. Nothing that a worker says is among them."""


def columns(kind: type) -> dict[str, set[str]]:
    for module in pkgutil.walk_packages(anyshot_platform.__path__, "anyshot_platform."):
        if module.name.endswith(".models"):
            importlib.import_module(module.name)
    return {
        table.name: names
        for table in Base.metadata.tables.values()
        if (names := {column.name for column in table.columns if isinstance(column.type, kind)})
    }


def test_no_other_column_holds_json_without_a_model() -> None:
    assert columns(type(Json)) == PLAIN


def test_what_workers_say_is_stored_as_the_models_of_the_wire() -> None:
    assert columns(TypedJson) == {
        "further_tests": {"summary", "failure"},
        "league_entries": {"evidence"},
        "reports": {"parameters", "results", "answer"},
        "run_scores": {"summary"},
        "worker_requests": {"info"},
        "runs": {"parameters", "expected_start", "stage_times", "usage", "provenance", "evidence"},
        "workers": {"info"},
    }
