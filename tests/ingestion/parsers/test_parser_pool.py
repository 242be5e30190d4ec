"""The pool of parser children: a slow document holds up no other."""

import asyncio
from pathlib import Path

import pytest

from ingestion.parsers.errors import FailureReason, ParseFailure
from ingestion.parsers.limits import ParseLimits
from ingestion.parsers.model import ParsedDocument
from ingestion.parsers.sandbox.client import ParserPool
from ingestion.parsers.sandbox.protocol import ParseRequest

pytestmark = pytest.mark.anyio


async def test_slow_document_holds_up_no_other(tmp_path: Path):
    slow, quick = tmp_path / "slow.json", tmp_path / "quick.txt"
    slow.write_text("[" + "1," * 20_000_000 + "1]")
    quick.write_text("A short document.")
    pool = ParserPool(2)
    try:
        large = ParseRequest(slow, "application/json", ParseLimits(seconds=10))
        small = ParseRequest(quick, "text/plain", ParseLimits())
        waiting = asyncio.create_task(pool.parse_each([large]))
        await pool.parse_each([small])
        assert not waiting.done()
        (failure,) = await waiting
        assert isinstance(failure, ParseFailure)
        assert failure.reason in {
            FailureReason.PARSE_TIMEOUT,
            FailureReason.TOO_COMPLEX,
            FailureReason.PARSE_MEMORY,
        }
        (parsed,) = await pool.parse_each([small])
        assert isinstance(parsed, ParsedDocument)
        assert parsed.text == "A short document."
    finally:
        await pool.close()
