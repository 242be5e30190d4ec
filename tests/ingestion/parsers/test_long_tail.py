"""Files of 45 formats, made by pandoc and LibreOffice: read by our parsers, through LibreOffice, or refused with words."""

from pathlib import Path

import pytest

from core.errors.requests import UnsupportedFileType
from ingestion.parsers import PARSERS
from ingestion.parsers.conversion.converter import OfficeConverter
from ingestion.parsers.conversion.state import Conversion
from ingestion.parsers.errors import ParseFailure
from ingestion.parsers.file_type import HEAD_BYTES, detect_type
from ingestion.parsers.format_support import FormatSupport
from ingestion.parsers.sandbox.client import ParserPool
from ingestion.parsers.sandbox.protocol import ParseRequest
from tests.fixtures.files.long_tail import (
    CELL,
    CONVERTED,
    HEADING,
    ITEM,
    LONG_TAIL,
    OURS,
    make_long_tail,
    missing_programs,
    render,
)
from tests.fixtures.paths import ROOT

MISSING = missing_programs()
PAGE = ROOT / "docs" / "ingestion.md"


def detection_of(path: Path, content: bytes) -> str:
    """The media type, or what the refusal says to do."""
    try:
        return detect_type(path.name, content[:HEAD_BYTES], len(content), FormatSupport(Conversion.ON)).name
    except UnsupportedFileType as error:
        action = str(error.details.get("next_action", ""))
        return "CSV" if "CSV" in action else next(iter(error.details.keys() & {"supported"}), action)


async def reading_of(pool: ParserPool, path: Path, detected: str) -> str:
    if "/" not in detected:
        return detected
    (outcome,) = await pool.parse_each([ParseRequest(path, detected)])
    if isinstance(outcome, ParseFailure):
        return outcome.reason.value
    if not any(word in outcome.text for word in (HEADING, ITEM, CELL)):
        return f"without its text: {outcome.text[:80]}"
    return OURS if detected in PARSERS else CONVERTED


@pytest.mark.anyio
@pytest.mark.skipif(bool(MISSING), reason=f"not installed: {MISSING} (scripts/setup_programs.sh)")
async def test_each_file_of_the_long_tail_is_read_or_refused_as_the_table_says(tmp_path: Path):
    files = make_long_tail(tmp_path)
    pool = ParserPool(1, converter=OfficeConverter())
    outcomes: dict[str, str] = {}
    # The same bytes under the endings of another program are converted once.
    readings: dict[tuple[str, bytes], str] = {}
    try:
        for ending, path in files.items():
            content = path.read_bytes()
            detected = detection_of(path, content)
            if (detected, content) not in readings:
                readings[detected, content] = await reading_of(pool, path, detected)
            outcomes[ending] = readings[detected, content]
    finally:
        await pool.close()
    assert outcomes == {form.ending: form.read_by for form in LONG_TAIL}
    assert len(outcomes) >= 40


def test_documentation_has_the_table():
    assert render() in PAGE.read_text(encoding="utf-8")
