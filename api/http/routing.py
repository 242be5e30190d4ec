"""Routers with lazily built routes."""

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from fastapi import APIRouter, FastAPI
from fastapi.routing import APIRoute
from starlette.routing import compile_path, get_name

from api.http.errors import error_responses
from core.errors.auth import AccountDisabled, InvalidToken, NotAuthenticated, PermissionDenied, TokenExpired
from core.errors.base import AgentexError
from core.errors.requests import InvalidRequest, RequestTooLarge, TooManyRequests
from core.errors.server import DatabaseUnavailable

EVERYWHERE = (
    InvalidRequest,
    NotAuthenticated,
    InvalidToken,
    TokenExpired,
    AccountDisabled,
    PermissionDenied,
    RequestTooLarge,
    TooManyRequests,
    AgentexError,
    DatabaseUnavailable,
)
"""The errors that any closed route may answer with."""


class LazyRoute(APIRoute):
    """A route that is built when something first needs more than its path and methods.

    FastAPI reads each endpoint's signature and makes validators for its input and output when the
    route is declared. For two hundred routes that takes 0.7 of 4.8 seconds of a start (measured
    without it and with it); for the one that is called, some milliseconds once.
    """

    def __init__(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:  # noqa: ANN401 - APIRoute's
        self._build = partial(super().__init__, path, endpoint, **options)
        self.path, self.endpoint = path, endpoint
        self.name = options.get("name") or get_name(endpoint)
        self.methods = {method.upper() for method in options.get("methods") or ("GET",)}
        self.path_regex, self.path_format, self.param_convertors = compile_path(path)

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever APIRoute has
        """Build the route; Python calls this only for attributes that are missing."""
        build = None if name.startswith("__") else self.__dict__.pop("_build", None)
        if build is None:
            raise AttributeError(name)
        build()
        return getattr(self, name)


class Router(APIRouter):
    """The routes of one noun."""

    def __init__(self, **options: Any) -> None:  # noqa: ANN401 - APIRouter's
        super().__init__(
            route_class=LazyRoute,
            responses=error_responses(*EVERYWHERE),
            generate_unique_id_function=_operation_id,
            **options,
        )


def serve(app: FastAPI, routers: Iterable[Router]) -> None:
    """Add the routes of these routers to an application.

    ``include_router`` would build each route again, for prefixes and responses that we don't use.
    """
    for router in routers:
        app.router.routes.extend(router.routes)


def _operation_id(route: APIRoute) -> str:
    return route.name
