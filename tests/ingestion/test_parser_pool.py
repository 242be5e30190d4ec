"""Several parser children: a document that takes its whole time holds up no other."""

import asyncio
from pathlib import Path

import pytest

from ingestion.parser_pool import ParserPool
from ingestion.parsers.failure import FailureReason, ParseFailure
from ingestion.parsers.limits import Limits

pytestmark = pytest.mark.anyio


async def test_slow_document_holds_up_no_other(tmp_path: Path):
    slow, quick = tmp_path / "slow.json", tmp_path / "quick.txt"
    slow.write_text("[" + "1," * 20_000_000 + "1]")
    quick.write_text("A short document.")
    pool = ParserPool(2)
    try:
        waiting = asyncio.create_task(
            pool.parse(slow, "application/json", limits=Limits(seconds=10))
        )
        await pool.parse(quick, "text/plain")
        assert not waiting.done()
        with pytest.raises(ParseFailure) as failure:
            await waiting
        assert failure.value.reason in {
            FailureReason.PARSE_TIMEOUT,
            FailureReason.TOO_COMPLEX,
            FailureReason.PARSE_MEMORY,
        }
        assert (await pool.parse(quick, "text/plain")).text == "A short document."
    finally:
        await pool.close()
