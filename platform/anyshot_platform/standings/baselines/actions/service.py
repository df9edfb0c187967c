"""Baselines: kept with a competition and run in a phase."""

import tempfile
from collections.abc import Sequence
from pathlib import Path

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from anyshot_core.baselines import ExperimentBundle as Builtin
from anyshot_core.baselines import pack_baseline
from anyshot_platform.contest.bundles.naming import key_from, unique
from anyshot_platform.contest.competitions.models import Competition
from anyshot_platform.contest.competitions.service import add_member, find_membership
from anyshot_platform.contest.competitions.states import Role
from anyshot_platform.contest.phases.models import Phase
from anyshot_platform.foundation.artifacts.service import store_bytes
from anyshot_platform.foundation.errors import Conflict, Invalid, NotFound
from anyshot_platform.foundation.services import Services
from anyshot_platform.judging.runs.models import Run
from anyshot_platform.judging.submissions.actions.submitting import Wishes, Zip, check_zip, create_submission
from anyshot_platform.judging.submissions.models import Submission
from anyshot_platform.judging.submissions.states import SubmissionKind
from anyshot_platform.people.audit import service as audit
from anyshot_platform.people.users.models import User
from anyshot_platform.standings.baselines.boards import boards_of, why_on_no_board
from anyshot_platform.standings.baselines.models import Baseline
from anyshot_platform.standings.entries.entering import chosen_leagues

BUILTIN = (
    Path(__file__).parents[3] / "_baselines"
)  # package data: in a checkout a link to its folder baselines/


def list_baselines(session: Session, competition: Competition, *, deleted: bool = False) -> list[Baseline]:
    """The baselines in their order; with `deleted`, those that were removed too."""
    query = select(Baseline).where(Baseline.competition_id == competition.id)
    if not deleted:
        query = query.where(Baseline.deleted_at.is_(None))
    return list(session.scalars(query.order_by(Baseline.position, Baseline.id)))


def find_baseline(session: Session, competition: Competition, slug: str) -> Baseline:
    """A baseline by its short name, removed or not; raises `NotFound`."""
    for baseline in list_baselines(session, competition, deleted=True):
        if baseline.slug == slug:
            return baseline
    raise NotFound("There is no such baseline.")


def add_baseline(
    session: Session,
    services: Services,
    competition: Competition,
    *,
    name: str,
    content: bytes,
    leagues: Sequence[str],
    actor_id: str,
) -> Baseline:
    """Keep a zip as a baseline; raises `Invalid` for a name that is no league, and where the zip fails a check."""
    if not name.strip():
        raise Invalid("A baseline needs a name.", field="name")
    chosen_leagues(session, competition.id, leagues)
    _check(content)
    known = list_baselines(session, competition, deleted=True)
    digest = store_bytes(session, services.storage, content)
    baseline = Baseline(
        competition_id=competition.id,
        slug=unique(key_from(name, "baseline"), {other.slug for other in known}),
        name=name.strip()[:200],
        position=len(known),
        digest=digest,
        leagues=list(leagues),
    )
    session.add(baseline)
    session.flush()
    record(session, baseline, actor_id, "baseline.add")
    return baseline


def _check(content: bytes) -> list[object]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "baseline.zip"
        path.write_bytes(content)
        report = check_zip(path)
    if not report.ok:
        failure = report.failures[0]
        raise Invalid(f"{failure.found} {failure.remedy}".strip(), field="file")
    return report.to_dict()["checks"]


def builtin_folder(services: Services, name: str) -> Path | None:
    """The folder of a baseline that ships with Anyshot, where this installation has it."""
    folder = BUILTIN / name.replace("-", "_")
    return folder if (folder / "model.py").is_file() else None


def fetch_zip(session: Session, services: Services, baseline: Baseline) -> Zip:
    """The baseline's zip in the storage; raises `Conflict` where there is none."""
    if baseline.digest is None:
        folder = builtin_folder(services, baseline.builtin or "")
        if folder is None:
            raise Conflict(f"“{baseline.name}” is not installed here: upload its zip first.")
        reason = why_not_run(services, baseline)
        if reason:
            raise Conflict(reason)
        content = _pack_builtin(folder, baseline, _offered(services, baseline.weights))
        baseline.digest = store_bytes(session, services.storage, content)
    with services.storage.open(baseline.digest) as stream:
        content = stream.read()
    return Zip(f"{baseline.slug}.zip", baseline.digest, len(content), _check(content))


def why_not_run(services: Services, baseline: Baseline) -> str:
    """Why a baseline cannot be run here, in words for organizers; empty where it can.

    One that starts from pretrained weights never runs with random ones under its name.
    """
    if baseline.digest is not None:
        return ""
    return _unknown_settings(services, baseline) or _missing_weights(services, baseline)


def _unknown_settings(services: Services, baseline: Baseline) -> str:
    """That the baseline has no settings of the name that the competition gives."""
    folder = builtin_folder(services, baseline.builtin or "")
    known = Builtin(baseline.slug, folder).overlays() if folder else set()
    if folder is None or baseline.settings in known | {""}:
        return ""
    return (
        f"“{baseline.name}” is not run: {baseline.builtin} has no settings "
        f"“{baseline.settings}” here. There are: {', '.join(sorted(known))}."
    )


def _missing_weights(services: Services, baseline: Baseline) -> str:
    if not baseline.weights or _offered(services, baseline.weights):
        return ""
    folder = services.settings.weights_folder
    where = f"the folder {folder}" if folder else "a folder, named by ANYSHOT_WEIGHTS_FOLDER"
    return (
        f"“{baseline.name}” is not run: it starts from the pretrained weights "
        f"{baseline.weights}, which this site does not offer. The operator puts the file into "
        f"{where}; with random weights it would be another method."
    )


def not_run_in(session: Session, services: Services, competition: Competition, league: str) -> str:
    """What a league's public board says of the baselines that this site cannot run; empty where there are none."""
    rows = [
        row
        for row in list_baselines(session, competition)
        if league in row.leagues and row.digest is None and _missing_weights(services, row)
    ]
    if not rows:
        return ""
    names = ", ".join(f"“{row.name}”" for row in rows)
    files = ", ".join(dict.fromkeys(row.weights for row in rows))
    return (
        f"Not run: {names}. This site does not offer the pretrained weights that they start from ({files})."
    )


def _offered(services: Services, name: str) -> Path | None:
    """The weights file of that name, where the site has it."""
    folder = services.settings.weights_folder
    path = folder / name if folder and name else None
    return path if path is not None and path.is_file() else None


def _pack_builtin(folder: Path, baseline: Baseline, weights: Path | None) -> bytes:
    """The zip of a baseline that ships with Anyshot, with the settings and the weights that the competition names."""
    changes = {"method": {"weights": weights.name}} if weights else {}
    with tempfile.TemporaryDirectory() as scratch:
        target = Path(scratch) / "baseline.zip"
        files = [weights] if weights else []
        pack_baseline(Builtin(baseline.slug, folder), target, baseline.settings, changes, files)
        return target.read_bytes()


def run_baseline(
    session: Session, services: Services, phase: Phase, baseline: Baseline, actor_id: str
) -> Submission:
    """Score a baseline in a phase; it stands on the boards as a marked row, out of the ranking.

    Raises `Conflict` where none of its leagues is there: naming none, it would stand in all that are open to all.
    """
    reason = why_on_no_board(session, baseline)
    if reason:
        raise Conflict(reason)
    competition = session.get_one(Competition, phase.competition_id)
    membership = find_membership(session, competition.id, actor_id)
    if membership is None or membership.team_id is None:
        membership = add_member(session, competition, session.get_one(User, actor_id), Role.ORGANIZER)
    return create_submission(
        session,
        phase,
        team_id=membership.team_id or "",
        user_id=actor_id,
        archive=fetch_zip(session, services, baseline),
        kind=SubmissionKind.BASELINE,
        wishes=Wishes(comment=baseline.name, leagues=tuple(boards_of(session, baseline))),
    )


def count_runs(session: Session, submission: Submission) -> int:
    """How many runs a submission has."""
    return session.scalar(select(func.count(Run.id)).where(Run.submission_id == submission.id)) or 0


def record(session: Session, baseline: Baseline, actor_id: str, action: str) -> None:
    """Note in the log what was done with a baseline."""
    audit.record(
        session,
        actor_id=actor_id,
        action=action,
        object_type="baseline",
        object_id=baseline.id,
        competition_id=baseline.competition_id,
        after={"name": baseline.name},
    )
