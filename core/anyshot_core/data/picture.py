"""Pictures of data to look at: a contact sheet of a pack, the support and query sets of a task."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from anyshot_core.data.images import SIDE
from anyshot_core.data.pack import Pack

if TYPE_CHECKING:
    from anyshot_core.protocols.task import TaskSpec

_MOST_SUPPORTS, _MOST_QUERIES = 5, 10  # images of a class in the picture of a task with its answers
EXPLAINED = (
    f"One class a row: at the left up to {_MOST_SUPPORTS} of its support images, at the right up to {_MOST_QUERIES} of "
    "its query images, wrong ones first. A red frame is a wrong prediction, with the number of the predicted class "
    "below it; a green one is right."
)
_GAP = 4
_LABEL_WIDTH = 180
_TITLE_HEIGHT = 28
_FONT_SIZE = 14
_RIGHT, _WRONG = "#0f7b6c", "#c0392b"


def contact_sheet(pack: Pack, classes: int = 20, images: int = 8) -> Image.Image:
    """The first `images` images of the first `classes` classes, one class a row."""
    shown = range(min(classes, len(pack.classes)))
    title = f"{pack.name}: {len(pack)} images, {len(pack.classes)} classes" + (
        f", {pack.domain}" if pack.domain else ""
    )
    return _rows(title, [(pack.classes[c], pack.images[pack.class_rows[c][:images]]) for c in shown])


def task_picture(pack: Pack, task: TaskSpec, queries: int = 6) -> Image.Image:
    """A task, one class a row: its support images, a gap, and some of its query images."""
    shots = task.shots
    blank = np.full((1, 3, SIDE, SIDE), 255, dtype=np.uint8)
    rows = []
    for label in range(task.ways):
        support = pack.images[task.support[task.support_labels == label]]
        query = pack.images[task.query[task.query_labels == label][:queries]]
        rows.append((f"{label}: {class_name(pack, task, label)}", np.concatenate([support, blank, query])))
    title = f"{pack.name}, task {task.index}: {task.ways} ways, {shots} shots; support | query"
    return _rows(title, rows)


def _rows(title: str, rows: Sequence[tuple[str, np.ndarray]]) -> Image.Image:
    columns = max(len(images) for _, images in rows)
    step = SIDE + _GAP
    sheet = Image.new("RGB", (_LABEL_WIDTH + columns * step, _TITLE_HEIGHT + len(rows) * step), "white")
    draw = ImageDraw.Draw(sheet)
    font = ImageFont.load_default(_FONT_SIZE)
    draw.text((_GAP, _GAP), title, fill="black", font=font)
    for row, (label, images) in enumerate(rows):
        top = _TITLE_HEIGHT + row * step
        draw.text((_GAP, top + SIDE // 2), _fit(label, font), fill="black", font=font)
        for column, image in enumerate(images):
            sheet.paste(Image.fromarray(image.transpose(1, 2, 0)), (_LABEL_WIDTH + column * step, top))
    return sheet


def _fit(text: str, font: ImageFont.FreeTypeFont | ImageFont.ImageFont) -> str:
    if font.getlength(text) <= _LABEL_WIDTH - 2 * _GAP:
        return text
    while text and font.getlength(text + "...") > _LABEL_WIDTH - 2 * _GAP:
        text = text[:-1]
    return text + "..."


def answered_picture(
    pack: Pack,
    task: TaskSpec,
    answers: np.ndarray,
    supports: int = _MOST_SUPPORTS,
    queries: int = _MOST_QUERIES,
) -> Image.Image:
    """A task and what was predicted of it (`answers`, int64 in the order of its query): one class a row.

    At the left the support images, at the right query images, those that were wrong first: framed red, with the label
    that was predicted below. Images have half their side.
    """
    side, below = SIDE // 2, _FONT_SIZE + _GAP
    step = side + 2 * _GAP
    shown = min(supports, max(int((task.support_labels == label).sum()) for label in range(task.ways)))
    sheet = Image.new(
        "RGB",
        (_LABEL_WIDTH + (shown + queries) * step + 2 * step // 3, task.ways * (step + below)),
        "white",
    )
    draw = ImageDraw.Draw(sheet)
    font = ImageFont.load_default(_FONT_SIZE)
    for label in range(task.ways):
        top = label * (step + below) + _GAP
        name = class_name(pack, task, label)
        draw.text((_GAP, top + side // 3), _fit(f"{label}: {name}", font), fill="black", font=font)
        mine = np.flatnonzero(task.query_labels == label)
        mine = mine[np.argsort(answers[mine] == label, kind="stable")][:queries]
        rows = [(row, None) for row in task.support[task.support_labels == label][:shown]]
        rows += [(task.query[place], int(answers[place])) for place in mine]
        for column, (row, answer) in enumerate(rows):
            left = _LABEL_WIDTH + column * step + (0 if answer is None else 2 * step // 3)
            if answer is not None:
                left += (shown - len(rows) + len(mine)) * step  # a class with fewer support images
                frame = _RIGHT if answer == label else _WRONG
                draw.rectangle((left - 3, top - 3, left + side + 2, top + side + 2), outline=frame, width=3)
                if answer != label:
                    draw.text((left, top + side + _GAP), f"as {answer}", fill=_WRONG, font=font)
            pixels = np.ascontiguousarray(pack.images[int(row)].transpose(1, 2, 0))
            sheet.paste(Image.fromarray(pixels).resize((side, side)), (left, top))
    return sheet


def class_name(pack: Pack, task: TaskSpec, label: int) -> str:
    """The name of the class that a label of the task stands for; empty where it has none."""
    number = int(task.classes[label])
    return pack.classes[number] if 0 <= number < len(pack.classes) else ""
