"""The parts of an act. Pages, the JSON API, the command line and the audit log all read them from here."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Generic

from pydantic import BaseModel, ConfigDict
from sqlalchemy.orm import Session
from typing_extensions import TypeVar

from anyshot_platform.contest.competitions.states import Role
from anyshot_platform.people.users.viewer import NOBODY, Viewer

LOG_HOLDS = "Reason, for the audit log"
TEAM_READS = "Reason (the team sees it)"
PERSON_READS = "Reason (the person sees it)"
ALL_READ = "Reason (everybody sees it on the page of the results)"
_OBJECTS = {  # where the first word of an act's key is not what it is done to
    "announcement.add": "the competition",
    "code": "the team",
    "final": "the phase",
    "member": "the person",
    "set_aside": "what is set aside",
    "user": "the person",
}
_NAMED = re.compile(r"(the \w+) {}")  # a title that says what its object is


class ActOptions(BaseModel):
    """What an act asks for beside its object: fields of its request, of its form and of the command line."""

    model_config = ConfigDict(extra="forbid", frozen=True)


NO_OPTIONS = ActOptions()
S = TypeVar("S")
Opts = TypeVar("Opts", bound=ActOptions, default=ActOptions)
Opts_co = TypeVar("Opts_co", bound=ActOptions, default=ActOptions, covariant=True)


class Danger(StrEnum):
    """What whoever does an act shows first, beside the role: nothing, that it is them, or that they know to what.

    An act needs nothing only where another act undoes it before anybody has noticed, and it neither shows a secret nor
    gives or takes a right.
    """

    NONE = "none"
    PROOF = "proof"  # password or code again
    NAME = "name"  # that, and the name of the object, typed


@dataclass(frozen=True)
class Findings:
    """What an act meets on its object now. All are sentences for the person who is about to do it."""

    done: str = ""  # not empty: it is so already, and doing it again changes nothing
    refused: Sequence[str] = ()  # nobody can do it while this holds
    blocked: Sequence[str] = ()  # done all the same only by somebody who says so; the log names it
    warnings: Sequence[str] = ()
    does: Sequence[str] = ()  # to what and to how many
    told: int = 0  # people who get a message
    asks: bool = True  # whether the name is asked here: an empty phase is deleted without


@dataclass(frozen=True)
class ActRequest(Generic[Opts_co]):
    """Who does it, with which options; `viewer` holds their rights, where an option names another object.

    An empty `actor_id` is somebody at the machine of the site, by the command line.
    """

    actor_id: str
    reason: str = ""
    options: Opts_co = NO_OPTIONS  # pyright: ignore[reportAssignmentType]: without options, Opts_co is ActOptions
    viewer: Viewer = NOBODY


@dataclass(frozen=True)
class ActDone:
    """What was done: the sentence for the page, and what the log keeps."""

    message: str
    before: Mapping[str, Any] = field(default_factory=dict)
    after: Mapping[str, Any] = field(default_factory=dict)
    result: Any = None


@dataclass(frozen=True)
class Target:
    """What an act is done to, in words: `name` is what has to be typed, `competitions` keep it in their logs."""

    kind: str
    id: str
    name: str
    title: str
    competitions: Sequence[str] = ()


@dataclass(frozen=True)
class Button(Generic[S]):
    """How a page offers an act; `fits` says on which objects, `group` where among the page's buttons."""

    label: str
    icon: str = ""
    fits: Callable[[S], bool] = lambda _: True
    group: str = ""
    style: str = ""


@dataclass(frozen=True)
class Act(Generic[S, Opts]):
    """Something that organizers do. `key` is its name in the log; `{}` in the title is its object's.

    Its address is `acts/<name>` below that of its object, over JSON and for `anyshot organize do`.
    """

    key: str
    title: str
    target: Callable[[Session, S], Target]
    look: Callable[[Session, S, ActRequest[Opts]], Findings]
    do: Callable[[Session, S, ActRequest[Opts]], ActDone]
    undo: str  # a sentence
    reason: str = LOG_HOLDS  # what the field of the reason says: who reads it
    danger: Danger = field(kw_only=True)
    role: Role = Role.ORGANIZER
    options: type[Opts] = ActOptions  # pyright: ignore[reportAssignmentType]: an act without options has Opts = ActOptions
    button: Button[S] | None = None

    @property
    def name(self) -> str:
        """What addresses and commands call it: `redraw-seeds`."""
        return self.key.partition(".")[2].replace("_", "-")

    @property
    def about(self) -> str:
        """The title of the act on any object, as lists of acts have it: `Open the phase`."""
        noun = self.key.partition(".")[0]
        words = _OBJECTS.get(self.key) or _OBJECTS.get(noun) or f"the {noun}"
        return _NAMED.sub(r"\1", self.title).format(words)


def by_name(*acts: Act[S, Any]) -> dict[str, Act[S, Any]]:
    """The acts on one kind of object, each under its name."""
    return {act.name: act for act in acts}


@dataclass(frozen=True)
class Consent:
    """What somebody says before a dangerous act: the name of its object, and whether it is done all the same."""

    name: str = ""
    override: bool = False
