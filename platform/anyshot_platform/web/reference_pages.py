"""The reference of the JSON API, drawn from its OpenAPI description: no scripts of other hosts."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Depends, Request
from starlette.responses import Response

from anyshot_platform.web.access import public
from anyshot_platform.web.rendering import render

router = APIRouter(include_in_schema=False)


@router.get("/api/docs", dependencies=[Depends(public)])
def show_reference(request: Request) -> Response:
    """All endpoints by subject."""
    schema: dict[str, Any] = request.app.openapi()
    return render(
        request, "reference.html", section="docs", groups=group_operations(schema), info=schema["info"]
    )


def group_operations(schema: dict[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """The operations by their first tag, in the order of their paths."""
    groups: dict[str, list[dict[str, Any]]] = {}
    for path, operations in sorted(schema.get("paths", {}).items()):
        for method, operation in operations.items():
            tag = str((operation.get("tags") or ["other"])[0])
            groups.setdefault(tag, []).append(
                {
                    "method": method.upper(),
                    "path": path,
                    "summary": operation.get("description") or operation.get("summary", ""),
                    "parameters": [
                        {
                            "name": parameter["name"],
                            "place": parameter["in"],
                            "required": parameter.get("required", False),
                            "words": parameter.get("description", ""),
                        }
                        for parameter in operation.get("parameters", [])
                    ],
                    "body": _body(operation),
                }
            )
    return dict(sorted(groups.items()))


def _body(operation: dict[str, Any]) -> str:
    for media, content in operation.get("requestBody", {}).get("content", {}).items():
        name = str(content.get("schema", {}).get("$ref", "")).rpartition("/")[2]
        return f"{media} {name}".strip()
    return ""
