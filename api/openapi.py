"""The OpenAPI document: how to authenticate, and the errors that are really sent."""

from typing import Any, cast

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from api.middleware import is_open

_SCHEMES = {
    "bearer": {
        "type": "http",
        "scheme": "bearer",
        "description": "An access token of `/api/v1/auth/login`, or an API key",
    },
    "apiKey": {"type": "apiKey", "in": "header", "name": "X-API-Key"},
}
_FRAMEWORK_SCHEMAS = ("HTTPValidationError", "ValidationError")


def install_openapi(app: FastAPI) -> None:
    """Make ``app.openapi`` give the completed document."""

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            app.openapi_schema = _complete(app)
        return app.openapi_schema

    app.openapi = openapi


def _complete(app: FastAPI) -> dict[str, Any]:
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
    for path, operations in cast(dict[str, dict[str, dict[str, Any]]], document["paths"]).items():
        for operation in operations.values():
            # Invalid input is answered with our envelope, never with the framework's 422.
            if _is_framework_answer(operation["responses"].get("422", {})):
                del operation["responses"]["422"]
            if is_open(path):
                operation["security"] = []
    return document


def _is_framework_answer(response: dict[str, Any]) -> bool:
    schema = response.get("content", {}).get("application/json", {}).get("schema", {})
    return str(schema.get("$ref", "")).endswith(f"/{_FRAMEWORK_SCHEMAS[0]}")
