"""What organizers do to a competition as a whole: settings, texts, publishing, archiving, deletion."""

from collections.abc import Mapping
from datetime import datetime
from enum import Enum
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from anyshot_platform.actions.concurrency import changes_upon
from anyshot_platform.contest.bundles.consistency import judge_people
from anyshot_platform.contest.bundles.naming import key_from, unique
from anyshot_platform.contest.competitions import files
from anyshot_platform.contest.competitions.actions.texts import require_known_values, require_no_values
from anyshot_platform.contest.competitions.models import (
    Competition,
    CompetitionFile,
    CompetitionPage,
    Membership,
)
from anyshot_platform.contest.competitions.service import must_accept
from anyshot_platform.contest.competitions.states import (
    CompetitionState,
    MemberStatus,
    Registration,
    Visibility,
)
from anyshot_platform.contest.phases.actions.readiness import missing_in, odd_in
from anyshot_platform.contest.phases.service import list_phases
from anyshot_platform.foundation.errors import Invalid, NotFound
from anyshot_platform.foundation.storage import Storage
from anyshot_platform.judging.submissions.models import Submission
from anyshot_platform.judging.visibility.access import is_shown
from anyshot_platform.people.audit import service as audit
from anyshot_platform.people.notifications.service import notify

SETTINGS = (
    "title",
    "summary",
    "contact_email",
    "terms",
    "visibility",
    "opens_at",
    "registration",
    "email_domains",
    "team_size",
    "discussion_open",
    "prizes",
    "fact_sheet",
    "fact_sheet_from",
    "fact_sheet_by",
)


def settings_of(competition: Competition) -> dict[str, Any]:
    """The settings of a competition by field, as JSON data."""
    return {name: plain(getattr(competition, name)) for name in SETTINGS}


def page_fields(page: CompetitionPage) -> dict[str, Any]:
    """A page of text by field."""
    return {"title": page.title, "body": page.body}


def change_settings(
    session: Session, competition: Competition, sent: Mapping[str, Any], actor_id: str, version: str | None
) -> None:
    """Change title, summary, registration and the like; participants are told of new terms, to accept them again.

    `version` and `Stale` are as in `changes_upon`.
    """
    before = settings_of(competition)
    subject, wanted = ("competition", competition.id), {name: plain(value) for name, value in sent.items()}
    values = {name: sent[name] for name in changes_upon(session, subject, version, wanted, before)}
    if not str(values.get("title", competition.title)).strip():
        raise Invalid("A competition needs a title.", field="title")
    size = values.get("team_size", competition.team_size)
    if not isinstance(size, int) or not 1 <= size <= 100:
        raise Invalid("A team has 1 to 100 members.", field="team_size")
    _require_sense(competition, values)
    if "terms" in values:
        require_no_values(str(values["terms"]))
        competition.terms_version += 1
    if "title" in values:
        values["title"] = str(values["title"]).strip()
    if "registration" in values:
        values["registration"] = _registration(values["registration"])
    if "visibility" in values:
        values["visibility"] = _visibility(values["visibility"])
    for key, value in values.items():
        setattr(competition, key, value)
    session.flush()
    if "terms" in values:
        _tell_of_terms(session, competition)
    if values:
        _record(
            session,
            competition,
            actor_id,
            "competition.change",
            before={key: before[key] for key in values},
            after={key: plain(value) for key, value in values.items()},
        )


def _tell_of_terms(session: Session, competition: Competition) -> None:
    """Tell who has to accept the terms anew, where the competition is open to them."""
    if competition.state != CompetitionState.PUBLISHED or not is_shown(competition):
        return
    members = session.scalars(
        select(Membership).where(
            Membership.competition_id == competition.id, Membership.status == MemberStatus.APPROVED
        )
    )
    notify(
        session,
        [member.user_id for member in members if must_accept(competition, member)],
        kind="terms",
        title=f"{competition.title}: the terms have changed",
        body=f"Read version {competition.terms_version} and accept it. Until then you can submit nothing.",
        url=f"/competitions/{competition.slug}/join",
        about=competition.id,
    )


_JUDGED = {"contact": "contact_email", "email_domains": "email_domains", "fact_sheet": "fact_sheet"}


def _require_sense(competition: Competition, values: Mapping[str, Any]) -> None:
    """Raise `Invalid` for what makes no sense in the fields that are written; what was there before may stay."""
    known = {name: values.get(name, getattr(competition, name)) for name in _JUDGED.values()}
    for found in judge_people(known["contact_email"], known["email_domains"], known["fact_sheet"]):
        name = _JUDGED[str(found.path[0])]
        if name in values and values[name] != getattr(competition, name):
            raise Invalid(found.words, field=name)


def _registration(word: Any) -> Registration:
    if word not in set(Registration):
        raise Invalid("Registration is open, approval or closed.", field="registration")
    return Registration(word)


def _visibility(word: Any) -> Visibility:
    if word not in set(Visibility):
        raise Invalid("A competition is public, unlisted or private.", field="visibility")
    return Visibility(word)


def plain(value: Any) -> Any:
    """A value of a setting as JSON has it."""
    if isinstance(value, datetime):
        return value.isoformat()
    return value.value if isinstance(value, Enum) else value


def set_logo(
    session: Session, storage: Storage, competition: Competition, name: str, content: bytes, actor_id: str
) -> None:
    """Replace the competition's logo and record the act."""
    before = {"digest": competition.logo_digest} if competition.logo_digest else {}
    files.give_logo(session, storage, competition, name, content)
    after = {"digest": competition.logo_digest}
    if before != after:
        _record(session, competition, actor_id, "competition.logo", before=before, after=after)


def put_file(
    session: Session, storage: Storage, competition: Competition, name: str, content: bytes, actor_id: str
) -> CompetitionFile:
    """Keep an image or a file for the pages; one of the same name is replaced."""
    known = session.get(CompetitionFile, (competition.id, name))
    before = {"digest": known.digest} if known else {}
    row = files.put_file(session, storage, competition, name, content)
    after = {"name": name, "digest": row.digest}
    if before != {"digest": row.digest}:
        _record(session, competition, actor_id, "file.put", before=before, after=after)
    return row


def save_page(
    session: Session,
    competition: Competition,
    sent: Mapping[str, str],
    actor_id: str,
    page_id: str | None = None,
    version: str | None = None,
) -> CompetitionPage:
    """Add a page of text, or change `title` or `body` of one; `version` and `Stale` are as in `changes_upon`."""
    page = find_page(competition, page_id) if page_id else None
    before = page_fields(page) if page else {}
    changed = changes_upon(session, ("page", page_id or ""), version, sent, before)
    wanted = {**before, **changed}
    if not wanted["title"].strip():
        raise Invalid("A page needs a title.", field="title")
    require_known_values(session, competition, wanted["body"])
    if page is None:
        taken = {page.slug for page in competition.pages} | {"terms"}
        slug = unique(key_from(wanted["title"], "page"), taken)
        page = CompetitionPage(slug=slug, position=len(competition.pages))
        competition.pages.append(page)
    page.title, page.body = wanted["title"].strip()[:200], wanted["body"]
    session.flush()
    if changed:
        after = page_fields(page)
        audit.record(
            session,
            actor_id=actor_id,
            action="page.save",
            object_type="page",
            object_id=page.id,
            competition_id=competition.id,
            before={name: before[name] for name in changed if name in before},
            after={name: after[name] for name in changed},
        )
    return page


def find_page(competition: Competition, page_id: str) -> CompetitionPage:
    """A page by its id; raises `NotFound`."""
    for page in competition.pages:
        if page.id == page_id:
            return page
    raise NotFound("There is no such page.")


def what_is_missing(session: Session, competition: Competition) -> list[str]:
    """What keeps a competition from working, as sentences."""
    phases = list_phases(session, competition)
    missing = [] if phases else ["There are no phases."]
    for phase in phases:
        missing += missing_in(session, phase)
    return list(dict.fromkeys(missing))


def what_is_odd(session: Session, competition: Competition) -> list[str]:
    """What its organizers should know before it is published, as sentences."""
    phases = list_phases(session, competition)
    return [f"{phase.name}: {words}" for phase in phases for words in odd_in(session, phase)]


def figures(session: Session, competition: Competition) -> dict[str, int]:
    """Numbers for the first page of the organizers, and for what a deletion would hide."""
    members = session.scalar(
        select(func.count(Membership.id)).where(Membership.competition_id == competition.id)
    )
    submissions = session.scalar(
        select(func.count(Submission.id)).where(Submission.competition_id == competition.id)
    )
    return {"members": members or 0, "submissions": submissions or 0}


def _record(session: Session, competition: Competition, actor_id: str, action: str, **details: Any) -> None:
    audit.record(
        session,
        actor_id=actor_id,
        action=action,
        object_type="competition",
        object_id=competition.id,
        competition_id=competition.id,
        **details,
    )
