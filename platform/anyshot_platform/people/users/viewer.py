"""Who is asking, and what their session or token lets them do."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from anyshot_platform.foundation.errors import Forbidden, NotSignedIn

TOKEN_PREFIX = "any_"


class Scope(StrEnum):
    """What an API token may do."""

    READ = "read"  # what its user sees as a participant
    SUBMIT = "submit"  # upload, cancel, withdraw submissions
    ORGANIZE = "organize"  # act as organizer or site administrator
    ACCOUNT = "account"  # profile, teams, memberships, tokens, posts


@dataclass(frozen=True)
class Look:
    """An organizer sees pages as somebody else: of which competition, as whom (`participant` or `visitor`)."""

    competition_id: str
    slug: str
    title: str
    role: str


class Cohort(StrEnum):
    """All who see the same of a page but for what is their own."""

    VISITORS = "visitors"  # who are not signed in
    MEMBERS = "members"  # who are signed in, and have nothing to do with the competition
    PARTICIPANTS = "participants"  # who are in a team of the competition


@dataclass(frozen=True)
class Viewer:
    """The one who asks. A browser session has all scopes, a token those it was given."""

    user_id: str | None = None
    username: str = ""
    display_name: str = ""
    email: str = ""
    time_zone: str = "UTC"
    is_site_admin: bool = False
    may_organize: bool = False
    session_id: str | None = None
    token_id: str | None = None
    scopes: frozenset[Scope] = frozenset(Scope)
    has_second_factor: bool = False
    lacks_second_factor: bool = False  # the site demands one, and takes rights away until it is there
    proved_at: datetime | None = None  # when password or code were said last
    look: Look | None = None  # as somebody else; nothing is written meanwhile
    cohort: Cohort | None = None  # nobody in particular: a page is made for all of these

    @property
    def is_signed_in(self) -> bool:
        """Whether we know who it is."""
        return self.user_id is not None

    @property
    def id(self) -> str:
        """The user's id; raises `NotSignedIn` for nobody."""
        if self.user_id is None:
            raise NotSignedIn("Please log in.")
        return self.user_id

    @property
    def owner_id(self) -> str | None:
        """The user's id where it is asked what is theirs as an organizer; None for a token without that scope."""
        return self.user_id if Scope.ORGANIZE in self.scopes else None


NOBODY = Viewer()
STANDS_FOR_MANY = "cohort"  # is the id of nobody


def stand_in(cohort: Cohort) -> Viewer:
    """One who sees what everybody in the cohort sees, and owns nothing."""
    known = None if cohort == Cohort.VISITORS else STANDS_FOR_MANY
    return Viewer(user_id=known, cohort=cohort)


def lacks(viewer: Viewer, scope: Scope) -> Forbidden:
    """The refusal for somebody who lacks a scope, in words for them."""
    if viewer.look is not None:
        return Forbidden(f"You are looking at the site as a {viewer.look.role}, who cannot see this page.")
    return Forbidden(f"This API token lacks the scope “{scope}”.", scope=scope.value)


class NeedsSecondFactor(Forbidden):
    """The site demands a second factor of people with these rights, and the account has none."""

    code = "second_factor"


def require_second_factor(viewer: Viewer) -> None:
    """Raise where the site demands a second factor of the viewer, who has none."""
    if viewer.lacks_second_factor:
        raise NeedsSecondFactor(
            "This site asks for a second factor at log-in before you may do this. Set it up under "
            "Account, Password and sessions."
        )
