"""Several callers at the same moment."""

from collections import Counter
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

AT_ONCE = 8


def at_once(work: Callable[[Any], object], items: Iterable[Any]) -> Counter[str]:
    """How each of the calls, all at once, ends: "ok" or the name of its error."""

    def one(item: Any) -> str:
        try:
            work(item)
        except Exception as error:  # noqa: BLE001 - the kind of error is what is counted
            return type(error).__name__
        return "ok"

    with ThreadPoolExecutor(AT_ONCE) as threads:
        return Counter(threads.map(one, items))
