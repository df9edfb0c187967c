"""What organizers do to submissions, in the words of the table and of a submission's page."""

from anyshot_platform.judging.submissions.actions.acts import ACTS
from anyshot_platform.judging.submissions.actions.bulk import UNDO, SubmissionAct
from anyshot_platform.site.shell.many_frame import Menu

WORDS = {
    SubmissionAct.RERUN: "run again",
    SubmissionAct.RESCORE: "score again",
    SubmissionAct.CANCEL: "cancel",
    SubmissionAct.DISQUALIFY: "disqualify",
    SubmissionAct.QUALIFY: "lift the disqualification of",
    SubmissionAct.REFUND: "give the quota back for",
    SubmissionAct.CHARGE: "count for the quota",
    SubmissionAct.DELETE: "delete",
    SubmissionAct.RESTORE: "restore",
}
CHOICES = {  # without a number of submissions behind
    **WORDS,
    SubmissionAct.QUALIFY: "lift the disqualification",
    SubmissionAct.REFUND: "give the quota back",
}

BULK = Menu(
    section="submissions",
    heading="Submissions",
    noun=("submission",),
    acts=ACTS,
    words={act.value: words for act, words in WORDS.items()},
    undo={act.value: undo.value for act, undo in UNDO.items()},
    name=lambda row: (row.id[:12], f"/submissions/{row.id}"),
    stern=frozenset({"disqualify", "delete", "cancel"}),
    reasoned=frozenset({"disqualify"}),
)
