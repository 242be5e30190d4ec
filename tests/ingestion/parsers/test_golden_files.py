"""Small files, real and made, compared with the outline in ``<name>.golden``."""

import pytest

from ingestion.parsers import IMAGE, PARSERS, parser_for
from ingestion.parsers.file_type import HEAD_BYTES, detect_type
from ingestion.parsers.image.ocr import is_ready
from ingestion.parsers.limits import ParseLimits
from ingestion.parsers.model import ParsedDocument
from tests.fixtures.files.sample_files import MADE, sample
from tests.fixtures.paths import PARSER_DATA

GOLDEN = sorted(path.stem for path in PARSER_DATA.glob("*.golden"))


def outline(parsed: ParsedDocument) -> str:
    """One line per element: kind, level, page, text with its line breaks written out."""
    return "".join(f"{e.kind} {e.level} {e.page or '-'} {e.text.replace(chr(10), '⏎')}\n" for e in parsed.elements)


@pytest.mark.parametrize("name", GOLDEN)
def test_file_gives_its_golden_outline(name, tmp_path):
    path = sample(name, tmp_path)
    content = path.read_bytes()
    media = detect_type(name, content[:HEAD_BYTES], len(content))
    if PARSERS[media.name].family is IMAGE and not is_ready():
        pytest.skip("no text recognition here: agentex[ocr] and Tesseract's language data")
    parsed = parser_for(media.name)(path, ParseLimits())
    assert outline(parsed) == (PARSER_DATA / f"{name}.golden").read_text(encoding="utf-8")


def test_every_sample_that_has_text_has_a_golden_outline():
    without_text = {"locked.pdf", "scanned.pdf"}
    samples = {path.name for path in PARSER_DATA.iterdir() if path.suffix != ".golden"} | set(MADE)
    assert set(GOLDEN) == samples - without_text
