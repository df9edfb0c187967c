"""The table of one's own submissions: filters, orders, and notes and tags that only the team edits."""

import html
import re

from sqlalchemy import select
from sqlalchemy.orm import Session

from anyshot_platform.contest.phases.models import Phase, PhaseVersion
from anyshot_platform.judging.scores.models import SubmissionScore
from anyshot_platform.judging.submissions.models import Submission, SubmissionTag
from anyshot_platform.people.teams.models import Team
from anyshot_platform.standings.entries.service import stand
from tests.platform.web.conftest import Visitor
from tests.platform.web.scene import Scene


def _numbers(page: str) -> list[int]:
    return [int(number) for number in re.findall(r">#(\d+) [\w.-]+</a>", page)]


def test_the_table_is_narrowed_and_ordered(visitor: Visitor, scene: Scene) -> None:
    with visitor.services.database.writing() as session:
        session.add(SubmissionTag(submission_id=scene.submissions["finished"].id, tag="wide"))
    visitor.sign_in(scene.ada)
    for base in ("/submissions", f"/competitions/{scene.competition.slug}/submissions"):
        assert _numbers(visitor.see(base)) == [6, 5, 4, 3, 2, 1]
        assert _numbers(visitor.see(f"{base}?sort=oldest")) == [1, 2, 3, 4, 5, 6]
        assert _numbers(visitor.see(f"{base}?sort=best"))[:2] == [2, 1]
        assert _numbers(visitor.see(f"{base}?sort=worst"))[:2] == [1, 2]
        assert _numbers(visitor.see(f"{base}?status=failed")) == [4, 3]
        without = visitor.see(f"{base}?status=not-failed")
        assert _numbers(without) == [6, 5, 2, 1]
        assert (
            '<option value="not-failed" selected>Without failed and cancelled</option>' in without
            and "Clear" in without
        )
        assert _numbers(visitor.see(f"{base}?q=BACKBONE")) == [6]
        assert _numbers(visitor.see(f"{base}?q=first.zip&status=finished")) == [1]
        assert _numbers(visitor.see(f"{base}?q=%23WID")) == _numbers(visitor.see(f"{base}?q=wide")) == [2]
        empty = visitor.see(f"{base}?q=nothing-like-it")
        assert "No submission matches" in empty and "Clear" in empty and 'type="search"' in empty
        visitor.see(f"{base}?sort=colour", 422)


def test_an_order_by_score_tells_nothing_where_scores_are_hidden(visitor: Visitor, scene: Scene) -> None:
    with visitor.services.database.writing() as session:
        session.get_one(Phase, scene.phase.id).scores_visible = False
    visitor.sign_in(scene.ada)
    assert _numbers(visitor.see("/submissions?sort=worst")) == [6, 5, 4, 3, 2, 1]


def _marked(page: str, mark: str) -> list[int]:
    rows = re.findall(r"<tr>.*?</tr>", page, re.DOTALL)
    return [number for row in rows if f"</svg>{mark}</span>" in row for number in _numbers(row)]


def test_the_best_and_those_that_count_are_marked(visitor: Visitor, scene: Scene) -> None:
    with visitor.services.database.writing() as session:
        version = session.get_one(PhaseVersion, scene.version.id)
        stand(session, session.get_one(Phase, scene.phase.id), version, session.get_one(Team, scene.team.id))
    visitor.sign_in(scene.ada)
    page = visitor.see(f"/competitions/{scene.competition.slug}/submissions")
    assert (_marked(page, "best"), _marked(page, "counts")) == ([2], [2])
    assert "It stands for the team in: " in page
    with visitor.services.database.writing() as session:
        session.get_one(Phase, scene.phase.id).scores_visible = False
    page = visitor.see(f"/competitions/{scene.competition.slug}/submissions")
    assert (_marked(page, "best"), _marked(page, "counts")) == ([], [2])


def _score_of(session: Session, scene: Scene, name: str) -> SubmissionScore:
    wanted = SubmissionScore.submission_id == scene.submissions[name].id
    return session.scalars(select(SubmissionScore).where(wanted)).one()


def test_of_two_equal_scores_the_earlier_submission_is_the_best(visitor: Visitor, scene: Scene) -> None:
    with visitor.services.database.writing() as session:
        one, other = (_score_of(session, scene, name) for name in ("older", "finished"))
        one.value, one.by_dataset = other.value, other.by_dataset
        session.get_one(Submission, one.submission_id).score = other.value
    visitor.sign_in(scene.ada)
    page = visitor.see(f"/competitions/{scene.competition.slug}/submissions")
    assert _marked(page, "best") == [1]


def test_the_best_is_that_of_the_ranking_rule_and_not_of_the_score_beside_it(
    visitor: Visitor, scene: Scene
) -> None:
    """The second has the higher mean; by the average of the ranks on three datasets the first is ahead of it."""
    with visitor.services.database.writing() as session:
        session.get_one(PhaseVersion, scene.version.id).ranking_rule = "dataset_ranks_worst"
        _score_of(session, scene, "older").by_dataset = {"A": 0.1, "B": 0.2, "C": 0.2}
        _score_of(session, scene, "finished").by_dataset = {"A": 0.9, "B": 0.1, "C": 0.1}
    visitor.sign_in(scene.ada)
    page = visitor.see(f"/competitions/{scene.competition.slug}/submissions")
    assert _marked(page, "best") == [1]
    assert "The ranking rule puts it first of the team's submissions in this phase" in html.unescape(page)


def test_note_and_tags_are_edited_on_the_page_and_lead_to_their_like(visitor: Visitor, scene: Scene) -> None:
    visitor.sign_in(scene.ada)
    path = f"/submissions/{scene.submissions['finished'].id}"
    visitor.send(path, f"{path}/note", comment="wider, <b>longer</b>", tags="Wide, #long")
    page = visitor.see(path)
    assert "wider, &lt;b&gt;longer&lt;/b&gt;" in page and 'href="/submissions?tag=wide">#wide</a>' in page
    assert _numbers(visitor.see("/submissions?tag=wide")) == [2]
    visitor.send(
        path, f"{path}/note", comment="", tags="no good tag because it has far too many letters" + "x" * 40
    )
    assert "cannot be a tag" in visitor.see(path) and "#wide" in visitor.see(path)


def test_only_the_team_edits_its_note(visitor: Visitor, scene: Scene) -> None:
    submission = scene.submissions["finished"]
    path = f"/submissions/{submission.id}"
    visitor.sign_in(scene.organizer)
    assert "Edit note" not in visitor.see(path)
    visitor.send("/account", f"{path}/note", 403, comment="mine", tags="")
    visitor.sign_in(scene.bob)
    visitor.send("/account", f"{path}/note", 404, comment="mine", tags="")
    visitor.sign_in(scene.ada)
    assert "prototypes, pretrained" in visitor.see(path)
