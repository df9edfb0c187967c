"""Who owes a fact sheet and by when; drafts, handing in, the organizers' table."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from anyshot_platform.contest.competitions.models import Competition, Membership
from anyshot_platform.contest.competitions.states import Due
from anyshot_platform.foundation.database import now
from anyshot_platform.foundation.errors import Conflict, Invalid
from anyshot_platform.judging.submissions.models import Submission
from anyshot_platform.judging.submissions.states import SubmissionKind
from anyshot_platform.judging.visibility.standing import kept
from anyshot_platform.people.teams.models import Team
from anyshot_platform.standings.fact_sheets.models import FactSheet
from anyshot_platform.standings.fact_sheets.states import SheetState

_OWES = {Due.FINALISTS: (SubmissionKind.FINAL,), Due.EVERYBODY: (SubmissionKind.ENTRY, SubmissionKind.FINAL)}


@dataclass(frozen=True)
class TeamSheet:
    """A team with its fact sheet, which may be missing."""

    team: Team
    sheet: FactSheet | None
    owes: bool

    @property
    def state(self) -> SheetState:
        """Handed in, a draft, missing, or not asked for."""
        if self.sheet is None:
            return SheetState.MISSING if self.owes else SheetState.NOT_ASKED
        return SheetState.HANDED_IN if self.sheet.handed_in_at else SheetState.DRAFT


def sheet_of(session: Session, competition: Competition, team: Team) -> TeamSheet:
    """A team's fact sheet, and whether it owes one."""
    sheet = session.scalars(select(FactSheet).where(FactSheet.team_id == team.id)).one_or_none()
    return TeamSheet(team, sheet, team.id in _debtors(session, competition))


def _debtors(session: Session, competition: Competition) -> set[str]:
    if not competition.fact_sheet:
        return set()
    kinds = _OWES.get(competition.fact_sheet_from, (SubmissionKind.ENTRY, SubmissionKind.FINAL))
    return set(
        session.scalars(
            select(Submission.team_id).where(
                Submission.competition_id == competition.id,
                Submission.kind.in_(kinds),
                kept(),
            )
        )
    )


def save(
    session: Session,
    competition: Competition,
    membership: Membership,
    answers: Mapping[str, str],
    *,
    hand_in: bool,
    public: bool,
    submission_id: str | None = None,
) -> FactSheet:
    """Keep a draft, or hand the sheet in; raises `Invalid` with the questions that still want an answer.

    `submission_id` is the upload that the answers came with.
    """
    if not competition.fact_sheet:
        raise Conflict("This competition asks for no fact sheet.")
    known = {str(question["key"]) for question in competition.fact_sheet}
    unknown = set(answers) - known
    if unknown:
        raise Invalid(
            f"The fact sheet has no question {', '.join(sorted(unknown))}. It has: "
            f"{', '.join(sorted(known))}."
        )
    kept = {key: text.strip()[:10_000] for key, text in answers.items() if text.strip()}
    if hand_in:
        require_answers(competition, kept)
    sheet = session.scalars(select(FactSheet).where(FactSheet.team_id == membership.team_id)).one_or_none()
    if sheet is None:
        sheet = FactSheet(team_id=membership.team_id or "", updated_by=membership.user_id)
        session.add(sheet)
    sheet.answers, sheet.public = kept, public
    sheet.updated_by, sheet.updated_at = membership.user_id, now()
    sheet.handed_in_at = now() if hand_in else None
    if hand_in:
        sheet.history = [*(sheet.history or []), _step(membership.user_id, submission_id, kept)]
    session.flush()
    return sheet


def _step(user_id: str, submission_id: str | None, answers: Mapping[str, str]) -> dict[str, Any]:
    at = now().isoformat()
    return {"at": at, "by": user_id, "submission": submission_id, "answers": dict(answers)}


def require_answers(competition: Competition, answers: Mapping[str, Any]) -> None:
    """Raise `Invalid` naming every required question that has no answer."""
    missing = [
        str(question["label"])
        for question in competition.fact_sheet
        if question.get("required") and not str(answers.get(question["key"], "")).strip()
    ]
    if missing:
        raise Invalid(
            f"Please answer on the fact sheet: {'; '.join(missing)}.",
            field="fact_sheet",
        )


def require_at_upload(
    session: Session, competition: Competition, team: Team, answers: Mapping[str, Any]
) -> None:
    """Where each upload needs a fact sheet: the team's, with the answers that come with the upload."""
    if competition.fact_sheet_from == Due.UPLOAD:
        known = sheet_of(session, competition, team).sheet
        require_answers(competition, {**(known.answers if known else {}), **_said(answers)})


def _said(answers: Mapping[str, Any]) -> dict[str, str]:
    """Answers of a program as texts; null is none."""
    return {key: str(value) for key, value in answers.items() if value is not None}


def keep_upload_answers(
    session: Session,
    competition: Competition,
    membership: Membership,
    answers: Mapping[str, Any],
    submission_id: str,
) -> None:
    """Answers that come with an upload go into the team's fact sheet, over those that it had.

    The sheet is handed in where each upload needs it, or was before; elsewhere the answers are a draft. What a team
    answered to questions that are no longer asked stays in the history of what it handed in.
    """
    said = _said(answers)
    if not said:
        return
    known = session.scalars(select(FactSheet).where(FactSheet.team_id == membership.team_id)).one_or_none()
    asked = {str(question["key"]) for question in competition.fact_sheet}
    before = {key: text for key, text in (known.answers if known else {}).items() if key in asked}
    hand_in = competition.fact_sheet_from == Due.UPLOAD or bool(known and known.handed_in_at)
    save(
        session,
        competition,
        membership,
        {**before, **said},
        hand_in=hand_in,
        public=bool(known and known.public),
        submission_id=submission_id,
    )


def list_sheets(session: Session, competition: Competition) -> list[TeamSheet]:
    """Every team that owes a fact sheet or has one; those that are missing first."""
    debtors = _debtors(session, competition)
    rows = session.execute(
        select(Team, FactSheet)
        .outerjoin(FactSheet, FactSheet.team_id == Team.id)
        .where(Team.competition_id == competition.id, Team.deleted_at.is_(None))
        .order_by(Team.name_key)
    )
    found = [TeamSheet(team, sheet, team.id in debtors) for team, sheet in rows]
    asked = [row for row in found if row.state != SheetState.NOT_ASKED]
    return sorted(asked, key=lambda row: row.state == SheetState.HANDED_IN)


def table_rows(session: Session, competition: Competition) -> Iterator[dict[str, Any]]:
    """The organizers' table: a row a team, a column a question."""
    for row in list_sheets(session, competition):
        answers = row.sheet.answers if row.sheet else {}
        yield {
            "team": row.team.name,
            "state": row.state.value,
            "handed_in": row.sheet.handed_in_at.isoformat() if row.sheet and row.sheet.handed_in_at else None,
            "public": bool(row.sheet and row.sheet.public),
            "history": json.dumps(row.sheet.history if row.sheet else [], ensure_ascii=False, sort_keys=True),
            **{str(q["key"]): answers.get(str(q["key"]), "") for q in competition.fact_sheet},
        }
