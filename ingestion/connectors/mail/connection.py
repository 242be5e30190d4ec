"""A connection to an IMAP server, past the outbound guard; what it sends and how long it takes is bounded."""

import asyncio
import base64
import re
import ssl
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Literal, NamedTuple

import httpx

from core.errors.requests import UrlNotAllowed
from core.outbound.guard import NameNotResolved, OutboundGuard, is_public
from core.types.network import parse_address
from ingestion.connectors.base import not_allowed
from ingestion.connectors.mail.failures import (
    BUSY,
    NO_PASSWORDS,
    NO_TLS,
    NOT_IMAP,
    ONLY_PRIVATE,
    REFUSED,
    TOO_SLOW,
    UNTRUSTED,
    WRONG_CREDENTIALS,
    MailError,
    MailRefused,
    no_answer,
)
from ingestion.connectors.mail.grant_failures import NO_OAUTH, TOKEN_REFUSED
from ingestion.connectors.mail.values import quote_string

Security = Literal["tls", "starttls", "plain"]
IMAP_PORTS = (143, 993)
_CONNECT_SECONDS = 15.0
_COMMAND_SECONDS = 120.0
# Half a million UIDs of a folder.
_LONGEST_LINE = 4 * 2**20
_ANSWER_BYTES = 32 * 2**20
_MOST_ANSWERS = 20_000
_LITERAL = re.compile(rb"\{([0-9]{1,18})\}$")
_BUSY_CODES = frozenset({b"UNAVAILABLE", b"LIMIT", b"INUSE", b"OVERQUOTA", b"SERVERBUG"})
_CODE = re.compile(rb"\[([A-Z0-9-]+)")
# Not PREAUTH: such a server takes the product for somebody whom nobody named.
_GREETING = b"OK"


@dataclass(frozen=True)
class MailServer:
    """Where a mailbox is."""

    host: str
    port: int
    security: Security


@dataclass(frozen=True)
class LongString:
    """A string that goes out as a literal, once the server asks for it."""

    content: bytes


class UntaggedAnswer(NamedTuple):
    """An untagged answer: lines and literals in turns, from its first word on."""

    parts: tuple[bytes, ...]

    def is_called(self, name: bytes) -> bool:
        return self.parts[0].split(b" ", 1)[0].upper() == name


class ImapConnection:
    """Sends commands and reads their answers, one at a time; any failure but ``MailRefused`` ends it."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._number = 0
        self._allowance = _ANSWER_BYTES
        self._capabilities: frozenset[bytes] = frozenset()

    @property
    def is_open(self) -> bool:
        return not (self._writer.is_closing() or self._reader.at_eof())

    def close(self) -> None:
        """End the connection at once."""
        self._writer.transport.abort()

    async def greet(self, server: MailServer, context: ssl.SSLContext) -> None:
        """Read the greeting, and encrypt what follows where that is still to be done."""
        async with self._exchange():
            first = (await self._read_parts())[0].upper().split()
            if first[:2] == [b"*", b"BYE"]:
                raise MailError(BUSY)
            if first[:2] != [b"*", _GREETING]:
                raise MailError(NOT_IMAP)
        if server.security == "starttls":
            await self._start_tls(server.host, context)
        answers = await self.command(b"CAPABILITY")
        words = {word for answer in answers if answer.is_called(b"CAPABILITY") for word in answer.parts[0].split()}
        self._capabilities = frozenset(word.upper() for word in words)
        if not {b"IMAP4REV1", b"IMAP4REV2"} & self._capabilities:
            raise MailError(NOT_IMAP)

    async def log_in(self, username: str, password: str) -> None:
        """Say who asks; raises ``MailError``, whose words hold neither."""
        try:
            if b"AUTH=PLAIN" in self._capabilities:
                # The one way for passwords of any characters (RFC 4616).
                pair = base64.b64encode(f"\0{username}\0{password}".encode())
                await self.command(b"AUTHENTICATE PLAIN", replies=[pair])
            elif b"LOGINDISABLED" not in self._capabilities:
                words = [imap_string(username.encode()), imap_string(password.encode())]
                await self.command(b"LOGIN", *words)
            else:
                raise MailError(NO_PASSWORDS)
        except MailRefused as error:
            if error.failure is BUSY:
                raise
            raise MailError(WRONG_CREDENTIALS) from error

    async def present_token(self, username: str, token: str, server: MailServer) -> None:
        """Say who asks by an access token; raises ``MailError``: with ``TOKEN_REFUSED`` another one may do."""
        # A server that refuses a token says why first, and waits for a word on it.
        if b"AUTH=OAUTHBEARER" in self._capabilities:
            # RFC 7628, section 3.1.
            name = username.replace("=", "=3D").replace(",", "=2C")
            words = f"n,a={name},\x01host={server.host}\x01port={server.port}\x01auth=Bearer {token}\x01\x01"
            mechanism, farewell = b"OAUTHBEARER", b"AQ=="
        elif b"AUTH=XOAUTH2" in self._capabilities:
            words = f"user={username}\x01auth=Bearer {token}\x01\x01"
            mechanism, farewell = b"XOAUTH2", b""
        else:
            raise MailError(NO_OAUTH)
        try:
            await self.command(b"AUTHENTICATE " + mechanism, replies=[base64.b64encode(words.encode()), farewell])
        except MailRefused as error:
            if error.failure is BUSY:
                raise
            raise MailError(TOKEN_REFUSED) from error

    async def command(self, *words: bytes | LongString, replies: Sequence[bytes] = ()) -> list[UntaggedAnswer]:
        """The untagged answers to a command.

        Args:
            replies: lines to send, each when the server asks for it.

        Raises:
            MailRefused: the server answers NO or BAD.
            MailError: it answers nothing, or what is no IMAP.
        """
        self._number += 1
        tag = b"A%d" % self._number
        async with self._exchange():
            line = tag
            waiting = [reply + b"\r\n" for reply in replies]
            for word in words:
                if isinstance(word, LongString):
                    line += b" {%d}\r\n" % len(word.content)
                    await self._send(line)
                    await self._read_continuation(tag)
                    line = word.content
                else:
                    line += b" " + word
            await self._send(line + b"\r\n")
            return await self._read_answers(tag, waiting)

    async def _read_answers(self, tag: bytes, waiting: list[bytes]) -> list[UntaggedAnswer]:
        answers: list[UntaggedAnswer] = []
        while True:
            parts = await self._read_parts()
            first, _, rest = parts[0].partition(b" ")
            if first == tag:
                _require_ok(rest)
                return answers
            if first == b"+":
                if not waiting:
                    raise MailError(NOT_IMAP)
                await self._send(waiting.pop(0))
            elif first == b"*":
                answer = UntaggedAnswer((rest, *parts[1:]))
                if answer.is_called(b"BYE"):
                    raise MailError(BUSY)
                if len(answers) == _MOST_ANSWERS:
                    raise MailError(NOT_IMAP)
                answers.append(answer)
            else:
                raise MailError(NOT_IMAP)

    async def _read_continuation(self, tag: bytes) -> None:
        while not (line := (await self._read_parts())[0]).startswith(b"+"):
            if line.startswith(tag + b" "):
                _require_ok(line.partition(b" ")[2])
                raise MailError(NOT_IMAP)

    async def _read_parts(self) -> list[bytes]:
        """A line, and the literals in it with the lines behind them."""
        parts: list[bytes] = []
        while True:
            line = await self._reader.readuntil(b"\n")
            self._spend(len(line))
            line = line.rstrip(b"\r\n")
            parts.append(line)
            literal = _LITERAL.search(line)
            if literal is None:
                return parts
            size = int(literal[1])
            # Before it is read: a server may name any size.
            self._spend(size)
            parts.append(await self._reader.readexactly(size))

    async def _send(self, data: bytes) -> None:
        self._writer.write(data)
        await self._writer.drain()

    def _spend(self, size: int) -> None:
        self._allowance -= size
        if self._allowance < 0:
            raise MailError(NOT_IMAP)

    @asynccontextmanager
    async def _exchange(self) -> AsyncGenerator[None]:
        """Bounds the time and the size of an exchange; where it fails, the connection ends."""
        self._allowance = _ANSWER_BYTES
        try:
            async with asyncio.timeout(_COMMAND_SECONDS):
                yield
        except MailRefused:
            raise
        except BaseException as error:
            self.close()
            failure = _failure_of(error)
            if failure is None:
                raise
            raise failure from error

    async def _start_tls(self, host: str, context: ssl.SSLContext) -> None:
        try:
            await self.command(b"STARTTLS")
        except MailRefused as error:
            raise MailError(NO_TLS) from error
        async with self._exchange():
            # What came before the encryption would be taken for what came with it (CVE-2011-0411).
            with suppress(TimeoutError):
                async with asyncio.timeout(0):
                    await self._reader.read(1)
                    raise MailError(NO_TLS)
            await self._writer.start_tls(context, server_hostname=host, ssl_handshake_timeout=_CONNECT_SECONDS)


def imap_string(content: bytes) -> bytes | LongString:
    """A string as a word of a command."""
    return quote_string(content) or LongString(content)


def _failure_of(error: BaseException) -> MailError | None:
    """The failure that an error of a connection means; None for one that means something else."""
    match error:
        case ssl.SSLCertVerificationError():
            return MailError(UNTRUSTED)
        case ssl.SSLError():
            return MailError(NO_TLS)
        case asyncio.LimitOverrunError():
            return MailError(NOT_IMAP)
        case TimeoutError():
            return MailError(TOO_SLOW)
        case OSError() | EOFError():
            return MailError(no_answer(error))
        case _:
            return None


def _require_ok(text: bytes) -> None:
    status, _, rest = text.partition(b" ")
    if status.upper() == b"OK":
        return
    if status.upper() not in (b"NO", b"BAD"):
        raise MailError(NOT_IMAP)
    code = _CODE.match(rest.upper())
    raise MailRefused(BUSY if code and code[1] in _BUSY_CODES else REFUSED)


async def connect(guard: OutboundGuard, server: MailServer, context: ssl.SSLContext | None = None) -> ImapConnection:
    """A connection to a server that has greeted; raises ``MailError``.

    The name is resolved once, by the guard, and certificates are checked against it.
    """
    context = context or httpx.create_ssl_context()
    try:
        addresses = await guard.resolve(server.host, server.port, usual_ports=IMAP_PORTS)
    except UrlNotAllowed as error:
        raise MailError(not_allowed(error)) from error
    except NameNotResolved as error:
        raise MailError(no_answer(error)) from error
    if server.security == "plain" and not are_private(addresses):
        raise MailError(ONLY_PRIVATE)
    for address in addresses[:-1]:
        with suppress(OSError, TimeoutError):
            return await _open(address, server, context)
    try:
        return await _open(addresses[-1], server, context)
    except (OSError, TimeoutError, EOFError) as error:
        raise _failure_of(error) or MailError(no_answer(error)) from error


def are_private(addresses: Sequence[str]) -> bool:
    """Whether none of the addresses is one of the internet."""
    parsed = [parse_address(address) for address in addresses]
    return all(address is not None and not is_public(address) for address in parsed)


async def _open(address: str, server: MailServer, context: ssl.SSLContext) -> ImapConnection:
    is_tls = server.security == "tls"
    async with asyncio.timeout(_CONNECT_SECONDS):
        reader, writer = await asyncio.open_connection(
            address,
            server.port,
            limit=_LONGEST_LINE,
            ssl=context if is_tls else None,
            server_hostname=server.host if is_tls else None,
        )
    connection = ImapConnection(reader, writer)
    try:
        await connection.greet(server, context)
    except BaseException:
        connection.close()
        raise
    return connection
