"""What ready-made competitions and mails promise holds."""

from pathlib import Path
from typing import Any

import pytest

from anyshot_core.bundle.zipsafety import ZipLimits
from anyshot_platform.contest.bundles.ready import read_ready_made
from anyshot_platform.contest.bundles.schema import CompetitionSpec
from anyshot_platform.contest.competitions.states import Due, Registration
from anyshot_platform.contest.phases.description import PhaseSpec
from anyshot_platform.foundation.settings import PlatformSettings
from anyshot_platform.people.accounts import confirming
from anyshot_platform.site.users import reset_pages
from anyshot_worker.images.recipe import PINS
from tests.platform.entries.test_finals import final as final
from tests.platform.site import SLUG, Site

ROOT = Path(__file__).parents[3]
Y2022, Y2021 = "cross-domain-metadl-2022", "within-domain-metadl-2021"


def test_links_in_mails_last_as_long_as_the_mails_say() -> None:
    assert (confirming.HOURS, reset_pages.HOURS) == (48, 1)  # "two days", "an hour"


def phase_of(spec: CompetitionSpec, key: str) -> PhaseSpec:
    """A phase of a ready-made competition."""
    return next(phase for phase in spec.phases if phase.key == key)


def test_the_template_of_2022_says_what_its_settings_hold() -> None:
    spec = read_ready_made(Y2022).spec
    feedback, last = phase_of(spec, "feedback"), phase_of(spec, "final")
    assert feedback.tasks is not None and last.tasks is not None and feedback.scoring is not None
    assert (feedback.tasks.meta_train, feedback.tasks.meta_test) == ("metadl-set-0", "metadl-set-1")
    assert (last.tasks.meta_train, last.tasks.meta_test) == ("metadl-set-0-and-1", "metadl-set-2")
    protocol = {"name": "any_way_any_shot", "ways": [2, 20], "shots": [1, 20], "query": 20}
    assert (
        protocol.items() <= feedback.tasks.protocol.items()
        and protocol.items() <= last.tasks.protocol.items()
    )
    assert (feedback.scoring.runs, feedback.scoring.board_shows) == (1, "last")
    assert spec.fact_sheet_from == Due.FINALISTS  # not "with each submission", as the page said
    assert not feedback.shown.dataset_names and not last.shown.dataset_names


@pytest.mark.parametrize("name", [Y2022, Y2021])
def test_dates_of_the_templates_are_those_of_utc(name: str) -> None:
    assert read_ready_made(name).spec.timezone == "UTC"


def test_a_public_phase_takes_no_submissions(site: Site) -> None:
    for name in (Y2022, Y2021):
        assert not phase_of(read_ready_made(name).spec, "public").accepts_uploads
    site.set_phase(accepts_uploads=False)
    refused = site.member("pia").submit()
    assert refused.status_code == 409 and "takes no uploads" in refused.text, refused.text


def test_a_rehearsal_is_looked_at_twice_a_minute() -> None:
    assert PlatformSettings.model_fields["sweep_seconds"].default <= 30


def test_nobody_new_comes_into_a_closed_competition(site: Site) -> None:
    with site.services.database.writing() as session:
        site.competition(session).registration = Registration.CLOSED
    refused = site.person("nina").call("POST", f"/api/v1/competitions/{SLUG}/join", json={})
    assert refused.status_code in (403, 409) and "closed" in refused.json()["message"]


def test_the_exported_tables_hold_what_their_page_says(site: Site) -> None:
    owner, worker, ids = site.owner(), site.worker(), {}
    for name, score in (("pia", 0.2), ("quin", 0.6), ("rob", 0.4), ("sue", 0.9), ("tom", 0.1)):
        ids[name] = site.member(name).submit().json()["id"]
        job = worker.claim()
        assert job is not None
        worker.complete(job, score)
    acts = f"/api/v1/competitions/{SLUG}/manage/submissions/{{}}/acts/{{}}"
    for name, act in (("sue", "disqualify"), ("tom", "delete")):
        assert owner.call("POST", acts.format(ids[name], act), json={"reason": "two accounts"}).is_success

    def table(name: str) -> list[dict[str, Any]]:
        return owner.call("GET", f"/competitions/{SLUG}/manage/exports/{name}.json").json()

    assert [(row["rank"], row["team"]) for row in table("leaderboards")] == [
        (1, "quin"),
        (2, "rob"),
        (3, "pia"),
    ]
    rows = {row["team"]: row for row in table("submissions")}
    assert {name: row["id"] for name, row in rows.items()} == ids
    assert [name for name, row in rows.items() if row["disqualified"]] == ["sue"]
    assert [name for name, row in rows.items() if row["deleted"]] == ["tom"]
    assert all(row["status"] == "finished" and "free:" in row["leagues"] for row in rows.values())
    entries = {row["team"]: row for row in table("entries")}
    assert entries["quin"]["state"] == "standing" and entries["sue"]["state"] != "standing"


def test_a_zip_may_have_a_gibibyte() -> None:
    assert PlatformSettings.model_fields["upload_max_bytes"].default == ZipLimits().zip_bytes == 1 << 30


def test_the_packages_that_the_templates_name_are_installed() -> None:
    names = {pin.partition("==")[0].lower() for pin in PINS}
    assert {"torchvision", "timm", "scikit-learn", "pot"} <= names
