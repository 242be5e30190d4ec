"""Connections to mail servers: encryption, names in certificates, and the addresses that are connected to."""

import ssl
from collections.abc import Iterator, Sequence

import pytest

from core.errors.requests import UrlNotAllowed
from core.outbound.guard import OutboundGuard
from ingestion.connectors.mail.connection import IMAP_PORTS, ImapConnection, MailServer, Security, connect
from ingestion.connectors.mail.failures import MailError
from tests.fixtures.servers.imap_server import PASSWORD, USERNAME, ImapServer, imap_server, message, scripted_imap

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
def mail() -> Iterator[ImapServer]:
    with imap_server() as mail:
        mail.add(message("Hello", "Text."))
        yield mail


async def open_mail(mail: ImapServer, host: str, port: int, security: Security) -> ImapConnection:
    guard = OutboundGuard([f"{host}:{port}"])
    trusting = ssl.create_default_context(cafile=str(mail.certificate))
    return await connect(guard, MailServer(host, port, security), trusting)


@pytest.mark.parametrize("security", ["tls", "starttls"])
async def test_certificate_is_checked_against_the_name(mail: ImapServer, security: Security):
    port = mail.tls_port if security == "tls" else mail.port
    connection = await open_mail(mail, "localhost", port, security)
    await connection.log_in(USERNAME, PASSWORD)
    answers = [answer.parts[0] for answer in await connection.command(b"EXAMINE INBOX")]
    assert b"1 EXISTS" in answers
    connection.close()
    # The same server by an address that its certificate does not name.
    with pytest.raises(MailError, match="untrusted_certificate"):
        await open_mail(mail, "127.0.0.1", port, security)


async def test_nothing_that_came_before_the_encryption_counts():
    lines: list[bytes] = []

    def script(command: bytes) -> Sequence[bytes]:
        lines.append(command)
        return [b" OK go on\r\n* CAPABILITY IMAP4rev1 AUTH=PLAIN"]

    with scripted_imap() as server:
        server.script = script
        guard = OutboundGuard([f"127.0.0.1:{server.port}"])
        with pytest.raises(MailError, match="no_tls"):
            await connect(guard, MailServer("127.0.0.1", server.port, "starttls"))
    assert lines == [b"STARTTLS"]


async def test_encryption_that_is_refused_is_not_done_without():
    with scripted_imap() as server:
        server.script = lambda _: [b" BAD unknown"]
        guard = OutboundGuard([f"127.0.0.1:{server.port}"])
        with pytest.raises(MailError, match="no_tls"):
            await connect(guard, MailServer("127.0.0.1", server.port, "starttls"))


async def test_passwords_of_any_characters_are_sent():
    """To a server that knows nothing but LOGIN."""
    lines: list[bytes] = []
    answers = {b"CAPABILITY": b"* CAPABILITY IMAP4rev1\r\nA1 OK", b"LOGIN": b"+ go on"}

    def script(command: bytes) -> Sequence[bytes]:
        lines.append(command)
        return [answers.get(command.split(b" ")[0], b"A2 OK")]

    with scripted_imap() as server:
        server.script = script
        guard = OutboundGuard([f"127.0.0.1:{server.port}"])
        connection = await connect(guard, MailServer("127.0.0.1", server.port, "plain"))
        await connection.log_in('ot"ter', "a 密")
        connection.close()
    # The test's server takes what stands before the first blank for a tag.
    assert lines == [b"CAPABILITY", b'LOGIN "ot\\"ter" {5}', "密".encode()]


async def test_ports_of_mail_are_for_mail_alone():
    guard = OutboundGuard()
    for port in IMAP_PORTS:
        assert await guard.resolve("1.1.1.1", port, usual_ports=IMAP_PORTS) == ["1.1.1.1"]
        with pytest.raises(UrlNotAllowed):
            await guard.resolve("1.1.1.1", port)
        with pytest.raises(UrlNotAllowed):
            await guard.resolve("127.0.0.1", port, usual_ports=IMAP_PORTS)
    with pytest.raises(UrlNotAllowed):
        await guard.resolve("1.1.1.1", 443, usual_ports=IMAP_PORTS)
    with pytest.raises(MailError, match="not_allowed"):
        await connect(guard, MailServer("127.0.0.1", 993, "tls"))
    with pytest.raises(MailError, match="plain_in_public"):
        await connect(guard, MailServer("1.1.1.1", 143, "plain"))
