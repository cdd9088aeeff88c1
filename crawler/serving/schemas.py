"""From the registry's arguments to OpenAPI: bodies of tools, parameters of typed reads. Nothing is defined twice."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from starlette.datastructures import QueryParams

from crawler.arguments import Arguments
from facts.errors import InvalidArgument

_REF: Final = "#/components/schemas/"
_TRUTHS: Final = {"true": True, "false": False}
ERRORS: Final = (400, 401, 403, 404, 405, 408, 409, 413, 415, 421, 422, 500, 503)


def body_schema(name: str, model: type[Arguments], components: dict[str, Any]) -> dict[str, Any]:
    """The JSON schema of a body; what it refers to goes to the components, under the name of the tool."""
    schema = model.model_json_schema(by_alias=True, ref_template=f"{_REF}{name}.{{model}}")
    for part, definition in schema.pop("$defs", {}).items():
        components[f"{name}.{part}"] = definition
    components[name] = schema
    return {"$ref": f"{_REF}{name}"}


def request_body(name: str, model: type[Arguments], components: dict[str, Any]) -> dict[str, Any]:
    schema = body_schema(name, model, components)
    return {"content": {"application/json": {"schema": schema}}, "required": bool(components[name].get("required"))}


def query_parameters(model: type[Arguments]) -> list[dict[str, Any]]:
    """Each argument as a parameter of the query; a list is the parameter repeated."""
    schema = model.model_json_schema(by_alias=True)
    required = set(schema.get("required", ()))
    return [
        {
            "name": name,
            "in": "query",
            "required": name in required,
            "schema": _said(shape),
            **({"description": shape["description"]} if "description" in shape else {}),
        }
        for name, shape in schema.get("properties", {}).items()
    ]


def _said(shape: Mapping[str, Any]) -> dict[str, Any]:
    """A query cannot say null: leaving a parameter out does."""
    kept = {key: value for key, value in shape.items() if key not in {"title", "description", "anyOf"}}
    options = [dict(each) for each in shape.get("anyOf", ()) if each.get("type") != "null"]
    merged = (options[0] | kept) if len(options) == 1 else kept | ({"anyOf": options} if options else {})
    return {key: value for key, value in merged.items() if not (key == "default" and value is None)}


def query_arguments(model: type[Arguments], query: QueryParams) -> dict[str, Any]:
    """A query as the tool's arguments: text becomes what the schema says; what is unknown stays, to be refused by name."""
    shapes = {each["name"]: each["schema"] for each in query_parameters(model)}
    return {name: _value(name, shapes.get(name, {}), query.getlist(name)) for name in query}


def _value(name: str, shape: Mapping[str, Any], given: list[str]) -> Any:
    kind = shape.get("type")
    if kind == "array":
        return given[0] if len(given) == 1 and given[0].startswith("[") else given
    if len(given) > 1:
        raise InvalidArgument(f"{name} is given {len(given)} times", argument=name)
    text = given[0]
    if kind == "boolean":
        if text not in _TRUTHS:
            raise InvalidArgument(f"{name} must be true or false", argument=name)
        return _TRUTHS[text]
    if kind == "integer" and text.removeprefix("-").isascii() and text.removeprefix("-").isdecimal():
        return int(text) if len(text) < 20 else text  # noqa: PLR2004 - beyond 64 bits the tool refuses it by name
    return text
