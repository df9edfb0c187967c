"""Changes over JSON that name only what changes: a merge patch (RFC 7396) upon what is there."""

from collections.abc import Mapping
from typing import Annotated, Any, TypeVar

from fastapi import Body
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ValidationError

M = TypeVar("M", bound=BaseModel)
Patch = Annotated[
    dict[str, Any],
    Body(description="The fields that change; what is left out stays, null gives a field its default."),
]


def patched(known: M, patch: Mapping[str, Any]) -> M:
    """What is there with the fields of a patch in it; raises the error of a request whose values are refused."""
    try:
        return type(known).model_validate(_merged(known.model_dump(mode="json"), patch))
    except ValidationError as error:
        raise RequestValidationError(
            [{**found, "loc": ("body", *found["loc"])} for found in error.errors()]
        ) from error


def _merged(known: Mapping[str, Any], patch: Mapping[str, Any]) -> dict[str, Any]:
    found = {name: value for name, value in known.items() if name not in patch}
    for name, value in patch.items():
        inner = known.get(name)
        if isinstance(value, dict) and isinstance(inner, dict) and name != "protocol":
            found[name] = _merged(inner, value)
        elif value is not None:
            found[name] = value
    return found
