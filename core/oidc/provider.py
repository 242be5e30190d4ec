"""An OpenID Connect provider, which authenticates people."""

# Authlib has no types.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportMissingTypeStubs=false
# pyright: reportUnknownArgumentType=false

import hmac
import time
from collections.abc import Mapping
from typing import cast

import httpx2
from authlib.common.errors import AuthlibBaseError
from authlib.integrations.httpx_client import AsyncOAuth2Client
from authlib.oidc.discovery import get_well_known_url
from joserfc.jwk import KeySet
from pydantic import BaseModel, Field, field_validator

from core.errors.oidc import OidcRefused, OidcTokenInvalid, OidcUnavailable
from core.logging import get_logger
from core.oidc.auth_request import AuthRequest, AuthResponse
from core.oidc.claims import Identity, get_claim, merge_userinfo, read_identity
from core.oidc.http import TIMEOUT, BorrowedTransport, provider_request
from core.oidc.id_tokens import ExpectedClaims, UnknownKey, check_id_token, read_keys
from core.settings.oidc import OidcSettings, is_secure_url

log = get_logger(__name__)

# Providers change keys and endpoints seldom; a token with a new key is looked up at once.
_KEPT_SECONDS = 3600
NEW_KEYS_SECONDS = 5
# RFC 6749, sections 4.1.2.1 and 5.2, and OpenID Connect Core, section 3.1.2.6.
_REASONS = frozenset(
    {
        "access_denied", "account_selection_required", "consent_required", "interaction_required",
        "invalid_grant", "invalid_request", "invalid_scope", "login_required", "server_error",
        "temporarily_unavailable", "unauthorized_client", "unsupported_response_type",
    }
)  # fmt: skip


class _Metadata(BaseModel):
    """The used part of a discovery document (OpenID Connect Discovery 1.0, section 3)."""

    issuer: str
    authorization_endpoint: str
    token_endpoint: str
    jwks_uri: str
    userinfo_endpoint: str | None = None
    token_endpoint_auth_methods_supported: list[str] = Field(default=["client_secret_basic"])
    authorization_response_iss_parameter_supported: bool = False

    @field_validator("authorization_endpoint", "token_endpoint", "jwks_uri", "userinfo_endpoint")
    @classmethod
    def _check_url(cls, value: str | None) -> str | None:
        if value is not None and not is_secure_url(value):
            raise ValueError("is no https address")
        return value


class OidcProvider:
    """The provider of the settings.

    Args:
        settings: with the issuer and the client set.
        redirect_url: where it sends people back to.
        transport: connects to it; closed with this object.
    """

    def __init__(self, settings: OidcSettings, redirect_url: str, transport: httpx2.AsyncBaseTransport) -> None:
        self.issuer = settings.oidc_issuer or ""
        self.redirect_url = redirect_url
        self._discovery_url: str = get_well_known_url(self.issuer, external=True)
        self._client_id = settings.oidc_client_id or ""
        secret = settings.oidc_client_secret
        self._secret = secret.get_secret_value() if secret is not None else None
        self._scopes = settings.oidc_scopes
        self._groups_claim = settings.oidc_roles_claim
        self._transport = transport
        self._borrowed = BorrowedTransport(transport)
        self._http = httpx2.AsyncClient(transport=self._borrowed, timeout=TIMEOUT, trust_env=False)
        self._metadata: tuple[float, _Metadata] | None = None
        self._keys: tuple[float, KeySet] | None = None

    async def close(self) -> None:
        await self._http.aclose()
        await self._transport.aclose()

    async def check(self) -> None:
        """Check that the provider's metadata and keys can be used.

        A failure's ``reason`` is ``discovery``, ``keys``, or ``issuer`` if the metadata are another issuer's.
        """
        metadata = await self._get_object("discovery", self._discovery_url)
        if isinstance(issuer := metadata.get("issuer"), str) and issuer != self.issuer:
            raise OidcUnavailable("issuer")
        await self._key_set(await self._discover(), at_most_old=0)

    async def authorization_url(self, questions: AuthRequest) -> str:
        """The provider's login page for this sign-in."""
        metadata = await self._discover()
        client = self._client(metadata)
        url, _ = client.create_authorization_url(
            metadata.authorization_endpoint,
            state=questions.state,
            nonce=questions.nonce,
            code_verifier=questions.verifier,
        )
        return str(url)

    async def identify(self, answer: AuthResponse, questions: AuthRequest) -> Identity:
        """The person for whom the provider gave this response."""
        metadata = await self._discover()
        self._check_issuer(answer, metadata)
        if answer.error is not None or not answer.code:
            error = answer.error or "invalid_request"
            raise OidcRefused(error if error in _REASONS else "unknown")
        tokens = await self._exchange(metadata, answer.code, questions)
        id_token, access_token = tokens.get("id_token"), tokens.get("access_token")
        if not isinstance(id_token, str):
            raise OidcTokenInvalid("missing")
        access = access_token if isinstance(access_token, str) else None
        expected = ExpectedClaims(self.issuer, self._client_id, questions.nonce, access)
        claims = await self._checked(metadata, id_token, expected)
        known_claims = await self._with_userinfo(metadata, claims, access)
        return read_identity(self.issuer, known_claims, self._groups_claim)

    def _check_issuer(self, answer: AuthResponse, metadata: _Metadata) -> None:
        """Refuse a response from another provider (RFC 9207, section 2.4)."""
        if answer.issuer is None:
            if metadata.authorization_response_iss_parameter_supported:
                raise OidcTokenInvalid("iss")
        elif not hmac.compare_digest(answer.issuer.encode(), self.issuer.encode()):
            raise OidcTokenInvalid("iss")

    async def _exchange(self, metadata: _Metadata, code: str, questions: AuthRequest) -> Mapping[str, object]:
        # Its base class comes by way of a name that is only known at run time.
        async with self._client(metadata) as client:  # pyright: ignore[reportGeneralTypeIssues]
            try:
                async with provider_request("token"):
                    tokens = await client.fetch_token(
                        metadata.token_endpoint,
                        grant_type="authorization_code",
                        code=code,
                        code_verifier=questions.verifier,
                    )
            except AuthlibBaseError as error:
                reason = str(error.error)
                log.warning("oidc.code_refused", reason=reason if reason in _REASONS else "unknown")
                if reason in {"invalid_client", "unauthorized_client"}:
                    raise OidcUnavailable("client") from error
                raise OidcRefused(reason if reason in _REASONS else "unknown") from error
        return cast(Mapping[str, object], tokens)

    async def _checked(self, metadata: _Metadata, id_token: str, expected: ExpectedClaims) -> Mapping[str, object]:
        try:
            return check_id_token(id_token, await self._key_set(metadata), expected)
        except UnknownKey:
            keys = await self._key_set(metadata, at_most_old=NEW_KEYS_SECONDS)
        try:
            return check_id_token(id_token, keys, expected)
        except UnknownKey as error:
            raise OidcTokenInvalid("signature") from error

    async def _with_userinfo(
        self, metadata: _Metadata, claims: Mapping[str, object], access_token: str | None
    ) -> Mapping[str, object]:
        """The claims, completed by the userinfo endpoint if necessary (Core, section 5.4)."""
        needed = {"email", "preferred_username"}
        is_complete = needed <= claims.keys() and (
            self._groups_claim is None or get_claim(claims, self._groups_claim) is not None
        )
        if is_complete or metadata.userinfo_endpoint is None or access_token is None:
            return claims
        headers = {"Authorization": f"Bearer {access_token}"}
        userinfo = await self._get_object("userinfo", metadata.userinfo_endpoint, headers)
        # Section 5.3.2: claims about another subject must not be used.
        if userinfo.get("sub") != claims["sub"]:
            raise OidcTokenInvalid("sub")
        return merge_userinfo(claims, userinfo)

    async def _discover(self) -> _Metadata:
        if self._metadata and self._metadata[0] > time.monotonic() - _KEPT_SECONDS:
            return self._metadata[1]
        document = await self._get_object("discovery", self._discovery_url)
        async with provider_request("discovery"):
            metadata = _Metadata.model_validate(document)
            # Discovery, section 4.3: otherwise one provider could speak for another.
            if metadata.issuer != self.issuer:
                raise ValueError("the document is another issuer's")
        self._metadata = (time.monotonic(), metadata)
        return metadata

    async def _key_set(self, metadata: _Metadata, *, at_most_old: float = _KEPT_SECONDS) -> KeySet:
        if self._keys and self._keys[0] > time.monotonic() - at_most_old:
            return self._keys[1]
        document = await self._get_object("keys", metadata.jwks_uri)
        async with provider_request("keys"):
            keys = read_keys(document)
        self._keys = (time.monotonic(), keys)
        return keys

    async def _get_object(self, what: str, url: str, headers: Mapping[str, str] | None = None) -> Mapping[str, object]:
        async with provider_request(what):
            response = await self._http.get(url, headers=dict(headers or {}))
            if not response.is_success:
                raise ValueError("the answer is no success")
            document: object = response.json()
            if not isinstance(document, dict):
                raise ValueError("the answer is no JSON object")
        return cast(Mapping[str, object], document)

    def _client(self, metadata: _Metadata) -> AsyncOAuth2Client:
        """The library's client, one per sign-in: it remembers the last tokens."""
        method = "none"
        if self._secret is not None:
            auth_methods = metadata.token_endpoint_auth_methods_supported
            is_basic = "client_secret_basic" in auth_methods or "client_secret_post" not in auth_methods
            method = "client_secret_basic" if is_basic else "client_secret_post"
        return AsyncOAuth2Client(
            client_id=self._client_id,
            client_secret=self._secret,
            token_endpoint_auth_method=method,
            scope=self._scopes,
            redirect_uri=self.redirect_url,
            code_challenge_method="S256",
            transport=self._borrowed,
            timeout=TIMEOUT,
            trust_env=False,
        )
