"""The ASGI application: middleware, routers, and the context they share."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from importlib.metadata import version

from fastapi import FastAPI
from starlette.middleware.cors import CORSMiddleware

from api.docs_page import install_docs_page
from api.http.errors import install_error_handlers
from api.http.routing import EVERYWHERE, serve
from api.lifespan import open_context
from api.metrics import Metrics, MetricsMiddleware
from api.middleware import AuthenticationMiddleware, BodyLimitMiddleware, RequestContextMiddleware
from api.openapi import install_openapi
from api.routers import ROUTERS
from core.process import freeze_loaded_objects
from core.settings import Settings

_DESCRIPTION = """Self-hosted knowledge bases, skills and agents.

Resources answer with an envelope `{code, message, data}`; the protocols of agents (`agent`, `ag-ui`,
`asynchronous runs`, `agent tasks`) answer in the shapes of their own documents, streams and files as
what they are. Every error is `{code, message, details}` with the HTTP status `code // 100`.
Authenticate with `Authorization: Bearer <token>` or `X-API-Key`.
"""


def create_app(settings: Settings) -> FastAPI:
    """The ASGI application of these settings."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncGenerator[None]:
        async with open_context(settings) as context:
            app.state.context = context
            freeze_loaded_objects()
            yield

    app = FastAPI(
        title="Agentex",
        version=version("agentex"),
        description=_DESCRIPTION,
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
    )
    install_error_handlers(app)
    install_openapi(app, EVERYWHERE)
    install_docs_page(app)
    serve(app, ROUTERS)
    app.add_middleware(
        BodyLimitMiddleware, max_bytes=settings.max_request_bytes, max_run_bytes=settings.max_run_request_bytes
    )
    app.add_middleware(AuthenticationMiddleware, context=lambda: app.state.context)
    if settings.allowed_origins:
        _open_to_pages(app, settings.allowed_origins)
    app.add_middleware(RequestContextMiddleware)
    app.state.metrics = metrics = Metrics()
    app.add_middleware(MetricsMiddleware, metrics=metrics)
    return app


def _open_to_pages(app: FastAPI, origins: Sequence[str]) -> None:
    """Let pages of these origins call the API; without any, browsers refuse all but our own.

    Never with cookies: the only one ties a sign-in to its browser, and clients send credentials themselves.
    """
    app.add_middleware(
        CORSMiddleware,
        allow_origins=origins,
        allow_methods=["GET", "POST", "PUT", "PATCH", "DELETE"],
        allow_headers=[
            "Authorization",
            "Content-Type",
            "If-Match",
            "Last-Event-ID",
            "MCP-Protocol-Version",
            "Mcp-Method",
            "Mcp-Name",
            "X-API-Key",
            "X-Request-ID",
        ],
        expose_headers=["Content-Disposition", "ETag", "Retry-After", "X-Request-ID"],
    )
