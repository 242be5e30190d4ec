"""Upload of zip archives: faults of the archive, told apart from faults of the disk."""

import errno
import io
import zipfile

import pytest

from core.errors.requests import ArchiveMemberRefused
from ingestion.parsers.format_support import OURS_ONLY
from ingestion.parsers.limits import ParseLimits
from ingestion.zip_upload import ZipUpload, open_zip_upload

pytestmark = pytest.mark.anyio
TEXT = b"# Zebra\n\n" + b"A zebra sleeps at noon. " * 40_000


class Disk(io.BytesIO):
    """A file whose disk may stop being read."""

    is_broken = False

    def read(self, size: int | None = -1, /) -> bytes:
        if self.is_broken:
            raise OSError(errno.EIO, "Input/output error")
        return super().read(size)


def pack(method: int = zipfile.ZIP_DEFLATED) -> bytearray:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        archive.writestr("zebra.md", TEXT)
    return bytearray(buffer.getvalue())


async def read(archive: ZipUpload) -> bytes:
    (member,) = archive.members
    return b"".join([block async for block in archive.read(member)])


async def test_disk_that_fails_is_no_damage_of_a_member():
    disk = Disk(pack(zipfile.ZIP_STORED))
    archive = await open_zip_upload(disk, "a.zip", ParseLimits())
    disk.is_broken = True
    with pytest.raises(OSError, match="Input/output"):
        await archive.detect(archive.members[0], OURS_ONLY)
    with pytest.raises(OSError, match="Input/output"):
        await read(archive)
    with pytest.raises(OSError, match="Input/output"):
        await open_zip_upload(disk, "a.zip", ParseLimits())


@pytest.mark.parametrize(
    "method",
    [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA],
)
async def test_damaged_member_is_named_as_such_however_it_is_packed(method: int):
    content = pack(method)
    archive = await open_zip_upload(io.BytesIO(content), "a.zip", ParseLimits())
    assert await read(archive) == TEXT
    for place in range(60, 90):
        content[place] ^= 0x55
    archive = await open_zip_upload(io.BytesIO(content), "a.zip", ParseLimits())
    with pytest.raises(ArchiveMemberRefused) as caught:
        await read(archive)
    assert caught.value.details["reason"] == "corrupt"
