"""The acts that there are: what each asks for, where it is sent, how it is undone.

`anyshot organize do` and `anyshot administer do` read them.
"""

from collections.abc import Iterable
from typing import Any

from fastapi import APIRouter, Request
from pydantic import BaseModel, Field

from anyshot_platform.actions.declaration import Act, Danger
from anyshot_platform.contest.competitions.states import Role
from anyshot_platform.site.shell.manage_frame import AsReviewer

router = APIRouter(prefix="/api/v1/competitions/{slug}/manage/acts", tags=["organizing: acts"])


class ActOut(BaseModel):
    """An act: `path` stands below `/api/v1/competitions/{slug}/manage`, or `/api/v1/admin` for what administrators do;
    its other parameters name the object.
    """

    key: str
    title: str = Field(description="`{}` stands for its object")
    about: str = Field(description="the title for any object, like `Open the phase`")
    path: str
    role: Role = Field(description="who may do it: this role and those above")
    danger: Danger = Field(
        description="what is asked first: password or code again (`proof`), and the object's name (`name`)"
    )
    undo: str
    options: dict[str, Any] = Field(description="JSON schema of each further field of the request")


@router.get("")
def list_acts(request: Request, access: AsReviewer) -> list[ActOut]:
    """All acts on a competition and what is in it, by key."""
    return show_acts(request.app.state.acts)


def show_acts(acts: Iterable[tuple[str, Act[Any, Any]]]) -> list[ActOut]:
    """Acts with their addresses, as programs read them."""
    return [
        ActOut(
            key=act.key,
            title=act.title,
            about=act.about,
            path=path,
            role=act.role,
            danger=act.danger,
            undo=act.undo,
            options=act.options.model_json_schema().get("properties", {}),
        )
        for path, act in acts
    ]
