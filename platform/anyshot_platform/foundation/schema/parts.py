"""What descriptions are made of: parts that refuse unknown keys, and the kinds of text and number in them."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

LONGEST = 366 * 86400.0  # seconds of a budget
MOST = 2_000_000_000
LARGEST = 1 << 50  # bytes of memory and space

KEY_FORM = r"^[a-z0-9][a-z0-9-]{0,62}$"
Key = Annotated[str, StringConstraints(pattern=KEY_FORM)]
Title = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200)]
FileName = Annotated[str, StringConstraints(min_length=1, max_length=300)]
Digest = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
Seed = Annotated[int, Field(ge=0, le=2**31 - 1)]


class Part(BaseModel):
    """Base of all parts: unknown keys are refused, values never change."""

    model_config = ConfigDict(extra="forbid", frozen=True)
