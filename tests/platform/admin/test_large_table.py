"""The table of submissions with 100,000 rows: every sort, filter and page works, and reads one page of rows."""

import secrets
import time
from datetime import timedelta

import pytest
from sqlalchemy import insert, select

from anyshot_platform.contest.competitions.models import Membership
from anyshot_platform.foundation.artifacts.models import Blob
from anyshot_platform.foundation.database import new_id, now
from anyshot_platform.judging.submissions.actions.organizing import (
    PAGE_SIZE,
    SubmissionFilter,
    find_submissions,
    pick,
)
from anyshot_platform.judging.submissions.models import Submission
from tests.platform.site import Site

ROWS = 100_000


def fill(site: Site) -> None:
    """A hundred thousand submissions of one team."""
    with site.services.database.writing() as session:
        competition = site.competition(session)
        member = session.scalars(select(Membership).where(Membership.competition_id == competition.id)).one()
        session.add(Blob(digest="0" * 64, size=1))
        session.flush()
        start, today = now() - timedelta(days=90), now().date()
        rows = [
            {
                "id": new_id()[:12] + secrets.token_hex(10),
                "competition_id": competition.id,
                "phase_id": site.phase_id,
                "team_id": member.team_id,
                "user_id": member.user_id,
                "kind": "entry",
                "number": number,
                "digest": "0" * 64,
                "size": number,
                "status": "failed" if number % 10 == 0 else "finished",
                "cause": "participant" if number % 10 == 0 else None,
                "score": None if number % 10 == 0 else number / ROWS,
                "quota_day": today,
                "created_at": start + timedelta(seconds=number),
            }
            for number in range(ROWS)
        ]
        session.execute(insert(Submission), rows)


@pytest.mark.slow("a hundred thousand rows")
def test_a_hundred_thousand_rows(site: Site) -> None:
    fill(site)
    with site.services.database.reading() as session:
        competition = site.competition(session)
        taken = {}
        for name, wanted, number in (
            ("newest", SubmissionFilter(), 1),
            ("last page", SubmissionFilter(), ROWS // PAGE_SIZE),
            ("best", SubmissionFilter(sort="-score"), 1),
            ("failed", SubmissionFilter(status="failed", phase="feedback"), 3),
            ("by team", SubmissionFilter(text="olga"), 1),
        ):
            begun = time.perf_counter()
            rows, page = find_submissions(session, competition, wanted, number)
            taken[name] = time.perf_counter() - begun
            assert len(rows) == PAGE_SIZE, name
            assert page.total == (ROWS // 10 if name == "failed" else ROWS)
        best, _ = find_submissions(session, competition, SubmissionFilter(sort="-score"), 1)
        assert best[0].submission.number == ROWS - 1
        last, _ = find_submissions(session, competition, SubmissionFilter(sort="score"), ROWS // PAGE_SIZE)
        assert last[-1].submission.score is None
        assert len(pick(session, competition, [], SubmissionFilter(status="failed"))) == ROWS // 10
    print({name: f"{1000 * seconds:.0f} ms" for name, seconds in taken.items()})
