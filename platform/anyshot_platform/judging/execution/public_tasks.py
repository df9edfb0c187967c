"""The tasks of a smoke test as one can look at them: drawn again from public data, beside what was predicted."""

import io
import json
from contextlib import ExitStack
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated

import numpy as np
from pydantic import Field, computed_field
from sqlalchemy.orm import Session

from anyshot_core.data.picture import answered_picture, class_name
from anyshot_core.data.pool import Pool
from anyshot_core.data.problems import DataError
from anyshot_core.protocols import protocol_from_dict
from anyshot_core.protocols.keys import read_seed
from anyshot_core.results import BadResultsFile, read_predictions
from anyshot_platform.contest.phases.models import PhaseVersion
from anyshot_platform.contest.pools.images import opened
from anyshot_platform.foundation.errors import NotFound
from anyshot_platform.foundation.services import Services
from anyshot_platform.foundation.storage import Storage
from anyshot_platform.judging.execution.kinds.kind import Case
from anyshot_platform.judging.execution.kinds.smoke import SMOKE
from anyshot_platform.judging.execution.tables import find_predictions
from anyshot_platform.judging.runs.models import Run
from anyshot_platform.judging.submissions.models import Submission
from anyshot_platform.judging.visibility.smoke import require_smoke_pool
from anyshot_scoring.confusion import confusion_of_task


@dataclass(frozen=True)
class PublicTask:
    """A task of a smoke test; rows are true classes, columns predicted ones."""

    number: int  # from 1
    tasks: Annotated[int, Field(description="how many the smoke test has")]
    dataset: str
    ways: int
    shots: int
    classes: tuple[str, ...]
    confusion: tuple[tuple[int, ...], ...]
    picture: Annotated[bytes, Field(exclude=True)]  # JPEG

    @computed_field
    @property
    def right(self) -> int:
        """Query images that were predicted right."""
        return sum(row[label] for label, row in enumerate(self.confusion))

    @computed_field
    @property
    def queries(self) -> int:
        """All query images."""
        return sum(map(sum, self.confusion))


def read_public_task(
    session: Session, services: Services, submission: Submission, run: Run, version: PhaseVersion, number: int
) -> PublicTask:
    """A task of a smoke test that is through, counted from 1.

    Raises `NoSmokeTest` where its data are public no more, and `NotFound` where there is no such task, its predictions
    are not kept, or the phase would draw other tasks now.
    """
    require_smoke_pool(session, submission.phase)
    case = Case(services, session, run, version, submission.phase)
    found = find_predictions(session, submission, version)
    if not found:
        raise NotFound("The predictions are no longer kept.")
    fields = SMOKE.draws.fields(case)
    _, packs = SMOKE.data.packs(case)
    try:
        return _look(
            services.storage,
            tuple(one.blob.digest for one in packs),
            json.dumps(fields["protocol"].to_dict(), sort_keys=True),
            json.dumps(fields["test_seed"]),
            found[0],
            number,
        )
    except (OSError, DataError, BadResultsFile) as error:
        raise NotFound("This task cannot be shown: its data cannot be read any more.") from error


@lru_cache(maxsize=32)  # some 200 KB each: drawing one takes a tenth of a second, and a page asks twice
def _look(
    storage: Storage, packs: tuple[str, ...], protocol: str, seed: str, predictions: str, number: int
) -> PublicTask:
    with storage.open(predictions) as file:
        known = read_predictions(io.BytesIO(file.read())).predictions
    if not 1 <= number <= len(known):
        raise NotFound("The smoke test has no such task.")
    part = slice(int(known.offsets[number - 1]), int(known.offsets[number]))
    answers, labels = known.predictions[part], known.labels[part]
    with ExitStack() as stack:
        pool = Pool([stack.enter_context(opened(storage, digest)) for digest in packs])
        task = protocol_from_dict(json.loads(protocol)).task(
            pool, read_seed(json.loads(seed)), int(known.task[number - 1])
        )
        pack = pool[task.dataset]
        same = pack.name == known.dataset[number - 1] and np.array_equal(task.query_labels, labels)
        if not same:
            raise NotFound("This task cannot be shown: the phase has drawn other tasks since then.")
        picture = io.BytesIO()
        answered_picture(pack, task, answers).save(picture, "JPEG", quality=82)
        classes = tuple(class_name(pack, task, label) for label in range(task.ways))
    return PublicTask(
        number=number,
        tasks=len(known),
        dataset=pack.name,
        ways=task.ways,
        shots=task.shots,
        classes=classes,
        confusion=tuple(map(tuple, confusion_of_task(labels, answers, task.ways).tolist())),
        picture=picture.getvalue(),
    )
