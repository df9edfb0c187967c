"""The act of taking a competition to another site, with its secrets and its people."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import Field
from sqlalchemy import ColumnElement, Select, func, or_, select
from sqlalchemy.orm import Session

from anyshot_core.exports.files import FILES as EXPORTS
from anyshot_platform.acts.declaration import Act, ActDone, ActOptions, ActRequest, Findings, Target
from anyshot_platform.artifacts.models import Artifact, Blob
from anyshot_platform.baselines.models import Baseline
from anyshot_platform.bundles.files import LIMIT_NAMED
from anyshot_platform.competitions.models import Competition, CompetitionFile
from anyshot_platform.competitions.states import Role
from anyshot_platform.evaluations.models import FurtherTest
from anyshot_platform.judging.kinds import counting_runs
from anyshot_platform.kernel.filters import count, decimal, join_texts, size
from anyshot_platform.organizers.bundles.exporting import say_which_versions
from anyshot_platform.organizers.competitions.organizing import figures
from anyshot_platform.organizers.transfers.claims import TRANSFER as KEY
from anyshot_platform.organizers.transfers.travelling import travels
from anyshot_platform.phases.models import Phase
from anyshot_platform.phases.service import list_phases
from anyshot_platform.runs.models import Run
from anyshot_platform.runs.states import ENDED
from anyshot_platform.submissions.counting import count_uploads
from anyshot_platform.submissions.models import Submission
from anyshot_platform.submissions.states import SubmissionKind


class Baggage(ActOptions):
    """`emails`: people's confirmed addresses travel too, so that each is known by it; for site administrators."""

    emails: bool = Field(default=False)


def _target(session: Session, competition: Competition) -> Target:
    title = f"“{competition.title}”"
    return Target("competition", competition.id, competition.slug, title, (competition.id,))


def _look(session: Session, competition: Competition, request: ActRequest) -> Findings:
    waiting = session.scalar(
        select(func.count(Run.id)).where(
            Run.competition_id == competition.id, Run.state.not_in(ENDED), Run.submission_id.is_not(None)
        )
    )
    phases = list_phases(session, competition)
    mine = Submission.phase_id.in_([phase.id for phase in phases])
    addresses = "with their confirmed e-mail addresses" if request.options.get("emails") else "by name alone"
    named = ", ".join(phase.name for phase in phases)
    whole, largest = _sizes(session, competition)
    return Findings(
        refused=[*_unended(waiting or 0), *_too_large(session, competition)],
        does=[
            (
                f"You get a file with {count(figures(session, competition)['members'], 'member')} "
                f"({addresses}), {count(count_uploads(session, mine), 'submission')} with their code, "
                "results and predictions, the scores and boards of each phase's live version, the "
                "discussion, and organizers' notes."
            ),
            (
                f"Its files have {size(whole)}, the largest {size(largest)}. The other site has to "
                "allow that: its settings pack_max_bytes, and upload_max_bytes or artifact_max_bytes "
                "for the largest."
            ),
            (
                f"It holds the keys and seeds of {named or 'no phase'}: anyone who has it can draw the "
                "hidden tasks."
            ),
            ("No password, no token and no log travels. Hidden data do not either: upload the pools there."),
            (
                "From now on each member sees under Account, Your places, a code to be known by on "
                "the other site."
            ),
        ],
        warnings=[
            *_staying(session, phases),
            *say_which_versions(session, competition),
            "The competition goes on here. If it moves for good, archive it.",
        ],
    )


def _staying(session: Session, phases: Sequence[Phase]) -> list[str]:
    """What was computed here and does not travel, in a sentence; none where there is nothing."""
    here = Submission.phase_id.in_([phase.id for phase in phases])
    exported = (here, Artifact.final.is_(True), Artifact.expired_at.is_(None), Artifact.name.in_(EXPORTS))

    def number(rows: Select[int], *of: ColumnElement[bool]) -> int:
        return session.scalar(rows.where(*of)) or 0

    scores = number(
        select(func.count(FurtherTest.id)).join(Submission), here, FurtherTest.scored_at.is_not(None)
    )
    versions = sum(len(phase.versions) - 1 for phase in phases)
    smoke = number(select(func.count(Submission.id)), here, Submission.kind == SubmissionKind.SMOKE)
    files = number(select(func.count(Artifact.id)).join(Run).join(Submission), *exported)
    found = [
        scores
        and (
            "1 score of a further evaluation"
            if scores == 1
            else f"{decimal(scores)} scores of further evaluations"
        ),
        versions
        and (
            "1 version of a phase that is not live, with its scores"
            if versions == 1
            else f"{decimal(versions)} versions of phases that are not live, with their scores"
        ),
        smoke and ("1 smoke test" if smoke == 1 else f"{decimal(smoke)} smoke tests"),
        files and ("1 exported file of a run" if files == 1 else f"{decimal(files)} exported files of runs"),
    ]
    what = join_texts(found, by=", ")
    return [f"These stay here; download what you need of them: {what}."] if what else []


def _unended(waiting: int) -> list[str]:
    if not waiting:
        return []
    words = (
        "1 run has not ended. Wait for it, or cancel it."
        if waiting == 1
        else f"{decimal(waiting)} runs have not ended. Wait for them, or cancel them."
    )
    return [words]


def _too_large(session: Session, competition: Competition) -> list[str]:
    """What no site takes in, told before the archive is there with its keys."""
    mine = (Baseline.competition_id == competition.id, Baseline.deleted_at.is_(None))
    baselines = session.scalar(
        select(func.sum(Blob.size)).join(Baseline, Baseline.digest == Blob.digest).where(*mine)
    )
    files = session.scalar(
        select(func.sum(CompetitionFile.size)).where(CompetitionFile.competition_id == competition.id)
    )
    found = (baselines or 0) + (files or 0)
    if found <= LIMIT_NAMED:
        return []
    words = (
        f"Its baselines and the files of its pages have {size(found)}, and a site takes in "
        f"{size(LIMIT_NAMED)} at most: delete some first."
    )
    return [words]


def _sizes(session: Session, competition: Competition) -> tuple[int, int]:
    """Bytes of the files of submissions and runs that travel: of all, and of the largest."""
    handed = select(Submission.digest).where(
        Submission.competition_id == competition.id, Submission.kind != SubmissionKind.SMOKE
    )
    kept = (
        select(Artifact.digest)
        .join(Run, Run.id == Artifact.run_id)
        .where(Run.competition_id == competition.id, counting_runs(), travels())
    )
    files = select(func.sum(Blob.size), func.max(Blob.size)).where(
        or_(Blob.digest.in_(handed), Blob.digest.in_(kept))
    )
    whole, largest = session.execute(files).one()
    return int(whole or 0), int(largest or 0)


def _do(session: Session, competition: Competition, request: ActRequest) -> ActDone:
    keys = [phase.slug for phase in list_phases(session, competition)]
    after = {"secrets_of": keys, "emails": bool(request.options.get("emails"))}
    return ActDone("The archive was taken.", after=after)


TRANSFER = Act(
    key=KEY,
    title="Take {} to another site",
    target=_target,
    look=_look,
    do=_do,
    undo="It cannot be undone. Draw new keys where a phase has not begun.",
    dangerous=True,
    role=Role.OWNER,
    options=Baggage,
)
