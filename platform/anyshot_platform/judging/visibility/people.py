"""Whose profile others see, and which members of a team are named to whom: a team's name may be a pseudonym."""

from anyshot_platform.contest.competitions.states import Role
from anyshot_platform.foundation.errors import NotFound
from anyshot_platform.judging.visibility.access import CompetitionAccess
from anyshot_platform.people.users.models import User
from anyshot_platform.people.users.viewer import Viewer


def require_known(user: User | None) -> User:
    """The user; raises `NotFound` where there is none any more, or the administrators blocked them."""
    if user is None or user.deleted_at is not None or user.blocked_at is not None:
        raise NotFound("There is nobody of that name.")
    return user


def sees_profile(viewer: Viewer, user: User) -> bool:
    """Whether the viewer sees what somebody says of themselves, and where they take part: if they made it public."""
    return user.profile_public or viewer.user_id == user.id


def sees_members(access: CompetitionAccess, team_id: str) -> bool:
    """Whether the viewer sees all members of a team: it is theirs, or they review the competition."""
    return access.team_id == team_id or access.may(Role.REVIEWER)
