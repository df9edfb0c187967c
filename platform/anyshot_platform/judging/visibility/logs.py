"""How much of the output of their code participants see. Everything only where the data is public anyway."""

from anyshot_core.wire.worker_api import LogPolicy, Stage
from anyshot_platform.contest.phases.models import Phase, PhaseVersion
from anyshot_platform.contest.pools.rights import is_public


def wanted_logs(phase: Phase) -> LogPolicy:
    """What the organizers set, whether or not the data allows it."""
    return phase.log_policy


def shown_logs(phase: Phase, version: PhaseVersion | None = None) -> LogPolicy:
    """What participants see of their output under a version, or the live one."""
    if version is None:
        version = next((found for found in phase.versions if found.number == phase.live_version), None)
    return _at_most(phase.log_policy, version is not None and is_public(version.meta_test))


def smoke_logs(phase: Phase) -> LogPolicy:
    """What participants see of the output of their smoke tests: everything, unless the pool was hidden again."""
    return LogPolicy.EVERYTHING if is_public(phase.smoke_pool) else _at_most(phase.log_policy, False)


def stages_shown(policy: LogPolicy) -> frozenset[Stage]:
    """The stages of which participants see what their code says: in words, in figures of its logger, and in how much
    of the machine it uses, which it can choose and so write with.
    """
    if policy == LogPolicy.EVERYTHING:
        return frozenset(Stage)
    return frozenset({Stage.PREPARING, Stage.META_TRAINING} if policy == LogPolicy.META_TRAIN else ())


def _at_most(policy: LogPolicy, public: bool) -> LogPolicy:
    return LogPolicy.META_TRAIN if policy == LogPolicy.EVERYTHING and not public else policy
