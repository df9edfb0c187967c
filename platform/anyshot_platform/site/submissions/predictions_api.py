"""What a submission's predictions say over JSON: further evaluations, confusions, the tasks of a smoke test."""

from typing import Annotated

from fastapi import APIRouter, Depends, Path
from pydantic import BaseModel, Field
from starlette.responses import Response

from anyshot_platform.judging.execution.public_tasks import PublicTask
from anyshot_platform.judging.visibility.access import SubmissionAccess
from anyshot_platform.site.evaluations.view import PointOut, points_out
from anyshot_platform.site.submissions.confusion_view import class_numbers, read_confusions
from anyshot_platform.site.submissions.show import find_version
from anyshot_platform.site.submissions.task_view import find_task
from anyshot_platform.site.web.access import submission_reader
from anyshot_platform.site.web.services import ServicesDep, SessionDep

router = APIRouter(prefix="/api/v1", tags=["submissions"])
Reader = Annotated[SubmissionAccess, Depends(submission_reader)]
Number = Annotated[int, Path(ge=1, le=1_000_000, description="counted from 1")]


class ConfusionOut(BaseModel):
    """A dataset over all tasks of all runs that count; rows are true classes, columns predicted ones."""

    dataset: str
    tasks: int
    right: float = Field(description="share of the query images that were predicted right")
    classes: list[int] = Field(description="number of each row and column in its dataset, from 1")
    counts: list[list[int]] = Field(
        description="query images of the row's class that were taken for the column's"
    )
    together: list[list[int]] = Field(
        description="query images of the row's class in tasks with the column's class"
    )


@router.get("/submissions/{submission_id}/evaluations")
def show_evaluations(found: Reader, session: SessionDep) -> list[PointOut]:
    """What its learner scores on further tasks, point by point; empty where there is nothing that one may see."""
    return points_out(session, found.sight, find_version(session, found.submission))


@router.get("/submissions/{submission_id}/confusion")
def show_confusions(found: Reader, session: SessionDep, services: ServicesDep) -> list[ConfusionOut]:
    """Which classes are mixed up, of each dataset; 404 where the phase does not show it."""
    return [
        ConfusionOut(
            dataset=str(one.label),
            tasks=one.confusion.tasks,
            right=one.confusion.right,
            classes=class_numbers(one.confusion),
            counts=one.confusion.counts.tolist(),
            together=one.confusion.together.tolist(),
        )
        for one in read_confusions(session, services.storage, found)
    ]


@router.get("/submissions/{submission_id}/tasks/{number}")
def show_public_task(found: Reader, session: SessionDep, services: ServicesDep, number: Number) -> PublicTask:
    """A task of a smoke test and what was predicted; 404 for hidden tasks."""
    return find_task(session, services, found, number)


@router.get("/submissions/{submission_id}/tasks/{number}/picture", response_class=Response)
def show_public_picture(
    found: Reader, session: SessionDep, services: ServicesDep, number: Number
) -> Response:
    """The images of a task of a smoke test with what was predicted, as a JPEG."""
    return Response(find_task(session, services, found, number).picture, media_type="image/jpeg")
