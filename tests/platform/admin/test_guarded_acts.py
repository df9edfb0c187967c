"""Acts that cannot be called back: what they refuse, what they ask, what a second time does, what the log keeps."""

from datetime import timedelta

import pytest
from sqlalchemy import select

from anyshot_platform.contest.phases.models import Phase, PhaseVersion
from anyshot_platform.contest.pools.actions.acts import publish_if_over
from anyshot_platform.contest.pools.models import Pack, Pool
from anyshot_platform.contest.pools.service import create_pool, create_pool_version
from anyshot_platform.foundation.database import now
from anyshot_platform.people.audit.models import AuditEntry
from anyshot_platform.people.notifications.models import Email, Notification
from tests.platform.admin.test_manage import BASE, finish, flash, page, phase_form, post
from tests.platform.site import SLUG, Person, Site, make_zip

POOL = "/organize/pools/small-pool"
MANAGE = f"/api/v1/competitions/{SLUG}/manage"
FEEDBACK = f"{BASE}/phases/feedback"


def log(site: Site, action: str) -> list[AuditEntry]:
    with site.services.database.reading() as session:
        return list(
            session.scalars(select(AuditEntry).where(AuditEntry.action == action).order_by(AuditEntry.id))
        )


def is_public(site: Site, slug: str = "small-pool") -> bool:
    with site.services.database.reading() as session:
        return session.scalars(select(Pool).where(Pool.slug == slug)).one().published_at is not None


def mails(site: Site, words: str) -> int:
    with site.services.database.reading() as session:
        return len(session.scalars(select(Email).where(Email.subject.contains(words))).all())


def board(site: Site, phase: str = "final") -> list[float]:
    path = f"/api/v1/competitions/{SLUG}/phases/{phase}/leaderboard?league=free"
    answer = site.client.get(path)
    return [row["score"] for row in answer.json()["rows"]] if answer.is_success else []


# A pool


def test_a_pool_that_a_phase_tests_on_is_not_published(site: Site) -> None:
    owner = site.owner()
    for fields in ({}, {"confirm": "small-pool"}, {"confirm": "small-pool", "override": "1"}):
        said = flash(post(owner, f"{POOL}/publish", **fields))
        assert "“Feedback” of “A small competition” has not ended and tests on datasets of this pool" in said
    body = {"confirm": "small-pool", "override": True}
    refused = owner.call("POST", "/api/v1/pools/small-pool/acts/publish", json=body)
    assert (refused.status_code, refused.json()["error"]) == (409, "act_refused")
    assert not is_public(site)
    assert page(site.person("ada"), POOL).status_code == 404


def test_the_same_dataset_in_another_pool_is_as_secret(site: Site) -> None:
    owner = site.owner()
    with site.services.database.writing() as session:
        pack = session.scalars(select(Pack).where(Pack.name == "alpha")).one()
        pool = create_pool(session, slug="copy", name="Copy", owner_id=owner.id)
        create_pool_version(session, pool, [pack], created_by=owner.id)
    assert "would give its labels away" in flash(post(owner, "/organize/pools/copy/publish", confirm="copy"))
    assert not is_public(site, "copy")


def test_a_pool_is_published_by_its_name_and_every_log_says_so(site: Site) -> None:
    owner = site.owner()
    site.set_phase(ends_at=now() - timedelta(minutes=1))
    asked = post(owner, f"{POOL}/publish")
    assert "1 dataset with 400 images, labels included" in asked.text
    assert "Type <code>small-pool</code>" in asked.text
    wrong = post(owner, f"{POOL}/publish", confirm="small")
    assert wrong.status_code == 409
    assert "not “small”" in wrong.text
    assert not is_public(site)
    assert flash(post(owner, f"{POOL}/publish", confirm="small-pool")) == "Participants can download it."
    assert is_public(site)
    (entry,) = log(site, "pool.publish")
    with site.services.database.reading() as session:
        assert entry.competition_id == site.competition(session).id
    assert "pool.publish" in page(owner, f"{BASE}/audit").text
    assert "already" in flash(post(owner, f"{POOL}/publish"))
    assert len(log(site, "pool.publish")) == 1


def test_the_clock_does_not_publish_what_another_phase_tests_on(site: Site) -> None:
    owner = site.owner()
    with site.services.database.writing() as session:
        pack = session.scalars(select(Pack).where(Pack.name == "alpha")).one()
        pool = create_pool(session, slug="copy", name="Copy", owner_id=owner.id)
        pool.publish_when_over = True
        version = create_pool_version(session, pool, [pack], created_by=owner.id)
        phase = session.get_one(Phase, site.phase_id)
        old = Phase(
            competition_id=phase.competition_id,
            slug="old",
            name="Old",
            starts_at=now() - timedelta(days=9),
            ends_at=now() - timedelta(days=8),
        )
        old.versions = [PhaseVersion(number=1, meta_test_pool_version_id=version.id)]
        session.add(old)
        session.flush()
        copy = pool.id
        assert not publish_if_over(session, copy)
        phase.ends_at = now() - timedelta(minutes=1)
        session.flush()
        assert publish_if_over(session, copy)


# A final phase


@pytest.fixture
def final(site: Site) -> tuple[Site, Person]:
    """Three scored submissions, and a final phase fed by them."""
    owner, worker = site.owner(), site.worker()
    for name in ("pia", "quin", "rob"):
        assert site.member(name).submit().status_code == 201
    finish(worker, 0.9, 0.6, 0.2)
    form = phase_form(title="Final", key="final", kind="final", **{"entries.phase": "feedback"})
    form |= {"shown.board": "organizers", "shown.after_publishing": "1"}
    del form["accepts_uploads"]
    assert post(owner, f"{BASE}/phases/new", **form).status_code == 303
    return site, owner


def test_a_final_waits_for_the_phase_that_feeds_it(final: tuple[Site, Person]) -> None:
    site, owner = final
    asked = post(owner, f"{BASE}/final/final/launch", expected="3")
    assert "what is uploaded after the launch does not enter" in asked.text
    assert "Queued: 3 entries, each " in asked.text
    named = {"expected": "3", "confirm": "final"}
    assert "stands in the way" in post(owner, f"{BASE}/final/final/launch", **named).text
    assert log(site, "final.launch") == []
    done = post(owner, f"{BASE}/final/final/launch", **named, override="1")
    assert flash(done) == "3 entries are queued."
    (entry,) = log(site, "final.launch")
    assert "takes uploads until" in entry.after["overridden"][0]


def test_a_final_waits_for_the_runs_of_the_phase_that_feeds_it(final: tuple[Site, Person]) -> None:
    site, owner = final
    site.member("late").submit()
    site.set_phase(ends_at=now() - timedelta(minutes=1))
    said = owner.call("POST", f"{MANAGE}/phases/final/final/acts/launch", json={"expected": 3}).json()
    assert said["error"] == "confirm"
    assert said["preview"]["blocked"] == [
        "1 run of “Feedback” has not ended yet: its team would enter with an earlier submission, "
        "or not at all."
    ]
    finish(site.worker("second"), 0.5)
    done = owner.call("POST", f"{MANAGE}/phases/final/final/acts/launch", json={"expected": 4})
    assert len(done.json()["submissions"]) == 4
    again = owner.call("POST", f"{MANAGE}/phases/final/final/acts/launch", json={})
    assert again.json()["submissions"] == []
    assert len(log(site, "final.launch")) == 1


def test_results_wait_for_the_runs_and_are_told_once(final: tuple[Site, Person]) -> None:
    site, owner = final
    site.set_phase(ends_at=now() - timedelta(minutes=1))
    post(owner, f"{BASE}/final/final/launch", expected="3")
    asked = post(owner, f"{BASE}/final/final/publish")
    assert "3 runs of this phase have not ended yet" in asked.text
    named = post(owner, f"{BASE}/final/final/publish", confirm="final")
    assert "Override it by name" in named.text
    assert mails(site, "results of Final") == 0
    finish(site.worker("second"), 0.8, 0.7, 0.1)
    asked = post(owner, f"{BASE}/final/final/publish", winners="1")
    assert "Free style: 1. pia (0.800), 2. quin (0.700), 3. rob (0.100)." in asked.text
    assert "4 people will get a message" in asked.text
    assert 'name="winners" value="1"' in asked.text
    assert board(site) == []
    assert "The results are public" in flash(
        post(owner, f"{BASE}/final/final/publish", confirm="final", winners="1")
    )
    assert len(board(site)) == 3
    assert mails(site, "results of Final") == 4
    for _ in range(2):
        assert "public already" in flash(post(owner, f"{BASE}/final/final/publish", confirm="final"))
    answer = owner.call("POST", f"{MANAGE}/phases/final/final/acts/publish", json={"confirm": "final"})
    assert answer.status_code == 200
    assert mails(site, "results of Final") == 4
    with site.services.database.reading() as session:
        told = select(Notification).where(Notification.title.contains("results of Final"))
        assert len(session.scalars(told).all()) == 4
    assert len(log(site, "final.publish")) == 1


def test_who_took_part_reads_their_own_place_in_the_mail_about_the_results(
    final: tuple[Site, Person],
) -> None:
    """The mail had a link alone, which led to the board."""
    site, owner = final
    site.set_phase(ends_at=now() - timedelta(minutes=1))
    post(owner, f"{BASE}/final/final/launch", expected="3")
    finish(site.worker("second"), 0.8, 0.7, 0.1)
    post(owner, f"{BASE}/final/final/publish", confirm="final")
    with site.services.database.reading() as session:
        found = session.scalars(select(Email).where(Email.subject.contains("results of Final")))
        told = {mail.to.partition("@")[0]: mail.body.split("\n\n") for mail in found}
    best = "Free style: 1. pia (0.800), 2. quin (0.700), 3. rob (0.100)."
    link = f"/competitions/{SLUG}/results?phase=final"
    own = {"pia": (1, "0.800"), "quin": (2, "0.700"), "rob": (3, "0.100")}
    for name, (rank, score) in own.items():
        place, podium, *_ = told[name][2].splitlines()
        assert place.startswith(f"Your team is on rank {rank} of 3 in Free style, with {score}")
        assert (podium, told[name][3]) == (best, link)
    (other,) = (parts for name, parts in told.items() if name not in own)
    assert other[2].splitlines()[0] == best and "Your team" not in other[2]
    assert site.client.get(link, headers={"accept": "text/html"}).status_code == 200


def test_results_are_published_early_by_name_and_the_log_names_it(final: tuple[Site, Person]) -> None:
    site, owner = final
    site.set_phase(ends_at=now() - timedelta(minutes=1))
    post(owner, f"{BASE}/final/final/launch", expected="3")
    body = {"confirm": "final", "override": True, "reason": "the prize-giving is today"}
    assert owner.call("POST", f"{MANAGE}/phases/final/final/acts/publish", json=body).status_code == 200
    (entry,) = log(site, "final.publish")
    assert entry.after["overridden"] == ["3 runs of this phase have not ended yet."]
    assert entry.reason == "the prize-giving is today"


def test_code_that_is_published_later_tells_nobody_again(final: tuple[Site, Person]) -> None:
    site, owner = final
    site.set_phase(ends_at=now() - timedelta(minutes=1))
    post(owner, f"{BASE}/final/final/launch", expected="3")
    finish(site.worker("second"), 0.8, 0.7, 0.1)
    for winners, told, words in (("0", 4, ""), ("1", 4, "; the code of 1 submission too")):
        said = flash(post(owner, f"{BASE}/final/final/publish", confirm="final", winners=winners))
        assert said == f"The results are public{words}."
        assert mails(site, "results of Final") == told
    assert "pia" in site.client.get(f"/competitions/{SLUG}/code", headers={"accept": "text/html"}).text


# A version


def test_what_arrives_while_a_version_is_scored_joins_it(site: Site) -> None:
    owner, worker = site.owner(), site.worker()
    pia, bob = site.member("pia"), site.member("bob")
    pia.submit()
    bob.submit()
    finish(worker, 0.5, 0.4)
    post(owner, FEEDBACK, act="version", **phase_form(**{"tasks.count": "20"}))
    draft = f"{FEEDBACK}/versions/2"
    assert flash(post(owner, f"{draft}/rescore", mode="everything")) == "2 runs are queued."
    late = bob.submit(make_zip(salt="late")).json()["id"]
    finish(worker, 0.7)  # bob's second one under the live version, before those of the draft
    finish(worker, 0.45, 0.35)
    assert "1 run of this version has not ended" in flash(
        post(owner, f"{draft}/make-live", confirm="feedback")
    )
    finish(worker, 0.65)
    asked = post(owner, f"{draft}/make-live")
    assert "3 submissions get the score of this version" in asked.text
    assert "First is then bob with 0.650" in asked.text
    assert flash(post(owner, f"{draft}/make-live", confirm="feedback")) == "Version 2 is live."
    assert site.submission(late).score == pytest.approx(0.65)
    assert board(site, "feedback") == [pytest.approx(0.65), pytest.approx(0.45)]


def test_what_is_still_running_when_a_version_becomes_live_joins_it_too(site: Site) -> None:
    owner, worker = site.owner(), site.worker()
    pia, bob = site.member("pia"), site.member("bob")
    pia.submit()
    finish(worker, 0.5)
    post(owner, FEEDBACK, act="version", **phase_form(**{"tasks.count": "20"}))
    draft = f"{FEEDBACK}/versions/2"
    post(owner, f"{draft}/rescore", mode="everything")
    finish(worker, 0.45)
    running = bob.submit().json()["id"]
    failing = site.member("rob").submit().json()["id"]
    jobs = {job["submission_id"]: job for job in (worker.claim(), worker.claim()) if job}
    assert "2 submissions are being scored under the live version" in post(owner, f"{draft}/make-live").text
    post(owner, f"{draft}/make-live", confirm="feedback")
    assert worker.complete(jobs[running], 0.8).status_code == 204
    assert worker.fail(jobs[failing], "RUNTIME_ERROR").status_code == 204
    assert site.submission(running).status == "queued"
    assert site.submission(failing).status == "failed"  # nobody waits for ever
    finish(worker, 0.75)
    assert site.submission(running).status == "finished"
    assert board(site, "feedback") == [pytest.approx(0.75), pytest.approx(0.45)]


def test_a_version_that_would_lose_a_row_is_not_made_live(site: Site) -> None:
    owner, worker = site.owner(), site.worker()
    for name in ("pia", "bob"):
        site.member(name).submit()
    finish(worker, 0.5, 0.4)
    post(owner, FEEDBACK, act="version", **phase_form(**{"tasks.count": "20"}))
    draft = f"{FEEDBACK}/versions/2"
    said = flash(post(owner, f"{draft}/make-live", confirm="feedback", override="1"))
    assert "2 scored submissions were never scored under this version" in said
    assert "pia (no. 1), bob (no. 1)" in said
    post(owner, f"{draft}/rescore", mode="everything")
    finish(worker, 0.45)
    job = worker.claim()
    assert job is not None
    worker.fail(job, "TIME_LIMIT")
    asked = post(owner, f"{draft}/make-live", confirm="feedback")
    assert "1 submission has a score now and failed under this version: bob (no. 1)" in asked.text
    assert len(board(site, "feedback")) == 2
    post(owner, f"{draft}/make-live", confirm="feedback", override="1")
    assert board(site, "feedback") == [pytest.approx(0.45)]
    (entry,) = log(site, "version.make_live")
    assert "bob (no. 1)" in entry.after["overridden"][0]


def test_going_back_to_an_earlier_version_loses_nobody(site: Site) -> None:
    owner, worker = site.owner(), site.worker()
    pia, bob = site.member("pia"), site.member("bob")
    pia.submit()
    finish(worker, 0.5)
    post(owner, FEEDBACK, act="version", **phase_form(**{"tasks.count": "20"}))
    post(owner, f"{FEEDBACK}/versions/2/rescore", mode="everything")
    finish(worker, 0.45)
    post(owner, f"{FEEDBACK}/versions/2/make-live", confirm="feedback")
    bob.submit()
    finish(worker, 0.8)
    first = f"{FEEDBACK}/versions/1"
    assert "bob (no. 1)" in flash(post(owner, f"{first}/make-live", confirm="feedback"))
    assert "Score what is missing: 1 submission" in page(owner, first).text
    assert flash(post(owner, f"{first}/rescore", mode="everything")) == "1 run is queued."
    finish(worker, 0.85)
    post(owner, f"{first}/make-live", confirm="feedback")
    assert board(site, "feedback") == [pytest.approx(0.85), pytest.approx(0.5)]
