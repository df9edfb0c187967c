"""What a browser's form sent, as text, flags, lists and files."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, TypeVar

from fastapi import Depends, Request
from starlette.datastructures import FormData, UploadFile

from anyshot_platform.foundation.errors import Invalid
from anyshot_platform.foundation.filters import decimal
from anyshot_platform.foundation.numbers import MOST, small_number

E = TypeVar("E", bound=StrEnum)


@dataclass(frozen=True)
class SentForm:
    """The fields of a form; one that was not sent is empty."""

    data: FormData

    def text(self, name: str, limit: int = 200_000) -> str:
        """One field as text, without outer blanks."""
        value = self.data.get(name)
        return value.strip().replace("\r\n", "\n")[:limit] if isinstance(value, str) else ""

    def flag(self, name: str) -> bool:
        """Whether a box was ticked."""
        return self.text(name) not in ("", "0", "false", "off")

    def all(self, name: str) -> list[str]:
        """Every value of a field that occurs several times."""
        return [value for value in self.data.getlist(name) if isinstance(value, str)]

    def unchanged(self, name: str) -> bool:
        """Whether the browser says, instead of sending a field, that it is as the page showed it."""
        return name in self.text("unchanged").split()

    def number(self, name: str) -> int | None:
        """A whole number; None for an empty field; raises `Invalid` for anything else."""
        text = self.text(name)
        if not text:
            return None
        number = small_number(text)
        if number is None:
            raise Invalid(
                f"This must be a whole number up to {decimal(MOST)}, not “{text[:40]}”.",
                field=name,
            )
        return number

    def choice(self, name: str, words: type[E], default: str = "") -> E:
        """One of some words; raises `Invalid` for any other."""
        text = self.text(name) or default
        if text not in {word.value for word in words}:
            known = ", ".join(word.value for word in words)
            raise Invalid(f"This must be one of {known}, not “{text[:40]}”.", field=name)
        return words(text)

    def decimal(self, name: str) -> float | None:
        """A number; None for an empty field; raises `Invalid` for anything else."""
        text = self.text(name).replace(",", ".")
        if not text:
            return None
        try:
            return float(text)
        except ValueError:
            raise Invalid(f"This must be a number, not “{text[:40]}”.", field=name) from None

    def file(self, name: str) -> tuple[str, bytes] | None:
        """Name and content of an uploaded file; None where none was chosen."""
        value = self.data.get(name)
        if not isinstance(value, UploadFile) or not value.filename:
            return None
        return value.filename, value.file.read()

    def uploads(self, name: str) -> list[UploadFile]:
        """All uploaded files of a field."""
        return [
            value for value in self.data.getlist(name) if isinstance(value, UploadFile) and value.filename
        ]

    def values(self) -> dict[str, str]:
        """All texts, to show a form again."""
        sent = {key: value for key, value in self.data.items() if isinstance(value, str)}
        return {"unchanged": "", "seen": "", **sent}


async def read_form(request: Request) -> AsyncIterator[SentForm]:
    """The form of the request; its files are closed when the endpoint has ended."""
    data = await request.form()
    yield SentForm(data)
    await data.close()


FormDep = Annotated[SentForm, Depends(read_form)]
