"""Charts as data: each chart that a report shows knows what it was drawn from, and is drawn again from that."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, is_dataclass, replace
from functools import wraps
from typing import Any, ParamSpec

import numpy as np

from anyshot_core.charts.canvas import Chart

Reader = Callable[[Any], Any]
_P = ParamSpec("_P")
_DRAWERS: dict[str, tuple[Callable[..., Chart], Mapping[str, Reader]]] = {}


class UnknownChart(ValueError):
    """Stored data of a chart that nothing here draws."""


def recorded(**readers: Reader) -> Callable[[Callable[_P, Chart]], Callable[_P, Chart]]:
    """A drawing function `draw_NAME` whose charts carry their arguments as plain JSON data, in `Chart.data`.

    `readers` make an argument from its plain data, where that is more than lists, numbers and texts.
    """

    def decorate(draw: Callable[_P, Chart]) -> Callable[_P, Chart]:
        name, signature = draw.__name__.removeprefix("draw_"), inspect.signature(draw)

        @wraps(draw)
        def drawn(*args: _P.args, **kwargs: _P.kwargs) -> Chart:
            given = signature.bind(*args, **kwargs).arguments
            chart = draw(*args, **kwargs)
            return replace(chart, data={"kind": name} | {key: _plain(value) for key, value in given.items()})

        _DRAWERS[name] = (drawn, readers)
        return drawn

    return decorate


def redraw(data: Mapping[str, Any]) -> Chart:
    """The chart that `Chart.data` came from: the same bytes. Raises `UnknownChart`."""
    given = dict(data)
    kind = given.pop("kind", None)
    if kind not in _DRAWERS:
        raise UnknownChart(f"no chart is called {kind!r}; there are {', '.join(sorted(_DRAWERS))}")
    draw, readers = _DRAWERS[kind]
    return draw(**{key: readers[key](value) if key in readers else value for key, value in given.items()})


def _plain(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return _plain(asdict(value))
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        return _plain(value.tolist())
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not np.isfinite(value):
        return None
    return value
