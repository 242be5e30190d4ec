"""The connector of mailboxes over IMAP."""

import asyncio
import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager, suppress
from datetime import date
from typing import Annotated, Any, ClassVar, Literal
from urllib.parse import quote

from pydantic import Field, SecretStr, field_validator

from core.errors.requests import InvalidRequest
from core.outbound.guard import NameNotResolved
from core.types.errors import FieldValueError
from ingestion.connectors.addresses import check_address, origin_of
from ingestion.connectors.base import (
    MOST_ITEMS,
    ConnectorCredentials,
    ConnectorEnvironment,
    ConnectorSettings,
    ItemGone,
    ItemUnreadable,
    KnownItem,
    SourceItem,
    SourceUnavailable,
    too_large,
    too_many_items,
)
from ingestion.connectors.limits import limited_items
from ingestion.connectors.mail.access_tokens import MailboxTokens
from ingestion.connectors.mail.connection import IMAP_PORTS, ImapConnection, MailServer, Security, are_private, connect
from ingestion.connectors.mail.failures import (
    CHANGED,
    NO_CREDENTIALS,
    ONLY_PRIVATE,
    MailError,
    MailRefused,
    no_folder,
    refused_folder,
)
from ingestion.connectors.mail.grant_failures import NO_APP, TOKEN_IN_CLEAR, TOKEN_REFUSED
from ingestion.connectors.mail.mailbox import Mailbox, MailFolder, MessageHead
from ingestion.connectors.mail.structure import AttachedFile, decoded
from ingestion.connectors.mail.token_endpoint import OAuthApp, is_secure
from ingestion.connectors.patterns import Patterns, is_included
from ingestion.parsers.format_support import OURS_ONLY
from kb_service.document_names import document_name

_ENDING = ".eml"
_LONGEST_TITLE = 150
_MOST_FOLDERS = 500
_IDLE_SECONDS = 5.0
_NEW_AT_ONCE = 100
# A message never changes under its UID.
_FINGERPRINT = "1"
# Microsoft: «Authenticate an IMAP, POP or SMTP connection using OAuth»; Google: «Using OAuth 2.0 for Web Server Applications».
_MICROSOFT = "https://login.microsoftonline.com/{tenant}/oauth2/v2.0/token"
_MICROSOFT_APP_SCOPE = "https://outlook.office365.com/.default"
_MICROSOFT_PERSON_SCOPE = "https://outlook.office.com/IMAP.AccessAsUser.All offline_access"
_GOOGLE = "https://oauth2.googleapis.com/token"
SignIn = Literal["password", "microsoft", "google", "oauth"]
_KEY = re.compile(r"(.*);UIDVALIDITY=(\d+)/;UID=(\d+)(?:/;SECTION=([\d.]+))?", re.DOTALL)


class ImapSettings(ConnectorSettings):
    """Settings of a mailbox; patterns are matched with whole names of folders, such as ``Projects/*``.

    Without ``port`` it is 993 with ``tls`` and 143 else; ``plain`` is for servers in the private network alone. Of each
    folder the newest ``max_messages`` are read, those before ``since`` (``2026-01-31``) left out. With ``attachments``
    the files in a message become documents of their own.

    ``sign_in`` is by ``password`` or by an access token of OAuth 2.0: ``microsoft`` with the ``tenant`` (an id or a
    domain), ``google``, or ``oauth`` with the ``token_url`` of another provider. ``scope`` is what is asked for there;
    without it, Microsoft is asked for IMAP, and others for what the grant was given for.
    """

    host: str = Field(min_length=1, max_length=253, pattern=r"^[^\s/@\x00-\x1f\x7f]+$")
    port: Annotated[int, Field(ge=0, le=65535)] = 0
    security: Security = "tls"
    include: Patterns = ("INBOX",)
    exclude: Patterns = ()
    since: Annotated[str, Field(max_length=10)] = ""
    max_messages: Annotated[int, Field(ge=1, le=MOST_ITEMS)] = 1000
    attachments: bool = False
    sign_in: SignIn = "password"
    tenant: Annotated[str, Field(max_length=253, pattern=r"^[A-Za-z0-9.-]*$")] = ""
    token_url: Annotated[str, Field(max_length=2048)] = ""
    scope: Annotated[str, Field(max_length=2000, pattern=r"^[\x20-\x7e]*$")] = ""

    @field_validator("since")
    @classmethod
    def _check_since(cls, value: str) -> str:
        try:
            if value:
                date.fromisoformat(value)
        except ValueError:
            raise FieldValueError("Use the form 2026-01-31", "请使用 2026-01-31 的格式") from None
        return value

    @property
    def server(self) -> MailServer:
        """Where the mailbox is."""
        port = self.port or (993 if self.security == "tls" else 143)
        return MailServer(self.host.strip("[]"), port, self.security)

    @property
    def token_endpoint(self) -> str:
        """Where access tokens come from; empty where a password is used."""
        match self.sign_in:
            case "microsoft":
                return _MICROSOFT.format(tenant=quote(self.tenant, safe=""))
            case "google":
                return _GOOGLE
            case "oauth":
                return self.token_url
            case "password":
                return ""

    def oauth_app(self, values: Mapping[str, str]) -> OAuthApp:
        """The application that the credentials name."""
        scope = self.scope
        if self.sign_in == "microsoft" and not scope:
            scope = _MICROSOFT_PERSON_SCOPE if "refresh_token" in values else _MICROSOFT_APP_SCOPE
        return OAuthApp(self.token_endpoint, values["client_id"], values.get("client_secret", ""), scope)

    @property
    def place(self) -> str:
        return f"{'imaps' if self.security == 'tls' else 'imap'}://{self.host}:{self.server.port}"

    @property
    def credentials_target(self) -> str:
        # With the way of encryption: a change to none must not send what was given for a safe one.
        server = self.server
        mailbox = f"imap+{server.security}://{server.host}:{server.port}"
        return f"{mailbox} {origin_of(self.token_endpoint)}" if self.token_endpoint else mailbox


class ImapCredentials(ConnectorCredentials):
    """Credentials of a mailbox: a ``password``, which may be one for a single application, or an application's id.

    With ``refresh_token`` the application reads as the person who signed in for it, else as itself, with its secret.
    """

    username: Annotated[str, Field(min_length=1, max_length=320, pattern=r"^[^\x00-\x1f\x7f]+$")] = Field(repr=False)
    password: SecretStr | None = Field(default=None, min_length=1, max_length=4000)
    client_id: Annotated[str, Field(min_length=1, max_length=500, pattern=r"^[\x21-\x7e]+$")] | None = Field(
        default=None, repr=False
    )
    client_secret: SecretStr | None = Field(default=None, min_length=1, max_length=4000)
    refresh_token: SecretStr | None = Field(default=None, min_length=1, max_length=16_384)


class ImapConnector:
    """Reads the messages in folders of a mailbox, without marking them as read."""

    NAME: ClassVar[str] = "imap"
    SETTINGS: ClassVar[type[ConnectorSettings]] = ImapSettings
    CREDENTIALS: ClassVar[type[ConnectorCredentials] | None] = ImapCredentials
    ADMINISTRATORS_ONLY: ClassVar[bool] = False
    LISTS_EVERYTHING: ClassVar[bool] = True

    def __init__(self, settings: ImapSettings, environment: ConnectorEnvironment) -> None:
        self._settings = settings
        self._environment = environment
        self._mailbox: Mailbox | None = None
        self._closing: asyncio.TimerHandle | None = None
        self._tokens: MailboxTokens | None = None
        self._folders: dict[str, MailFolder] = {}
        self.is_cut = False

    async def check(self) -> None:
        await self._check_sign_in()
        server = self._settings.server
        with suppress(NameNotResolved):
            addresses = await self._environment.guard.resolve(server.host, server.port, usual_ports=IMAP_PORTS)
            if server.security == "plain" and not are_private(addresses):
                raise InvalidRequest("settings.security", ONLY_PRIVATE.message, ONLY_PRIVATE.message_zh)

    async def _check_sign_in(self) -> None:
        settings = self._settings
        if settings.sign_in == "microsoft" and not settings.tenant.strip("."):
            raise InvalidRequest(
                "settings.tenant",
                "Give the tenant: its id or its domain, such as example.onmicrosoft.com",
                "请填写租户：租户 ID 或域名，例如 example.onmicrosoft.com",
            )
        if settings.token_endpoint or settings.sign_in == "oauth":
            check_address(settings.token_endpoint, "settings.token_url")
            with suppress(NameNotResolved):
                await self._environment.guard.check(settings.token_endpoint)
                if not await is_secure(self._environment.guard, settings.token_endpoint):
                    raise InvalidRequest("settings.token_url", TOKEN_IN_CLEAR.message, TOKEN_IN_CLEAR.message_zh)
        if self._environment.credentials is not None:
            self._check_credentials(self._environment.credentials.values)

    def _check_credentials(self, values: Mapping[str, str]) -> None:
        if self._settings.sign_in == "password":
            needed, is_given = "password", "password" in values
        elif "client_id" not in values:
            needed, is_given = "client_id", False
        elif self._settings.sign_in == "google":
            # Applications have no mailboxes of their own there.
            needed, is_given = "refresh_token", "refresh_token" in values
        else:
            needed, is_given = "client_secret", "client_secret" in values or "refresh_token" in values
        if not is_given:
            failure = NO_CREDENTIALS if needed == "password" else NO_APP
            raise InvalidRequest(f"credentials.{needed}", failure.message, failure.message_zh)

    async def items(self) -> AsyncGenerator[SourceItem]:
        try:
            async with aclosing(limited_items(self._items())) as items:
                async for item in items:
                    yield item
        except MailError as error:
            raise SourceUnavailable(error.failure) from error

    async def read(self, item: SourceItem) -> AsyncGenerator[bytes]:
        match = _KEY.fullmatch(item.key)
        folder = self._folders.get(match[1]) if match else None
        if match is None or folder is None:
            raise ItemGone
        limit, size = self._environment.max_bytes, 0
        async with self._session() as mailbox:
            if await mailbox.open_folder(folder.raw) != int(match[2]):
                raise ItemGone
            blocks = mailbox.read_section(int(match[3]), match[4] or "")
            encoding = str(item.state.get("encoding", ""))
            async with aclosing(blocks), aclosing(decoded(blocks, encoding)) as content:
                async for block in content:
                    size += len(block)
                    if size > limit:
                        raise ItemUnreadable(too_large(limit))
                    yield block
        if not size:
            raise ItemGone

    @asynccontextmanager
    async def _session(self) -> AsyncGenerator[Mailbox]:
        """The mailbox, over a connection that is kept for a moment: messages are read one after the other."""
        if self._closing is not None:
            self._closing.cancel()
        if self._mailbox is not None and self._tokens is not None and not self._tokens.is_fresh:
            # Servers end a session when its token ends, and what is asked for then is lost.
            self._mailbox.connection.close()
        if self._mailbox is None or not self._mailbox.connection.is_open:
            try:
                self._mailbox = await self._open()
            except MailError as error:
                # Not of one message: all the others would wait for the server, too.
                raise SourceUnavailable(error.failure) from error
        connection = self._mailbox.connection
        try:
            yield self._mailbox
        finally:
            self._closing = asyncio.get_running_loop().call_later(_IDLE_SECONDS, connection.close)

    async def _open(self) -> Mailbox:
        if self._environment.credentials is None:
            raise MailError(NO_CREDENTIALS)
        values = self._environment.credentials.values
        if not self._settings.token_endpoint:
            if "password" not in values:
                raise MailError(NO_CREDENTIALS)
            return await self._open_as(lambda connection: connection.log_in(values["username"], values["password"]))
        if "client_id" not in values:
            raise MailError(NO_APP)
        return await self._open_with_token(values)

    async def _open_with_token(self, values: Mapping[str, str]) -> Mailbox:
        settings = self._settings
        if self._tokens is None:
            environment = self._environment
            self._tokens = MailboxTokens(environment.guard, settings.oauth_app(values), values, environment.rotation)
        tokens, is_new = self._tokens, not self._tokens.is_fresh

        async def present(connection: ImapConnection) -> None:
            await connection.present_token(values["username"], token, settings.server)

        token = await tokens.current()
        try:
            return await self._open_as(present)
        except MailError as error:
            if is_new or error.failure is not TOKEN_REFUSED:
                raise
        # It was good a while ago: providers take tokens back when passwords or permissions change.
        tokens.forget()
        token = await tokens.current()
        return await self._open_as(present)

    async def _open_as(self, sign_in: Callable[[ImapConnection], Awaitable[None]]) -> Mailbox:
        connection = await connect(self._environment.guard, self._settings.server)
        try:
            await sign_in(connection)
        except BaseException:
            connection.close()
            raise
        return Mailbox(connection, self._environment.support)

    async def _items(self) -> AsyncGenerator[SourceItem]:
        async with self._session() as mailbox:
            folders = await mailbox.list_folders()
        names = [folder.name for folder in folders]
        settings = self._settings
        chosen = [folder for folder in folders if is_included(folder.name, settings.include, settings.exclude)]
        if not chosen:
            raise SourceUnavailable(no_folder(names))
        if len(chosen) > _MOST_FOLDERS:
            raise too_many_items()
        self._folders = {folder.name: folder for folder in chosen}
        for folder in chosen:
            async with aclosing(self._messages(folder)) as items:
                async for item in items:
                    yield item

    async def _messages(self, folder: MailFolder) -> AsyncGenerator[SourceItem]:
        since = date.fromisoformat(self._settings.since) if self._settings.since else None
        async with self._session() as mailbox:
            try:
                validity = await mailbox.open_folder(folder.raw)
                uids = await mailbox.list_uids(since)
            except MailRefused as error:
                raise MailError(refused_folder(folder.name)) from error
        if len(uids) > self._settings.max_messages:
            self.is_cut = True
            uids = uids[-self._settings.max_messages :]
        new: list[int] = []
        for uid in uids:
            key = f"{folder.name};UIDVALIDITY={validity}/;UID={uid}"
            previous = await self._environment.find_known(key)
            if previous is not None and self._is_enough(previous):
                for item in _previous_items(key, previous, attachments=self._settings.attachments):
                    yield item
                continue
            new.append(uid)
            if len(new) == _NEW_AT_ONCE:
                async with aclosing(self._new_messages(folder, validity, new)) as items:
                    async for item in items:
                        yield item
                new = []
        async with aclosing(self._new_messages(folder, validity, new)) as items:
            async for item in items:
                yield item

    def _is_enough(self, previous: KnownItem) -> bool:
        """Whether what was read of a message says what is listed of it."""
        # Old Office files were left out as long as nothing read them.
        is_complete = not self._is_converting or "converting" in previous.state
        return not self._settings.attachments or ("attachments" in previous.state and is_complete)

    @property
    def _is_converting(self) -> bool:
        return self._environment.support != OURS_ONLY

    async def _new_messages(self, folder: MailFolder, validity: int, uids: Sequence[int]) -> AsyncGenerator[SourceItem]:
        async with self._session() as mailbox:
            if await mailbox.open_folder(folder.raw) != validity:
                raise MailError(CHANGED)
            heads = await mailbox.read_heads(uids, attachments=self._settings.attachments)
        for uid in uids:
            if uid in heads:
                for item in self._new_items(f"{folder.name};UIDVALIDITY={validity}/;UID={uid}", folder, heads[uid]):
                    yield item

    def _new_items(self, key: str, folder: MailFolder, head: MessageHead) -> list[SourceItem]:
        """A message and the files in it."""
        title = _title(head.subject or head.sender or "-")
        attributes = {"folder": folder.name, "from": head.sender, "date": head.sent_at}
        attributes = {name: value for name, value in attributes.items() if value}
        files = [vars(each) for each in head.attachments]
        state: dict[str, Any] = {"attachments": files} if self._settings.attachments else {}
        if self._settings.attachments and self._is_converting:
            state["converting"] = True
        limit = self._environment.max_bytes
        message = SourceItem(key, document_name([title + _ENDING]), _FINGERPRINT, state, attributes=attributes)
        if head.size > limit:
            # Its files may be small enough.
            message = SourceItem(key, message.name, failure=too_large(limit))
        return [message, *(_file_item(key, title, each, attributes) for each in head.attachments)]


def _previous_items(key: str, previous: KnownItem, *, attachments: bool) -> list[SourceItem]:
    """What a message that was read before is listed as; only the keys of unchanged items count."""
    message = SourceItem(key, _ENDING, previous.fingerprint, previous.state)
    rows: list[dict[str, str]] = previous.state.get("attachments", []) if attachments else []
    return [message, *(_file_item(key, "", AttachedFile(**row), {}) for row in rows)]


def _file_item(key: str, title: str, file: AttachedFile, attributes: dict[str, str]) -> SourceItem:
    name = document_name([title, _title(file.name)] if title else [_title(file.name)])
    state = {"encoding": file.encoding}
    return SourceItem(f"{key}/;SECTION={file.section}", name, _FINGERPRINT, state, attributes=attributes)


def _title(text: str) -> str:
    """A subject or the name of a file as a part of a document's name; the end of long ones stays, for their endings."""
    clean = re.sub(r"[/\\\x00-\x1f\x7f]+", "-", text).strip(" .")
    return clean if len(clean) <= _LONGEST_TITLE else clean[: _LONGEST_TITLE - 10] + "…" + clean[-9:]
