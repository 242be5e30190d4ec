"""Rules that every route keeps, read from the application itself."""

import re
from collections.abc import Iterator, Sequence
from inspect import isasyncgenfunction, isclass, iscoroutinefunction
from itertools import product
from pathlib import Path
from typing import Any, get_args

import pytest
from fastapi import FastAPI
from fastapi._compat import ModelField
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute
from pydantic import BaseModel
from starlette.routing import BaseRoute

from api.app import create_app
from api.dependencies import Requires, get_principal
from api.http.responses import RequestModel
from api.http.routing import EVERYWHERE
from api.middleware import OPEN_PATHS, is_open
from core.auth.permissions import Permission
from core.errors.requests import MalformedJson
from core.settings import Settings
from kb_service.failures import MODEL_ERRORS

# The documented list: anything else is denied by default.
DOCUMENTED_OPEN = {
    "/healthz",
    "/readyz",
    "/openapi.json",
    "/.well-known/jwks.json",
    "/docs",
    "/api/v1/auth/register",
    "/api/v1/auth/login",
    "/api/v1/auth/refresh",
    "/api/v1/auth/oidc",
    "/api/v1/auth/oidc/login",
    "/api/v1/auth/oidc/callback",
    "/api/v1/auth/oidc/token",
    "/api/v1/calendar/feed.ics",
    "/api/v1/mcp/oauth/client-metadata",
}
# Everybody may end their login and see to their own account, whatever their role.
OWN_ACCOUNT = ("/api/v1/users/me", "/api/v1/auth/logout")


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> FastAPI:
    folder: Path = tmp_path_factory.mktemp("app")
    return create_app(Settings(_env_file=None, data_dir=folder))


def routes_of(app: FastAPI) -> list[APIRoute]:
    found = list(walk(app.routes))
    # Whatever way routers are put into each other: none is overlooked.
    described = set(app.openapi()["paths"])
    assert described <= {route.path_format for route in found}
    assert len(described) > 20
    return found


def walk(routes: Sequence[BaseRoute]) -> Iterator[APIRoute]:
    for route in routes:
        if isinstance(route, APIRoute):
            yield route
        inner = getattr(route, "original_router", None)
        if inner is not None:
            yield from walk(inner.routes)


def calls(dependant: Dependant) -> Iterator[Any]:
    for inner in dependant.dependencies:
        yield inner.call
        yield from calls(inner)


def asks_for_a_permission(route: APIRoute) -> bool:
    return any(isinstance(call, Requires) for call in calls(route.dependant))


def test_openapi_names_the_errors_of_every_route_beside_its_own(app: FastAPI):
    for path, methods in app.openapi()["paths"].items():
        for method, operation in methods.items():
            if is_open(path):
                continue
            errors = [*EVERYWHERE]
            if "application/json" in operation.get("requestBody", {}).get("content", {}):
                errors.append(MalformedJson)
            for error in errors:
                named = operation["responses"][str(error.status)]["description"]
                assert named.count(f"`{error.code}`") == 1, f"{method} {path} {error.wire_name}"


def test_open_paths_are_the_documented_ones():
    assert OPEN_PATHS == DOCUMENTED_OPEN


def test_signed_links_and_events_are_the_only_open_paths_that_name_a_thing(app: FastAPI):
    open_ones = {route.path for route in routes_of(app) if "{" in route.path and is_open(route.path)}
    assert open_ones == {"/api/v1/agent/attachments/{attachment_id}/content", "/api/v1/rules/events/{source_id}"}


@pytest.mark.parametrize(
    "path",
    ["/api/v1/agent/attachments/x/content/", "/api/v1/agent/attachments/x/y/content",
     "/api/v1/agent/attachments", "/api/v1/agent/attachments//content", "/api/v1/rules/events", "/api/v1/rules/events/",
     "/api/v1/rules/events/x/y", "/api/v1/rules/sources/x", "/api/v1/rules/x", "/api/v1/users/me", "/api/v1/auth/logout", "/healthz/", "/docs/x", "/api/v1/auth/login/x", "", "/metrics"],
)  # fmt: skip
def test_every_other_path_is_closed(path: str):
    assert not is_open(path)


def test_every_route_asks_for_a_permission_or_is_named_here(app: FastAPI):
    free = {
        f"{sorted(route.methods)} {route.path}"
        for route in routes_of(app)
        if not asks_for_a_permission(route) and not is_open(route.path) and not route.path.startswith(OWN_ACCOUNT)
    }
    assert free == set()


def test_route_without_a_permission_is_noticed(app: FastAPI):
    scratch = FastAPI()

    @scratch.get("/api/v1/forgotten")
    def forgotten() -> None:
        return None

    (route,) = [route for route in scratch.routes if getattr(route, "name", "") == "forgotten"]
    assert isinstance(route, APIRoute)
    assert not asks_for_a_permission(route)


def test_openapi_names_the_permissions_of_every_operation(app: FastAPI):
    for path, methods in app.openapi()["paths"].items():
        for method, operation in methods.items():
            named = operation.get("x-permissions")
            if is_open(path):
                assert named is None, path
            else:
                assert set(named) <= {*Permission}, f"{method} {path}"
                assert bool(named) or path.startswith(OWN_ACCOUNT), f"{method} {path}"


def test_every_closed_route_knows_its_caller(app: FastAPI):
    anonymous = {
        route.path
        for route in routes_of(app)
        if not is_open(route.path) and get_principal not in set(calls(route.dependant))
    }
    assert anonymous == set()


def bodies(route: APIRoute) -> Iterator[type[BaseModel]]:
    for parameter in route.dependant.body_params:
        kind = parameter.field_info.annotation
        for one in (kind, *get_args(kind)):
            if isinstance(one, type) and issubclass(one, BaseModel):
                yield one


def test_every_body_refuses_fields_that_it_does_not_know(app: FastAPI):
    models = {model for route in routes_of(app) for model in bodies(route)}
    assert len(models) > 5
    assert {model for model in models if not issubclass(model, RequestModel)} == set()
    assert {model for model in models if model.model_config.get("extra") != "forbid"} == set()


def test_every_text_in_a_path_is_checked_before_a_database_sees_it(app: FastAPI):
    refused = ("\x00", "\ud800")
    for route in routes_of(app):
        for name, value in product(re.findall(r"{(\w+)", route.path), refused):
            (found,) = [one for one in parameters(route.dependant) if one.name == name]
            _, errors = found.validate(value, {}, loc=("path", name))
            assert errors, f"{route.path}: {name} takes {value!r}"


def parameters(dependant: Dependant) -> Iterator[ModelField]:
    yield from dependant.path_params
    for inner in dependant.dependencies:
        yield from parameters(inner)


def test_operation_names_are_unique(app: FastAPI):
    names = [route.name for route in routes_of(app)]
    assert len(names) == len(set(names))


def test_openapi_describes_errors_and_credentials(app: FastAPI):
    document = app.openapi()
    assert set(document["components"]["securitySchemes"]) == {"bearer", "apiKey"}
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            where = f"{method} {path}"
            assert (operation.get("security") == []) is is_open(path), where
            # The one 422 that is really sent is a contract's own, in our envelope.
            has_own = path == "/api/v1/agent/runs"
            assert ("422" in operation["responses"]) is has_own, where
            assert "HTTPValidationError" not in str(operation), where
            if path.startswith("/api/v1") and not is_open(path):
                described = operation["responses"]
                assert {"400", "401", "500", "503"} <= set(described), where
                if "{" in path:
                    assert "404" in described, where
            assert operation.get("summary"), where


def test_no_dependency_takes_a_thread(app: FastAPI):
    """FastAPI runs each plain function in a thread, which takes longer than what it does."""
    known = {call for route in routes_of(app) for call in calls(route.dependant)}
    plain = {call for call in known if not is_model(call) and not is_asynchronous(call)}
    assert len(known) > 10
    assert plain == set()


def is_model(call: Any) -> bool:
    # Several query parameters as one.
    return isclass(call) and issubclass(call, BaseModel)


def is_asynchronous(call: Any) -> bool:
    # An object that is called, such as what asks for a permission.
    own = getattr(type(call), "__call__", None)  # noqa: B004 - which function it is, not whether
    return any(map(iscoroutinefunction, (call, own))) or isasyncgenfunction(call)


@pytest.mark.parametrize(
    "path",
    [
        "search",
        "knowledge-bases/{kb_id}/search",
        "knowledge-bases/{kb_id}/search/why",
        "knowledge-bases/{kb_id}/evaluations",
        "retrievals/{retrieval_id}/replay",
    ],
)
def test_whatever_is_wrong_with_an_embedding_model_is_documented(path: str):
    responses = create_app(Settings()).openapi()["paths"][f"/api/v1/{path}"]["post"]["responses"]
    told = " ".join(answer.get("description", "") for answer in responses.values())
    assert [error for error in MODEL_ERRORS if f"`{error.code}`" not in told] == []
