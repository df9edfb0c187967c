"""Acts on leagues, what stands in them, announcements, reports, baselines and files, in each of their states."""

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from anyshot_platform.actions.declaration import Act, ActRequest, Consent, Opts
from anyshot_platform.actions.service import ActRefused, NeedsConsent, carry_out, preview
from anyshot_platform.contest.competitions.actions import file_acts, page_acts
from anyshot_platform.contest.competitions.models import (
    Competition,
    CompetitionFile,
    CompetitionPage,
    Membership,
)
from anyshot_platform.contest.competitions.states import CompetitionState
from anyshot_platform.contest.leagues.actions import acts as league_acts
from anyshot_platform.contest.leagues.actions import entry_acts
from anyshot_platform.contest.leagues.models import League, LeagueEntry
from anyshot_platform.contest.leagues.states import Admission, EntryStatus
from anyshot_platform.contest.phases.models import Phase
from anyshot_platform.contest.phases.states import PhaseKind
from anyshot_platform.contest.pools.models import Pack
from anyshot_platform.foundation.background.models import Trouble
from anyshot_platform.foundation.database import now
from anyshot_platform.judging.reports.actions import acts as report_acts
from anyshot_platform.judging.reports.actions.catalogue import find_kind
from anyshot_platform.judging.reports.actions.service import request_report
from anyshot_platform.judging.reports.models import Report
from anyshot_platform.judging.runs.models import Run
from anyshot_platform.judging.submissions.models import Submission
from anyshot_platform.judging.workers.models import Image, Worker, WorkerRequest, WorkerToken
from anyshot_platform.judging.workers.requests import open_request
from anyshot_platform.judging.workers.tokens import create_worker_token
from anyshot_platform.people.alerts.models import Alert
from anyshot_platform.people.alerts.service import open_alert
from anyshot_platform.people.audit.models import AuditEntry
from anyshot_platform.people.notifications.models import Notification
from anyshot_platform.people.teams.actions import acts as renaming
from anyshot_platform.people.teams.models import Team
from anyshot_platform.people.users.models import User
from anyshot_platform.people.webhooks.models import Webhook, WebhookDelivery
from anyshot_platform.running.announcements import acts as announcement_acts
from anyshot_platform.running.announcements.models import Announcement
from anyshot_platform.running.operations import (
    account_acts,
    alert_acts,
    dead_letter_acts,
    image_acts,
    worker_acts,
)
from anyshot_platform.running.operations.dead_letters import SetAside, find_given_up, give_up
from anyshot_platform.standings.baselines.actions import acts as baseline_acts
from anyshot_platform.standings.baselines.models import Baseline
from anyshot_platform.standings.entries import eligibility
from anyshot_platform.standings.entries.actions import team_acts
from tests.contract.recording import worker_info
from tests.platform.admin.test_any_moment import asking
from tests.platform.admin.test_guarded_acts import log
from tests.platform.admin.test_manage import BASE, finish, flash, page, post
from tests.platform.site import SLUG, Site, make_zip

MANAGE = f"/api/v1/competitions/{SLUG}/manage"
# What each act does in each state: d(one), a(lready so), r(efused), n(ame is asked).
TABLES = {
    "league": {"delete": "d n a", "restore": "a a d"},  # empty, with entries, deleted
    "entry": {"admit": "d a d", "refuse": "d d a"},  # undecided, admitted, refused
    "team": {
        "admit": "d a d r",  # undecided, admitted, refused, and of a league that asks nothing
        "refuse": "d d a r",
        "rename": "d n a r r",  # without submission, with one, called so, another is called so, dissolved
    },
    "announcement": {"add": "d a r", "delete": "d a d", "restore": "a d a"},
    "report": {"cancel": "d a a", "delete": "d d a", "restore": "a a d"},  # queued, cancelled, deleted
    "baseline": {"run": "d a r", "measure": "d d r", "remove": "d d a", "restore": "a a d"},
    "file": {"remove": "d n"},  # shown nowhere, shown on a page
    "page": {
        "delete": "n d",
        "move": "a a",
    },  # of a published competition, of a draft: the only one stays first
    "user": {  # active, blocked, administrator, who may organize, with a second factor, oneself without a session
        "block": "n a n n n r",
        "unblock": "a d a a a a",
        "promote": "n n a n n a",
        "demote": "a a d a a r",
        "let-organize": "d d d a d d",
        "stop-organizing": "a a a d a a",
        "reset-second-factor": "a a a a n a",
        "sign-out": "d d d d d a",
    },
    "image": {"offer": "d a d", "off": "r d a"},  # never offered, offered, off
    "alert": {"close": "d a r"},  # reported, closed, one that closes by itself
    "set_aside": {
        "retry": "d a d r",
        "give-up": "d a a a",
        "retry-all": "d a",
    },  # set aside, being tried, given up, of a removed webhook
    "worker": {
        "pause": "d a d",  # at work, paused, gone
        "resume": "a d a",
        "revoke": "n d a",  # in use, expired without a worker, revoked
        "join": "d a r",  # waits, was let in, one of its name is in use
        "token": "d r d",  # no token of this name, one in use, a revoked one
    },
}


def states(site: Site) -> Iterator[Session]:
    """A session for each state; what is done in it is taken back."""
    while True:
        with site.services.database.writing() as session:
            yield session
            session.rollback()


_ONCE = {"file.remove", "page.delete", "worker.token"}  # they take their object away, or are refused then


def outcome(session: Session, act: Act[Any, Opts], subject: Any, wish: ActRequest[Opts]) -> str:
    """What becomes of an act; done or not, a second time changes nothing, and the log holds what was done once."""
    shown, word, logged = preview(session, act, subject, wish), "d", len(list(_log(session, act)))
    assert shown.undo and (shown.done or shown.refused or shown.does)
    try:
        done = carry_out(session, act, subject, wish)
    except ActRefused as error:
        assert error.message and len(list(_log(session, act))) == logged
        return "r"
    except NeedsConsent:
        done, word = carry_out(session, act, subject, wish, Consent(shown.name, override=True)), "n"
    session.flush()
    assert done.message and len(list(_log(session, act))) == logged + done.changed
    if done.changed and act.key not in (
        "file.remove",
        "page.delete",
        "worker.token",
    ):  # which take their object away, or are refused then
        assert not carry_out(session, act, subject, wish).changed, f"{act.key} does more the second time"
    return word if done.changed else "a"


def _log(session: Session, act: Act[Any, Any]) -> Iterator[Any]:
    yield from session.query(AuditEntry).filter_by(action=act.key)


def hold(
    site: Site,
    kind: str,
    acts: Mapping[str, Act[Any, Any]],
    in_state: tuple[Callable[[Session], Any], ...],
    **wishes: Any,
) -> None:
    """Hold each act of a kind against its row of the table."""
    for name, act in acts.items():
        wish = asking(site.owner_id, act, "why", **wishes)
        tried = zip(in_state, states(site), strict=False)
        found = [outcome(session, act, make(session), wish) for make, session in tried]
        assert " ".join(found) == TABLES[kind][name], (kind, name)


def _changed(row: Any, session: Session, **values: Any) -> Any:
    for name, value in values.items():
        setattr(row, name, value)
    session.flush()
    return row


def test_acts_on_a_league(site: Site) -> None:
    site.member("pia").submit(leagues=["free"])
    finish(site.worker(), 0.5)

    def league(session: Session, slug: str, **values: Any) -> League:
        return _changed(session.query(League).filter_by(slug=slug).one(), session, **values)

    hold(
        site,
        "league",
        league_acts.ACTS,
        (
            lambda s: league(s, "scratch"),
            lambda s: league(s, "free"),
            lambda s: league(s, "free", deleted_at=now()),
        ),
    )


def test_a_league_with_entries_is_hidden_by_name_and_comes_back(site: Site) -> None:
    owner = site.owner()
    site.member("pia").submit(leagues=["free"])
    finish(site.worker(), 0.5)
    asked = " ".join(post(owner, f"{BASE}/leagues/free/delete").text.split())
    assert "with the entries of 1 team on them" in asked and "Restore it: nothing is lost." in asked
    assert post(owner, f"{BASE}/leagues/free/delete", confirm="free").status_code == 303
    assert (
        site.client.get(f"/api/v1/competitions/{SLUG}/phases/feedback/leaderboard?league=free").status_code
        == 404
    )
    assert flash(post(owner, f"{BASE}/leagues/free/restore")) == "“Free style” is back."
    assert [row["team"] for row in site.board("free")["rows"]] == ["pia"]


def test_acts_on_a_submission_in_a_league(site: Site) -> None:
    submission = site.member("pia").submit(leagues=["scratch"]).json()["id"]

    def judged(session: Session, **values: Any) -> entry_acts.Judged:
        entry = session.query(LeagueEntry).filter_by(submission_id=submission).one()
        _changed(entry, session, **values)
        return entry_acts.find_judged(session, site.competition(session), submission, entry.league_id)

    decided = [
        {"status": status, "decided_at": now()} for status in (EntryStatus.ADMITTED, EntryStatus.REFUSED)
    ]
    hold(
        site,
        "entry",
        entry_acts.ACTS,
        (judged, lambda s: judged(s, **decided[0]), lambda s: judged(s, **decided[1])),
    )


def test_acts_on_a_team_in_a_league(site: Site) -> None:
    site.member("pia")

    def applicant(
        session: Session, before: Act[Any, Any] | None = None, *, asks: bool = True
    ) -> team_acts.Applicant:
        league = session.query(League).filter_by(slug="free").one()
        _changed(league, session, admission=Admission.APPROVAL, every_member_qualifies=asks)
        team = session.query(Team).filter_by(name="pia").one()
        pia = session.scalars(select(Membership).where(Membership.team_id == team.id)).one()
        if asks:
            eligibility.answer(session, league, pia, {"qualifies": "yes"})
        found = team_acts.find_applicant(session, site.competition(session), league, team.id)
        if before is not None:
            carry_out(session, before, found, ActRequest(site.owner_id))
        return found

    hold(
        site,
        "team",
        team_acts.ACTS,
        (
            applicant,
            lambda s: applicant(s, team_acts.ADMIT),
            lambda s: applicant(s, team_acts.REFUSE),
            lambda s: applicant(s, asks=False),
        ),
    )


def test_renaming_a_team(site: Site) -> None:
    site.member("pia")
    site.member("ben")
    site.member("ada").submit()

    def team(session: Session, called: str, **values: Any) -> Team:
        return _changed(session.query(Team).filter_by(name=called).one(), session, **values)

    hold(
        site,
        "team",
        renaming.ACTS,
        (
            lambda s: team(s, "pia"),
            lambda s: team(s, "ada"),
            lambda s: team(s, "pia", name="Beta", name_key="beta"),
            lambda s: (team(s, "ben", name_key="beta"), team(s, "pia"))[1],
            lambda s: team(s, "pia", deleted_at=now()),
        ),
        name="Beta",
    )


def test_acts_on_announcements(site: Site) -> None:
    def said(session: Session, title: str = "Soon", **values: Any) -> Announcement:
        row = Announcement(
            competition_id=site.competition(session).id, title=title, body="", created_by=site.owner_id
        )
        session.add(row)
        return _changed(row, session, **values)

    def to_all(session: Session, title: str, state: CompetitionState) -> Competition:
        said(session, title)
        return _changed(site.competition(session), session, state=state)

    public, draft = CompetitionState.PUBLISHED, CompetitionState.DRAFT
    hold(
        site,
        "announcement",
        {"add": announcement_acts.ADD},
        (
            lambda s: to_all(s, "Else", public),
            lambda s: to_all(s, "Now", public),
            lambda s: to_all(s, "Else", draft),
        ),
        title="Now",
        body="",
    )
    hold(
        site,
        "announcement",
        announcement_acts.ACTS,
        (said, lambda s: said(s, deleted_at=now()), lambda s: said(s, title="Other")),
    )


def test_nobody_writes_to_a_draft_what_is_refused_then(site: Site) -> None:
    """The form took a text that was lost when it was sent."""
    owner = site.owner()
    assert "Announce to all participants" in page(owner, f"{BASE}/announcements").text
    with site.services.database.writing() as session:
        site.competition(session).state = CompetitionState.DRAFT
    shown = page(owner, f"{BASE}/announcements").text
    assert (
        "Nobody gets announcements of a draft: publish the competition first." in shown
        and "<textarea" not in shown
    )


def test_what_is_announced_twice_is_told_once(site: Site) -> None:
    owner = site.owner()
    site.member("pia")
    assert "Told at once: 2 members of the competition." in " ".join(
        page(owner, f"{BASE}/announcements").text.split()
    )
    for answer in ("Announced on the page and by e-mail.", "This was announced at"):
        assert flash(post(owner, f"{BASE}/announcements", title="Soon", body="In a week.")).startswith(answer)
    again = owner.call(
        "POST", f"{MANAGE}/announcements/acts/add", json={"title": "Soon", "body": "In a week."}
    )
    assert (again.status_code, len(owner.call("GET", f"{MANAGE}/announcements").json())) == (200, 1)
    with site.services.database.reading() as session:
        assert session.query(Notification).filter_by(kind="announcement").count() == 2


def test_acts_on_a_report(site: Site) -> None:
    def report(session: Session, *before: str, **values: Any) -> Report:
        session.query(Pack).update({"images": 400})
        phase = session.get_one(Phase, site.phase_id)
        found, _ = request_report(
            session, site.competition(session), phase, find_kind("diversity"), site.owner_id
        )
        session.flush()
        session.refresh(found)
        for name in before:
            carry_out(session, report_acts.ACTS[name], found, ActRequest(site.owner_id))
        return _changed(found, session, **values)

    hold(
        site,
        "report",
        report_acts.ACTS,
        (report, lambda s: report(s, "cancel"), lambda s: report(s, "delete")),
    )


def kept_baseline(site: Site) -> None:
    owner = site.owner()
    upload = owner.upload(make_zip(salt="a baseline"))
    made = {"name": "Proto", "upload_id": upload, "leagues": ["free"]}
    assert owner.call("POST", f"{MANAGE}/baselines", json=made).status_code == 201


def test_acts_on_a_baseline(site: Site) -> None:
    kept_baseline(site)

    def row(session: Session, **values: Any) -> Baseline:
        return _changed(session.query(Baseline).one(), session, **values)

    def playable(session: Session, *, queued: bool = False, **values: Any) -> baseline_acts.Playable:
        found = baseline_acts.Playable(row(session, **values), site.services)
        if queued:
            carry_out(
                session, baseline_acts.RUN, found, asking(site.owner_id, baseline_acts.RUN, phase="feedback")
            )
        return found

    hold(
        site,
        "baseline",
        baseline_acts.RUNS,
        (playable, lambda s: playable(s, queued=True), lambda s: playable(s, deleted_at=now())),
        phase="feedback",
    )
    hold(site, "baseline", baseline_acts.ACTS, (row, row, lambda s: row(s, deleted_at=now())))


def test_a_baseline_is_queued_once_and_comes_back_after_it_was_removed(site: Site) -> None:
    """Two clicks queue one run; a name that a removed one has is no error of the database."""
    owner = site.owner()
    kept_baseline(site)
    first = owner.call("POST", f"{MANAGE}/baselines/proto/acts/run", json={"phase": "feedback"})
    again = owner.call("POST", f"{MANAGE}/baselines/proto/acts/run", json={"phase": "feedback"})
    assert (first.status_code, first.json()["runs"], again.json()["submission"]) == (202, 1, None)
    assert again.json()["message"] == "It is being run in Feedback already."
    with site.services.database.reading() as session:
        assert session.query(Run).count() == session.query(Submission).count() == 1
    assert (
        flash(post(owner, f"{BASE}/baselines/proto/remove")) == "“Proto” is hidden; it can be brought back."
    )
    kept_baseline(site)
    assert [row["key"] for row in owner.call("GET", f"{MANAGE}/baselines").json()] == ["proto-2"]
    refused = post(owner, f"{BASE}/baselines/proto/run", phase="feedback")
    assert flash(refused) == "It was removed. Restore it first."
    assert "Proto is removed" in page(owner, f"{BASE}/baselines").text
    assert flash(post(owner, f"{BASE}/baselines/proto/restore")) == "“Proto” is back."
    assert [row["key"] for row in owner.call("GET", f"{MANAGE}/baselines").json()] == ["proto", "proto-2"]


def _file(session: Session, site: Site, shown: bool) -> CompetitionFile:
    digest = session.query(Pack).first().digest  # pyright: ignore[reportOptionalMemberAccess]
    competition = site.competition(session)
    row = CompetitionFile(competition_id=competition.id, name="plot.png", digest=digest, size=1)
    body = "See ![the plot](files/plot.png)." if shown else ""
    competition.pages.append(CompetitionPage(slug="rules", title="Rules", body=body, position=0))
    session.add(row)
    session.flush()
    return row


def test_acts_on_a_file(site: Site) -> None:
    hold(site, "file", file_acts.ACTS, (lambda s: _file(s, site, False), lambda s: _file(s, site, True)))


def _rules(session: Session, site: Site, state: CompetitionState) -> CompetitionPage:
    competition = site.competition(session)
    competition.state = state
    competition.pages.append(CompetitionPage(slug="rules", title="Rules", body="Be fair.", position=0))
    session.flush()
    return competition.pages[-1]


def test_acts_on_a_page(site: Site) -> None:
    in_state = (CompetitionState.PUBLISHED, CompetitionState.DRAFT)
    hold(
        site,
        "page",
        page_acts.ACTS,
        tuple(lambda session, state=state: _rules(session, site, state) for state in in_state),
        place=7,
    )


def test_acts_of_administrators(site: Site) -> None:
    site.worker().claim()
    own, other = site.owner_id, site.person("other").id
    site.person("rosa", is_site_admin=True)  # the site keeps one

    def user(identity: str, **values: Any) -> Callable[[Session], User]:
        return lambda session: _changed(session.get_one(User, identity), session, **values)

    def worker(**values: Any) -> Callable[[Session], Worker]:
        return lambda session: _changed(session.query(Worker).one(), session, **values)

    states_of_users: tuple[dict[str, Any], ...] = (
        {},
        {"blocked_at": now()},
        {"is_site_admin": True},
        {"may_organize": True},
        {"second_factor_since": now()},
    )
    users = [user(other, **values) for values in states_of_users]
    hold(site, "user", account_acts.ACTS, (*users, user(own, is_site_admin=True)))
    hold(site, "worker", worker_acts.ACTS, (worker(), worker(paused_at=now()), worker(stopped_at=now())))

    def token(**values: Any) -> Callable[[Session], WorkerToken]:
        def made(session: Session) -> WorkerToken:
            if not values:
                return session.query(WorkerToken).one()
            create_worker_token(session, "rack")
            return _changed(session.query(WorkerToken).filter_by(name="rack").one(), session, **values)

        return made

    in_state = (token(), token(expires_at=now()), token(revoked_at=now()))
    hold(site, "worker", worker_acts.OF_TOKENS, in_state)


def test_acts_of_administrators_on_what_no_worker_holds(site: Site) -> None:
    def tokens(**values: Any) -> Callable[[Session], worker_acts.Tokens]:
        def made(session: Session) -> worker_acts.Tokens:
            if values:
                create_worker_token(session, "rack")
                _changed(session.query(WorkerToken).filter_by(name="rack").one(), session, **values)
            return worker_acts.Tokens()

        return made

    in_state = (tokens(), tokens(revoked_at=None), tokens(revoked_at=now()))
    hold(site, "worker", worker_acts.OF_ALL_TOKENS, in_state, name="rack", days=30)

    def request(*, joined: bool = False, used: bool = False) -> Callable[[Session], WorkerRequest]:
        def made(session: Session) -> WorkerRequest:
            found, _ = open_request(session, worker_info(name="rack"))
            if joined or used:
                create_worker_token(session, "rack")
            if joined:
                found.token_id = session.query(WorkerToken).filter_by(name="rack").one().id
            return found

        return made

    hold(site, "worker", worker_acts.OF_REQUESTS, (request(), request(joined=True), request(used=True)))

    def image(**values: Any) -> Callable[[Session], Image]:
        def made(session: Session) -> Image:
            if values:
                session.add(Image(name="torch", description="By Ann", **values))
                session.flush()
            return image_acts.find_image(session, "torch")

        return made

    hold(site, "image", image_acts.ACTS, (image(), image(enabled=True), image(enabled=False)))

    def trouble(set_aside_at: datetime | None) -> Callable[[Session], SetAside]:
        def made(session: Session) -> SetAside:
            session.add(Trouble(duty="lease", subject="one", error="boom", set_aside_at=set_aside_at))
            session.flush()
            return find_given_up(session, "lease", "one")

        return made

    def alert(kind: str, until: datetime | None = None) -> Callable[[Session], Alert]:
        def made(session: Session) -> Alert:
            return _changed(open_alert(session, kind, "x", "It happened."), session, until=until)

        return made

    hold(site, "alert", alert_acts.ACTS, (alert("run_lost"), alert("run_lost", now()), alert("no_workers")))

    def given_up(session: Session) -> SetAside:
        give_up(session, "lease", trouble(now())(session).id)
        return find_given_up(session, "lease", "one")

    def of_removed_webhook(session: Session) -> SetAside:
        hook = Webhook(url="https://example.org/", created_by=site.owner_id, deleted_at=now())
        session.add(hook)
        session.flush()
        failed = WebhookDelivery(webhook_id=hook.id, event="test", payload={}, ended_at=now())
        session.add(failed)
        session.flush()
        return find_given_up(session, "webhook", failed.id)

    aside = (trouble(now()), trouble(None), given_up, of_removed_webhook)
    hold(site, "set_aside", dead_letter_acts.ACTS, aside)
    all_ = [lambda session, make=make: [make(session)] for make in (trouble(now()), trouble(None))]
    hold(site, "set_aside", dead_letter_acts.OF_ALL, tuple(all_))


def test_an_administrator_reads_what_an_act_does_to_whom_before_it_is_done(site: Site) -> None:
    """One click made somebody an administrator, without a question."""
    ann, olga = site.person("ann", is_site_admin=True), site.owner()
    here, api = f"/admin/users/{olga.id}", f"/api/v1/admin/users/{olga.id}"
    asked = " ".join(post(ann, f"{here}/promote").text.split())
    assert "hidden data, accounts, workers" in asked and f"Type <code>{olga.username}</code>" in asked
    asked = ann.call("POST", f"{api}/acts/block").json()["preview"]
    assert asked["does"][1] == "Sessions and API tokens that end: 1."
    assert "the only owner of “A small competition”" in asked["warnings"][0]
    (known,) = ann.call("GET", "/api/v1/admin/users", params={"q": olga.username}).json()["items"]
    assert (known["blocked_at"], known["is_site_admin"]) == (None, False)
    done = ann.call("POST", f"{api}/acts/block", json={"confirm": olga.username, "reason": "spam"})
    assert done.json()["blocked_at"]
    assert [entry.reason for entry in log(site, "user.block")] == ["spam"]


def test_a_page_that_everybody_reads_is_removed_by_its_name(site: Site) -> None:
    owner = site.owner()
    with site.services.database.writing() as session:
        page_id = _rules(session, site, CompetitionState.PUBLISHED).id
    asked = post(owner, f"{BASE}/pages/{page_id}/delete").text
    assert "stays in the audit log" in asked and "Rules</code> to confirm" in asked
    refused = owner.call("POST", f"{MANAGE}/pages/{page_id}/acts/delete")
    assert (refused.status_code, refused.json()["error"]) == (409, "confirm")
    assert "Be fair." in owner.call("GET", f"/competitions/{SLUG}/pages/rules").text
    assert "is removed" in flash(post(owner, f"{BASE}/pages/{page_id}/delete", confirm="Rules"))
    assert log(site, "page.delete")[0].before == {"title": "Rules", "body": "Be fair."}
    assert owner.call("GET", f"/competitions/{SLUG}/pages/rules").status_code == 404


def test_a_file_that_a_page_shows_is_not_removed_by_accident(site: Site) -> None:
    owner = site.owner()
    with site.services.database.writing() as session:
        _file(session, site, True)
    asked = post(owner, f"{BASE}/files/plot.png/remove").text
    assert "It is shown or linked in Rules: nothing would be there." in " ".join(asked.split())
    assert owner.call("POST", f"{MANAGE}/files/plot.png/acts/remove").json()["error"] == "confirm"
    done = post(owner, f"{BASE}/files/plot.png/remove", confirm="plot.png", override="1")
    assert flash(done) == "plot.png is gone."
    assert log(site, "file.remove")[0].before["name"] == "plot.png"
    assert log(site, "file.remove")[0].after["overridden"]


def test_publishing_says_how_it_is_undone_and_that_the_phase_stays_closed(site: Site) -> None:
    """The words before it, and what is so after it was taken back."""
    owner = site.owner()
    site.member("pia").submit()
    finish(site.worker(), 0.5)
    site.set_phase(kind=PhaseKind.FINAL, accepts_uploads=False, ends_at=None, needs_publishing=True)
    words = "a phase that it ended stays closed until it is opened"
    assert words in " ".join(post(owner, f"{BASE}/final/feedback/publish").text.split())
    post(owner, f"{BASE}/final/feedback/publish", confirm="feedback", override="1")
    post(owner, f"{BASE}/final/feedback/unpublish")
    assert [entry.action for entry in log(site, "final.unpublish")] == ["final.unpublish"]
    assert owner.call("GET", f"{MANAGE}/phases/feedback").json()["status"] == "closed"
    assert post(owner, f"{BASE}/phases/feedback/open").status_code == 303
    assert owner.call("GET", f"{MANAGE}/phases/feedback").json()["status"] == "open"
