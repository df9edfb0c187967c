"""What a page calls an alert; its kind is for programs."""

from __future__ import annotations

from anyshot_platform.kernel.language import say

TITLES: dict[str, str] = {
    "no_workers": say("No worker"),
    "queue_stalled": say("A queue is stuck"),
    "failure_rate": say("Many attempts fail"),
    "worker_failing": say("A worker fails"),
    "set_aside": say("Set aside"),
    "mail_waits": say("E-mails do not go out"),
    "loop_late": say("A background thread is stuck"),
    "run_lost": say("A run was given up"),
    "wrong_result": say("A wrong result"),
    "worker_too_old": say("A worker is too old"),
    "unreadable": say("A worker cannot read a job"),
}


def title_of(kind: str) -> str:
    """The title of an alert of that kind; one that is not listed is itself."""
    return TITLES.get(kind, kind.replace("_", " ").capitalize())
