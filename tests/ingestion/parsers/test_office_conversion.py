"""LibreOffice as a converter: confined, bounded, killed when its time or its caller is gone."""

import asyncio
import os
import socket
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import olefile
import psutil
import pytest

from ingestion.parsers.conversion import converter as conversion
from ingestion.parsers.conversion.converter import OfficeConverter
from ingestion.parsers.conversion.formats import BY_SUFFIX
from ingestion.parsers.conversion.profile import write_profile
from ingestion.parsers.errors import FailureReason, ParseFailure
from ingestion.parsers.limits import ParseLimits
from ingestion.parsers.model import ParsedDocument
from ingestion.parsers.sandbox.client import ParserPool
from ingestion.parsers.sandbox.protocol import ParseRequest
from tests.fixtures.files.long_tail import convert, missing_programs

MISSING = missing_programs()
pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(bool(MISSING), reason=f"not installed: {MISSING} (scripts/setup_programs.sh)"),
]
SPACES = " ".join(
    f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{space}:1.0"'
    for name, space in (
        ("office", "office"),
        ("text", "text"),
        ("draw", "drawing"),
        ("svg", "svg-compatible"),
        ("script", "script"),
    )
)


def flat_text(body: str, head: str = "") -> bytes:
    """A flat OpenDocument text."""
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f'<office:document {SPACES} xmlns:xlink="http://www.w3.org/1999/xlink" office:version="1.3" '
        'xmlns:dom="http://www.w3.org/2001/xml-events" office:mimetype="application/vnd.oasis.opendocument.text">'
        f"{head}<office:body><office:text>{body}</office:text></office:body></office:document>"
    ).encode()


PLAIN = flat_text("<text:p>The pump is red.</text:p>")


def leftovers(profiles: list[Path]) -> set[str]:
    """What conversions of this process have left behind: folders, sockets and processes."""
    folders = Path(tempfile.gettempdir()).glob(f"agentex-convert-{os.getpid()}-*")
    sockets = (path for profile in profiles for path in conversion.sockets_of(profile))
    children = psutil.Process().children(recursive=True)
    names = {child.name() for child in children if child.status() != psutil.STATUS_ZOMBIE}
    return {str(path) for path in (*folders, *sockets)} | (names & {"soffice.bin"})


@pytest.fixture
async def pool(monkeypatch: pytest.MonkeyPatch):
    profiles: list[Path] = []

    def write(folder: Path) -> None:
        profiles.append(folder)
        write_profile(folder)

    monkeypatch.setattr(conversion, "write_profile", write)
    pool = ParserPool(1, converter=OfficeConverter())
    yield pool
    await pool.close()
    assert leftovers(profiles) == set()


async def read(pool: ParserPool, path: Path, limits: ParseLimits | None = None) -> ParsedDocument | ParseFailure:
    media_type = BY_SUFFIX[path.suffix].media_type
    (outcome,) = await pool.parse_each([ParseRequest(path, media_type, limits or ParseLimits())])
    return outcome


def put(folder: Path, name: str, content: bytes) -> Path:
    path = folder / name
    path.write_bytes(content)
    return path


def reason_of(outcome: ParsedDocument | ParseFailure) -> FailureReason:
    assert isinstance(outcome, ParseFailure)
    assert outcome.next_action
    assert outcome.next_action_zh
    return outcome.reason


@pytest.fixture
def listener() -> Iterator[tuple[int, list[bytes]]]:
    """A server on loopback that says what it is asked for, and answers everything."""
    requests: list[bytes] = []
    server = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        while True:
            try:
                connection, _ = server.accept()
            except OSError:
                return
            with connection:
                requests.append(connection.recv(2000))
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 7\r\nConnection: close\r\n\r\nFETCHED")

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    yield server.getsockname()[1], requests
    server.shutdown(socket.SHUT_RDWR)
    server.close()
    thread.join()


async def test_links_and_macros_of_a_hostile_document_reach_nothing(pool, tmp_path, listener, monkeypatch):
    limits: list[frozenset[str]] = []
    monkeypatch.setattr(conversion, "_warn_of_confinement", limits.append)
    port, requests = listener
    secret = put(tmp_path, "secret.txt", b"TOP SECRET 4711")
    trace = tmp_path / "macro-ran"
    macro = (
        '<office:scripts><office:script script:language="ooo:Basic"><ooo:libraries '
        'xmlns:ooo="http://openoffice.org/2004/office"><ooo:library-embedded ooo:name="Standard">'
        '<ooo:module ooo:name="Module1"><ooo:source-code>Sub Main\n'
        f'Open "{trace}" For Output As #1\nClose #1\nEnd Sub</ooo:source-code></ooo:module></ooo:library-embedded>'
        "</ooo:libraries></office:script><office:event-listeners><script:event-listener "
        'script:language="ooo:script" script:event-name="dom:load" xlink:type="simple" '
        'xlink:href="vnd.sun.star.script:Standard.Module1.Main?language=Basic&amp;location=document"/>'
        "</office:event-listeners></office:scripts>"
    )
    sections = "".join(
        f'<text:section text:name="S{number}"><text:section-source xlink:type="simple" xlink:href="{address}"/>'
        "<text:p>before</text:p></text:section>"
        for number, address in enumerate((secret.as_uri(), f"http://127.0.0.1:{port}/section.txt"))
    )
    pictures = "".join(
        '<text:p><draw:frame svg:width="5cm" svg:height="5cm"><draw:'
        f'{kind} xlink:href="{address}" xlink:type="simple" xlink:show="embed" xlink:actuate="onLoad"/>'
        "</draw:frame></text:p>"
        for kind, address in (("image", f"http://127.0.0.1:{port}/a.png"), ("object", secret.as_uri()))
    )
    path = put(tmp_path, "a.fodt", flat_text(f"<text:p>The pump is red.</text:p>{sections}{pictures}", macro))
    outcome = await read(pool, path)
    assert isinstance(outcome, ParsedDocument)
    assert "The pump is red." in outcome.text
    assert "4711" not in outcome.text
    assert "FETCHED" not in outcome.text
    assert requests == []
    assert not trace.exists()
    # As far as every system that the tests run on has them.
    expected = {"no_core_dump", "small_files", "bounded_time", "bounded_memory", "dies_with_parent"}
    assert limits
    assert all(expected | {"no_new_privileges", "no_connections"} <= each for each in limits)


async def test_damaged_and_protected_files_fail_alone_with_their_reasons(pool, tmp_path):
    (tmp_path / "a.fodt").write_bytes(PLAIN)
    word = convert(tmp_path / "a.fodt", "doc")
    good = await read(pool, word)
    assert isinstance(good, ParsedDocument)
    assert good.text == "The pump is red."
    with word.open("r+b") as file, olefile.OleFileIO(file, write_mode=True) as container:
        stream = container.openstream("WordDocument").read()
        container.write_stream("WordDocument", stream[:11] + bytes([stream[11] | 1]) + stream[12:])
    assert reason_of(await read(pool, word)) is FailureReason.PASSWORD_PROTECTED
    noise = put(tmp_path, "noise.doc", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(range(256)) * 20)
    assert reason_of(await read(pool, noise)) is FailureReason.CORRUPT_FILE
    cut = put(tmp_path, "cut.fodt", PLAIN[:-60])
    assert reason_of(await read(pool, cut)) is FailureReason.CONVERSION_FAILED
    again = await read(pool, tmp_path / "a.fodt")
    assert isinstance(again, ParsedDocument)


async def test_conversion_over_its_time_is_killed(pool, tmp_path):
    path = put(tmp_path, "a.fodt", PLAIN)
    assert reason_of(await read(pool, path, ParseLimits(seconds=0.3))) is FailureReason.PARSE_TIMEOUT


async def test_cancelled_conversion_leaves_no_process_and_no_file(pool, tmp_path):
    path = put(tmp_path, "a.fodt", PLAIN)
    reading = asyncio.create_task(read(pool, path))
    async with asyncio.timeout(60):
        # Facts about other processes come without events.
        while "soffice.bin" not in leftovers([]):  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    reading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reading


async def test_document_waits_for_the_operator_where_the_converter_is_gone(tmp_path, monkeypatch):
    path = put(tmp_path, "a.fodt", PLAIN)
    off = ParserPool(1)
    assert reason_of(await read(off, path)) is FailureReason.CONVERTER_MISSING
    monkeypatch.setattr(conversion, "find_soffice", lambda: None)
    missing = ParserPool(1, converter=OfficeConverter())
    assert reason_of(await read(missing, path)) is FailureReason.CONVERTER_MISSING
