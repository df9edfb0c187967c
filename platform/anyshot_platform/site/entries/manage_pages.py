"""The organizers' page of entries."""

from typing import Annotated
from urllib.parse import urlencode

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from anyshot_platform.actions.concurrency import seal
from anyshot_platform.actions.service import NeedsConsent
from anyshot_platform.contest.leagues.service import list_leagues
from anyshot_platform.contest.phases.service import list_phases
from anyshot_platform.foundation.errors import Invalid
from anyshot_platform.foundation.filters import join_texts
from anyshot_platform.foundation.paging import PageParam
from anyshot_platform.site.entries.view import show_change
from anyshot_platform.site.shell.act_frame import ask, consent_of, seen_in
from anyshot_platform.site.shell.manage_frame import (
    AsOrganizer,
    AsReviewer,
    carry_out_change,
    manage_path,
    render_manage,
)
from anyshot_platform.site.web.forms import FormDep
from anyshot_platform.site.web.services import SessionDep
from anyshot_platform.standings.entries.actions import moderating
from anyshot_platform.standings.entries.states import CHOICE_WORDS, STATE_WORDS, EntryState

router = APIRouter(prefix="/competitions/{slug}/manage/entries", include_in_schema=False)
Word = Annotated[str, Query(max_length=64)]


@router.get("")
def show_entries(
    request: Request,
    access: AsReviewer,
    session: SessionDep,
    phase: Word = "",
    league: Word = "",
    state: Word = "",
    q: Word = "",
    page: PageParam = 1,
) -> Response:
    """All entries by phase, league and team, with their history."""
    known = EntryState(state) if state in set(EntryState) else None
    wanted = moderating.EntryFilter(phase=phase, league=league, state=known, text=q.strip())
    rows, place = moderating.find_entries(session, access.competition, wanted, page)
    kept = {"phase": phase, "league": league, "state": state, "q": q}
    return render_manage(
        request,
        session,
        access,
        "entries.html",
        "entries",
        heading="Entries",
        rows=rows,
        seen=seal(moderating.decided_on(session, rows)),
        histories={row.entry.id: [show_change(one) for one in row.history] for row in rows},
        page=place,
        wanted=wanted,
        page_href=lambda number: f"{manage_path(access, '/entries')}?{urlencode({**kept, 'page': number})}",
        phases=[(one.slug, one.name) for one in list_phases(session, access.competition)],
        leagues=[(one.slug, one.name) for one in list_leagues(session, access.competition)],
        state_words=STATE_WORDS,
        choice_words=CHOICE_WORDS,
    )


@router.post("")
def act_on_entries(request: Request, access: AsOrganizer, session: SessionDep, form: FormDep) -> Response:
    """Admit, refuse, disqualify the ticked entries, or undo a disqualification."""

    def change() -> str:
        chosen = form.all("entry")
        if not chosen:
            raise Invalid("Tick the entries first.")
        if form.text("act") not in set(moderating.EntryAct):
            raise Invalid("There is no such act.")
        found = moderating.act_on(
            session,
            access.competition,
            chosen,
            moderating.EntryAct(form.text("act")),
            access.viewer.id,
            form.text("reason"),
            seen_in(form),
            consent_of(form),
        )
        changed = f"{len(found.done)} of {len(chosen)} entries changed."
        why = sorted(set(found.skipped.values()))
        left = ["The others are as they were:", *why] if why else []
        return join_texts([changed, *found.warnings, *left])

    back = manage_path(access, "/entries")
    try:
        return carry_out_change(session, back, "", change)
    except NeedsConsent as error:
        return ask(request, form, error, back)
