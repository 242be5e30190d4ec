"""Credentials of a command: token, API key, refresh and first login."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import httpx

from cli.client.credentials import CredentialStore, Login
from cli.client.schemas import JsonObject, SignOnRecord, TokensRecord
from cli.client.transport import Transport
from cli.errors import CommandFailed, ExitCode, ServerRefused, exit_code
from cli.supervisor.preflight import STATE_FILE
from cli.supervisor.status_file import read_url
from cli.ui.i18n.common import API_KEY_REFUSED, LOGIN_HINT, SSO_OFF
from cli.ui.i18n.supervisor import INITIAL_PASSWORD_FILE, base_url
from core.errors.auth import InvalidToken, NotAuthenticated
from core.errors.oidc import OidcOff
from core.settings import Settings

_SSO_TOKEN = "/api/v1/auth/oidc/token"  # noqa: S105 - a path, not a secret


@dataclass(frozen=True)
class Bootstrap:
    """The first administrator of a fresh server on this machine; ``file`` holds the generated password."""

    username: str
    file: Path


def own_url(settings: Settings) -> str:
    """The base URL of this machine's server: of the running one, else by the settings."""
    return read_url(settings.runtime_dir / STATE_FILE) or base_url(settings)


def find_bootstrap(settings: Settings, url: str) -> Bootstrap | None:
    """The first administrator's login, if the URL is these settings' own server.

    The password is never sent anywhere else.
    """
    file = settings.data_dir / INITIAL_PASSWORD_FILE
    try:
        readable = url == own_url(settings) and bool(file.read_bytes().strip())
    except OSError:
        return None
    return Bootstrap(settings.admin_username, file) if readable else None


class SignIn:
    """The credentials for one server, in this order: the environment's API key, the stored
    login, the first administrator's.

    Args:
        bootstrap: the first administrator's login, if it may be used.
        on_bootstrap: called when that login was used because there was no other.
    """

    def __init__(
        self,
        url: str,
        store: CredentialStore,
        *,
        api_key: str | None = None,
        bootstrap: Bootstrap | None = None,
        on_bootstrap: Callable[[Bootstrap], None] = lambda _: None,
    ) -> None:
        self.url = url
        self.store = store
        self.bootstrap = bootstrap
        self.login: Login | None = None
        self._api_key = api_key
        self._on_bootstrap = on_bootstrap

    @property
    def would_bootstrap(self) -> bool:
        """Whether the next request would log in as the first administrator."""
        nothing_else = self._api_key is None and self.store.load(self.url) is None
        return nothing_else and self.bootstrap is not None

    async def begin(self, transport: Transport) -> Login:
        stored = self.store.load(self.url)
        if self._api_key:
            self.login = Login(api_key=self._api_key)
        elif stored is not None and stored.usable:
            self.login = stored
        elif stored is None and self.bootstrap is not None:
            self.login = await self._use_bootstrap(transport, self.bootstrap)
        else:
            # An unusable one says that the person logged out: that is respected. A server that
            # can't be reached is the greater trouble, and said first.
            await transport.get_raw("/healthz")
            raise self._log_in_first()
        return self.login

    async def renew(self, transport: Transport, used: Login) -> None:
        """Get new credentials in place of those that the server refused."""
        if self._api_key:
            raise CommandFailed(InvalidToken(), API_KEY_REFUSED)
        with self.store.lock():
            stored = self.store.load(self.url)
            if stored is not None and stored.usable and stored != used:
                self.login = stored
                return
            self.login = await self._refreshed(transport, used)
            if self.login is not None:
                self.store.save(self.url, self.login)
                return
        # A new data folder has no logins; only the same person is logged in again.
        if self.bootstrap is None or used.username != self.bootstrap.username:
            raise self._log_in_first()
        self.login = await self._use_bootstrap(transport, self.bootstrap)

    async def log_in(self, transport: Transport, username: str, password: str) -> Login:
        """Exchange a password for a login and store it."""
        body: JsonObject = {"username": username, "password": password}
        tokens = await _ask_tokens(transport, "/api/v1/auth/login", body)
        return self.keep(_with_tokens(username, tokens))

    async def require_sign_on(self, transport: Transport) -> None:
        """Refuse if the server has no identity provider."""

        def build(http: httpx.AsyncClient) -> httpx.Request:
            return http.build_request("GET", "/api/v1/auth/oidc")

        offer = transport.read(SignOnRecord, await transport.send(build, repeatable=True))
        if not offer.enabled:
            raise CommandFailed(OidcOff(), SSO_OFF, url=self.url)

    async def exchange(self, transport: Transport, code: str, verifier: str) -> Login:
        """Exchange a browser's code for a login and store it."""
        body: JsonObject = {"code": code, "verifier": verifier}
        return self.keep(_with_tokens("", await _ask_tokens(transport, _SSO_TOKEN, body)))

    def keep(self, login: Login) -> Login:
        """Use a login from now on and store it."""
        self.login = login
        with self.store.lock():
            self.store.save(self.url, login)
        return login

    async def _refreshed(self, transport: Transport, used: Login) -> Login | None:
        if used.refresh_token is None:
            return None
        body: JsonObject = {"refresh_token": used.refresh_token}
        try:
            tokens = await _ask_tokens(transport, "/api/v1/auth/refresh", body)
        except ServerRefused as refusal:
            if exit_code(refusal.code) is not ExitCode.NOT_AUTHENTICATED:
                raise
            return None
        return _with_tokens(used.username, tokens)

    async def _use_bootstrap(self, transport: Transport, bootstrap: Bootstrap) -> Login:
        try:
            password = bootstrap.file.read_text(encoding="utf-8").strip()
            login = await self.log_in(transport, bootstrap.username, password)
        except (OSError, ServerRefused):
            # The password was changed since: the file is only a first way in.
            raise self._log_in_first() from None
        self._on_bootstrap(bootstrap)
        return login

    def _log_in_first(self) -> CommandFailed:
        return CommandFailed(NotAuthenticated(), LOGIN_HINT, url=self.url)


async def _ask_tokens(transport: Transport, path: str, body: JsonObject) -> TokensRecord:
    def build(http: httpx.AsyncClient) -> httpx.Request:
        return http.build_request("POST", path, json=body)

    return transport.read(TokensRecord, await transport.send(build, repeatable=False))


def _with_tokens(username: str, tokens: TokensRecord) -> Login:
    return Login(username=username, access_token=tokens.access_token, refresh_token=tokens.refresh_token)
