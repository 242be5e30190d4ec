"""Zip archives of skills, read and written in memory; names never become paths."""

import re
import stat
import struct
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from io import BytesIO
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, LargeZipFile, ZipFile, ZipInfo
from zlib import error as DeflateError

from skills.packages.errors import PackageFault, PackageProblem, PackageRefused, package_problem
from skills.packages.file_rules import PackageLimits, find_duplicates, is_safe_path
from skills.schema import SkillFile

_MARKS = (b"PK\x03\x04", b"PK\x05\x06")
_END = struct.Struct("<4s4H2LH")
_END_MARK = b"PK\x05\x06"
_END_MARK_64 = b"PK\x06\x06"
_LOCATOR_MARK_64 = b"PK\x06\x07"
_LONGEST_COMMENT = 65_535
_END_64 = struct.Struct("<4sQ2H2L4Q")
_COMMENT_LENGTH = struct.Struct("<H")
_LOCATOR_64 = struct.Struct("<4sLQL")
# Read into memory as a whole before a name can be looked at.
_DIRECTORY_BYTES = 2 * 2**20
_MOST_ENTRIES = 10_000
_BLOCK = 64 * 1024
# Below it even one repeated letter is no attack.
_RATIO_FROM_BYTES = 2**20
_UTF8_NAME = 0x800
# Members, or the names of all members, behind a password.
_ENCRYPTED = 0x1 | 0x40 | 0x2000
# In lower case.
_IGNORED = frozenset(("__macosx", ".ds_store", ".git", "__pycache__"))
_DAMAGE = (
    *(BadZipFile, LargeZipFile, DeflateError, EOFError, NotImplementedError),
    *(UnicodeError, ValueError, RuntimeError, struct.error, OSError),
)
# What other archives begin with; a tar archive says what it is behind the first member's name.
_OTHER_KINDS = {
    b"\x1f\x8b\x08": "gzip",
    b"\xfd7zXZ\0": "xz",
    b"7z\xbc\xaf\x27\x1c": "7z",
    b"Rar!\x1a\x07": "rar",
    b"\x28\xb5\x2f\xfd": "zstd",
}
_BZIP2 = re.compile(rb"BZh[1-9](?:1AY&SY|\x17rE8P\x90)")
_TAR_MARK, _TAR_MARK_PLACE = b"ustar", 257
_EARLIEST = (1980, 1, 1, 0, 0, 0)
_UNIX = 3
_SCRIPTS = "scripts/"


@dataclass(frozen=True)
class ArchiveContent:
    """Regular files in directory order, without system junk, and the names of other members, which were not read."""

    files: tuple[SkillFile, ...]
    links: tuple[str, ...]


def is_archive(content: bytes) -> bool:
    """Whether bytes begin like a zip archive."""
    return content.startswith(_MARKS)


def other_archive_kind(content: bytes) -> str:
    """What archive the bytes are, if another than zip; else empty."""
    if _BZIP2.match(content):
        return "bzip2"
    if content.startswith(_TAR_MARK, _TAR_MARK_PLACE) and b"\0" in content[:_TAR_MARK_PLACE]:
        return "tar"
    return next((kind for mark, kind in _OTHER_KINDS.items() if content.startswith(mark)), "")


def read_archive(content: bytes, limits: PackageLimits) -> ArchiveContent | PackageProblem:
    """All files of an archive, or why it is refused as a whole.

    Inflated bytes are counted: the sizes that the archive claims are not trusted. Nested archives stay files.
    """
    try:
        return _read(content, limits)
    except PackageRefused as refused:
        return refused.problem
    except _DAMAGE:
        return package_problem(PackageFault.DAMAGED)


def write_archive(files: Iterable[SkillFile]) -> bytes:
    """A zip archive whose bytes depend on nothing but the files.

    Nothing is compressed: deflate's output differs between versions of zlib, and repetitive files would look like an
    archive bomb.
    """
    target = BytesIO()
    with ZipFile(target, "w", ZIP_STORED) as archive:
        for file in sorted(files, key=lambda file: file.path):
            entry = ZipInfo(file.path, _EARLIEST)
            entry.create_system = _UNIX
            is_script = file.path.partition("/")[2].startswith(_SCRIPTS)
            entry.external_attr = (stat.S_IFREG | (0o755 if is_script else 0o644)) << 16
            archive.writestr(entry, file.content)
    return target.getvalue()


def _read(content: bytes, limits: PackageLimits) -> ArchiveContent:
    with ZipFile(BytesIO(_without_comment(content, limits))) as archive:
        if len(archive.infolist()) > _MOST_ENTRIES:
            raise PackageRefused(package_problem(PackageFault.TOO_MANY_FILES, limit=limits.files))
        entries = list(_entries(archive.infolist()))
        _check_names([name for name, _ in entries])
        files: list[SkillFile] = []
        links: list[str] = []
        budget = _Budget(limits, packed=len(content))
        for name, entry in entries:
            if _is_link(entry):
                links.append(name)
                continue
            files.append(SkillFile(name, _inflate(archive, entry, budget)))
    return ArchiveContent(tuple(files), tuple(links))


def _without_comment(content: bytes, limits: PackageLimits) -> bytes:
    """The archive without its comment, in which a reader could find another end record.

    The directory's size is checked before its entries become objects, and it must end where the end record begins, so
    that all readers see the same archive in these bytes.
    """
    place = _end_of(content)
    _, disk, _, _, _, size, start, _ = _END.unpack_from(content, place)
    directory_end = place
    locator = place - _LOCATOR_64.size
    if locator >= _END_64.size and content.startswith(_LOCATOR_MARK_64, locator):
        directory_end = locator - _END_64.size
        mark, *_, size, start = _END_64.unpack_from(content, directory_end)
        if mark != _END_MARK_64:
            raise PackageRefused(package_problem(PackageFault.DAMAGED))
    if size > _DIRECTORY_BYTES:
        raise PackageRefused(package_problem(PackageFault.TOO_MANY_FILES, limit=limits.files))
    if disk or start + size != directory_end:
        raise PackageRefused(package_problem(PackageFault.DAMAGED))
    return content[: place + _END.size - _COMMENT_LENGTH.size] + _COMMENT_LENGTH.pack(0)


def _end_of(content: bytes) -> int:
    earliest = max(0, len(content) - _LONGEST_COMMENT - _END.size)
    place = content.rfind(_END_MARK, earliest)
    while place >= 0:
        behind = place + _END.size
        if behind <= len(content) and behind + _END.unpack_from(content, place)[-1] == len(content):
            return place
        place = content.rfind(_END_MARK, earliest, place + len(_END_MARK) - 1)
    raise PackageRefused(package_problem(PackageFault.DAMAGED))


def _entries(entries: Sequence[ZipInfo]) -> Iterator[tuple[str, ZipInfo]]:
    for entry in entries:
        name = _name(entry)
        if entry.flag_bits & _ENCRYPTED:
            raise PackageRefused(package_problem(PackageFault.ENCRYPTED, name))
        if entry.compress_type not in (ZIP_STORED, ZIP_DEFLATED):
            raise PackageRefused(package_problem(PackageFault.UNSUPPORTED_COMPRESSION, name))
        is_folder = name.endswith("/")
        if not is_safe_path(name.removesuffix("/")):
            raise PackageRefused(package_problem(PackageFault.UNSAFE_NAME, name))
        if not is_folder and _IGNORED.isdisjoint(name.casefold().split("/")):
            yield name, entry


def _name(entry: ZipInfo) -> str:
    """A member's original name, with ``/`` between its parts: PowerShell packs with backslashes."""
    return _stored_name(entry).replace("\\", "/")


def _stored_name(entry: ZipInfo) -> str:
    """The name in the directory; ``ZipInfo.filename`` is already altered."""
    if entry.flag_bits & _UTF8_NAME:
        return entry.orig_filename
    packed = entry.orig_filename.encode("cp437", "replace")
    for encoding in ("utf-8", "gb18030"):
        try:
            return packed.decode(encoding)
        except UnicodeDecodeError:
            continue
    return entry.orig_filename


def _check_names(names: Sequence[str]) -> None:
    duplicates = find_duplicates(names)
    if duplicates:
        raise PackageRefused(package_problem(PackageFault.DUPLICATE_NAME, duplicates[0]))


def _is_link(entry: ZipInfo) -> bool:
    mode = entry.external_attr >> 16
    return stat.S_IFMT(mode) not in (0, stat.S_IFREG)


class _Budget:
    """The bytes that may still be inflated from one archive."""

    def __init__(self, limits: PackageLimits, *, packed: int) -> None:
        self.ratio = limits.ratio
        self._limits = limits
        self._most = self.allowed_for(packed)
        self._spent = 0

    def allowed_for(self, packed: int) -> int:
        return max(_RATIO_FROM_BYTES, self.ratio * packed)

    def spend(self, count: int) -> None:
        self._spent += count
        if self._spent > self._limits.total_bytes:
            raise PackageRefused(package_problem(PackageFault.TOO_LARGE, limit=self._limits.total_bytes))
        if self._spent > self._most:
            raise PackageRefused(package_problem(PackageFault.BOMB, limit=self.ratio))


def _inflate(archive: ZipFile, entry: ZipInfo, budget: _Budget) -> bytes:
    blocks: list[bytes] = []
    size = 0
    with archive.open(entry) as member:
        while block := member.read(_BLOCK):
            size += len(block)
            budget.spend(len(block))
            if size > budget.allowed_for(entry.compress_size):
                raise PackageRefused(package_problem(PackageFault.BOMB, _name(entry), budget.ratio))
            blocks.append(block)
    return b"".join(blocks)
