"""An organizer's report, computed by a worker as an ordinary job."""

from __future__ import annotations

from anyshot_starting_kit.wire.worker_api import Complete, Stage
from anyshot_worker.attempt import Attempt


def analyse(attempt: Attempt) -> Complete:
    """Run the analysis that the assignment names and upload its page, numbers and table.

    `parameters["analysis"]` is the name in `anyshot_analysis.jobs`; the rest goes to it. Its inputs are the packs of
    the assignment's pools and, where the assignment has one, the blob of earlier results.
    """
    from anyshot_analysis import jobs  # brings torch and timm, which no other job of this process needs

    assignment, workspace = attempt.assignment, attempt.site.workspace
    parameters = dict(assignment.parameters)
    name = parameters.pop("analysis")
    attempt.say(Stage.PREPARING, f"Fetching what the report {name!r} is about")
    with attempt.step("prepare"):
        inputs = {
            "meta_train": [workspace.get(pack.blob, ".anyshot-pack") for pack in assignment.meta_train],
            "meta_test": [workspace.get(pack.blob, ".anyshot-pack") for pack in assignment.meta_test],
        }
        if assignment.predictions is not None:
            inputs["results"] = [workspace.get(assignment.predictions, ".parquet")]
    attempt.say(Stage.SCORING, f"Computing the report {name!r}")
    target = attempt.folder / "report"
    target.mkdir()
    with attempt.step("analysis"):
        summary = jobs.run(name, inputs, parameters, target)
    for path in sorted(target.iterdir()):
        attempt.keep(path.name, path)
    attempt.keep("log.txt", attempt.log.close())
    return Complete(
        epoch=assignment.epoch,
        summary=summary,
        artifacts=attempt.artifacts,
        usage=attempt.use(),
        provenance=attempt.provenance,
    )
