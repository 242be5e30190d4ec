"""Middleware: request ids, authentication, body limit, safe headers."""

import re
import time
from collections.abc import Callable
from contextlib import suppress

import structlog
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from api.container import AppContext, SecurityServices
from api.http.console_paths import CONSOLE_FILES, is_console_page
from api.http.errors import error_response
from api.http.multipart import MULTIPART, STREAMS_BODY
from api.http.rate_limit import client_address
from api.metrics import scrape_principal
from api.streaming.response import OPEN_STREAMS
from core.audit.context import Actor, AuditOrigin, acting_as, use_origin
from core.auth.api_keys import PREFIX
from core.auth.authentication import principal_for_api_key, touch_api_key
from core.auth.principal import Principal
from core.db.database import Database
from core.db.types import new_id
from core.errors.auth import NotAuthenticated
from core.errors.base import AgentexError
from core.errors.requests import RequestTooLarge
from core.errors.server import DatabaseUnavailable
from core.logging import get_logger

log = get_logger(__name__)

DOCS_PATH = "/docs"
DOCS_ASSETS = "/docs/assets"
OPEN_PATHS = frozenset(
    {
        "/healthz",
        "/readyz",
        "/openapi.json",
        "/.well-known/jwks.json",
        DOCS_PATH,
        "/api/v1/auth/register",
        "/api/v1/auth/login",
        "/api/v1/auth/refresh",
        "/api/v1/auth/oidc",
        "/api/v1/auth/oidc/login",
        "/api/v1/auth/oidc/callback",
        "/api/v1/auth/oidc/token",
        # Its token is its credential.
        "/api/v1/calendar/feed.ics",
        # For authorization servers; it says nothing that is not public.
        "/api/v1/mcp/oauth/client-metadata",
    }
)
# Opened by a signature in the link or beside the body, which each of these routes checks.
_SIGNED_PATH = re.compile(r"/api/v1/agent/attachments/[^/]+/content|/api/v1/rules/events/[^/]+")
LIMITS_ITSELF = frozenset({"/api/v1/agent/runs"})
"""Routes whose contract has its own error for a large body: they read it as a stream."""
WITH_MEDIA = frozenset({"/agent", "/api/v1/agent", "/api/v1/agent/run"})
"""Runs, whose messages carry pictures and files in the body."""
_PROBES = frozenset({"/healthz", "/readyz"})
_PROXY_HEADERS = frozenset(
    {"forwarded", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-real-ip", "via"}
)
_REQUEST_ID = re.compile(r"[\w.:-]{1,100}")
_SAFE_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "X-Frame-Options": "DENY",
    # No response is a page, except those that set their own policy.
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'; base-uri 'none'",
}
_ONE_YEAR = 31_536_000
_NOTE_SECONDS = 0.1


def is_open(path: str) -> bool:
    """Whether a path is served without a credential."""
    if path in OPEN_PATHS or path.startswith((f"{DOCS_ASSETS}/", *CONSOLE_FILES)) or is_console_page(path):
        return True
    return _SIGNED_PATH.fullmatch(path) is not None


class RequestContextMiddleware:
    """Gives each request an id, a log line and safe headers; turns a crash into an answer."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        answer = _HeaderWriter(_request_id(scope), scope, send)
        started = time.perf_counter()
        with (
            structlog.contextvars.bound_contextvars(request_id=answer.request_id),
            use_origin(AuditOrigin(answer.request_id, client_address(scope))),
        ):
            try:
                await self._app(scope, receive, answer.send)
            except ClientDisconnect:
                log.info("request.aborted", method=scope["method"], path=scope["path"])
            except Exception:
                log.exception("request.crashed", method=scope["method"], path=scope["path"])
                if answer.status == 0:
                    await error_response(AgentexError)(scope, receive, answer.send)
            finally:
                took = round((time.perf_counter() - started) * 1000, 1)
                write = log.debug if scope["path"] in _PROBES else log.info
                write("request", method=scope["method"], path=scope["path"], status=answer.status, ms=took)


def _request_id(scope: Scope) -> str:
    request_id = Headers(scope=scope).get("x-request-id", "")
    return request_id if _REQUEST_ID.fullmatch(request_id) else new_id()


class _HeaderWriter:
    """Adds headers to a response and remembers its status (0: none was sent)."""

    __slots__ = ("_is_https", "_is_private", "_send", "request_id", "status")

    def __init__(self, request_id: str, scope: Scope, send: Send) -> None:
        path: str = scope["path"]
        self.request_id = request_id
        self.status = 0
        self._is_private = path.startswith("/api/") or not is_open(path)
        # As a trusted proxy says (RFC 6797, section 7.2: not over HTTP).
        self._is_https = scope.get("scheme") == "https"
        self._send = send

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            headers = MutableHeaders(scope=message)
            headers["X-Request-ID"] = self.request_id
            for name, value in _SAFE_HEADERS.items():
                headers.setdefault(name, value)
            if self._is_private:
                headers.setdefault("Cache-Control", "no-store")
            if self._is_https:
                headers["Strict-Transport-Security"] = f"max-age={_ONE_YEAR}"
        await self._send(message)


class AuthenticationMiddleware:
    """Denies by default: only listed routes are open, and no body is read before.

    ``context`` returns the context once the application has started.
    """

    def __init__(self, app: ASGIApp, context: Callable[[], AppContext]) -> None:
        self._app = app
        self._context = context

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] in _PROBES or scope["path"].startswith(CONSOLE_FILES):
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        if not _PROXY_HEADERS.isdisjoint(headers.keys()):
            self._context().outbound.note_proxy()
        try:
            principal = await self._admitted(scope, headers)
        except AgentexError as error:
            language = headers.get("accept-language", "")
            answer = error_response(type(error), error.details, language=language)
            await answer(scope, receive, send)
            return
        if principal is None:
            await self._app(scope, receive, send)
            return
        state = scope.setdefault("state", {})
        state["principal"], state[OPEN_STREAMS] = principal, self._context().streams.open_streams
        with (
            structlog.contextvars.bound_contextvars(user_id=principal.user_id),
            acting_as(Actor(principal.user_id, principal.username)),
        ):
            await self._app(scope, receive, send)

    async def _admitted(self, scope: Scope, headers: Headers) -> Principal | None:
        context = self._context()
        if is_open(scope["path"]):
            await context.security.limits.admit_stranger(scope)
            return None
        try:
            principal = scrape_principal(scope, headers, context.settings)
            principal = principal or await authenticate(context.database, context.security, headers)
        except DatabaseUnavailable:
            raise
        except AgentexError:
            await context.security.limits.admit_stranger(scope)
            raise
        await context.security.limits.admit(principal)
        return principal


async def authenticate(database: Database, security: SecurityServices, headers: Headers) -> Principal:
    """Authenticate by ``Authorization: Bearer`` (token or key) or ``X-API-Key``."""
    scheme, _, value = headers.get("authorization", "").partition(" ")
    credential = value.strip() if scheme.lower() == "bearer" else headers.get("x-api-key", "")
    if not credential:
        raise NotAuthenticated
    if not credential.startswith(PREFIX):
        return await security.authenticator.principal_of_token(database, credential)
    principal, is_noted = await principal_for_api_key(database, credential)
    if not is_noted:
        # Recording the use is optional: a full or locked database can still be read, and readers
        # must not wait for writers. The next request records it then.
        with suppress(DatabaseUnavailable):
            async with database.writing(patience=_NOTE_SECONDS) as session:
                await touch_api_key(session, credential)
    return principal


_JSON_STRUCTURE = (b",", b"[", b"{")


class BodyLimitMiddleware:
    """Stops a body over the limit; a route that streams its body has its own limit."""

    def __init__(self, app: ASGIApp, max_bytes: int, max_run_bytes: int) -> None:
        self._app = app
        self._max_bytes = max_bytes
        # An installation that allows larger bodies everywhere allows them here.
        self._max_run_bytes = max(max_bytes, max_run_bytes)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        declared = headers.get("content-length", "")
        is_multipart = headers.get("content-type", "").lower().startswith(MULTIPART)
        may_stream = is_multipart or scope["path"] in LIMITS_ITSELF
        most = self._max_run_bytes if scope["path"] in WITH_MEDIA else self._max_bytes
        if not may_stream and declared.isdigit() and int(declared) > most:
            details: dict[str, object] = {"max_bytes": most}
            await error_response(RequestTooLarge, details)(scope, receive, send)
            return
        state = scope.setdefault("state", {})
        size = structure = 0

        async def counted() -> Message:
            nonlocal size, structure
            message = await receive()
            body = message.get("body", b"")
            size += len(body)
            if most > self._max_bytes:
                # Base64 has none of these: larger bodies may hold more bytes, but not more values.
                structure += sum(map(body.count, _JSON_STRUCTURE))
            # Only the route knows: a multipart body sent to any other would fill the memory.
            if (size > most or structure > self._max_bytes // 2) and not state.get(STREAMS_BODY):
                # FastAPI lets only this kind through while it reads a body.
                raise HTTPException(RequestTooLarge.status)
            return message

        await self._app(scope, counted, send)
