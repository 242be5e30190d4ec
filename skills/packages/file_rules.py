"""Rules for the files beside a SKILL.md: names, sizes and kinds."""

import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from skills.packages.errors import PackageFault, PackageProblem, package_problem
from skills.schema import SkillFile

SKILL_FILE = "SKILL.md"
CODEX_FILE = "agents/openai.yaml"
"""Where Codex looks for what it may do with a skill."""

_LONGEST_PATH = 400
_DEEPEST = 16
_SEPARATORS_AND_PATTERNS = frozenset('\\:*?"<>|')
# Devices on Windows, whatever follows a point.
_DEVICES = frozenset(
    (
        *("con", "prn", "aux", "nul", "conin$", "conout$"),
        *(f"{port}{number}" for port in ("com", "lpt") for number in "0123456789¹²³"),
    )
)
_ELF = b"\x7fELF"
_MACH_O = frozenset(bytes.fromhex(magic) for magic in ("feedface", "feedfacf", "cefaedfe", "cffaedfe", "cafebabf"))
_MACH_O_UNIVERSAL = bytes.fromhex("cafebabe")
# Class files of Java begin with the same bytes; there a version follows, never less than this.
_FIRST_JAVA_VERSION = 45
_PE_PLACE = 0x3C


@dataclass(frozen=True)
class PackageLimits:
    """Limits of a package: files of one skill without its SKILL.md, unpacked bytes, and unpacked to packed size."""

    files: int = 500
    total_bytes: int = 30 * 1024 * 1024
    ratio: int = 100


DEFAULT_LIMITS = PackageLimits()


def check_files(files: Sequence[SkillFile], limits: PackageLimits = DEFAULT_LIMITS) -> tuple[PackageProblem, ...]:
    """Every problem of a skill's files, without its SKILL.md, in their order."""
    problems: list[PackageProblem] = []
    if len(files) > limits.files:
        problems.append(package_problem(PackageFault.TOO_MANY_FILES, limit=limits.files))
    if sum(len(file.content) for file in files) > limits.total_bytes:
        problems.append(package_problem(PackageFault.TOO_LARGE, limit=limits.total_bytes))
    problems.extend(
        package_problem(PackageFault.UNSAFE_NAME, file.path) for file in files if not is_safe_path(file.path)
    )
    problems.extend(
        package_problem(PackageFault.DUPLICATE_NAME, path)
        for path in find_duplicates([SKILL_FILE, *(file.path for file in files)])
        if path != SKILL_FILE and not is_skill_file(path)
    )
    for file in files:
        if is_skill_file(file.path):
            problems.append(package_problem(PackageFault.SECOND_SKILL, file.path))
        if is_executable(file.content):
            problems.append(package_problem(PackageFault.EXECUTABLE, file.path))
    return tuple(problems)


def is_safe_path(path: str) -> bool:
    """Whether a name is relative, stays in its folder and means the same on every system."""
    parts = path.split("/")
    if len(path) > _LONGEST_PATH or len(parts) > _DEEPEST:
        return False
    if not all(map(_is_safe_part, parts)):
        return False
    return not any(_is_control(sign) or sign in _SEPARATORS_AND_PATTERNS for sign in path)


def _is_safe_part(part: str) -> bool:
    """Whether a file or folder name is safe: Windows drops trailing points and blanks."""
    stem = part.partition(".")[0].rstrip().casefold()
    return bool(part.strip()) and not part.endswith((".", " ")) and stem not in _DEVICES


def is_skill_file(path: str) -> bool:
    """Whether a path names a SKILL.md, in any case and folder."""
    return path.rsplit("/", 1)[-1].casefold() == SKILL_FILE.casefold()


def codex_policy(*, is_offered: bool) -> bytes:
    """The file that tells Codex whether it may choose a skill by itself."""
    return f"policy:\n  allow_implicit_invocation: {str(is_offered).lower()}\n".encode()


def is_executable(content: bytes) -> bool:
    """Whether the bytes are machine code: ELF, PE or Mach-O."""
    head = content[:4]
    if head == _ELF or head in _MACH_O:
        return True
    if head == _MACH_O_UNIVERSAL:
        return int.from_bytes(content[4:8], "big") < _FIRST_JAVA_VERSION
    if head[:2] != b"MZ":
        return False
    place = int.from_bytes(content[_PE_PLACE : _PE_PLACE + 4], "little")
    return content[place : place + 4] == b"PE\0\0"


def find_duplicates(paths: Iterable[str]) -> list[str]:
    """Paths that equal an earlier one apart from case and Unicode composition, or are another file's folder."""
    files: set[str] = set()
    folders: set[str] = set()
    duplicates: list[str] = []
    for path in paths:
        key = unicodedata.normalize("NFC", unicodedata.normalize("NFC", path).casefold())
        parts = key.split("/")
        above = ["/".join(parts[:count]) for count in range(1, len(parts))]
        if key in files or key in folders or not files.isdisjoint(above):
            duplicates.append(path)
        files.add(key)
        folders.update(above)
    return duplicates


def _is_control(sign: str) -> bool:
    category = unicodedata.category(sign)
    is_joiner = sign in "\u200c\u200d"
    return category in ("Cc", "Cs", "Zl", "Zp") or (category == "Cf" and not is_joiner)
