"""``agentex login --sso``: login in a browser that returns to a local port."""

import asyncio
import webbrowser
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from urllib.parse import parse_qs, urlencode, urlsplit

from cli.client.api import ApiClient
from cli.errors import CommandFailed, ServerRefused
from cli.ui.i18n.common import SSO_DONE, SSO_OPEN, SSO_TIMED_OUT, Language
from cli.ui.output import Output
from core.errors.auth import NotAuthenticated
from core.errors.oidc import OidcRefused
from core.errors.registry import ERRORS
from core.security.one_time_tokens import digest, new_secret

_PATIENCE_SECONDS = 300
_LONGEST_LINE = 8192
_LINE_SECONDS = 5
_START = "/api/v1/auth/oidc/login"
_PAGE = """<!doctype html><html lang="en"><meta charset="utf-8"><title>Agentex</title>
<p>{en}</p><p lang="zh">{zh}</p></html>"""

_Told = dict[str, list[str]]


async def sign_on(output: Output, client: ApiClient) -> None:
    """Log in through the server's identity provider, and store the login.

    The code arrives at a local port and is worthless to other programs on this machine: the server
    exchanges it only with the ``verifier``, which never leaves this process before
    (RFC 8252, RFC 7636).
    """
    verifier = new_secret()
    await client.sign_in.require_sign_on(client.transport)
    async with _waiting() as (port, answered):
        query = urlencode({"port": port, "challenge": digest(verifier)})
        address = f"{client.sign_in.url}{_START}?{query}"
        output.remark(SSO_OPEN, address=address)
        # Where there is no browser, the person opens the address.
        opening = asyncio.create_task(asyncio.to_thread(webbrowser.open, address))
        try:
            answer = await asyncio.wait_for(answered, _PATIENCE_SECONDS)
        except TimeoutError:
            raise CommandFailed(NotAuthenticated(), SSO_TIMED_OUT) from None
    if "sso_code" not in answer:
        raise _refusal(answer["sso_error"][0], output.language)
    await client.sign_in.exchange(client.transport, answer["sso_code"][0], verifier)
    # Some browsers hold the terminal until they are left: the code would not wait for that.
    await opening


def _refusal(number: str, language: Language) -> ServerRefused:
    # A newer server may send a code that is not known here.
    error = ERRORS.get(int(number), OidcRefused) if number.isdecimal() else OidcRefused
    message = error.message_zh if language is Language.ZH else error.message
    return ServerRefused(error.code, message, {})


@asynccontextmanager
async def _waiting() -> AsyncGenerator[tuple[int, asyncio.Future[_Told]]]:
    """A local port, and a future for the browser's query."""
    answered: asyncio.Future[_Told] = asyncio.get_running_loop().create_future()
    answering: set[asyncio.Task[None]] = set()

    def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(_answer(reader, writer, answered))
        answering.add(task)
        task.add_done_callback(answering.discard)

    server = await asyncio.start_server(accept, "127.0.0.1", 0, limit=_LONGEST_LINE)
    try:
        yield server.sockets[0].getsockname()[1], answered
    finally:
        # Waiting for the server to be closed would, from Python 3.12 on, be waiting for them.
        server.close()
        open_ones = [*answering]
        for task in open_ones:
            task.cancel()
        await asyncio.gather(*open_ones, return_exceptions=True)


async def _answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, answered: asyncio.Future[_Told]) -> None:
    try:
        # Browsers open connections ahead, and leave them.
        async with asyncio.timeout(_LINE_SECONDS):
            query = _query(await reader.readuntil(b"\r\n"))
            # Browsers also request other things, such as an icon.
            is_it = bool(query.keys() & {"sso_code", "sso_error"})
            writer.write(_response(is_it))
            await writer.drain()
        if is_it and not answered.done():
            answered.set_result(query)
    except (OSError, ValueError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
        return
    finally:
        writer.close()


def _query(line: bytes) -> _Told:
    """Parse the query of a request line; raises ``ValueError``."""
    words = line.decode("ascii", "replace").split()
    return parse_qs(urlsplit(words[1]).query) if words[:1] == ["GET"] and words[1:] else {}


def _response(is_it: bool) -> bytes:
    page = _PAGE.format(en=SSO_DONE.en, zh=SSO_DONE.zh).encode() if is_it else b""
    status = b"200 OK" if is_it else b"404 Not Found"
    return (
        b"HTTP/1.1 " + status + b"\r\nContent-Type: text/html; charset=utf-8\r\n"
        b"Content-Security-Policy: default-src 'none'\r\nReferrer-Policy: no-referrer\r\n"
        b"Content-Length: " + str(len(page)).encode() + b"\r\nConnection: close\r\n\r\n" + page
    )
