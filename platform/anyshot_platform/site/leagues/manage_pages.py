"""The organizers' page of leagues: editing, approvals with evidence."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from fastapi import APIRouter, Request
from pydantic import ValidationError
from sqlalchemy.orm import Session
from starlette.responses import Response

from anyshot_platform.actions.concurrency import seal, tag_of
from anyshot_platform.actions.service import ActOutcome, NeedsConsent, warnings_of
from anyshot_platform.contest.leagues.actions import organizing
from anyshot_platform.contest.leagues.actions.acts import ACTS
from anyshot_platform.contest.leagues.description import METRIC_WORDS, LeagueSpec, describe_league
from anyshot_platform.contest.leagues.models import League
from anyshot_platform.contest.leagues.questions import read_questions, write_questions
from anyshot_platform.contest.leagues.service import find_league, list_leagues
from anyshot_platform.contest.leagues.states import EntryStatus
from anyshot_platform.contest.phases.status_words import status_words
from anyshot_platform.foundation.errors import Invalid
from anyshot_platform.foundation.filters import join_texts
from anyshot_platform.judging.visibility.access import CompetitionAccess
from anyshot_platform.site.entries.views import list_decisions
from anyshot_platform.site.schema.form import problems_of, written_moment
from anyshot_platform.site.shell.act_frame import (
    ask,
    consent_of,
    perform_named,
    save_form,
    save_typed,
    seen_in,
)
from anyshot_platform.site.shell.manage_frame import (
    AsOrganizer,
    AsReviewer,
    manage_path,
    render_manage,
)
from anyshot_platform.site.web.forms import FormDep, SentForm
from anyshot_platform.site.web.services import SessionDep
from anyshot_platform.standings.entries.actions import team_acts

router = APIRouter(prefix="/competitions/{slug}/manage/leagues", include_in_schema=False)
_LABELS = {  # of the form, by the part of the description
    "key": "Short name in addresses",
    "title": "Name",
    "description": "Who belongs in it",
    "admission": "Who decides",
    "questions": "Questions",
    "opens": "Opens, UTC",
    "quota.per_day": "Submissions a day",
    "quota.total": "Submissions in a phase",
    "prizes": "Prizes in words",
    "awards.amounts": "Prize money of the first places",
    "awards.currency": "Currency",
    "awards.split": "A team's prize",
    "columns": "Further columns of its board",
}


@router.get("")
def show_leagues(request: Request, access: AsReviewer, session: SessionDep, status: str = "") -> Response:
    """Leagues and the entries that wait for a decision."""
    return _leagues_page(request, access, session, status)


def _leagues_page(
    request: Request, access: CompetitionAccess, session: Session, status: str = "", **refused: Any
) -> Response:
    wanted = EntryStatus(status) if status in set(EntryStatus) else None
    entries = organizing.list_entries(session, access.competition, status=wanted)
    teams = list_decisions(session, list_leagues(session, access.competition))
    return render_manage(
        request,
        session,
        access,
        "leagues.html",
        "leagues",
        heading="Leagues",
        labels=_LABELS,
        metrics=METRIC_WORDS,
        seen_of=lambda league: tag_of(describe_league(league).model_dump(mode="json")),
        shown=_shown,
        acts=ACTS,
        leagues=list_leagues(session, access.competition, deleted=True),
        entries=entries,
        teams=teams,
        entries_seen=seal({row.name: row.entry.status for row in entries}),
        teams_seen=seal({team_acts.name_of(row.team_name, row.league_name): row.status for row in teams}),
        status=status,
        **refused,
    )


def _shown(league: League | None) -> dict[str, Any]:
    """What the fields of the form show; those of a new league are empty."""
    quota = (league.quota_day, league.quota_phase) if league else (None, None)
    return {
        "title": league.name if league else "",
        "description": league.description if league else "",
        "admission": league.admission.value if league else "",
        "every_member": league is not None and league.every_member_qualifies,
        "questions": write_questions(league.questions) if league else "",
        "quota_day": "" if quota[0] is None else quota[0],
        "quota_phase": "" if quota[1] is None else quota[1],
        "opens": written_moment(league.opens_at, "UTC") if league else "",
        "closed_to_newcomers": league is not None and league.closed_to_newcomers,
        "awards": " ".join(f"{amount:.12g}" for amount in league.awards) if league else "",
        "currency": league.currency if league else "EUR",
        "award_split": league.award_split.value if league else "",
        "prizes": league.prizes if league else "",
        "columns": [column["metric"] for column in league.columns] if league else [],
    }


def _awards(form: SentForm) -> dict[str, object] | None:
    amounts = form.text("awards").replace(",", " ").split()
    if not amounts:
        return None
    split = form.text("award_split") or "equally"
    return {"amounts": amounts, "currency": form.text("currency") or "EUR", "split": split}


def _read(form: SentForm, key: str, league: League | None) -> LeagueSpec:
    """The league of the form; what that does not show, seconds and the titles of columns, stays."""
    opens, columns = (league.opens_at, league.columns) if league else (None, [])
    chosen = form.all("columns")
    quota = {"per_day": form.number("quota_day"), "total": form.number("quota_phase")}
    raw = {
        "key": key,
        "title": form.text("title"),
        "description": form.text("description"),
        "admission": form.text("admission") or "all",
        "every_member": form.flag("every_member"),
        "questions": read_questions(form.text("questions")),
        "closed_to_newcomers": form.flag("closed_to_newcomers"),
        "opens": opens if form.text("opens") == written_moment(opens, "UTC") else form.text("opens"),
        "quota": quota if any(value is not None for value in quota.values()) else None,
        "prizes": form.text("prizes"),
        "awards": _awards(form),
        "columns": [
            *(column for column in columns if column["metric"] in chosen),
            *({"metric": metric} for metric in chosen if metric not in {one["metric"] for one in columns}),
        ],
    }
    try:
        return LeagueSpec.model_validate(raw)
    except ValidationError as error:
        path, words = next(iter(problems_of(error).items()))
        label = next((label for part, label in _LABELS.items() if f"{path}.".startswith(f"{part}.")), path)
        raise Invalid(f"{label}: {words}") from error


@router.post("")
def save_league(request: Request, access: AsOrganizer, session: SessionDep, form: FormDep) -> Response:
    """Add or change a league; where somebody changed it meanwhile, show both."""
    known = form.text("league")
    league = find_league(session, access.competition, known) if known else None

    def change() -> None:
        spec = _read(form, league.slug if league else form.text("key"), league)
        organizing.save_league(session, access.competition, spec, access.viewer.id, league, form.text("seen"))

    def show_again(refused: dict[str, Any]) -> Response:
        typed: dict[str, Any] = {name: form.text(name) for name in ("key", "seen", *_shown(None))}
        typed |= {"league": known or "new", "columns": form.all("columns")}
        (problem,) = refused["errors"].values()
        return _leagues_page(request, access, session, **refused | {"typed": typed, "problem": problem})

    back, done = manage_path(access, "/leagues"), "The league is saved."
    return save_typed(request, session, form, back, done, change, show_again)


@router.post("/teams/decide")
def decide_teams(request: Request, access: AsOrganizer, session: SessionDep, form: FormDep) -> Response:
    """Admit or refuse the ticked teams."""

    def judge(ticked: Sequence[tuple[str, str]], *asked: Any) -> list[ActOutcome]:
        teams = [(find_league(session, access.competition, league), team) for league, team in ticked]
        return team_acts.judge(session, access.competition, teams, *asked)

    return _decide(request, access, session, form, ("team", "teams", "decisions"), judge)


@router.post("/decide")
def decide(request: Request, access: AsOrganizer, session: SessionDep, form: FormDep) -> Response:
    """Admit or refuse the ticked entries."""
    judge = partial(organizing.decide, session, access.competition)
    return _decide(request, access, session, form, ("entry", "entries", "entries"), judge)


def _decide(
    request: Request,
    access: CompetitionAccess,
    session: Session,
    form: SentForm,
    words: tuple[str, str, str],
    judge: Callable[..., list[ActOutcome]],
) -> Response:
    """Save decisions on what was ticked in the field of the first word; ask first where one asks."""
    field, ticked, changes = words

    def change() -> str:
        status = EntryStatus.ADMITTED if form.text("act") == "admit" else EntryStatus.REFUSED
        chosen = [(one, two) for one, _, two in (value.partition(":") for value in form.all(field))]
        if not chosen:
            raise Invalid(f"Tick the {ticked} first.")
        said = form.text("reason"), seen_in(form), consent_of(form)
        outcomes = judge(chosen, status, access.viewer.id, *said)
        changed = sum(outcome.changed for outcome in outcomes)
        message = f"{changed} of {len(outcomes)} {changes} changed: {status_words(status)}."
        return join_texts((message, *warnings_of(outcomes)))

    back = manage_path(access, "/leagues")
    try:
        return save_form(request, session, form, back, "", change)
    except NeedsConsent as error:
        return ask(request, form, error, back)


@router.post("/{league_slug}/{act}")
def act_on_league(
    request: Request, access: AsOrganizer, session: SessionDep, league_slug: str, act: str, form: FormDep
) -> Response:
    """Delete or restore a league."""
    league = find_league(session, access.competition, league_slug)
    back = manage_path(access, "/leagues")
    return perform_named(request, session, form, ACTS, act, league, access, back)
