"""Makes the receipt of a run in the transaction that records its result, and finds the receipts of runs."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import select
from sqlalchemy.orm import Session

from anyshot_core.browser_charts.numbers import known_half
from anyshot_core.receipts import (
    PublicKey,
    Receipt,
    ReceiptData,
    canonical,
    new_private_key,
    public_key,
    sign,
)
from anyshot_core.wire.worker_api import Provenance
from anyshot_platform.contest.competitions.models import Competition
from anyshot_platform.contest.phases.models import PhaseVersion
from anyshot_platform.contest.pools.models import PoolVersion
from anyshot_platform.contest.pools.rights import is_public
from anyshot_platform.foundation.artifacts.models import Artifact
from anyshot_platform.foundation.database import insert_into, now
from anyshot_platform.foundation.errors import NotFound
from anyshot_platform.judging.domain_events import PartsFinished, RunEnded
from anyshot_platform.judging.execution.kinds import kind_of
from anyshot_platform.judging.receipts.models import RunReceipt, SiteKey
from anyshot_platform.judging.runs.models import Run
from anyshot_platform.judging.runs.secrets import commitment_of, secrets_of, task_fingerprint
from anyshot_platform.judging.scores.models import RunScore
from anyshot_platform.judging.scores.verification import PREDICTIONS, RESULTS

_PURPOSE = "receipts"


def make_key(session: Session) -> None:
    """Make the key pair that signs receipts, where the site has none."""
    values = {"purpose": _PURPOSE, "private_key": new_private_key().hex(), "created_at": now()}
    session.execute(insert_into(session, SiteKey).values(**values).on_conflict_do_nothing())


def find_public_key(session: Session) -> PublicKey:
    """The public key of the site; raises `NotFound` before its first start."""
    private = _private_key(session)
    if private is None:
        raise NotFound("This site has signed no receipt.")
    return public_key(private)


def _private_key(session: Session) -> bytes | None:
    found = session.scalar(select(SiteKey.private_key).where(SiteKey.purpose == _PURPOSE))
    return bytes.fromhex(found) if found else None


def find_receipts(session: Session, run_ids: Sequence[str]) -> list[str]:
    """The receipts of these runs as canonical JSON, in the order of the runs; runs without one are left out."""
    rows = select(RunReceipt.run_id, RunReceipt.signed).where(RunReceipt.run_id.in_(run_ids))
    signed = {row.run_id: row.signed for row in session.execute(rows)}
    return [signed[run_id] for run_id in run_ids if run_id in signed]


def list_receipts(session: Session, competition: Competition) -> Sequence[str]:
    """All receipts of a competition, the oldest run first."""
    query = select(RunReceipt.signed).join(Run, Run.id == RunReceipt.run_id)
    return session.scalars(query.where(Run.competition_id == competition.id).order_by(Run.id)).all()


def join_receipts(signed: Sequence[str]) -> str:
    """Receipts as one file: a JSON list."""
    return "[" + ",\n".join(signed) + "]\n"


@dataclass(frozen=True)
class ReceiptMaker:
    """Subscribes to the end of runs and of the parts of runs; `site` is the address of the site."""

    site: str

    def run_ended(self, session: Session, ended: RunEnded) -> None:
        """Sign a whole run that counts and has a score."""
        if ended.run.shard_index is None and kind_of(ended.run).counts:
            self._sign(session, [ended.run])

    def parts_finished(self, session: Session, finished: PartsFinished) -> None:
        """Sign a run in parts, once they were put together."""
        self._sign(session, finished.parts)

    def _sign(self, session: Session, parts: Sequence[Run]) -> None:
        score = session.get(RunScore, parts[0].id)
        if score is None or session.get(RunReceipt, parts[0].id) is not None:
            return
        make_key(session)
        private = _private_key(session)
        assert private is not None  # it was just made, if it was not there
        signed = sign(_receipt(session, self.site, parts, score), private)
        text = canonical(signed.model_dump(mode="json")).decode()
        session.add(RunReceipt(run_id=parts[0].id, signed=text))
        session.flush()


def _receipt(session: Session, site: str, parts: Sequence[Run], score: RunScore) -> Receipt:
    run, version, submission = parts[0], parts[0].phase_version, parts[0].submission
    assert submission is not None  # only runs of submissions count
    known = run.provenance or Provenance()
    files = _digests(session, [part.id for part in parts])
    return Receipt(
        site=site,
        competition=submission.competition.slug,
        phase=submission.phase.slug,
        phase_version=version.number,
        submission=submission.id,
        run=run.id,
        kind=run.kind.value,
        seed_index=run.seed_index,
        train_seed=version.train_seeds[run.seed_index],
        same_test_tasks=version.same_test_tasks,
        commitment=commitment_of(version),
        protocol=task_fingerprint(version),
        code=submission.digest,
        image=known.image,
        image_digest=known.image_digest,
        sandbox=known.sandbox,
        kit_version=known.kit_version,
        hardware=known.hardware,
        train_data=_data(version, version.meta_train),
        test_data=_data(version, version.meta_test),
        predictions=tuple(files[part.id, PREDICTIONS] for part in parts if (part.id, PREDICTIONS) in files),
        results=files.get((run.id, RESULTS)),
        metric=score.summary.metric,
        score=score.value,
        half_width=known_half(score.half_width),
        tasks=score.tasks,
        seconds=sum(part.used.participant_seconds for part in parts),
        claimed_at=min(part.claimed_at or part.created_at for part in parts),
        finished_at=max(part.finished_at or now() for part in parts),
    )


def _digests(session: Session, run_ids: Sequence[str]) -> dict[tuple[str, str], str]:
    """The digests of results and predictions, by run and name; the files were digested when they came."""
    rows = session.execute(
        select(Artifact.run_id, Artifact.name, Artifact.digest).where(
            Artifact.run_id.in_(run_ids), Artifact.name.in_((RESULTS, PREDICTIONS)), Artifact.final
        )
    )
    return {(run_id, name): digest for run_id, name, digest in rows}


def _data(version: PhaseVersion, pool: PoolVersion | None) -> ReceiptData | None:
    """A hidden pool is known by its fingerprint alone, as on every page."""
    if pool is None:
        return None
    fingerprint = secrets_of(version).fingerprint(["data", pool.digest])
    return ReceiptData(digest=pool.digest if is_public(pool) else None, fingerprint=fingerprint)
