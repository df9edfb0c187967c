"""The reference of the JSON API, drawn from its OpenAPI description: no scripts of other hosts."""

from typing import Any

from fastapi import APIRouter, Depends, Request
from starlette.responses import Response

from anyshot_platform.site.web.access import public
from anyshot_platform.site.web.rendering import render

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
    schemas = schema.get("components", {}).get("schemas", {})
    for path, operations in sorted(schema.get("paths", {}).items()):
        for method, operation in operations.items():
            tag = str((operation.get("tags") or ["other"])[0])
            groups.setdefault(tag, []).append(
                {
                    "method": method.upper(),
                    "path": path,
                    "summary": _words(operation),
                    "parameters": [
                        {
                            "name": parameter["name"],
                            "place": parameter["in"],
                            "required": parameter.get("required", False),
                            "words": parameter.get("description", ""),
                        }
                        for parameter in operation.get("parameters", [])
                    ],
                    "body": _body(operation, schemas),
                }
            )
    return dict(sorted(groups.items()))


def _words(operation: dict[str, Any]) -> str:
    return operation.get("description") or operation.get("summary", "")


def _body(operation: dict[str, Any], schemas: dict[str, Any]) -> dict[str, Any] | None:
    """What is sent: the media type, the name of the model, and its fields."""
    for media, content in operation.get("requestBody", {}).get("content", {}).items():
        name = str(content.get("schema", {}).get("$ref", "")).rpartition("/")[2]
        return {"media": media, "name": name, "fields": _fields(schemas.get(name, {}))}
    return None


def _fields(model: dict[str, Any]) -> list[dict[str, Any]]:
    """The fields of a model: name, type in words, whether it must be sent, what it means."""
    required = model.get("required", [])
    return [
        {"name": name, "type": _type(one), "required": name in required, "words": one.get("description", "")}
        for name, one in model.get("properties", {}).items()
    ]


def _type(schema: dict[str, Any]) -> str:
    """The type of a field as a reader says it: `string`, `list of integer`, `"entry" or "smoke"`."""
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    if "enum" in schema or "const" in schema:
        return " or ".join(f'"{value}"' for value in schema.get("enum", [schema.get("const")]))
    if schema.get("type") == "array":
        return f"list of {_type(schema.get('items', {}))}"
    options = schema.get("anyOf") or schema.get("oneOf")
    if options:
        return " or ".join(dict.fromkeys(_type(one) for one in options))
    return str(schema.get("type", "anything"))
