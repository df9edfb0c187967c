"""What organizers do to a competition as a whole: settings, texts, publishing, archiving, deletion."""

from collections.abc import Mapping
from datetime import datetime
from enum import Enum
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.orm import Session

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
    session: Session, competition: Competition, values: dict[str, Any], actor_id: str
) -> None:
    """Change title, summary, registration and the like; participants are told of new terms, to accept them again."""
    title = str(values.get("title", competition.title)).strip()
    if not title:
        raise Invalid("A competition needs a title.", field="title")
    size = values.get("team_size", competition.team_size)
    if not isinstance(size, int) or not 1 <= size <= 100:
        raise Invalid("A team has 1 to 100 members.", field="team_size")
    _require_sense(competition, values)
    if values.get("terms", competition.terms) != competition.terms:
        require_no_values(str(values["terms"]))
    if "terms" in values and _same_text(values["terms"], competition.terms):
        values = {**values, "terms": competition.terms}
    before = {key: plain(getattr(competition, key)) for key in values}
    new_terms = values.get("terms", competition.terms) != competition.terms
    if new_terms:
        competition.terms_version += 1
    if "registration" in values:
        values = {**values, "registration": _registration(values["registration"])}
    if "visibility" in values:
        values = {**values, "visibility": _visibility(values["visibility"])}
    for key, value in {**values, "title": title}.items():
        setattr(competition, key, value)
    session.flush()
    if new_terms:
        _tell_of_terms(session, competition)
    after = {key: plain(getattr(competition, key)) for key in values}
    changed = {key for key in values if before[key] != after[key]}
    if not changed:
        return
    _record(
        session,
        competition,
        actor_id,
        "competition.change",
        before={key: before[key] for key in changed},
        after={key: after[key] for key in changed},
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


def _same_text(one: Any, other: str) -> bool:
    """Whether two texts read the same: forms change the ends of lines, and take the last one away."""
    return str(one).replace("\r\n", "\n").strip() == other.replace("\r\n", "\n").strip()


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
    title: str,
    body: str,
    actor_id: str,
    page_id: str | None = None,
) -> CompetitionPage:
    """Add a page of text, or change one."""
    if not title.strip():
        raise Invalid("A page needs a title.", field="title")
    require_known_values(session, competition, body)
    if page_id is None:
        taken = {page.slug for page in competition.pages} | {"terms"}
        page = CompetitionPage(slug=unique(key_from(title, "page"), taken), position=len(competition.pages))
        competition.pages.append(page)
    else:
        page = find_page(competition, page_id)
    before = page_fields(page) if page_id else {}
    page.title, page.body = title.strip()[:200], body
    session.flush()
    after = {name: value for name, value in page_fields(page).items() if before.get(name) != value}
    if after:
        audit.record(
            session,
            actor_id=actor_id,
            action="page.save",
            object_type="page",
            object_id=page.id,
            competition_id=competition.id,
            before={name: before[name] for name in after if name in before},
            after=after,
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
