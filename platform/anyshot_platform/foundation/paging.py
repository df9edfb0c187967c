"""One page out of a long list, by its number."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Generic, TypeVar

from fastapi import Query

T = TypeVar("T")

PageParam = Annotated[int, Query(ge=1, le=1_000_000, description="Which page of the list; the first is 1.")]


@dataclass(frozen=True)
class ListPage(Generic[T]):
    """One page of a list, as the API answers it: the `page`-th out of `pages`."""

    total: int
    page: int
    pages: int
    items: Sequence[T]


@dataclass(frozen=True)
class Page:
    """One page of a list of `total` rows."""

    number: int
    size: int
    total: int

    @property
    def pages(self) -> int:
        """How many pages there are; at least one."""
        return max(1, -(-self.total // self.size))

    @property
    def offset(self) -> int:
        """Rows before this page."""
        return (self.number - 1) * self.size

    @property
    def first(self) -> int:
        """Number of the first row, from 1."""
        return min(self.offset + 1, self.total)

    @property
    def last(self) -> int:
        """Number of the last row."""
        return min(self.offset + self.size, self.total)

    def of(self, items: Sequence[T]) -> ListPage[T]:
        """The page with its rows."""
        return ListPage(self.total, self.number, self.pages, items)


def page_of(number: int, size: int, total: int) -> Page:
    """The page, moved to the last one where the list has become shorter."""
    return Page(min(number, max(1, -(-total // size))), size, total)
