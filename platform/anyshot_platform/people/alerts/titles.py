"""What a page calls an alert; its kind is for programs."""

TITLES: dict[str, str] = {
    "no_workers": "No worker",
    "queue_stalled": "A queue is stuck",
    "failure_rate": "Many attempts fail",
    "worker_failing": "A worker fails",
    "set_aside": "Set aside",
    "mail_waits": "E-mails do not go out",
    "loop_late": "A background thread is stuck",
    "site_down": "The site was down",
    "run_lost": "A run was given up",
    "wrong_result": "A wrong result",
    "odd_time": "Time that nobody was charged for",
    "worker_too_old": "A worker is too old",
    "unreadable": "A worker cannot read a job",
}


def title_of(kind: str) -> str:
    """The title of an alert of that kind; one that is not listed is itself."""
    return TITLES.get(kind, kind.replace("_", " ").capitalize())
