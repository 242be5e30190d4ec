"""The clients of parsing services: what they send to the letter, and what they make of answers, good and hostile."""

import asyncio
import json
import logging
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cli.commands.doctor.probe_parsers import check_services
from core.errors.server import ParserServiceUnavailable
from core.settings import Settings
from ingestion.parsers.errors import ParseFailure
from ingestion.parsers.external import ExternalParsers
from ingestion.parsers.limits import ParseLimits
from ingestion.parsers.model import ParsedDocument
from ingestion.parsers.remote import docling
from ingestion.parsers.sandbox.client import ignore_progress
from ingestion.parsers.sandbox.protocol import ParseRequest
from tests.fixtures.http.client import eventually
from tests.fixtures.servers.parser_services import (
    KEY,
    ParsingServices,
    ParsingServiceServer,
    cut_off,
    dripping,
    endless,
    fixed,
    parsing_services,
)

pytestmark = pytest.mark.anyio
PDF = b"%PDF-1.7\notters"
NAMES = ("unstructured_api", "docling", "mineru")


@pytest.fixture
def services(monkeypatch: pytest.MonkeyPatch) -> Generator[ParsingServices]:
    monkeypatch.setattr(docling, "_PAUSE_SECONDS", 0.01)
    with parsing_services() as running:
        yield running


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A stored file: without an ending."""
    file = tmp_path / "0b5f2a7e"
    file.write_bytes(PDF)
    return file


def settings_of(services: ParsingServices, **changes: Any) -> Settings:
    fields: dict[str, Any] = {
        name.removeprefix("AGENTEX_").lower(): value for name, value in services.variables.items()
    }
    fields |= changes
    return Settings(_env_file=None, **fields)


def server_of(services: ParsingServices, name: str) -> ParsingServiceServer:
    return {
        "unstructured_api": services.unstructured,
        "docling": services.docling,
        "mineru": services.mineru,
    }[name]


@asynccontextmanager
async def parsers_of(services: ParsingServices, **changes: Any) -> AsyncGenerator[ExternalParsers]:
    parsers = ExternalParsers(settings_of(services, **changes))
    try:
        yield parsers
    finally:
        await parsers.close()


async def outcome_of(parsers: ExternalParsers, path: Path, name: str, **changes: Any) -> ParsedDocument | str:
    """The document, or the failure's reason with whether it is tried again."""
    request = replace(ParseRequest(path, "application/pdf", parser=name), **changes)
    outcome = await parsers.parse(request, ignore_progress)
    if isinstance(outcome, ParseFailure):
        return f"{outcome.reason}{', again' if outcome.retryable else ''}"
    return outcome


@pytest.mark.parametrize(
    ("name", "strategy", "address", "header", "form"),
    [
        (
            "unstructured_api",
            "hi_res",
            "/general/v0/general",
            ("unstructured-api-key", KEY),
            {
                "strategy": ["hi_res"],
                "output_format": ["application/json"],
                "coordinates": ["true"],
                "languages": ["chi_sim", "eng"],
            },
        ),
        (
            "docling",
            "force_ocr",
            "/v1/convert/file/async",
            ("x-api-key", KEY),
            {
                "to_formats": ["json"],
                "target_type": ["inbody"],
                "image_export_mode": ["placeholder"],
                "include_images": ["false"],
                "force_ocr": ["true"],
                "do_pdf_heading_hierarchy": ["true"],
                "document_timeout": ["3600.0"],
            },
        ),
        (
            "mineru",
            "ocr",
            "/file_parse",
            ("authorization", f"Bearer {KEY}"),
            {
                "backend": ["pipeline"],
                "parse_method": ["ocr"],
                "return_md": ["false"],
                "return_content_list": ["true"],
                "return_images": ["false"],
                "response_format_zip": ["false"],
            },
        ),
    ],
)
async def test_file_is_sent_as_the_service_wants_it_and_its_answer_read(
    services: ParsingServices,
    path: Path,
    name: str,
    strategy: str,
    address: str,
    header: tuple[str, str],
    form: dict[str, list[str]],
):
    async with parsers_of(services) as parsers:
        document = await outcome_of(parsers, path, name, strategy=strategy)
    assert isinstance(document, ParsedDocument)
    assert document.parser == name
    assert [element.text for element in document.elements[:2]] == [
        "Pumps of the otter works",
        "The otter pump runs at night.",
    ]
    (sent,) = server_of(services, name).forms
    assert (sent.path, sent.fields) == (address, form)
    assert sent.headers[header[0]] == header[1]
    # The document's own name stays here.
    assert (sent.file_name, sent.media_type, sent.content) == ("document.pdf", "application/pdf", PDF)


async def test_service_without_a_key_gets_no_header(services: ParsingServices, path: Path):
    keys: dict[str, Any] = {"unstructured_api_key": None, "docling_api_key": None, "mineru_api_key": None}
    async with parsers_of(services, **keys) as parsers:
        for name in NAMES:
            assert await outcome_of(parsers, path, name) == "parser_service_key_refused"
            (sent,) = server_of(services, name).forms
            assert {"unstructured-api-key", "x-api-key", "authorization"}.isdisjoint(sent.headers)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    ("fault", "outcome"),
    [
        (fixed(401, b'{"detail": "API key key-of-the-otters is invalid"}'), "parser_service_key_refused"),
        (fixed(403), "parser_service_key_refused"),
        (fixed(400, b'{"detail": "Unsupported file type: pdf"}'), "parser_service_refused"),
        (fixed(413, b"<html>too large</html>"), "parser_service_refused"),
        (fixed(422, b'{"detail": "File is encrypted. Please decrypt it with password."}'), "password_protected"),
        (fixed(404), "parser_service_unexpected"),
        (fixed(500, b'{"detail": "otters everywhere"}'), "parser_service_failed, again"),
        (fixed(409, b'{"status": "failed", "error": "otters everywhere"}'), "parser_service_failed, again"),
        (fixed(429), ParserServiceUnavailable),
        (fixed(503), ParserServiceUnavailable),
        (cut_off, ParserServiceUnavailable),
        (fixed(200, b"<html>Welcome to the otters</html>"), "parser_service_unexpected"),
        (fixed(200, b'"otter"'), "parser_service_unexpected"),
    ],
)
async def test_refusals_are_final_and_outages_wait(
    services: ParsingServices,
    path: Path,
    caplog: pytest.LogCaptureFixture,
    capsys: pytest.CaptureFixture[str],
    name: str,
    fault: Any,
    outcome: str | type[Exception],
):
    caplog.set_level(logging.DEBUG)
    server_of(services, name).faults.append(fault)
    async with parsers_of(services) as parsers:
        if isinstance(outcome, str):
            assert await outcome_of(parsers, path, name) == outcome
        else:
            with pytest.raises(outcome):
                await outcome_of(parsers, path, name)
    logged = caplog.text + "".join(capsys.readouterr())
    assert KEY not in logged
    assert "otters" not in logged


@pytest.mark.parametrize("name", NAMES)
async def test_redirect_is_not_followed(services: ParsingServices, path: Path, name: str):
    trap = services.mineru if name != "mineru" else services.docling
    for status in (302, 307):
        location = f"{trap.url}/latest/meta-data/"
        server_of(services, name).faults.append(fixed(status, Location=location))
        async with parsers_of(services) as parsers:
            assert await outcome_of(parsers, path, name) == "parser_service_unexpected"
    assert trap.paths == []


async def test_service_that_is_away_is_an_outage(services: ParsingServices, path: Path):
    async with parsers_of(services, mineru_url="http://127.0.0.1:9") as parsers:
        with pytest.raises(ParserServiceUnavailable) as caught:
            await outcome_of(parsers, path, "mineru")
    assert caught.value.details == {"service": "mineru"}


async def test_answers_are_bounded_in_size_and_time(services: ParsingServices, path: Path, tmp_path: Path):
    limits = ParseLimits(archive_bytes=2**20)
    async with parsers_of(services, parser_service_seconds=0.5) as parsers:
        services.unstructured.faults += [endless, dripping, fixed(200, b"[" + b" " * 2**20)]
        assert await outcome_of(parsers, path, "unstructured_api", limits=limits) == "output_too_large"
        assert await outcome_of(parsers, path, "unstructured_api", limits=limits) == "parse_timeout, again"
        assert await outcome_of(parsers, path, "unstructured_api", limits=limits) == "output_too_large"
        # What is told about a task is short.
        services.docling.faults += [endless]
        assert await outcome_of(parsers, path, "docling") == "parser_service_unexpected"


async def test_huge_tables_are_read_within_the_limits_of_a_document(services: ParsingServices, path: Path):
    def table(markup: str) -> Any:
        element = {"type": "Table", "text": "", "metadata": {"text_as_html": f"<table>{markup}"}}
        return fixed(200, json.dumps([element]).encode())

    row = f"<tr><td>otter</td><td>{'x' * 1000}</td></tr>"
    spans = "<tr><td rowspan=99999 colspan=99999>otter</td></tr>" * 200_000
    services.unstructured.faults += [table(row * 10_000), table(spans), table("<tr><td><table>" * 5_000)]
    async with parsers_of(services) as parsers:
        large = await outcome_of(parsers, path, "unstructured_api")
        assert isinstance(large, ParsedDocument)
        assert large.text.count("\n") == 9_999
        limits = ParseLimits(seconds=1)
        assert "parse_timeout" in str(await outcome_of(parsers, path, "unstructured_api", limits=limits))
        assert await outcome_of(parsers, path, "unstructured_api") == "too_complex"


@pytest.mark.parametrize("name", NAMES)
async def test_cancellation_closes_the_connection(services: ParsingServices, path: Path, name: str):
    server = server_of(services, name)
    server.held.set()
    async with parsers_of(services) as parsers:
        work = asyncio.create_task(outcome_of(parsers, path, name))
        await asyncio.to_thread(eventually, lambda: server.forms or None)
        work.cancel()
        with pytest.raises(asyncio.CancelledError):
            await work
        await asyncio.to_thread(eventually, lambda: server.left or None)


async def test_task_of_docling_is_asked_after_until_it_ends(services: ParsingServices, path: Path):
    async with parsers_of(services) as parsers:
        services.docling.polls = 3
        services.docling.outcome = "partial_success"
        assert isinstance(await outcome_of(parsers, path, "docling"), ParsedDocument)
        services.docling.outcome = "failure"
        assert await outcome_of(parsers, path, "docling") == "parser_service_failed, again"
        assert len(services.docling.forms) == 2


async def test_question_that_is_lost_costs_no_conversion(services: ParsingServices, path: Path):
    async with parsers_of(services) as parsers:
        work = asyncio.create_task(outcome_of(parsers, path, "docling"))
        services.docling.polls = 2
        await asyncio.to_thread(eventually, lambda: services.docling.forms or None)
        services.docling.faults.append(fixed(503))
        assert isinstance(await work, ParsedDocument)
        assert len(services.docling.forms) == 1
        services.docling.is_restarted = True
        with pytest.raises(ParserServiceUnavailable):
            await outcome_of(parsers, path, "docling")


async def test_check_tells_a_wrong_key_from_another_service_and_from_none(services: ParsingServices):
    assert set((await check_services(settings_of(services))).values()) == {"ok"}
    wrong = dict.fromkeys(("unstructured_api_key", "docling_api_key", "mineru_api_key"), "guessed")
    assert set((await check_services(settings_of(services, **wrong))).values()) == {"key_refused"}
    other = {"unstructured_api_url": services.docling.url, "docling_url": services.mineru.url}
    there = {**other, "mineru_url": f"{services.mineru.url}/api"}
    # mineru-api's proxy refuses the header of docling-serve before it says anything else.
    found = await check_services(settings_of(services, **there))
    assert found == {"unstructured_api": "key_refused", "docling": "key_refused", "mineru": "unexpected"}
    assert await check_services(settings_of(services, parsers=("mineru",), mineru_url="http://127.0.0.1:9")) == {
        "mineru": "unreachable"
    }


async def test_number_of_a_task_is_no_address(services: ParsingServices, path: Path):
    services.docling.faults.append(fixed(200, b'{"task_id": "../../health", "task_status": "success"}'))
    async with parsers_of(services) as parsers:
        assert await outcome_of(parsers, path, "docling") == "parser_service_unexpected"
    assert services.docling.paths == ["/v1/convert/file/async"]


async def test_pictures_are_never_sent_as_fast_which_the_service_refuses(services: ParsingServices, path: Path):
    async with parsers_of(services) as parsers:
        outcome = await outcome_of(parsers, path, "unstructured_api", media_type="image/png", strategy="fast")
    assert isinstance(outcome, ParsedDocument)
    assert services.unstructured.forms[-1].fields["strategy"] == ["ocr_only"]
