"""Certificates: one page of PDF for a team's place in a league."""

import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from itertools import groupby
from pathlib import Path

import matplotlib as mpl
from reportlab.lib.pagesizes import A4, landscape
from reportlab.pdfbase import pdfmetrics
from reportlab.pdfbase.cidfonts import UnicodeCIDFont
from reportlab.pdfbase.ttfonts import TTFont
from reportlab.pdfgen.canvas import Canvas

from anyshot_core.words import decimal_words

WIDTH, HEIGHT = landscape(A4)


@dataclass(frozen=True)
class Certificate:
    """What is certified; `address` is where it can be compared with the published results."""

    competition: str
    phase: str
    league: str
    team: str
    members: Sequence[str]
    rank: int
    of: int  # ranked teams
    score: float
    prize: str
    published: datetime
    address: str


def as_pdf(said: Certificate) -> bytes:
    """One page, A4 across."""
    target = io.BytesIO()
    canvas = Canvas(target, pagesize=(WIDTH, HEIGHT), invariant=True)
    canvas.setTitle(f"{said.competition}: {said.team}")
    canvas.setLineWidth(2)
    canvas.rect(30, 30, WIDTH - 60, HEIGHT - 60)
    for height, size, text in _lines(said):
        _centre(canvas, HEIGHT * height, size, text)
    canvas.showPage()
    canvas.save()
    return target.getvalue()


def _lines(said: Certificate) -> Iterator[tuple[float, float, str]]:
    """How high on the page, how large, what."""
    yield 0.83, 26, said.competition
    yield 0.76, 14, f"{said.phase}, league {said.league}"
    yield 0.62, 34, said.team
    yield 0.55, 14, ", ".join(said.members)
    yield 0.42, 22, f"Rank {said.rank} of {said.of}"
    yield (
        0.36,
        14,
        f"with a score of {decimal_words(said.score)}" + (f"; prize: {said.prize}" if said.prize else ""),
    )
    yield 0.17, 11, f"Results published on {said.published.day} {said.published:%B %Y}"
    yield 0.13, 9, said.address


def _centre(canvas: Canvas, height: float, size: float, text: str) -> None:
    """A line in the middle, made smaller where it is too long for the page."""
    pieces = [
        (font, "".join(sign for _, sign in group))
        for font, group in groupby(((_font_of(sign), sign) for sign in text), key=lambda pair: pair[0])
    ]
    width = sum(pdfmetrics.stringWidth(piece, font, size) for font, piece in pieces)
    size *= min(1.0, (WIDTH - 120) / max(width, 1.0))
    line = canvas.beginText()
    line.setTextOrigin((WIDTH - min(width, WIDTH - 120)) / 2, height)
    for font, piece in pieces:
        line.setFont(font, size)
        line.textOut(piece)
    canvas.drawText(line)


def _font_of(sign: str) -> str:
    """The font that has the character: one for Europe and beyond, else those of East Asia, which every reader has."""
    if ord(sign) in _european().face.charToGlyph:
        return "DejaVuSans"
    if "\uac00" <= sign <= "\ud7a3":
        return _east_asian("HYSMyeongJo-Medium")
    if "\u3040" <= sign <= "\u30ff":
        return _east_asian("HeiseiMin-W3")
    return _east_asian("STSong-Light")


@cache
def _european() -> TTFont:
    """DejaVu Sans, which comes with matplotlib."""
    font = TTFont("DejaVuSans", Path(mpl.get_data_path()) / "fonts" / "ttf" / "DejaVuSans.ttf")
    pdfmetrics.registerFont(font)
    return font


@cache
def _east_asian(name: str) -> str:
    pdfmetrics.registerFont(UnicodeCIDFont(name))
    return name
