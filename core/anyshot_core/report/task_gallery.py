"""Tasks to look at: images, predictions and the classes that were mixed up, as a page that stands alone."""

import base64
import io
from collections.abc import Callable

import numpy as np
from markupsafe import Markup

from anyshot_core.data.picture import EXPLAINED, answered_picture, class_name
from anyshot_core.data.pool import Pool
from anyshot_core.protocols.task import TaskSpec
from anyshot_core.report.pages import wrap_page
from anyshot_scoring.confusion import confusion_of_task
from anyshot_scoring.predictions import Predictions

MOST_TASKS = 12
_COUNTED = "The table counts query images by true (row) and predicted class."


def tasks_page(pool: Pool, spec: Callable[[int], TaskSpec], predictions: Predictions, title: str) -> str:
    """The first `MOST_TASKS` tasks with what was predicted of them; `spec` draws a task by its index.

    Empty where the predictions are of other tasks than `spec` draws.
    """
    sections = []
    for place in range(min(len(predictions), MOST_TASKS)):
        task = spec(int(predictions.task[place]))
        part = slice(int(predictions.offsets[place]), int(predictions.offsets[place + 1]))
        if not np.array_equal(task.query_labels, predictions.labels[part]):
            return ""
        sections.append(_section(pool, task, predictions.predictions[part], place + 1))
    head = Markup("<h1>{}</h1><p>{} {}</p>").format(title, EXPLAINED, _COUNTED)
    return wrap_page(title, head + Markup("").join(sections))


def _section(pool: Pool, task: TaskSpec, answers: np.ndarray, number: int) -> Markup:
    pack = pool[task.dataset]
    picture = io.BytesIO()
    answered_picture(pack, task, answers).save(picture, "JPEG", quality=82)
    right = int((answers == task.query_labels).sum())
    return Markup(
        "<section><h2>Task {}: {}, {} ways, {} shots</h2><p>{} of {} query images were classified correctly.</p>"
        '<div style="overflow-x:auto;background:#fff"><img alt="Images of the task" '
        'src="data:image/jpeg;base64,{}"></div>{}</section>'
    ).format(
        number,
        pack.name,
        task.ways,
        task.shots,
        right,
        len(answers),
        base64.b64encode(picture.getvalue()).decode(),
        _table([class_name(pack, task, label) for label in range(task.ways)], task.query_labels, answers),
    )


def _table(names: list[str], labels: np.ndarray, answers: np.ndarray) -> Markup:
    head = Markup("").join(Markup("<th>as {}</th>").format(label) for label in range(len(names)))
    counts = confusion_of_task(labels, answers, len(names))
    rows = Markup("").join(
        Markup("<tr><th>{}: {}</th>{}</tr>").format(
            label, name, Markup("").join(Markup("<td>{}</td>").format(count) for count in counts[label])
        )
        for label, name in enumerate(names)
    )
    return Markup(
        '<div style="overflow-x:auto"><table><thead><tr><th>True class</th>{}</tr></thead>'
        "<tbody>{}</tbody></table></div>"
    ).format(head, rows)
