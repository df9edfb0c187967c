"""What organizers do to submissions, in the words of the table and of a submission's page."""

from __future__ import annotations

from anyshot_platform.kernel.language import say
from anyshot_platform.organizers.submissions.acts import ACTS
from anyshot_platform.organizers.submissions.bulk import UNDO, SubmissionAct
from anyshot_platform.site.shell.many_frame import Menu

WORDS = {
    SubmissionAct.RERUN: say("run again"),
    SubmissionAct.RESCORE: say("score again"),
    SubmissionAct.CANCEL: say("cancel"),
    SubmissionAct.DISQUALIFY: say("disqualify"),
    SubmissionAct.QUALIFY: say("lift the disqualification of"),
    SubmissionAct.REFUND: say("give the quota back for"),
    SubmissionAct.CHARGE: say("count for the quota"),
    SubmissionAct.DELETE: say("delete"),
    SubmissionAct.RESTORE: say("restore"),
}
CHOICES = {  # without a number of submissions behind
    **WORDS,
    SubmissionAct.QUALIFY: say("lift the disqualification"),
    SubmissionAct.REFUND: say("give the quota back"),
}

BULK = Menu(
    section="submissions",
    heading=say("Submissions"),
    noun=("submission",),
    acts=ACTS,
    words={act.value: words for act, words in WORDS.items()},
    undo={act.value: undo.value for act, undo in UNDO.items()},
    name=lambda row: (row.id[:12], f"/submissions/{row.id}"),
    stern=frozenset({"disqualify", "delete", "cancel"}),
    reasoned=frozenset({"disqualify"}),
)
