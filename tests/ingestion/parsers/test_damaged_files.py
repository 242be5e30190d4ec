"""Damaged files of every format with a grammar: text or a reason, never another error."""

import io
import random
import zipfile
from contextlib import suppress

import pytest

from ingestion.parsers import FORMATS, parser_for
from ingestion.parsers.errors import ParseFailure
from ingestion.parsers.limits import ParseLimits
from tests.fixtures.files.sample_files import MADE, sample

NAMES = [
    *MADE,
    "backup.pptx",
    "stock.xlsx",
    "operations.docx",
    "lecture.ipynb",
    "film.srt",
    "meeting.vtt",
    "paper.tex",
    "works.bib",
    "harbour.ics",
    "people.vcf",
    "german.po",
]
MEDIA = {suffix: form.media_type for form in FORMATS for suffix in form.suffixes}


def damage(content, chance):
    """Some bytes changed, taken out or put in."""
    changed = bytearray(content)
    for _ in range(chance.randint(1, 8)):
        place = chance.randrange(len(changed))
        kind = chance.random()
        if kind < 0.5:
            changed[place] = chance.randrange(256)
        elif kind < 0.75:
            del changed[place : min(place + chance.randint(1, 20), len(changed) - 1)]
        else:
            changed[place:place] = chance.randbytes(chance.randint(1, 10))
    return bytes(changed)


def damage_part(content, chance):
    """A container in which one part is damaged."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as whole, zipfile.ZipFile(buffer, "w") as copy:
        chosen = chance.choice([info.filename for info in whole.infolist() if info.file_size])
        for name in whole.namelist():
            part = whole.read(name)
            copy.writestr(name, damage(part, chance) if name == chosen else part)
    return buffer.getvalue()


@pytest.mark.parametrize("name", NAMES)
def test_damaged_file_gives_text_or_a_reason(name, tmp_path):
    content = sample(name, tmp_path).read_bytes()
    parse = parser_for(MEDIA[name[name.rindex(".") :]])
    chance = random.Random(name)
    ways = (damage, damage_part) if content.startswith(b"PK") else (damage,)
    path = tmp_path / "damaged"
    for turn in range(40):
        path.write_bytes(ways[turn % len(ways)](content, chance))
        with suppress(ParseFailure):
            assert parse(path, ParseLimits(seconds=10)).text
