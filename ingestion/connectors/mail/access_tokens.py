"""Access tokens of a mailbox, asked for before they are needed and replaced before they end."""

import time
from collections.abc import Mapping

from core.outbound.guard import OutboundGuard
from ingestion.connectors.base import SecretRotation
from ingestion.connectors.mail.failures import MailError
from ingestion.connectors.mail.grant_failures import NO_APP
from ingestion.connectors.mail.token_endpoint import GrantedTokens, OAuthApp, request_tokens

_GRANT = "refresh_token"
# A session is not begun, nor gone on with, on a token with less left: servers end sessions with their tokens.
_RESERVE_SECONDS = 120.0


class MailboxTokens:
    """The present access token of one mailbox.

    Args:
        credentials: those of the source, of which a refresh token is only looked at for being there.
        rotation: holds the refresh token, which providers may replace at each use.
    """

    def __init__(
        self, guard: OutboundGuard, app: OAuthApp, credentials: Mapping[str, str], rotation: SecretRotation | None
    ) -> None:
        self._guard = guard
        self._app = app
        self._is_renewed = _GRANT in credentials
        self._rotation = rotation
        self._token = ""
        self._renew_at = 0.0

    @property
    def is_fresh(self) -> bool:
        """Whether the present token is good for a while."""
        return bool(self._token) and time.monotonic() < self._renew_at

    def forget(self) -> None:
        """Take the present token for spent: the mail server has refused it."""
        self._token = ""

    async def current(self) -> str:
        """A token that is good for a while; raises ``MailError``."""
        if not self.is_fresh:
            asked_at = time.monotonic()
            tokens = await self._request()
            self._token = tokens.access_token
            self._renew_at = asked_at + tokens.seconds - min(_RESERVE_SECONDS, tokens.seconds / 2)
        return self._token

    async def _request(self) -> GrantedTokens:
        if not self._is_renewed:
            return await request_tokens(self._guard, self._app, None)
        if self._rotation is None:
            raise MailError(NO_APP)
        try:
            return await self._rotation.use(_GRANT, self._exchange)
        except LookupError as error:
            raise MailError(NO_APP) from error

    async def _exchange(self, refresh_token: str) -> tuple[GrantedTokens, str]:
        tokens = await request_tokens(self._guard, self._app, refresh_token)
        return tokens, tokens.refresh_token or refresh_token
