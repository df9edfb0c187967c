"""The JSON endpoints of acts, made from their declarations: `POST .../acts/<name>` each."""

from collections.abc import Callable, Iterable, Mapping
from inspect import Parameter, Signature, signature
from typing import Annotated, Any, get_type_hints

from fastapi import APIRouter, Depends
from fastapi.routing import APIRoute
from pydantic import create_model

from anyshot_platform.actions.declaration import Act, ActRequest, Danger, Opts, S
from anyshot_platform.actions.service import carry_out
from anyshot_platform.judging.visibility.access import CompetitionAccess
from anyshot_platform.people.users.viewer import Viewer
from anyshot_platform.site.shell.act_frame import ConsentIn, answer, answer_model
from anyshot_platform.site.web.access import competition_role
from anyshot_platform.site.web.services import SessionDep

_PROOF = " 403 `prove` until password or code were sent to `/me/proof` lately."
_ASKED = {
    Danger.NONE: "",
    Danger.PROOF: _PROOF,
    Danger.NAME: f"{_PROOF} 409 `confirm`, with what it would do, until the object's name is in `confirm`.",
}


def add_acts(
    router: APIRouter,
    acts: Mapping[str, Act[S, Any]],
    find: Callable[..., S],
    show: Callable[..., Any],
    at: str = "",
    door: Any = None,
    status: int = 200,
) -> None:
    """Give each act its endpoint below the address `at` of its object, for those who have the act's role.

    Args:
        find: the object, of a session, the competition and the parameters of the address, which it annotates.
        show: the answer, of a session, the viewer's access, the object and what came of the act, and of what else it
            annotates; its return type with the act's warnings is the answer's model.
        door: for objects of no competition: the policy that lets people in and returns who they are, whom `find` and
            `show` then get instead of the competition and the access.
        status: of the answer, 202 where the act only queues what it does.
    """
    shown = get_type_hints(show)["return"]
    for act in acts.values():
        who = (
            Annotated[CompetitionAccess, Depends(competition_role(act.role))]
            if door is None
            else Annotated[Viewer, Depends(door)]
        )
        router.add_api_route(
            f"{at}/acts/{act.name}",
            _endpoint(act, find, show, shown, who),
            methods=["POST"],
            response_model=answer_model(shown),
            summary=act.title,
            status_code=status,
        )


def acts_of(routes: Iterable[Any], below: str = "/manage") -> list[tuple[str, Act[Any, Any]]]:
    """The acts among routes with `below` in their address, by key, each with what comes after it."""
    found = {
        act.key: (route.path.partition(below)[2], act)
        for route in routes
        if isinstance(route, APIRoute)
        and (act := getattr(route.endpoint, "act", None)) is not None
        and route.path.endswith(f"/acts/{act.name}")
        and below in route.path
    }
    return [found[key] for key in sorted(found)]


def _endpoint(
    act: Act[S, Opts], find: Callable[..., S], show: Callable[..., Any], shown: Any, who: Any
) -> Callable[..., Any]:
    model = create_model(
        f"{act.key.title().replace('.', '').replace('_', '')}In", __base__=(ConsentIn, act.options)
    )
    of_find, of_show = list(signature(find).parameters)[2:], list(signature(show).parameters)[4:]
    needed = any(field.is_required() for field in act.options.model_fields.values())

    def endpoint(access: CompetitionAccess | Viewer, session: Any, body: Any = None, **place: Any) -> Any:
        said: Any = body or model()
        viewer, where = (
            (access, access) if isinstance(access, Viewer) else (access.viewer, access.competition)
        )
        subject = find(session, where, **{name: place[name] for name in of_find})
        options = act.options.model_construct(
            **{name: getattr(said, name) for name in act.options.model_fields}
        )
        request = ActRequest(viewer.id, said.reason, options, viewer)
        outcome = carry_out(session, act, subject, request, said.consent())
        session.flush()
        found = show(session, access, subject, outcome, **{name: place[name] for name in of_show})
        return answer(shown, found, outcome)

    hints = get_type_hints(find, include_extras=True) | get_type_hints(show, include_extras=True)
    parameters = [
        _keyword("access", who),
        _keyword("session", SessionDep),
        *(_keyword(name, hints[name]) for name in dict.fromkeys([*of_find, *of_show])),
        _keyword("body", model) if needed else _keyword("body", model | None, None),
    ]
    endpoint.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    endpoint.__name__ = act.key.replace(".", "_")
    endpoint.__doc__ = _words(act)
    endpoint.act = act  # type: ignore[attr-defined]
    return endpoint


def _keyword(name: str, annotation: Any, default: Any = Parameter.empty) -> Parameter:
    return Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _words(act: Act[Any, Any]) -> str:
    """What `/api/docs` says of an act."""
    asked = _ASKED[act.danger]
    own = " ".join((act.options.__doc__ or "").split()) if act.options.model_fields else ""
    return f"{act.about}. {own} Undone: {act.undo}{asked}".replace("  ", " ")
