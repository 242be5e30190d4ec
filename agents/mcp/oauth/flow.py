"""Messages of the authorization code grant, made and read by the ``mcp`` library.

Its own provider waits for the person within one request; here the person may return to another process, so the flow
is cut in two: ``prepare`` ends where the person is sent away, ``exchange`` goes on with what was stored.
"""

import secrets
import time
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from urllib.parse import urlencode

import httpx2
from mcp.client.auth import OAuthClientProvider, OAuthFlowError, OAuthRegistrationError, OAuthTokenError, PKCEParameters
from mcp.client.auth.utils import validate_authorization_response_iss
from mcp.shared.auth import (
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthMetadata,
    OAuthToken,
    ProtectedResourceMetadata,
)
from pydantic import AnyUrl, BaseModel, JsonValue, TypeAdapter, ValidationError

from agents.mcp.oauth.client import CLIENT_NAME, OAuthClient
from agents.mcp.oauth.faults import OAuthFailure, OAuthFault

_SUCCESS = (200, 201)
_TOO_MANY = 429
_LONGEST_TOKEN = 16_384
_KEPT_METADATA = {
    "issuer", "authorization_endpoint", "token_endpoint", "revocation_endpoint", "response_types_supported",
    "token_endpoint_auth_methods_supported", "code_challenge_methods_supported",
    "authorization_response_iss_parameter_supported",
}  # fmt: skip
_BODY: TypeAdapter[dict[str, JsonValue]] = TypeAdapter(dict[str, JsonValue])


class OAuthGrant(BaseModel):
    """What is needed to renew and revoke tokens: sealed, as JSON, in the database."""

    metadata: OAuthMetadata
    resource: str | None
    client: OAuthClientInformationFull
    is_preregistered: bool
    scope: str | None
    tokens: OAuthToken | None = None

    @property
    def issuer(self) -> str:
        return str(self.metadata.issuer)


class OAuthRequest(BaseModel):
    """An authorization request while its person is away."""

    grant: OAuthGrant
    verifier: str
    redirect_url: str


class _PersonNeeded(Exception):
    """The flow is at the point where a person decides."""

    def __init__(self, url: str, request: OAuthRequest) -> None:
        super().__init__("a person has to decide")
        self.url = url
        self.request = request


class _FlowMemory:
    """The library's storage, for one flow."""

    def __init__(self, client: OAuthClientInformationFull | None, tokens: OAuthToken | None) -> None:
        self.client = client
        self.tokens = tokens

    async def get_tokens(self) -> OAuthToken | None:
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self.client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.client = client_info


class OAuthFlow(OAuthClientProvider):
    """The library's flow for one connection, cut where a person decides.

    Args:
        server_url: of the MCP server.
        client: how Agentex presents itself.
        check_url: raises for addresses that must not be used.
        last: the last grant of the connection, whose client and server are preferred.
        preregistered: the client that the owner has registered by hand.
        scope: what the server has asked for.
    """

    def __init__(
        self,
        server_url: str,
        client: OAuthClient,
        check_url: Callable[[str], Awaitable[None]],
        *,
        last: OAuthGrant | None = None,
        preregistered: OAuthClientInformationFull | None = None,
        scope: str | None = None,
    ) -> None:
        last_client = _reusable(last, client, scope) if last else None
        if preregistered is not None:
            # Bound to the server that it was first used with, so that no other one gets its secret.
            issuer = last.client.issuer if last and last.is_preregistered else None
            last_client = preregistered.model_copy(update={"issuer": issuer})
        super().__init__(
            server_url,
            OAuthClientMetadata(
                client_name=CLIENT_NAME,
                redirect_uris=[AnyUrl(client.redirect_url)],
                application_type="web" if client.is_web else "native",
            ),
            _FlowMemory(last_client, last.tokens if last else None),
            client_metadata_url=client.id_url,
        )
        self._redirect_url = client.redirect_url
        self._check_url = check_url
        self._last = last
        self._preregistered = preregistered

    async def prepare(self, http: httpx2.AsyncClient, challenge: httpx2.Response) -> tuple[str, OAuthRequest]:
        """The address to send the person to, and what is needed when they return; registers Agentex where needed."""
        request = httpx2.Request("POST", self.context.server_url)
        try:
            async with aclosing(self.async_auth_flow(request)) as flow:
                await anext(flow)
                response = challenge
                while True:
                    sent = await flow.asend(response)
                    if sent.method == "POST":
                        # To register: a client that could not go on then is not made.
                        self._require_pkce()
                    response = await http.send(sent)
        except _PersonNeeded as needed:
            return needed.url, needed.request
        except StopAsyncIteration as error:
            raise OAuthFailure(OAuthFault.NO_METADATA) from error
        except OAuthRegistrationError as error:
            changed = self._preregistered is not None
            raise OAuthFailure(OAuthFault.ISSUER_CHANGED if changed else OAuthFault.NOT_REGISTERED) from error
        except OAuthFlowError as error:
            is_mismatch = "match" in str(error)
            raise OAuthFailure(OAuthFault.MISMATCHED if is_mismatch else OAuthFault.NO_METADATA) from error
        except ValueError as error:
            raise OAuthFailure(OAuthFault.BAD_ANSWER) from error

    def _select_authorization_server(self, advertised: list[str]) -> str:
        if self._last is not None and self._last.issuer in advertised:
            return self._last.issuer
        return advertised[0]

    async def _initialize(self) -> None:
        await super()._initialize()
        # The old tokens are of no use here, but for the scopes that they were given for.
        self.context.token_expiry_time = None

    def _require_pkce(self) -> OAuthMetadata:
        """The server's metadata, if they promise PKCE: the protocol has clients refuse where that is missing."""
        metadata = self.context.oauth_metadata
        if metadata is None:
            raise OAuthFailure(OAuthFault.NO_METADATA)
        if "S256" not in (metadata.code_challenge_methods_supported or ()):
            raise OAuthFailure(OAuthFault.NO_PKCE)
        return metadata

    async def _perform_authorization(self) -> httpx2.Request:
        context, metadata, client = self.context, self._require_pkce(), self.context.client_info
        if client is None:
            raise OAuthFailure(OAuthFault.NOT_REGISTERED)
        if self._preregistered is not None:
            if client.client_id != self._preregistered.client_id:
                raise OAuthFailure(OAuthFault.ISSUER_CHANGED)
            client = _with_method(client, metadata)
        for url in (metadata.authorization_endpoint, metadata.token_endpoint):
            await self._check_url(str(url))
        pkce, state = PKCEParameters.generate(), secrets.token_urlsafe(32)
        has_resource = context.protected_resource_metadata is not None
        grant = OAuthGrant(
            metadata=OAuthMetadata.model_validate(metadata.model_dump(mode="json", include=_KEPT_METADATA)),
            resource=context.get_resource_url() if has_resource else None,
            client=client,
            is_preregistered=self._preregistered is not None,
            scope=context.client_metadata.scope,
        )
        request = OAuthRequest(grant=grant, verifier=pkce.code_verifier, redirect_url=self._redirect_url)
        raise _PersonNeeded(_authorization_url(request, state, pkce.code_challenge), request)


def _reusable(last: OAuthGrant, client: OAuthClient, scope: str | None) -> OAuthClientInformationFull | None:
    """The client of an earlier grant, unless it was registered by hand, for other addresses or scopes, or has ended."""
    last_client = last.client
    ends = last_client.client_secret_expires_at
    is_elsewhere = (
        last_client.redirect_uris is not None and AnyUrl(client.redirect_url) not in last_client.redirect_uris
    )
    has_ended = bool(ends) and ends <= time.time()
    lacks_scope = last_client.scope is not None and not set((scope or "").split()) <= set(last_client.scope.split())
    return None if last.is_preregistered or is_elsewhere or has_ended or lacks_scope else last_client


def _with_method(client: OAuthClientInformationFull, metadata: OAuthMetadata) -> OAuthClientInformationFull:
    """A preregistered client with the way of authentication that its server knows, and bound to that server."""
    method = "none"
    if client.client_secret:
        methods = metadata.token_endpoint_auth_methods_supported or ["client_secret_basic"]
        is_basic = "client_secret_basic" in methods or "client_secret_post" not in methods
        method = "client_secret_basic" if is_basic else "client_secret_post"
    return client.model_copy(update={"token_endpoint_auth_method": method, "issuer": str(metadata.issuer)})


def _authorization_url(request: OAuthRequest, state: str, challenge: str) -> str:
    grant = request.grant
    parameters = {
        "response_type": "code",
        "client_id": grant.client.client_id,
        "redirect_uri": request.redirect_url,
        "state": state,
        "code_challenge": challenge,
        "code_challenge_method": "S256",
    }
    if grant.resource:
        parameters["resource"] = grant.resource
    if grant.scope:
        parameters["scope"] = grant.scope
        if "offline_access" in grant.scope.split():
            # OpenID Connect Core, section 11.
            parameters["prompt"] = "consent"
    endpoint = str(grant.metadata.authorization_endpoint)
    return f"{endpoint}{'&' if '?' in endpoint else '?'}{urlencode(parameters)}"


def state_of(url: str) -> str:
    """The state in an authorization URL."""
    return httpx2.URL(url).params["state"]


def check_issuer(grant: OAuthGrant, issuer: str | None) -> None:
    """Refuse an answer that another authorization server gave (RFC 9207)."""
    try:
        validate_authorization_response_iss(issuer, grant.metadata)
    except OAuthFlowError as error:
        raise OAuthFailure(OAuthFault.WRONG_ISSUER) from error


async def exchange(http: httpx2.AsyncClient, request: OAuthRequest, code: str) -> OAuthGrant:
    """The grant with the tokens for a code."""
    return await _ResumedFlow(request.grant, request.redirect_url).exchange(http, code, request.verifier)


async def renew(http: httpx2.AsyncClient, grant: OAuthGrant) -> OAuthGrant:
    """The grant with new tokens; the refresh token stays where the server gives no new one."""
    return await _ResumedFlow(grant).renew(http)


async def revoke(http: httpx2.AsyncClient, grant: OAuthGrant) -> bool:
    """End the tokens at their server (RFC 7009), the refresh token with its family; whether it did."""
    return await _ResumedFlow(grant).revoke(http)


class _ResumedFlow(OAuthClientProvider):
    """The library's flow as it was when a grant was made."""

    def __init__(self, grant: OAuthGrant, redirect_url: str = "") -> None:
        uris = [AnyUrl(redirect_url)] if redirect_url else None
        memory = _FlowMemory(grant.client, grant.tokens)
        super().__init__(grant.resource or grant.issuer, OAuthClientMetadata(redirect_uris=uris), memory)
        self._grant = grant
        self.context.client_metadata.scope = grant.scope
        self.context.oauth_metadata = grant.metadata
        self.context.client_info = grant.client
        self.context.current_tokens = grant.tokens
        if grant.resource:
            described = {"resource": grant.resource, "authorization_servers": [grant.issuer]}
            self.context.protected_resource_metadata = ProtectedResourceMetadata.model_validate(described)

    async def exchange(self, http: httpx2.AsyncClient, code: str, verifier: str) -> OAuthGrant:
        response = await http.send(await self._exchange_token_authorization_code(code, verifier))
        _require_success(response)
        try:
            await self._handle_token_response(response)
        except (OAuthTokenError, ValueError) as error:
            raise OAuthFailure(OAuthFault.BAD_ANSWER) from error
        return self._outcome()

    async def renew(self, http: httpx2.AsyncClient) -> OAuthGrant:
        response = await http.send(await self._refresh_token())
        _require_success(response)
        if not await self._handle_refresh_response(response):
            raise OAuthFailure(OAuthFault.BAD_ANSWER)
        return self._outcome()

    async def revoke(self, http: httpx2.AsyncClient) -> bool:
        tokens, endpoint = self._grant.tokens, self._grant.metadata.revocation_endpoint
        if tokens is None or endpoint is None:
            return False
        form = {
            "token": tokens.refresh_token or tokens.access_token,
            "token_type_hint": "refresh_token" if tokens.refresh_token else "access_token",
            "client_id": self._grant.client.client_id,
        }
        form, headers = self.context.prepare_token_auth(form, {})
        response = await http.post(str(endpoint), data=form, headers=headers)
        return response.status_code in _SUCCESS

    def _outcome(self) -> OAuthGrant:
        tokens = self.context.current_tokens
        for token in () if tokens is None else (tokens.access_token, tokens.refresh_token or "none"):
            # It becomes a part of a header.
            if not (token.isascii() and token.isprintable() and " " not in token and 0 < len(token) <= _LONGEST_TOKEN):
                raise OAuthFailure(OAuthFault.BAD_ANSWER)
        return self._grant.model_copy(update={"tokens": tokens})


def _require_success(response: httpx2.Response) -> None:
    if response.status_code in _SUCCESS:
        return
    if response.is_server_error or response.status_code == _TOO_MANY:
        raise OAuthFailure(OAuthFault.UNREACHABLE)
    try:
        code = _BODY.validate_json(response.content).get("error")
    except ValidationError:
        code = None
    raise OAuthFailure(OAuthFault.DENIED, code if isinstance(code, str) else None)
