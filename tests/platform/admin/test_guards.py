"""Fields that are too long are refused in words, and shipped baselines are named as such."""

import re

from anyshot_platform.foundation.artifacts.models import Blob
from anyshot_platform.standings.baselines.models import Baseline
from tests.platform.admin.test_manage import BASE, flash, page, post
from tests.platform.site import Site


def test_what_is_too_long_is_said_in_words_on_every_database(site: Site) -> None:
    """PostgreSQL answered 500, SQLite stored 5,000 characters; the answer to a form was raw JSON."""
    owner, long = site.owner(), "x" * 201
    for path, form in (
        ("/organize/new", {"title": long, "slug": "long"}),
        (f"{BASE}/settings", {"title": long, "registration": "open", "team_size": "1"}),
    ):
        answer = post(owner, path, **form)
        said = flash(answer) if answer.status_code == 303 else answer.text
        assert re.search("20[01] characters", said) and answer.status_code in (303, 422), path
        assert answer.status_code == 303 or "<!doctype html>" in said
        nul = post(owner, path, **{**form, "title": "a\x00b"})
        assert nul.status_code < 500, path


def test_a_baseline_that_ships_with_anyshot_says_so_after_its_first_run(site: Site) -> None:
    with site.services.database.writing() as session:
        where = site.competition(session).id
        session.add(Baseline(competition_id=where, slug="r", name="Random", builtin="random"))
    assert "ships with Anyshot" in page(site.owner(), f"{BASE}/baselines").text
    with site.services.database.writing() as session:
        session.query(Baseline).one().digest = session.query(Blob.digest).limit(1).scalar()
    assert "ships with Anyshot" in page(site.owner(), f"{BASE}/baselines").text
