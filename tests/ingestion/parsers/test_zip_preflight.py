"""The preflight of zip containers: the directory is checked before anything is stored or unpacked."""

import io
import struct
import zipfile

import pytest

from core.errors.requests import ArchiveLimits
from ingestion.parsers.limits import ParseLimits
from ingestion.parsers.preflight import check_container
from tests.fixtures.files.hostile_documents import TABLE, ok, zipped

END = b"PK\x05\x06"


def check(content: bytes) -> None:
    check_container(io.BytesIO(content), ParseLimits())


@pytest.mark.parametrize("name", ["bomb_text.docx", "bomb_media.docx", "bomb.epub", "many.docx"])
def test_bomb_is_refused_by_its_directory(name: str):
    with pytest.raises(ArchiveLimits) as caught:
        check(TABLE[name].make())
    assert caught.value.details == {"max_files": 2_000, "max_bytes": 200 * 2**20, "max_ratio": 100}


def test_many_parts_that_are_small_each_are_too_much_together():
    part = io.BytesIO()
    with zipfile.ZipFile(part, "w", zipfile.ZIP_STORED) as archive:
        for number in range(3):
            archive.writestr(f"{number}.bin", b"")
    content = part.getvalue()
    # What each says that it unpacks to: 100 MB, of as many bytes packed.
    for place in _directory(content):
        sizes = struct.pack("<2L", 100 * 2**20, 100 * 2**20)
        content = content[: place + 20] + sizes + content[place + 28 :]
    with pytest.raises(ArchiveLimits):
        check(content)


def _directory(content: bytes) -> list[int]:
    places, start = list[int](), 0
    while (found := content.find(b"PK\x01\x02", start)) >= 0:
        places.append(found)
        start = found + 4
    return places


@pytest.mark.parametrize(
    "content",
    [
        ok(),
        ok()[:-100],
        b"PK\x03\x04",
        b"PK\x03\x04" + bytes(10_000),
        b"PK\x03\x04" + END + bytes(30),
        b"PK\x03\x04" + END + b"\xff" * 18,
        zipped({"a": "x"}).replace(b"PK\x01\x02", b"PK\x01\x03"),
    ],
    ids=["good", "cut", "head", "zeros", "empty end", "large numbers", "no directory"],
)
def test_others_are_for_the_parser_to_judge(content: bytes):
    check(content)
