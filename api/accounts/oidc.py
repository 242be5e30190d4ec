"""Login through an OpenID Connect provider: authorization code with PKCE, state and nonce."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Annotated
from urllib.parse import urlencode

from fastapi import Depends, Query, Request, Response
from fastapi.responses import RedirectResponse
from pydantic import Field
from sqlalchemy.exc import IntegrityError

from agents.accounts.revocation import revoke_access
from api.accounts.auth import LoginAnswer, login_answer
from api.accounts.sso_page import sign_in_page, wants_page
from api.container import AppContext, SecurityServices
from api.dependencies import CurrentContext, CurrentDatabase, CurrentSettings, Security
from api.http.errors import error_responses
from api.http.rate_limit import client_address
from api.http.responses import Envelope, RequestModel, ResponseModel, Secret, Text
from api.http.routing import Router
from core.auth.authentication import audit_refused_sso_login
from core.auth.external_identities import get_or_create_account, sign_in_policy
from core.auth.sso_login import (
    ATTEMPT_SECONDS,
    ReturnDestination,
    begin_attempt,
    check_return_path,
    issue_ticket,
    redeem_attempt,
    redeem_ticket,
)
from core.auth.users import get_role
from core.db.unit_of_work import unit_of_work
from core.errors.auth import AccountDisabled, RegistrationDisabled
from core.errors.base import AgentexError
from core.errors.oidc import (
    OidcCodeInvalid,
    OidcEmailRefused,
    OidcEmailTaken,
    OidcExpired,
    OidcOff,
    OidcRefused,
    OidcStateInvalid,
    OidcTokenInvalid,
    OidcUnavailable,
)
from core.errors.requests import InvalidRequest, TooManyLogins
from core.errors.server import UnusableSetting
from core.oidc.auth_request import AuthResponse
from core.oidc.claims import Identity
from core.settings import Settings

if TYPE_CHECKING:
    from core.oidc.provider import OidcProvider

router = Router(prefix="/api/v1/auth/oidc", tags=["auth"])

_FROM_PROVIDER = Query(max_length=10_000)


class SignOn(ResponseModel):
    """Whether people may log in through a provider, and where that begins."""

    enabled: bool
    login_path: str = "/api/v1/auth/oidc/login"


class CodeBody(RequestModel):
    """The one-time code; a program that waited on its own machine adds its ``verifier``."""

    code: Secret = Field(min_length=1, max_length=200)
    verifier: Secret | None = Field(default=None, min_length=32, max_length=200)


async def _answer(
    code: Annotated[Text | None, _FROM_PROVIDER] = None,
    error: Annotated[Text | None, _FROM_PROVIDER] = None,
    iss: Annotated[Text | None, _FROM_PROVIDER] = None,
) -> AuthResponse:
    return AuthResponse(code, error, iss)


_REDIRECT: dict[int | str, dict[str, object]] = {302: {"description": "To go on there"}}


@router.get("")
async def single_sign_on(security: Security) -> Envelope[SignOn]:
    """Whether there is single sign-on here."""
    return Envelope(data=SignOn(enabled=security.oidc is not None))


@router.get(
    "/login",
    status_code=302,
    response_class=RedirectResponse,
    responses=_REDIRECT | error_responses(InvalidRequest, OidcOff, TooManyLogins, OidcUnavailable),
)
async def begin_single_sign_on(
    request: Request,
    database: CurrentDatabase,
    security: Security,
    return_to: Annotated[Text, Query(description="A path of this server")] = "/",
    port: Annotated[
        int | None, Query(ge=1024, le=65535, description="A program waits on this port of 127.0.0.1")
    ] = None,
    challenge: Annotated[
        str | None, Query(pattern="^[0-9a-f]{64}$", description="SHA-256 of the program's verifier, in hex")
    ] = None,
) -> Response:
    """Send a browser to the provider; it comes back to ``return_to`` with ``#sso_code=``."""
    provider = _provider(security)
    if (port is None) != (challenge is None):
        raise InvalidRequest("challenge", "Give both port and challenge, or neither")
    destination = ReturnDestination(check_return_path(return_to), port, challenge)
    await security.login_throttle.begin_sign_in(client_address(request.scope))
    async with unit_of_work(database) as work:
        questions, browser = await begin_attempt(work.session, destination)
    try:
        there = await provider.authorization_url(questions)
    except OidcUnavailable:
        # Not the fault of the person who logs in.
        await security.login_throttle.end_sign_in(client_address(request.scope))
        raise
    answer = RedirectResponse(there, 302)
    answer.set_cookie(
        _cookie(provider),
        browser,
        max_age=ATTEMPT_SECONDS,
        secure=_is_https(provider),
        httponly=True,
        # Not strict: the provider sends the browser back.
        samesite="lax",
    )
    return answer


@router.get(
    "/callback",
    status_code=302,
    response_class=RedirectResponse,
    responses=_REDIRECT
    | error_responses(
        InvalidRequest,
        OidcStateInvalid,
        OidcExpired,
        OidcRefused,
        OidcTokenInvalid,
        AccountDisabled,
        RegistrationDisabled,
        OidcEmailRefused,
        OidcEmailTaken,
        OidcOff,
        UnusableSetting,
        OidcUnavailable,
    ),
)
async def finish_single_sign_on(
    request: Request,
    context: CurrentContext,
    settings: CurrentSettings,
    response: Annotated[AuthResponse, Depends(_answer)],
    state: Annotated[Text, _FROM_PROVIDER] = "",
) -> Response:
    """Where the provider sends people back to; a browser sees what went wrong as a page."""
    provider = _provider(context.security)
    arrival = _Arrival(context, settings, provider, response)
    browser = request.cookies.get(_cookie(provider), "")
    try:
        return RedirectResponse(await arrival.welcome(state, browser), 302)
    except AgentexError as refusal:
        if arrival.destination is not None:
            await audit_refused_sso_login(context.database, refusal)
            if arrival.destination.port is not None:
                query = urlencode({"sso_error": refusal.code})
                return RedirectResponse(_loopback_url(arrival.destination.port, query), 302)
        if wants_page(request):
            return sign_in_page(refusal)
        raise


@router.post("/token", responses=error_responses(InvalidRequest, OidcCodeInvalid, AccountDisabled, OidcOff))
async def exchange_sign_on_code(
    body: CodeBody, request: Request, response: Response, database: CurrentDatabase, security: Security
) -> Envelope[LoginAnswer]:
    """Exchange the code of a sign-in for tokens: once, within a minute, where it was begun."""
    provider, address = _provider(security), client_address(request.scope)
    proof = body.verifier or request.cookies.get(_cookie(provider), "")
    async with unit_of_work(database) as work:
        user_id = await redeem_ticket(work.session, code=body.code, proof=proof)
        user, tokens = await security.authenticator.begin_vouched_login(work.session, user_id)
        role = await get_role(work.session, user.role_id)
    await security.login_throttle.end_sign_in(address)
    response.delete_cookie(_cookie(provider), secure=_is_https(provider), httponly=True)
    return Envelope(data=login_answer(user, role, tokens))


class _Arrival:
    def __init__(self, context: AppContext, settings: Settings, provider: "OidcProvider", answer: AuthResponse) -> None:
        self._context = context
        self._settings = settings
        self._provider = provider
        self._answer = answer
        self.destination: ReturnDestination | None = None
        """Set when the browser is known to be the one that began."""

    async def welcome(self, state: str, browser: str) -> str:
        async with unit_of_work(self._context.database) as work:
            questions, destination = await redeem_attempt(work.session, state=state, browser=browser)
        self.destination = destination
        # No transaction stays open during the request to the provider.
        identity = await self._provider.identify(self._answer, questions)
        code = await _retry_once(lambda: self._ticket(identity, destination, browser))
        query = urlencode({"sso_code": code})
        if destination.port is not None:
            return _loopback_url(destination.port, query)
        # In the fragment, which browsers send to no server: the code is in no log.
        return f"{destination.path}#{query}"

    async def _ticket(self, identity: Identity, destination: ReturnDestination, browser: str) -> str:
        async with unit_of_work(self._context.database) as work:
            policy = sign_in_policy(self._settings)
            user = await get_or_create_account(work.session, identity, policy, revoke_access)
            return issue_ticket(work.session, user, destination, browser=browser)


async def _retry_once(act: Callable[[], Awaitable[str]]) -> str:
    """Retry once if a concurrent request was faster: then its account is found."""
    try:
        return await act()
    except (IntegrityError, OidcEmailTaken):
        return await act()


def _provider(security: SecurityServices) -> "OidcProvider":
    if security.oidc is None:
        raise OidcOff
    return security.oidc


def _loopback_url(port: int, query: str) -> str:
    return f"http://127.0.0.1:{port}/?{query}"


def _is_https(provider: "OidcProvider") -> bool:
    return provider.redirect_url.startswith("https://")


def _cookie(provider: "OidcProvider") -> str:
    """The cookie that binds a login to its browser; no other host can set the prefixed one."""
    return "__Host-agentex-sign-in" if _is_https(provider) else "agentex-sign-in"
