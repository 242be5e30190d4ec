"""A run's skills without a database: a library in memory, and the skills of a run of its owner."""

from collections.abc import Sequence

from agents.skills.active import OfferedSkill, SkillVersionRef
from agents.skills.run_skills import RunSkills, SkillResources
from core.errors.auth import SkillFileNotFound, SkillNotFound
from skills.lint.linter import lint
from skills.schema import ParsedSkill
from skills.selection.prompt_index import MOST_CHARACTERS, write_index
from skills.selection.selector import prepare_selector
from skills.slugs import slugify
from skills.store.catalog import CatalogCard, FileEntry, OpenedSkill
from skills.store.summary import make_card


def read(content: str) -> ParsedSkill:
    parsed = lint(content.encode()).parsed
    assert parsed is not None
    return parsed


class InMemoryLibrary:
    """Opens skills by their slugs.

    Attributes:
        records: what was counted, in order.
        opened: which skills were read.
    """

    def __init__(self, *contents: str, files: dict[str, bytes] | None = None) -> None:
        self.skills = {slugify(one.name): one for one in map(read, contents)}
        self.files = files or {}
        self.records: list[tuple[str, ...]] = []
        self.opened: list[str] = []

    async def open(self, skill_id: str, version: int) -> OpenedSkill:
        if skill_id not in self.skills:
            raise SkillNotFound
        self.opened.append(skill_id)
        parsed = self.skills[skill_id]
        card = CatalogCard(
            skill_id, parsed.name, parsed.description, id=skill_id, owner="anna", owner_id="anna",
            version=version, sha=parsed.content_sha256,
        )  # fmt: skip
        files = tuple(FileEntry(path, "0" * 64, len(data)) for path, data in self.files.items())
        return OpenedSkill(card, parsed, parsed.body, files)

    async def read_file(self, skill_id: str, path: str, version: int) -> bytes:
        if path not in self.files:
            raise SkillFileNotFound(field="path")
        return self.files[path]

    def record_impressions(self, skills: Sequence[SkillVersionRef]) -> None:
        self.records.append(("offered", *(one.id for one in skills)))

    async def record_load(self, skill: SkillVersionRef, key: str, *, chosen: bool) -> None:
        self.records.append(("loaded", skill.id))

    async def record_completion(self, skill: SkillVersionRef) -> None:
        self.records.append(("completed", skill.id))

    async def record_denial(self, skills: Sequence[SkillVersionRef], tool: str) -> None:
        self.records.append(("denied", tool, *(one.id for one in skills)))


def run_skills_of(
    library: InMemoryLibrary,
    *,
    chosen: Sequence[str] = (),
    most: int | None = None,
    inputs: dict | None = None,
) -> RunSkills:
    """The skills of a run of the library's owner."""
    offered = {
        slug: OfferedSkill(slug, SkillVersionRef(slug, 1, parsed.content_sha256), make_card(parsed, slug))
        for slug, parsed in library.skills.items()
    }
    cards = [one.card for one in offered.values()]
    # Without an encoder nothing in it waits.
    preparing = prepare_selector(cards)
    try:
        preparing.send(None)
    except StopIteration as ready:
        selector = ready.value
    else:
        raise AssertionError("it waits for something")
    means = SkillResources(library, selector, write_index(cards, MOST_CHARACTERS, most=most))
    return RunSkills(means, list(offered.values()), [offered[one] for one in chosen], inputs)
