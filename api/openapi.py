"""The OpenAPI document: security schemes, permissions and error answers."""

from collections.abc import Iterator, Sequence
from typing import Any, cast

from fastapi import FastAPI
from fastapi.dependencies.models import Dependant
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute
from starlette.routing import BaseRoute

from api.dependencies import Requires
from api.http.errors import error_line
from api.middleware import is_open
from core.errors.base import AgentexError
from core.errors.requests import MalformedJson

_SCHEMES = {
    "bearer": {
        "type": "http",
        "scheme": "bearer",
        "description": "An access token of `/api/v1/auth/login`, or an API key",
    },
    "apiKey": {"type": "apiKey", "in": "header", "name": "X-API-Key"},
}
_FRAMEWORK_SCHEMAS = ("HTTPValidationError", "ValidationError")
# Clients have generated code for these names: (component, title) by what the class is called now.
_PUBLISHED_NAMES = {
    "ChunkChangeBody": ("api__routers__chunks__ChangeBody", "ChangeBody"),
    "ComparisonOutcome": ("agents__skill_comparisons__Outcome", "Outcome"),
    "DocumentChangeBody": ("api__routers__documents__ChangeBody", "ChangeBody"),
    "Envelope_QuestionImportAnswer_": ("api__envelope__Envelope_ImportAnswer___1", "Envelope[ImportAnswer]"),
    "Envelope_SkillImportAnswer_": ("api__envelope__Envelope_ImportAnswer___2", "Envelope[ImportAnswer]"),
    "KnowledgeBaseChangeBody": ("api__routers__knowledge_bases__ChangeBody", "ChangeBody"),
    "QuestionImportAnswer": ("api__routers__questions__ImportAnswer", "ImportAnswer"),
    "ReindexOutcome": ("kb_service__reindexing__commands__Outcome", "Outcome"),
    "SkillImportAnswer": ("api__routers__skill_imports__ImportAnswer", "ImportAnswer"),
    "SkillImportOutcome": ("skills__imports__Outcome", "Outcome"),
}
_REFERENCE = "#/components/schemas/"


def install_openapi(app: FastAPI, everywhere: Sequence[type[AgentexError]]) -> None:
    """Make ``app.openapi`` return the completed document; ``everywhere`` are errors of any closed route."""

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            app.openapi_schema = _complete(app, everywhere)
        return app.openapi_schema

    app.openapi = openapi


def _complete(app: FastAPI, everywhere: Sequence[type[AgentexError]]) -> dict[str, Any]:
    document = get_openapi(
        title=app.title,
        version=app.version,
        description=app.description,
        routes=app.routes,
        separate_input_output_schemas=False,
    )
    components = document.setdefault("components", {})
    components["securitySchemes"] = _SCHEMES
    for name in _FRAMEWORK_SCHEMAS:
        components.get("schemas", {}).pop(name, None)
    document["security"] = [{name: []} for name in _SCHEMES]
    permissions, with_alternatives = _permissions(app.routes), _with_alternatives(app.routes)
    for path, operations in cast(dict[str, dict[str, dict[str, Any]]], document["paths"]).items():
        for method, operation in operations.items():
            # Invalid input is answered with our envelope, never with the framework's 422.
            if _is_framework_answer(operation["responses"].get("422", {})):
                del operation["responses"]["422"]
            if is_open(path):
                operation["security"] = []
                continue
            operation["x-permissions"] = permissions[method.upper(), path]
            if (method.upper(), path) in with_alternatives:
                operation["x-permissions-any"] = True
            has_json = "application/json" in operation.get("requestBody", {}).get("content", {})
            more = (MalformedJson,) if has_json else ()
            _add_errors(operation["responses"], (*everywhere, *more))
    components["schemas"] = _published(components.get("schemas", {}))
    _repoint(document)
    return document


def _published(schemas: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    renamed: dict[str, dict[str, Any]] = {}
    for name, schema in schemas.items():
        component, title = _PUBLISHED_NAMES.get(name, (name, schema.get("title")))
        renamed[component] = {**schema, "title": title} if title is not None else schema
    return dict(sorted(renamed.items()))


def _repoint(node: object) -> None:
    if isinstance(node, list):
        for item in cast(list[object], node):
            _repoint(item)
    elif isinstance(node, dict):
        fields = cast(dict[str, object], node)
        reference = fields.get("$ref")
        if isinstance(reference, str):
            name = reference.removeprefix(_REFERENCE)
            fields["$ref"] = _REFERENCE + _PUBLISHED_NAMES.get(name, (name,))[0]
        for value in fields.values():
            _repoint(value)


def _permissions(routes: Sequence[BaseRoute]) -> dict[tuple[str, str], list[str]]:
    permissions: dict[tuple[str, str], list[str]] = {}
    for route in routes:
        if isinstance(route, APIRoute):
            required = [(one_of.permission, *one_of.alternatives) for one_of in _required(route.dependant)]
            names = sorted({permission.value for alternatives in required for permission in alternatives})
            permissions |= {(method, route.path_format): names for method in route.methods or ()}
    return permissions


def _with_alternatives(routes: Sequence[BaseRoute]) -> set[tuple[str, str]]:
    """The operations that need one of their permissions, not all."""
    return {
        (method, route.path_format)
        for route in routes
        if isinstance(route, APIRoute) and any(required.alternatives for required in _required(route.dependant))
        for method in route.methods or ()
    }


def _required(dependant: Dependant) -> Iterator[Requires]:
    for inner in dependant.dependencies:
        if isinstance(inner.call, Requires):
            yield inner.call
        yield from _required(inner)


def _add_errors(described: dict[str, Any], errors: Sequence[type[AgentexError]]) -> None:
    for error in errors:
        response = described[str(error.status)]
        if f"`{error.code}`" not in response["description"]:
            response["description"] += f"; {error_line(error)}"


def _is_framework_answer(response: dict[str, Any]) -> bool:
    schema = response.get("content", {}).get("application/json", {}).get("schema", {})
    return str(schema.get("$ref", "")).endswith(f"/{_FRAMEWORK_SCHEMAS[0]}")
