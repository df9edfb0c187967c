"""The organizers' pages over HTTP: what each act does, who may do it, and that it can be undone."""

import base64
import html
import io
import json
import re
import zipfile
from datetime import timedelta

import pyarrow.parquet as pq
import pytest
from httpx2 import Response
from pydantic import BaseModel
from sqlalchemy import select
from sqlalchemy.orm import Session

from anyshot_platform.contest.bundles.reading import read_bundle
from anyshot_platform.contest.competitions.models import Membership
from anyshot_platform.contest.competitions.service import find_membership
from anyshot_platform.contest.competitions.states import MemberStatus, Role
from anyshot_platform.contest.phases.description import PhaseSpec
from anyshot_platform.contest.phases.models import Phase
from anyshot_platform.contest.phases.service import status_of
from anyshot_platform.foundation.database import now
from anyshot_platform.foundation.settings import read_settings
from anyshot_platform.judging.submissions.models import Submission
from anyshot_platform.judging.submissions.states import SubmissionStatus
from anyshot_platform.judging.workers.models import Worker
from anyshot_platform.people.audit.models import AuditEntry
from anyshot_platform.people.users.models import User
from anyshot_platform.running.operations.figures import collect_figures
from tests.platform.site import SLUG, PaperWorker, Person, Site, in_one_line, make_zip

BASE = f"/competitions/{SLUG}/manage"
PAGES = (
    "",
    "/settings",
    "/pages",
    "/pages/new",
    "/phases",
    "/phases/new",
    "/phases/feedback",
    "/phases/feedback/versions/1",
    "/leagues",
    "/baselines",
    "/people",
    "/submissions",
    "/final",
    "/reports",
    "/reports/new/flips",
    "/announcements",
    "/webhooks",
    "/exports",
    "/rehearsals",
    "/audit",
)


def page(person: Person, path: str) -> Response:
    """A page as a browser asks for it."""
    answer = person.call("GET", path, headers={"accept": "text/html"}, follow_redirects=False)
    answer._text = in_one_line(answer.text)
    return answer


def post(person: Person, path: str, **fields: object) -> Response:
    """A form as a browser sends it; the answer is a page or a redirect to one."""
    return person.call("POST", path, data=fields, headers={"accept": "text/html"}, follow_redirects=False)


def flash(answer: Response) -> str:
    """The message that the next page shows."""
    cookie = (answer.cookies.get("anyshot_flash") or "").strip('"')
    return json.loads(base64.urlsafe_b64decode(cookie))[1] if cookie else ""


def acts(site: Site) -> list[str]:
    with site.services.database.reading() as session:
        return list(session.scalars(select(AuditEntry.action).order_by(AuditEntry.id)))


def phase_of(session: Session, slug: str) -> Phase:
    return session.scalars(select(Phase).where(Phase.slug == slug)).one()


def finish(worker: PaperWorker, *means: float) -> None:
    """Complete as many runs as there are scores."""
    for mean in means:
        job = worker.claim()
        assert job is not None
        assert worker.complete(job, mean).status_code == 204


def test_six_entries_lead_to_every_page_of_organizers(site: Site) -> None:
    owner, reviewer = site.owner(), site.member("rita", Role.REVIEWER)

    def links(person: Person, path: str, kind: str) -> dict[str, str]:
        nav = page(person, path).text.partition(f'<nav class="{kind}"')[2].partition("</nav>")[0]
        return {
            re.sub("<.*?>", "", words).strip(): to
            for to, words in re.findall(r'href="(.*?)".*?>(.*?)</a>', nav)
        }

    entries = links(owner, BASE, "sidenav")
    assert list(entries) == ["Home", "Setup", "People", "Submissions", "Results", "More"]
    tabs = {to for entry in entries.values() for to in (entry, *links(owner, entry, "tabs").values())}
    assert tabs >= {BASE + path for path in PAGES if path.count("/") <= 1} | {f"{BASE}/entries"}
    assert list(links(owner, f"{BASE}/audit", "tabs")) == ["Exports", "Webhooks", "Audit log"]
    assert list(links(reviewer, f"{BASE}/audit", "tabs")) == ["Exports", "Audit log"]


def test_phases_open_and_close_by_hand_and_it_is_recorded(site: Site) -> None:
    owner = site.owner()
    for act_name, status in (("pause", "paused"), ("resume", "open"), ("close", "closed"), ("open", "open")):
        assert post(owner, f"{BASE}/phases/feedback/{act_name}").status_code == 303
        with site.services.database.reading() as session:
            assert status_of(phase_of(session, "feedback")) == status
    assert [f"phase.{act_name}" for act_name in ("pause", "resume", "close", "open")] == acts(site)[-4:]
    post(owner, f"{BASE}/phases/feedback/extend", end="2001-01-01T00:00", zone="UTC")
    assert "phase.extend" not in acts(site)
    post(owner, f"{BASE}/phases/feedback/extend", end="2090-01-01T00:00", zone="UTC")
    with site.services.database.reading() as session:
        assert phase_of(session, "feedback").ends_at.year == 2090  # pyright: ignore[reportOptionalMemberAccess]


def test_a_phase_that_is_closed_before_it_begins_has_not_begun(site: Site) -> None:
    """It may still get other keys, and its hidden pools are not published as those of a phase that is over."""
    owner = site.owner()
    with site.services.database.writing() as session:
        phase_of(session, "feedback").starts_at = now() + timedelta(days=3)
    assert post(owner, f"{BASE}/phases/feedback/close").status_code == 303
    redrawn = flash(post(owner, f"{BASE}/phases/feedback/redraw-seeds", confirm="feedback"))
    assert "has begun" not in redrawn and "phase.redraw_seeds" in acts(site)


def phase_form(**changes: object) -> dict[str, object]:
    """The editor's fields for the small competition's phase."""
    return {
        "title": "Feedback",
        "kind": "feedback",
        "start": "2026-01-01T00:00",
        "end": "2090-01-01T00:00",
        "timezone": "UTC",
        "accepts_uploads": "1",
        "tasks.meta_train": "small-train",
        "tasks.meta_test": "small-pool",
        "tasks.protocol.name": "any_way_any_shot",
        "tasks.count": "10",
        "scoring.runs": "1",
        "scoring.ranking": "worst_run",
        "scoring.board_shows": "last",
        "budget.run": "10min",
        "quota.per_day": "3",
        "quota.total": "",
        "quota.running": "3",
        "quota.cancelled_counts": "1",
        "shown.scores": "1",
        "shown.logs": "meta_train",
        "shown.board": "everyone",
        **changes,
    }


def test_the_editor_has_every_switch_of_a_phase(site: Site) -> None:
    """A switch that the form leaves out would be turned off by saving something else."""
    text = page(site.owner(), f"{BASE}/phases/feedback").text
    parts = {name: field.annotation for name, field in PhaseSpec.model_fields.items()}
    switches = [
        f"{part}.{name}"
        for part, kind in parts.items()
        if isinstance(kind, type) and issubclass(kind, BaseModel)
        for name, field in kind.model_fields.items()
        if field.annotation is bool
    ]
    assert len(switches) > 10 and not [name for name in switches if f'name="{name}"' not in text]


def test_a_phase_with_submissions_refuses_incomparable_changes_and_offers_a_version(
    site: Site,
) -> None:
    owner, worker = site.owner(), site.worker()
    pia = site.member("pia")
    submission = pia.submit().json()["id"]
    finish(worker, 0.5)
    assert post(owner, f"{BASE}/phases/feedback", **phase_form(**{"quota.per_day": "9"})).status_code == 303
    refused = post(owner, f"{BASE}/phases/feedback", **phase_form(**{"tasks.count": "20"}))
    text = " ".join(html.unescape(refused.text).split())
    assert "would make their scores incomparable: Data and tasks > Tasks a run. Create a new version" in text
    drafted = post(owner, f"{BASE}/phases/feedback", act="version", **phase_form(**{"tasks.count": "20"}))
    assert drafted.headers["location"].endswith("/versions/2")
    version = f"{BASE}/phases/feedback/versions/2"
    words = "Not possible: the predictions were made under other settings: Data and tasks > Tasks a run."
    assert words in " ".join(html.unescape(page(owner, version).text).split())
    assert "Not possible" in flash(post(owner, f"{version}/rescore", mode="score"))
    assert flash(post(owner, f"{version}/rescore", mode="everything")) == "1 run is queued."
    assert "has not ended" in flash(post(owner, f"{version}/make-live", confirm="feedback"))
    finish(worker, 0.25)
    assert site.submission(submission).score == 0.5
    side_by_side = page(owner, version).text
    assert "0.500" in side_by_side
    assert "0.250" in side_by_side
    assert flash(post(owner, f"{version}/make-live", confirm="feedback")) == "Version 2 is live."
    assert site.submission(submission).score == 0.25
    assert site.board("free")["rows"][0]["score"] == pytest.approx(0.25)


def test_the_editor_shows_every_mistake_at_its_field(site: Site) -> None:
    owner = site.owner()
    wrong = {"end": "2025-01-01T00:00", "timezone": "Mars/Olympus", "budget.run": "soon", "tasks.count": "0"}
    answer = post(owner, f"{BASE}/phases/feedback", **phase_form(**wrong))
    for words in (
        "There is no time zone Mars/Olympus",
        "write a duration",
        "This must be at least 1, not “0”",
    ):
        assert words in answer.text
    spring = {"end": "2026-03-29T02:30", "timezone": "Europe/Paris"}
    skipped = "Clocks in Europe/Paris skip 02:30 on 2026-03-29; the next one is 03:30."
    assert skipped in post(owner, f"{BASE}/phases/feedback", **phase_form(**spring)).text
    moved = post(owner, f"{BASE}/phases/feedback/extend", end=spring["end"], zone=spring["timezone"])
    assert skipped in flash(moved)
    forged = post(owner, f"{BASE}/phases/feedback", **phase_form(**{"scoring.ranking": "by_beauty"}))
    assert "There is no rule" in forged.text
    stolen = post(owner, f"{BASE}/phases/feedback", **phase_form(**{"tasks.meta_test": "no-such-pool"}))
    assert "There is no pool no-such-pool that you may use" in stolen.text


def test_bulk_acts_say_to_how_many_and_are_undone(site: Site) -> None:
    owner, worker = site.owner(), site.worker()
    ids = [site.member(name).submit().json()["id"] for name in ("pia", "quin", "rob")]
    finish(worker, 0.1, 0.2, 0.3)
    asked = post(owner, f"{BASE}/submissions/acts", act="disqualify", everything="1", filter_phase="feedback")
    assert "Disqualify 3 submissions?" in asked.text and "Reason (the team sees it)" in asked.text
    assert "0.300" in page(owner, f"{BASE}/submissions?sort=-score").text
    fields = {"act": "disqualify", "confirmed": "1", "reason": "copied", "id": ids[:2]}
    done = post(owner, f"{BASE}/submissions/acts", **fields)
    assert "Undo: lift the disqualification of 2 submissions" in done.text
    assert [row["score"] for row in site.board("free")["rows"]] == [pytest.approx(0.3)]
    undone = post(owner, f"{BASE}/submissions/acts", act="qualify", confirmed="1", id=ids[:2])
    assert "2 submissions" in undone.text
    (form,) = re.findall(r"<form method=\"post\"[^<>]*/submissions/acts\">.*?</form>", undone.text, re.S)
    assert 'value="disqualify"' in form and "confirmed" not in form, (
        "the team would read why: the organizer says it"
    )
    assert len(site.board("free")["rows"]) == 3
    assert "Give the reason" in flash(
        post(owner, f"{BASE}/submissions/acts", act="disqualify", confirmed="1", id=ids)
    )
    other = site.person("sam")
    assert post(other, f"{BASE}/submissions/acts", act="delete", confirmed="1", id=ids).status_code == 403


def waiting_people(site: Site, *names: str) -> dict[str, str]:
    """Members who wait to be admitted: their ids by name."""
    people = {site.member(name).id: name for name in names}
    with site.services.database.writing() as session:
        members = session.scalars(select(Membership).where(Membership.user_id.in_(people))).all()
        for member in members:
            member.status = MemberStatus.PENDING
        return {people[member.user_id]: member.id for member in members}


def test_all_who_wait_are_approved_in_two_steps(site: Site) -> None:
    owner = site.owner()
    ids = waiting_people(site, "pia", "quin", "rob")
    site.member("sam")
    table = page(owner, f"{BASE}/people?status=pending").text
    assert "Approve all who wait (3)" in table and table.count('form="many"') == 3
    asked = post(owner, f"{BASE}/people/acts", act="approve", everything="1", filter_status="pending").text
    assert "Approve 3 people?" in asked and "3 people will get a message about it." in asked
    sent = re.findall('name="id" value="([^"]+)"', asked)
    assert sorted(sent) == sorted(ids.values()) and acts(site).count("member.approve") == 0
    done = post(owner, f"{BASE}/people/acts", act="approve", confirmed="1", id=[*sent, *sent[:1]]).text
    assert "Approve: 3 people." in done and acts(site).count("member.approve") == 3
    assert "Approve all who wait" not in page(owner, f"{BASE}/people").text
    (undo,) = re.findall(r"<form method=\"post\"[^<>]*/people/acts\">.*?</form>", done, re.S)
    assert 'value="reject"' in undo and "confirmed" not in undo, "they read why: the organizer says it"
    again = post(owner, f"{BASE}/people/acts", act="approve", confirmed="1", id=sent).text
    assert '<a href="../people?q=pia">pia</a>: This person is a participant already.' in again


def test_the_overview_says_what_waits_and_what_comes_next(site: Site) -> None:
    owner = site.owner()
    assert "People who wait" not in page(owner, BASE).text
    waiting_people(site, "pia", "quin")
    site.member("rob").submit()
    site.set_phase(ends_at=now() + timedelta(days=3))
    with site.services.database.writing() as session:
        submission = session.scalars(select(Submission)).one()
        submission.status, submission.finished_at = SubmissionStatus.FAILED, now()
    seen = " ".join(page(owner, BASE).text.split())
    assert f'<a href="{BASE}/people?status=pending">People who wait to be approved: 2</a>' in seen
    assert (
        f'<a href="{BASE}/submissions?status=failed">Submissions that failed in the last 24 hours: 1</a>'
        in seen
    )
    assert "Feedback ends <time" in seen and "0 in the 7 days before" in seen
    assert 'name="end" value="20' in seen, "the end of a phase moves without its editor"


def test_what_the_settings_made_fail_waits_for_the_organizers_until_they_run_it_again(site: Site) -> None:
    """Its team was told that it runs again by itself, which nothing ever did."""
    owner, rob, worker = site.owner(), site.member("rob"), site.worker()
    submission = rob.submit().json()["id"]
    job = worker.claim()
    assert job is not None and worker.fail(job, "BAD_POOL", "no such pool").status_code == 204
    assert (
        "They can start it again once they have corrected them."
        in page(rob, f"/submissions/{submission}").text
    )
    waiting = "Submissions that the settings made fail, to be run again: 1"
    assert waiting in " ".join(page(owner, BASE).text.split())
    assert submission in page(owner, f"{BASE}/submissions?status=failed&cause=organizer").text
    post(owner, f"{BASE}/submissions/acts", act="rerun", confirmed="1", id=submission)
    assert waiting not in " ".join(page(owner, BASE).text.split())


def test_organizers_act_on_a_submission_where_they_see_it(site: Site) -> None:
    owner, pia = site.owner(), site.member("pia")
    path = f"/submissions/{pia.submit().json()['id']}"
    finish(site.worker(), 0.5)
    seen = page(owner, path).text
    assert f'href="{BASE}/submissions?q=' in seen
    offered = re.findall(r'name="act" value="(\w+)"', seen)
    assert offered == ["rerun", "rescore", "disqualify", "refund", "delete"]
    asked = post(owner, f"{BASE}/submissions/acts", act="rerun", id=path.rpartition("/")[2]).text
    assert "Run again 1 submission?" in asked
    reviewer = page(site.member("rita", Role.REVIEWER), path).text
    assert f'href="{BASE}/submissions?q=' in reviewer and 'name="act"' not in reviewer
    assert "/manage" not in page(pia, path).text


def test_one_s_competitions_come_first_and_organize_is_in_every_menu(site: Site) -> None:
    seen = page(site.owner(), "/organize").text
    assert seen.index(f'href="{BASE}"') < seen.index("Import a bundle") and SLUG in seen
    assert page(site.owner(), "/").text.count('href="/organize"') == 3
    assert 'href="/organize"' not in site.client.get("/").text


def test_a_failed_attempt_leads_to_its_submission(site: Site) -> None:
    path = f"/submissions/{site.member('pia').submit().json()['id']}"
    worker = site.worker()
    job = worker.claim()
    assert job is not None
    worker.fail(job, "RUNTIME_ERROR")
    admin = site.person("ruth", is_site_admin=True)
    seen = page(admin, "/admin").text
    attempts = seen[seen.index("Failed attempts") :]
    assert f'href="{path}"' in attempts and f'href="{BASE}"' in attempts and "pia" in attempts


def test_who_waits_for_a_paused_worker_is_told(site: Site) -> None:
    pia = site.member("pia")
    assert site.worker().claim() is None, "it is known from now on"
    path = f"/submissions/{pia.submit().json()['id']}"
    assert "no worker can take" not in page(pia, path).text
    with site.services.database.writing() as session:
        session.scalars(select(Worker)).one().paused_at = now()
    assert "Next in the queue, but no worker can take it now." in page(pia, path).text


def test_two_drafts_may_have_one_title(site: Site) -> None:
    owner = site.owner()
    made = [post(owner, "/organize/new", title="Few-shot 日本語", slug=slug) for slug in ("", "", "nihongo")]
    at = [answer.headers["location"].split("/")[2] for answer in made]
    assert at[1:] == [f"{at[0]}-2", "nihongo"]
    assert 'id="draft-slug"' in page(owner, "/organize").text


def test_a_paused_worker_serves_no_queue(site: Site) -> None:
    def measured() -> float | None:
        with site.services.database.reading() as session:
            return collect_figures(session).get_sample_value("anyshot_workers", {"hardware_class": "cpu"})

    assert site.worker().claim() is None
    admin = site.person("ruth", is_site_admin=True)
    queues = re.search(r'aria-label="Queues".*?</table>', page(admin, "/admin").text, re.S)
    assert queues is not None and ">none<" not in queues[0] and measured() == 1
    with site.services.database.writing() as session:
        session.scalars(select(Worker)).one().paused_at = now()
    queues = re.search(r'aria-label="Queues".*?</table>', page(admin, "/admin").text, re.S)
    assert queues is not None and ">none<" in queues[0] and measured() == 0


def test_links_in_mails_have_the_port_that_was_asked_for() -> None:
    known = {"secret_key": "x" * 40}
    assert read_settings(**known, port=8123).base_url == "http://127.0.0.1:8123"
    assert read_settings(**known, port=8123, base_url="https://e.org").base_url == "https://e.org"
    assert read_settings(**known).base_url == "http://127.0.0.1:8000"


def test_who_has_submitted_is_banned_by_name_and_never_in_a_row(site: Site) -> None:
    owner, pia = site.owner(), site.member("pia")
    pia.submit()
    site.member("spam")
    fields = {"act": "ban", "everything": "1", "filter_role": "participant"}
    asked = post(owner, f"{BASE}/people/acts", **fields).text
    assert "Ban 1 person?" in asked and "1 person: It asks for the name: do it by itself." in asked
    assert "Give the reason" in flash(post(owner, f"{BASE}/people/acts", **fields, confirmed="1"))
    done = post(owner, f"{BASE}/people/acts", **fields, confirmed="1", reason="robots").text
    assert "Ban: 1 person." in done and "people?q=pia" in done
    with site.services.database.reading() as session:
        states = dict(session.execute(select(User.username, Membership.status).join(Membership.user)).all())
    assert (states["pia"], states["spam"]) == (MemberStatus.APPROVED, MemberStatus.BANNED)
    assert post(pia, f"{BASE}/people/acts", **fields, confirmed="1").status_code == 403
    assert flash(post(owner, f"{BASE}/people/acts", act="approve")) == "Tick rows of the table first."
    assert flash(post(owner, f"{BASE}/people/acts", act="role")) == "Choose what to do."


def test_people_are_banned_and_let_back(site: Site) -> None:
    owner, worker = site.owner(), site.worker()
    pia = site.member("pia")
    pia.submit()
    finish(worker, 0.4)
    with site.services.database.reading() as session:
        submission = session.scalars(select(Submission)).one()
        member = find_membership(session, submission.competition_id, pia.id)
        assert member is not None
        path = f"{BASE}/people/{member.id}"
    asked = post(owner, f"{path}/ban", reason="two accounts")
    assert "1 submission of this person is disqualified" in asked.text
    banned = post(owner, f"{path}/ban", reason="two accounts", confirm="pia")
    assert flash(banned) == "Banned; “Lift the ban” undoes it."
    (button,) = re.findall(
        rf'action="{path}/approve".*?</form>', page(owner, f"{BASE}/people").text, re.DOTALL
    )
    assert "Lift the ban" in button and "Approve" not in button
    assert site.board("free")["rows"] == []
    assert pia.submit(make_zip(salt="again")).status_code == 403
    post(owner, f"{path}/approve")
    assert len(site.board("free")["rows"]) == 1
    post(owner, f"{path}/quota", day="5", phase="0", reason="asked")
    post(owner, f"{path}/note", note="met at the conference")
    assert "met at the conference" in page(owner, f"{BASE}/people").text
    assert acts(site)[-4:] == ["member.ban", "member.approve", "team.change", "member.note"]


def test_a_final_phase_from_preview_to_publication(site: Site) -> None:
    owner, worker = site.owner(), site.worker()
    people = {name: site.member(name) for name in ("pia", "quin", "rob")}
    for person in people.values():
        assert person.submit().status_code == 201
    finish(worker, 0.9, 0.6, 0.2)
    final = phase_form(
        title="Final", key="final", kind="final", **{"entries.phase": "feedback", "scoring.runs": "3"}
    )
    final |= {"shown.board": "organizers", "shown.after_publishing": "1"}
    del final["accepts_uploads"]
    assert post(owner, f"{BASE}/phases/new", **final).status_code == 303
    post(owner, f"{BASE}/baselines/gates", phase="final", league="free", score="0.5", note="by hand")
    preview = page(owner, f"{BASE}/final").text
    assert "Launch 2 entries" in preview
    assert "0.200 does not beat the gate of 0.500" in preview
    site.set_phase(ends_at=now() - timedelta(minutes=1))
    assert "Launch" not in flash(post(owner, f"{BASE}/final/final/launch", expected="7"))
    assert flash(post(owner, f"{BASE}/final/final/launch", expected="2")) == "2 entries are queued."
    assert (
        flash(post(owner, f"{BASE}/final/final/launch", expected="0"))
        == "All entries are launched already (2)."
    )
    by_team = {0.9: (0.8, 0.7, 0.75), 0.6: (0.65, 0.72, 0.71)}
    with site.services.database.reading() as session:
        finals = session.scalars(select(Submission).where(Submission.kind == "final")).all()
        scores = {s.id: list(by_team[session.get_one(Submission, s.origin_id).score]) for s in finals}  # pyright: ignore[reportArgumentType]
    for _ in range(6):
        job = worker.claim()
        assert job is not None
        worker.complete(job, scores[job["submission_id"]].pop())
    path = f"/api/v1/competitions/{SLUG}/phases/final/leaderboard?league=free"
    assert site.client.get(path).status_code in (403, 404)
    looked = page(owner, f"{BASE}/final").text
    assert "0.700" in looked
    assert "0.650" in looked
    flash(post(owner, f"{BASE}/final/final/publish", winners="1", confirm="final"))
    board = site.client.get(path).json()["rows"]
    assert [row["score"] for row in board] == [pytest.approx(0.7), pytest.approx(0.65)]
    post(owner, f"{BASE}/final/final/unpublish")
    assert site.client.get(path).status_code in (403, 404)
    assert [act for act in acts(site) if act.startswith("final.")][-2:] == [
        "final.publish",
        "final.unpublish",
    ]


def test_exports_are_complete_and_the_bundle_is_imported_again(site: Site) -> None:
    owner, worker = site.owner(), site.worker()
    site.member("pia").submit()
    finish(worker, 0.4)
    for table in ("submissions", "leaderboards", "results"):
        for form in ("csv", "json", "parquet"):
            answer = owner.call("GET", f"{BASE}/exports/{table}.{form}")
            assert answer.status_code == 200, (table, form)
    rows = owner.call("GET", f"{BASE}/exports/leaderboards.json").json()
    assert [(row["league"], row["rank"], row["team"], row["score"]) for row in rows] == [
        ("free", 1, "pia", 0.4)
    ]
    parquet = owner.call("GET", f"{BASE}/exports/submissions.parquet").content
    assert pq.read_table(io.BytesIO(parquet)).num_rows == 1
    archive = zipfile.ZipFile(io.BytesIO(owner.call("GET", f"{BASE}/exports/archive.zip").content))
    assert {"README.md", "bundle.zip", "results.parquet", "reproduce.py"} <= set(archive.namelist())
    whole = post(owner, f"{BASE}/bundle-with-seeds", confirm=SLUG).content
    assert read_bundle(whole).spec.phases[0].tasks.test_seeds == [94]
    answer = owner.call(
        "POST",
        "/organize/import",
        data={"slug": "copy"},
        files={"bundle": ("copy.zip", whole)},
        headers={"accept": "text/html"},
    )
    assert answer.status_code == 200, answer.text
    again = post(owner, "/competitions/copy/manage/bundle-with-seeds", confirm="copy").content
    assert read_bundle(again).spec == read_bundle(whole).spec.model_copy(update={"slug": "copy"})


def test_a_broken_bundle_is_shown_with_all_its_problems(site: Site) -> None:
    owner = site.owner()
    broken = make_zip({"competition.yaml": b"anyshot: 1\nslug: Bad Slug\nfases: []\n"})
    answer = owner.call(
        "POST", "/organize/import", files={"bundle": ("x.zip", broken)}, headers={"accept": "text/html"}
    )
    assert answer.status_code == 422
    for words in (
        "line 2: slug",
        "did you mean `phases`?",
        "title: this key is needed",
        "Nothing was imported",
    ):
        assert words in answer.text.replace("&#39;", "'"), words


def test_ten_seeds_of_a_baseline_propose_the_gate(site: Site) -> None:
    owner, worker = site.owner(), site.worker()
    files = {"file": ("proto.zip", make_zip(salt="baseline"))}
    added = owner.call(
        "POST",
        f"{BASE}/baselines",
        data={"name": "Proto", "leagues": "free"},
        files=files,
        headers={"accept": "text/html"},
        follow_redirects=False,
    )
    assert flash(added) == "The baseline is kept."
    assert "10 seeds" in flash(post(owner, f"{BASE}/baselines/proto/measure", phase="feedback"))
    seeds = set()
    for index in range(10):
        job = worker.claim()
        assert job is not None
        seeds.add((job["train_seed"], job["test_seed"]))
        worker.complete(job, 0.30 + index / 100)
    assert len(seeds) == 10
    assert "0.345" in page(owner, f"{BASE}/baselines").text
    assert site.board("free")["rows"] == []
    post(owner, f"{BASE}/baselines/proto/run", phase="feedback")
    finish(worker, 0.31)
    assert [row["rank"] for row in site.board("free")["rows"]] == [None]


def test_competitions_are_deleted_by_name_and_restored(site: Site) -> None:
    owner = site.owner()
    assert "not “smal”" in post(owner, f"{BASE}/delete", confirm="smal").text
    post(owner, f"{BASE}/delete", confirm="small")
    assert site.client.get(f"/competitions/{SLUG}").status_code == 404
    assert "This competition is deleted" in page(owner, BASE).text
    post(owner, f"{BASE}/restore")
    assert site.client.get(f"/competitions/{SLUG}").status_code == 200


def test_who_cannot_be_rejected_is_left_out_of_the_row_with_the_reason(site: Site) -> None:
    owner = site.owner()
    site.member("pia").submit()
    waiting_people(site, "spam")
    asked = post(owner, f"{BASE}/people/acts", act="reject", everything="1").text
    assert "Reject 1 person?" in asked and "1 person will get a message about it." in asked
    role = "Only participants are rejected. Give this person the role participant first."
    entries = "This person is a participant, with 1 submission. Ban them instead."
    assert f"1 person: {role}" in asked and f"1 person: {entries} It asks for the name" in asked
    done = post(owner, f"{BASE}/people/acts", act="reject", everything="1", confirmed="1").text
    assert "Reject: 1 person." in done and role in done and entries in done
    with site.services.database.reading() as session:
        states = dict(session.execute(select(User.username, Membership.status).join(Membership.user)).all())
    assert (states["pia"], states["spam"]) == (MemberStatus.APPROVED, MemberStatus.REJECTED)
