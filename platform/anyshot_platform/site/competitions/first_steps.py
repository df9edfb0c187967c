"""A newcomer's way from joining to the first score: each step ticks itself off, and the list goes when all are done."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import select
from sqlalchemy.orm import Session

from anyshot_core.installation import CPU_TORCH, install_line
from anyshot_platform.contest.kit.wheels import kit_version
from anyshot_platform.contest.phases.models import Phase
from anyshot_platform.judging.submissions.models import Submission
from anyshot_platform.judging.submissions.states import SubmissionKind, SubmissionStatus
from anyshot_platform.judging.visibility.access import CompetitionAccess
from anyshot_platform.judging.visibility.data import has_public_data
from anyshot_platform.judging.visibility.smoke import smoke_pool
from anyshot_platform.judging.visibility.standing import kept
from anyshot_platform.people.users.models import ApiToken
from anyshot_platform.site.pools.data_downloads import has_taken_data
from anyshot_platform.site.shell.page_header import join_state, open_for_uploads


@dataclass(frozen=True)
class FirstStep:
    """One step; `command` is what does it from a shell, `before` what some run first, and `when` who they are."""

    title: str
    done: bool
    href: str
    command: str = ""
    when: str = ""
    before: str = ""


def read_first_steps(
    session: Session, access: CompetitionAccess, phases: Sequence[Phase], address: str
) -> list[FirstStep]:
    """The steps of a participant without a score; nothing for others, and while no phase takes submissions.

    `address` is the site's. Who has a token has the kit, or needs none.
    """
    phase = open_for_uploads(phases)
    membership = access.membership
    if phase is None or membership is None or membership.team_id is None or join_state(access) != "member":
        return []
    own = session.execute(
        select(Submission.kind, Submission.status).where(
            Submission.team_id == membership.team_id,
            Submission.competition_id == access.competition.id,
            kept(),
        )
    ).all()
    if (SubmissionKind.ENTRY, SubmissionStatus.FINISHED) in {tuple(row) for row in own}:
        return []
    slug = access.competition.slug
    submit = f"/competitions/{slug}/phases/{phase.slug}/submit"
    target = f"{slug}/{phase.slug}"
    token = session.scalar(select(ApiToken.id).where(ApiToken.user_id == membership.user_id).limit(1))
    guide = "/docs/participants/first-submission/"
    steps = [
        FirstStep("Join the competition", True, f"/competitions/{slug}/join"),
        FirstStep(
            "Install the starting kit",
            token is not None,
            guide,
            install_line(address, kit_version()),
            "On Linux without a GPU, first install the CPU build of torch, a tenth of the size:",
            CPU_TORCH,
        ),
        FirstStep("Log in from a shell", token is not None, guide, f"anyshot login --server {address}"),
    ]
    home = "anyshot dry-run my-method --quick"
    if has_public_data(session, access.competition):
        get, data = "Get the public data", f"/competitions/{slug}/data"
        steps.append(FirstStep(get, has_taken_data(session, access), data, f"anyshot data get {slug}"))
        home += f" --data data/{slug}"
    steps += [
        FirstStep("Start from the template", bool(own), guide, "anyshot init my-method --notebook"),
        FirstStep("Try it at home", bool(own), guide, home),
    ]
    if smoke_pool(session, phase) is not None:
        through = (SubmissionKind.SMOKE, SubmissionStatus.FINISHED) in {tuple(row) for row in own}
        command = f"anyshot submit my-method --to {target} --smoke --follow"
        steps.append(FirstStep("Pass a smoke test", through, submit, command))
    entered = any(row.kind == SubmissionKind.ENTRY for row in own)
    command = f"anyshot submit my-method --to {target} --follow"
    return [*steps, FirstStep("Submit for scoring", entered, submit, command)]
