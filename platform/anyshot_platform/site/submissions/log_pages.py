"""All of a submission's log: read from any line on, and searched from the first line to the last."""

from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request
from sqlalchemy.orm import Session
from starlette.responses import Response

from anyshot_platform.foundation.filters import count, decimal
from anyshot_platform.judging.run_logs.service import read_events
from anyshot_platform.judging.runs.models import Run
from anyshot_platform.judging.visibility.access import SubmissionAccess
from anyshot_platform.site.submissions.log_view import SHOWN_LINES, LogPart, all_lines_href, parts_of
from anyshot_platform.site.submissions.rows import submission_title
from anyshot_platform.site.submissions.show import find_version, read_runs
from anyshot_platform.site.web.access import submission_reader
from anyshot_platform.site.web.rendering import render
from anyshot_platform.site.web.services import SessionDep

router = APIRouter(include_in_schema=False)


@dataclass(frozen=True)
class LogPage:
    """Some of the lines that are kept: those that hold a text, or those around one of them."""

    parts: list[LogPart]
    words: str
    earlier: str = ""  # where the lines before these are; empty where there are none
    later: str = ""


@router.get("/submissions/{submission_id}/log")
def show_whole_log(
    request: Request,
    found: Annotated[SubmissionAccess, Depends(submission_reader)],
    session: SessionDep,
    q: Annotated[str, Query(max_length=200, description="text that lines hold, in any case")] = "",
    line: Annotated[int, Query(ge=0, lt=2**62, description="id of a line that is to be among them")] = 0,
) -> Response:
    """The lines that hold a text, or the first ones, or those around one."""
    text = q.strip()
    title = submission_title(found.submission)
    runs = read_runs(session, found.submission, find_version(session, found.submission))
    return render(
        request,
        "submissions/log.html",
        section="submissions",
        sub=found.submission,
        title=title,
        query=text,
        log=_search(session, found, runs, text) if text else _read_around(session, found, runs, line),
    )


def _search(session: Session, found: SubmissionAccess, runs: list[Run], text: str) -> LogPage:
    ids = [run.id for run in runs]
    lines = read_events(session, ids, policy=found.sight.logs, holding=text, limit=SHOWN_LINES + 1)
    shown = lines[:SHOWN_LINES]
    words = (
        f"The first {decimal(SHOWN_LINES)} lines with “{text}”."
        if len(lines) > len(shown)
        else f"{count(len(shown), 'line')} with “{text}”."
        if shown
        else f"No line has “{text}”."
    )
    base = all_lines_href(found.submission)
    parts = parts_of(session, shown, runs, lambda line: f"{base}?line={line.id}#line-{line.id}")
    return LogPage(parts, words)


def _read_around(session: Session, found: SubmissionAccess, runs: list[Run], line: int) -> LogPage:
    ids, policy, half = [run.id for run in runs], found.sight.logs, SHOWN_LINES // 2
    before = read_events(session, ids, policy=policy, before=line, limit=half + 1, tail=True) if line else []
    after = read_events(session, ids, policy=policy, after=max(line - 1, 0), limit=half + 1)
    base = all_lines_href(found.submission)
    return LogPage(
        parts_of(session, [*before[-half:], *after[:half]], runs),
        words="" if before or after else "Nothing was printed.",
        earlier=f"{base}?line={before[1].id}" if len(before) > half else "",
        later=f"{base}?line={after[-1].id}" if len(after) > half else "",
    )
