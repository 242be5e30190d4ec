"""Skills as folders: which ones, with which bytes, page by page."""

import hashlib

import pytest
import yaml

from core.auth.models import User
from core.db.database import Database
from core.db.unit_of_work import unit_of_work
from core.errors.auth import SkillFileNotFound, SkillNotFound
from kb_service.visibility import UserViewer
from skills.models import Skill, SkillVersion
from skills.packages.errors import PackageProblem
from skills.packages.frontmatter import frontmatter_json
from skills.packages.writer import ExportSource, export_folder
from skills.transfer.folders import MOST_BYTES, MOST_FILE_BYTES, MOST_FILES, FolderPosition, SkillFolder, SkillFolders
from tests.fixtures.database.databases import one_database, statements_of
from tests.fixtures.database.rows import add_user
from tests.fixtures.skills.skill_rows import add_skill, add_version
from tests.fixtures.skills.skill_texts import REPORT
from tests.skills.diagnostic_examples import all_cases

pytestmark = pytest.mark.anyio
NOTES = b"notes of 2"
_ONLY_YAML_BREAKS = set("\x85\u2028\u2029")


@pytest.fixture
async def anna(database: Database) -> User:
    async with unit_of_work(database) as work:
        return await add_user(work)


async def add(database: Database, owner: User, slug: str, content: str = REPORT) -> Skill:
    """A skill that can be exported, unlike the bare row."""
    async with unit_of_work(database) as work:
        skill = await add_skill(work, owner.id, slug)
        await add_version(work, skill, content)
        return skill


async def folders_of(folders: SkillFolders, who: User) -> list[SkillFolder]:
    return list((await folders.page(UserViewer(who.id), None, 100)).folders)


async def test_folder_has_the_name_and_the_bytes_of_its_export(database: Database, anna: User):
    await add(database, anna, "daily")
    folders = SkillFolders(database)
    (folder,) = await folders_of(folders, anna)
    assert (folder.name, folder.place) == ("daily", (anna.username, "daily"))
    for entry, content in zip(folder.files, (None, NOTES), strict=True):
        read = await folders.read(UserViewer(anna.id), [*folder.place, *entry.path.split("/")])
        assert read.path == entry.path
        assert hashlib.sha256(read.content).hexdigest() == entry.sha256
        assert len(read.content) == entry.size
        assert content in (None, read.content)
    assert [entry.path for entry in folder.files] == ["SKILL.md", "references/a.md"]
    read = await folders.read(UserViewer(anna.id), [*folder.place, "SKILL.md"])
    assert read.content.endswith(REPORT.encode())
    assert folder.frontmatter == yaml.safe_load(read.content.split(b"---")[1])
    assert folder.frontmatter["name"] == "daily"


@one_database
async def test_skill_whose_own_name_is_not_its_slug_has_a_place_of_its_own(database: Database, anna: User):
    own = "---\nname: report\ndescription: Use when a report is asked for.\n---\n# Report\n\nWrite.\n"
    await add(database, anna, "report", own)
    await add(database, anna, "report-2", own)
    await add(database, anna, "claude-helper")
    folders = SkillFolders(database)
    found = {folder.card.slug: folder for folder in await folders_of(folders, anna)}
    owner = anna.username
    assert {slug: folder.place for slug, folder in found.items()} == {
        "report": (owner, "report"),
        "report-2": (owner, "report-2", "report"),
        "claude-helper": (owner, "claude-helper", "helper"),
    }
    for folder in found.values():
        assert folder.name == folder.place[-1] == folder.frontmatter["name"]
        named = await folders.find(UserViewer(anna.id), [*folder.place, "SKILL.md"])
        assert named == (folder, "SKILL.md")
    for elsewhere in (["report-2", "SKILL.md"], ["report-2", "other", "SKILL.md"], ["report-2"]):
        with pytest.raises(SkillNotFound):
            await folders.find(UserViewer(anna.id), [owner, *elsewhere])


@one_database
@pytest.mark.parametrize(
    "files",
    [
        [{"path": "a.bin", "sha256": "0" * 64, "size": MOST_FILE_BYTES + 1}],
        [{"path": f"{n}.bin", "sha256": "0" * 64, "size": MOST_BYTES // 5} for n in range(6)],
        [{"path": f"{n}.txt", "sha256": "0" * 64, "size": 1} for n in range(MOST_FILES)],
    ],
    ids=["a file", "all files", "many files"],
)
async def test_what_is_no_folder_for_everybody_is_left_out(
    database: Database, anna: User, files: list[dict[str, object]]
):
    skill = await add(database, anna, "large")
    async with unit_of_work(database) as work:
        # Nothing in it says what it does, so that it has no export.
        await add_skill(work, anna.id, "bare")
    folders = SkillFolders(database)
    assert [folder.name for folder in await folders_of(folders, anna)] == ["large"]
    async with unit_of_work(database) as work:
        (await work.session.get_one(SkillVersion, (skill.id, 2))).files = files
    assert await folders_of(folders, anna) == []
    for slug in ("large", "bare"):
        with pytest.raises(SkillNotFound):
            await folders.read(UserViewer(anna.id), [anna.username, slug, "SKILL.md"])


async def test_pages_go_on_behind_a_skill_that_went(database: Database, anna: User):
    made = [await add(database, anna, f"s-{number}") for number in range(5)]
    folders = SkillFolders(database)
    first = await folders.page(UserViewer(anna.id), None, 2)
    assert [folder.name for folder in first.folders] == ["s-0", "s-1"]
    assert first.following == FolderPosition("s-1", anna.username, made[1].id)
    async with unit_of_work(database) as work:
        for row in (made[1], made[2]):
            (await work.session.get_one(Skill, row.id)).enabled = False
    last = await folders.page(UserViewer(anna.id), first.following, 2)
    assert [folder.name for folder in last.folders] == ["s-3", "s-4"]
    assert last.following is None


@one_database
async def test_what_is_known_of_a_version_is_not_read_again_until_something_changes(database: Database, anna: User):
    skill = await add(database, anna, "daily")
    folders = SkillFolders(database)
    (first,) = await folders_of(folders, anna)
    with statements_of(database) as sent:
        assert await folders_of(folders, anna) == [first]
    assert not [statement for statement in sent if "skill_blob" in statement]
    async with unit_of_work(database) as work:
        row = await work.session.get_one(Skill, skill.id)
        row.category, row.revision = "Reports", row.revision + 1
    (changed,) = await folders_of(folders, anna)
    assert changed.frontmatter["metadata"]["category"] == "Reports"
    assert changed.files[0].sha256 != first.files[0].sha256


@one_database
@pytest.mark.parametrize(
    "segments",
    [[], [""], ["", "daily", "SKILL.md"], ["{owner}"], ["{owner}", "daily"], ["{owner}", "daily", ""],
     ["{owner}", "daily", "../SKILL.md"], ["{owner}", "daily", "references"], ["{owner}", "DAILY", "SKILL.md"],
     ["{owner}", "daily", "SKILL.md", ""], ["a\x00b", "daily", "SKILL.md"], ["x" * 9000, "daily", "SKILL.md"],
     ["{owner}", "\x00", "SKILL.md"], ["nobody", "daily", "SKILL.md"]],
)  # fmt: skip
async def test_nothing_but_what_is_listed_is_found(database: Database, anna: User, segments: list[str]):
    await add(database, anna, "daily")
    named = [segment.format(owner=anna.username) for segment in segments]
    with pytest.raises((SkillNotFound, SkillFileNotFound)):
        await SkillFolders(database).read(UserViewer(anna.id), named)


async def test_frontmatter_of_every_export_is_what_yaml_readers_find():
    compared = 0
    for case in all_cases():
        made = export_folder(ExportSource(case.content, "a-skill"))
        if isinstance(made, PackageProblem):
            continue
        content = made.files[0].content
        if set(content.decode()) & _ONLY_YAML_BREAKS:
            # It ends a line at these, which the standard's readers and ours don't.
            continue
        said = yaml.safe_load(content.split(b"---", 2)[1])
        assert frontmatter_json(content) == said, case
        compared += 1
    assert compared > 20


def test_values_that_json_has_not_are_the_text_that_was_written():
    head = b"---\nname: 123\ndescription: yes\na: 2024-01-01\nb: .inf\nc: null\nd: [1, true]\n---\n"
    assert frontmatter_json(head) == {
        "name": "123", "description": "yes", "a": "2024-01-01", "b": ".inf", "c": None, "d": [1, True],
    }  # fmt: skip
