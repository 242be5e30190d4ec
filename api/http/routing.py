"""Routers whose routes are worked out when they are first asked."""

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from fastapi import APIRouter, FastAPI
from fastapi.routing import APIRoute
from starlette.routing import compile_path, get_name

from api.http.errors import error_responses
from core.errors.auth import (
    AccountDisabled,
    InvalidToken,
    NotAuthenticated,
    PermissionDenied,
    TokenExpired,
)
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


class LateRoute(APIRoute):
    """A route that knows its path and methods at once, and all else when somebody needs it.

    FastAPI reads each endpoint's signature and makes the validators of all that goes in and out
    as soon as it is declared. For two hundred routes that is a fourth of a start; for the one that
    is asked, some milliseconds once.

    Args:
        path: as ``APIRoute`` takes it, and so is the rest.
        endpoint: the function that answers.
        options: what ``APIRoute`` is made with.
    """

    def __init__(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:  # noqa: ANN401 - APIRoute's
        self._work_out = partial(super().__init__, path, endpoint, **options)
        self.path, self.endpoint = path, endpoint
        self.name = options.get("name") or get_name(endpoint)
        self.methods = {method.upper() for method in options.get("methods") or ("GET",)}
        self.path_regex, self.path_format, self.param_convertors = compile_path(path)

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever APIRoute has
        """What is not there yet; Python asks here for nothing that is."""
        work_out = None if name.startswith("__") else self.__dict__.pop("_work_out", None)
        if work_out is None:
            raise AttributeError(name)
        work_out()
        return getattr(self, name)


class Router(APIRouter):
    """The routes of one noun.

    Args:
        options: what ``APIRouter`` takes.
    """

    def __init__(self, **options: Any) -> None:  # noqa: ANN401 - APIRouter's
        super().__init__(
            route_class=LateRoute,
            responses=error_responses(*EVERYWHERE),
            generate_unique_id_function=_operation_id,
            **options,
        )


def serve(app: FastAPI, routers: Iterable[Router]) -> None:
    """Let an application answer the routes of these routers.

    ``include_router`` would work each route out once more, for the prefixes and answers that an
    application may add to it; ours adds none.
    """
    for router in routers:
        app.router.routes.extend(router.routes)


def _operation_id(route: APIRoute) -> str:
    return route.name
