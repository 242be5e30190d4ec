"""Every row of the table of hostile documents in the parser, and a good document after it."""

import asyncio
import io
import time
from contextlib import suppress

import psutil
import pytest

from core.errors.base import AgentexError
from ingestion.parsers import PARSERS, TEXT, run_preflight
from ingestion.parsers.errors import ParseFailure
from ingestion.parsers.file_type import HEAD_BYTES, detect_type
from ingestion.parsers.limits import ParseLimits
from ingestion.parsers.sandbox.client import ParserChild
from tests.fixtures.files.hostile_documents import COMPLETED, ENCODINGS, END_SECONDS, GOOD_SECONDS, TABLE, ok, word

pytestmark = pytest.mark.anyio
GIGABYTE = 2**30


@pytest.fixture(scope="module")
async def child(anyio_backend):
    child = ParserChild()
    yield child
    await child.close()


async def outcome(child, path, content):
    """The error of a refused upload, the reason of a failure, or the parsed document."""
    path.write_bytes(content)
    try:
        media = detect_type(path.name, content[:HEAD_BYTES], len(content))
        # As an upload is checked.
        if PARSERS[media.name].family is not TEXT:
            run_preflight(media.name, io.BytesIO(content), ParseLimits())
        return await child.parse(path, media.name, limits=ParseLimits(seconds=50))
    except AgentexError as error:
        return type(error)
    except ParseFailure as failure:
        return failure.reason.value


async def highest_memory(child, task):
    """The child's highest resident memory until a task ends."""
    highest = 0
    while not task.done():
        with suppress(psutil.Error):
            highest = max(highest, psutil.Process(child.pid).memory_info().rss if child.pid else 0)
        await asyncio.sleep(0.02)
    return highest


@pytest.mark.parametrize("name", TABLE)
async def test_row_is_answered_as_the_table_says(name, child, tmp_path):
    row = TABLE[name]
    content = row.make()
    started = time.monotonic()
    task = asyncio.create_task(outcome(child, tmp_path / name, content))
    highest = await highest_memory(child, task)
    found = task.result()
    wanted = row.want if isinstance(row.want, tuple) else (row.want,)
    if isinstance(found, str | type):
        assert found in wanted
    else:
        assert COMPLETED in wanted
        assert found.text.strip()
        assert "\x00" not in found.text
    assert time.monotonic() - started < END_SECONDS
    assert highest < GIGABYTE
    async with asyncio.timeout(GOOD_SECONDS):
        parsed = await outcome(child, tmp_path / "ok.docx", ok())
    assert "lighthouses" in parsed.text


@pytest.mark.parametrize("codec", ENCODINGS)
async def test_encoding_of_the_table_comes_back_as_it_was(codec, child, tmp_path):
    text = ENCODINGS[codec]
    parsed = await outcome(child, tmp_path / f"enc_{codec}.txt", text.encode(codec))
    assert parsed.text == text.strip()
    assert parsed.warnings == ()


async def test_nothing_is_fetched_for_a_document_type_of_elsewhere(child, tmp_path):
    calls = []

    async def called(reader, writer):
        calls.append(await reader.readline())
        writer.close()

    server = await asyncio.start_server(called, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    url = f"http://127.0.0.1:{port}/x.dtd"
    declarations = (
        f'<!DOCTYPE a SYSTEM "{url}">',
        f'<!DOCTYPE a [<!ENTITY % p SYSTEM "{url}"> %p;]>',
        f'<!DOCTYPE a [<!ENTITY x SYSTEM "{url}">]>',
    )
    for declaration in declarations:
        prolog = f'<?xml version="1.0"?>{declaration}'
        found = await outcome(child, tmp_path / "a.xml", f"{prolog}<a>&x;</a>".encode())
        assert found == "unsafe_xml"
        found = await outcome(child, tmp_path / "a.docx", word("", prolog=prolog))
        assert found == "unsafe_xml"
    page = f'<html><img src="{url}"><link rel=stylesheet href="{url}"><p>text</p></html>'
    assert (await outcome(child, tmp_path / "a.html", page.encode())).text == "text"
    server.close()
    await server.wait_closed()
    assert calls == []


async def test_text_that_a_person_must_not_see_run_is_text(child, tmp_path):
    mail = await outcome(child, tmp_path / "mail_slip.eml", TABLE["mail_slip.eml"].make())
    assert "canary" not in mail.text
    assert not list(tmp_path.rglob("*canary*"))
    page = await outcome(child, tmp_path / "script.html", TABLE["script.html"].make())
    assert page.text == "text"
    both = await outcome(child, tmp_path / "poly_pdf_zip.pdf", TABLE["poly_pdf_zip.pdf"].make())
    assert both.text == "ab"
    link = await outcome(child, tmp_path / "js.pdf", TABLE["js.pdf"].make())
    assert link.text == "ab"
    sheet = await outcome(child, tmp_path / "inject.csv", TABLE["csv_inject.csv"].make())
    assert '=HYPERLINK("http' in sheet.text.replace("http://192.0.2.1", "http")
