"""The hand-written skills of ``tests/data/skills``: for each code one that has it, one that nearly does.

A case is a file ``CODE[.what].has.md`` or ``CODE[.what].nearly.md``, or, where files beside it matter, a
folder of that name without ``.md`` that holds the skill's folder. ``CODE.neighbour.md`` is another
skill that the same person sees. ``<!-- pad to 501 lines -->`` as last line stands for the lines, or
bytes, that it tells.
"""

import re
from dataclasses import dataclass
from pathlib import Path

from skills.lint.context import LintContext, SiblingSkill
from skills.lint.linter import lint
from skills.schema import SkillFile, SkillReport
from tests.fixtures.paths import SKILL_DATA

_PAD = re.compile(rb"<!-- pad to (\d+) (lines|bytes) -->\n$")
_LINE = b"line of text\n"
_TOOLS = (*("Read", "Bash", "WebFetch", "search_knowledge_base"), "mcp__github__list_pulls")


@dataclass(frozen=True)
class Case:
    """A skill with what lies around it.

    Args:
        name: of the file or folder, for example ``AS002.cut.has``.
        content: of the skill.
        folder: the name of its folder, where it stands in one.
        files: what lies beside it.
    """

    name: str
    content: bytes
    folder: str | None = None
    files: tuple[SkillFile, ...] = ()

    @property
    def code(self) -> str:
        """The code that the case is about."""
        return self.name.partition(".")[0]

    @property
    def has_code(self) -> bool:
        """Whether the code must be found."""
        return self.name.endswith(".has")

    def report(self) -> SkillReport:
        """What the parser says, with all that is known around the skill."""
        neighbour = SKILL_DATA / f"{self.code}.neighbour.md"
        siblings: list[SiblingSkill] = []
        if neighbour.exists():
            other = lint(neighbour.read_bytes()).parsed
            assert other is not None
            siblings.append(SiblingSkill(other.name, other.description))
        paths = None if self.folder is None else ["SKILL.md", *(file.path for file in self.files)]
        return lint(
            self.content,
            LintContext(
                known_tools=_TOOLS if self.code == "SK043" else None,
                folder=self.folder,
                files=paths,
                siblings=siblings,
            ),
        )


def all_cases() -> list[Case]:
    """All cases, by name."""
    return [
        case
        for path in sorted(SKILL_DATA.iterdir())
        if path.name.removesuffix(".md").endswith((".has", ".nearly"))
        for case in (_in_folder(path) if path.is_dir() else _alone(path),)
    ]


def padded(content: bytes) -> bytes:
    """A file as long as its last line says."""
    pad = _PAD.search(content)
    if pad is None:
        return content
    size = int(pad[1])
    if pad[2] == b"lines":
        return content + _LINE * (size - content.count(b"\n"))
    missing = size - len(content)
    return content + (_LINE * (missing // len(_LINE) + 1))[: missing - 1] + b"\n"


def _alone(path: Path) -> Case:
    return Case(path.name.removesuffix(".md"), padded(path.read_bytes()))


def _in_folder(path: Path) -> Case:
    (folder,) = path.iterdir()
    skill = next(file for file in folder.iterdir() if file.name.lower() == "skill.md")
    files = tuple(
        SkillFile(file.relative_to(folder).as_posix(), file.read_bytes())
        for file in sorted(folder.rglob("*"))
        if file.is_file() and file != skill
    )
    return Case(path.name, skill.read_bytes(), folder.name, files)
