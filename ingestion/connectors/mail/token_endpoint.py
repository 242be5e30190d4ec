"""The token endpoint of an OAuth 2.0 provider (RFC 6749), past the outbound guard; what it answers is bounded."""

# Authlib has no types.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportMissingTypeStubs=false
# pyright: reportUnknownArgumentType=false

import asyncio
import re
from collections.abc import Coroutine
from dataclasses import dataclass, field
from typing import Annotated, Any

import httpx2
from authlib.common.errors import AuthlibBaseError
from authlib.integrations.httpx_client import AsyncOAuth2Client
from pydantic import BaseModel, Field, ValidationError

from core.errors.requests import UrlNotAllowed
from core.outbound.bounded_stream import BoundedStream
from core.outbound.guard import NameNotResolved, OutboundGuard
from core.outbound.transports import GuardedHttpx2Transport
from core.types.network import HostPort
from ingestion.connectors.base import ReadFailure, not_allowed
from ingestion.connectors.mail.connection import are_private
from ingestion.connectors.mail.failures import MailError
from ingestion.connectors.mail.grant_failures import (
    ENDPOINT_BUSY,
    NO_TOKENS,
    REVOKED,
    TOKEN_IN_CLEAR,
    WRONG_CLIENT,
    refused_grant,
    unreachable_endpoint,
)

_SECONDS = 15
_LARGEST_ANSWER = 2**16
_USUAL_LIFE = 3600
_LONGEST_LIFE = 86_400
_BUSY = frozenset({429, 500, 502, 503, 504})
# Errors of section 5.2; what else a provider writes there is its own, and may be anything.
_WRONG_CLIENT = frozenset({"invalid_client", "unauthorized_client"})
_KNOWN = frozenset({"invalid_request", "invalid_scope", "unsupported_grant_type", "interaction_required"})
# Microsoft's number of an error, which its documentation explains.
_NUMBER = re.compile(r"\bAADSTS\d{4,8}\b")


@dataclass(frozen=True)
class OAuthApp:
    """Who asks: an application as it is registered at the provider; a public one has no secret."""

    endpoint: str
    client_id: str
    client_secret: str = field(repr=False)
    scope: str


class GrantedTokens(BaseModel):
    """The part of an answer that is used (section 5.1); a refresh token only where it was replaced."""

    access_token: Annotated[str, Field(pattern=r"^[\x21-\x7e]{1,16384}$")] = Field(repr=False)
    refresh_token: Annotated[str, Field(pattern=r"^[\x20-\x7e]{1,16384}$")] | None = Field(default=None, repr=False)
    expires_in: Annotated[float, Field(ge=0)] = _USUAL_LIFE

    @property
    def seconds(self) -> float:
        """How long the access token lives."""
        return min(self.expires_in, _LONGEST_LIFE)


async def request_tokens(guard: OutboundGuard, app: OAuthApp, refresh_token: str | None) -> GrantedTokens:
    """Tokens for a refresh token, or without one for the application itself (sections 6 and 4.4); raises ``MailError``."""
    try:
        await _require_secure(guard, app.endpoint)
        return GrantedTokens.model_validate(await _awake(_fetch(guard, app, refresh_token)))
    except AuthlibBaseError as error:
        raise MailError(_refusal(error.error, error.description)) from None
    except UrlNotAllowed as error:
        raise MailError(not_allowed(error)) from error
    except (ValidationError, AttributeError, KeyError, TypeError):
        # From None, here and above: what was answered may hold tokens, and belongs to no log.
        raise MailError(NO_TOKENS) from None
    except httpx2.HTTPStatusError as error:
        raise MailError(ENDPOINT_BUSY if error.response.status_code in _BUSY else NO_TOKENS) from None
    except (httpx2.HTTPError, httpx2.InvalidURL, OSError) as error:
        raise MailError(unreachable_endpoint(error)) from None
    except ValueError:
        raise MailError(NO_TOKENS) from None


async def is_secure(guard: OutboundGuard, endpoint: str) -> bool:
    """Whether secrets may be sent there: with TLS, or inside the private network; raises as the guard does."""
    url = httpx2.URL(endpoint)
    if url.scheme == "https":
        return True
    target = HostPort(url.host, url.port or 80)
    return are_private(await guard.resolve(target.host, target.port))


async def _require_secure(guard: OutboundGuard, endpoint: str) -> None:
    try:
        if not await is_secure(guard, endpoint):
            raise MailError(TOKEN_IN_CLEAR)
    except NameNotResolved as error:
        raise MailError(unreachable_endpoint(error)) from None


async def _awake(request: Coroutine[Any, Any, object]) -> object:
    """The result of a request that may take some seconds in which this process runs; raises TimeoutError.

    A process that slept meanwhile still reads the answer: there may be a refresh token in it that is nowhere else.
    """
    task = asyncio.create_task(request)
    try:
        for _ in range(_SECONDS):
            if (await asyncio.wait({task}, timeout=1))[0]:
                return task.result()
        raise TimeoutError
    finally:
        task.cancel()


async def _fetch(guard: OutboundGuard, app: OAuthApp, refresh_token: str | None) -> object:
    client = AsyncOAuth2Client(
        client_id=app.client_id,
        client_secret=app.client_secret or None,
        # What Microsoft and Google document; others must know it, too, where they know any.
        token_endpoint_auth_method="client_secret_post" if app.client_secret else "none",
        transport=_TokenTransport(GuardedHttpx2Transport(guard)),
        headers={"Accept": "application/json", "Accept-Encoding": "identity"},
        # Bounded by ``_awake``.
        timeout=None,
        follow_redirects=False,
        trust_env=False,
    )
    scope = {"scope": app.scope} if app.scope else {}
    async with client:  # pyright: ignore[reportGeneralTypeIssues]
        if refresh_token is None:
            tokens = await client.fetch_token(app.endpoint, grant_type="client_credentials", **scope)
        else:
            tokens = await client.refresh_token(app.endpoint, refresh_token=refresh_token, **scope)
    return dict(tokens)


def _refusal(error: object, description: object) -> ReadFailure:
    number = _NUMBER.search(description) if isinstance(description, str) else None
    code = error if isinstance(error, str) else ""
    if code == "invalid_grant":
        return refused_grant(REVOKED, number.group() if number else code)
    if code in _WRONG_CLIENT:
        return refused_grant(WRONG_CLIENT, number.group() if number else code)
    if code in {"temporarily_unavailable", "server_error"}:
        return ENDPOINT_BUSY
    return refused_grant(NO_TOKENS, number.group() if number else code if code in _KNOWN else "error")


class _TokenTransport(httpx2.AsyncBaseTransport):
    """Refuses what is compressed, cuts off what is long, and raises for a server that is busy."""

    def __init__(self, inner: httpx2.AsyncBaseTransport) -> None:
        self._inner = inner

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        response = await self._inner.handle_async_request(request)
        is_encoded = response.headers.get("Content-Encoding", "identity").lower() != "identity"
        if is_encoded or response.status_code in _BUSY or response.is_redirect:
            await response.aclose()
            raise httpx2.HTTPStatusError("not an answer to read", request=request, response=response)
        stream = response.stream
        if isinstance(stream, httpx2.AsyncByteStream):
            response.stream = BoundedStream(stream, _LARGEST_ANSWER, lambda: ValueError("the answer is too long"))
        return response

    async def aclose(self) -> None:
        await self._inner.aclose()
