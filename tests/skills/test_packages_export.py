"""Export of skill packages: portable, reproducible, and lossless."""

import hashlib
import stat
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from zipfile import ZipFile

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from skills_ref import validate

from skills.lint.context import LintContext
from skills.lint.linter import lint
from skills.packages.errors import PackageFault, PackageProblem
from skills.packages.file_rules import find_duplicates, is_executable, is_safe_path, is_skill_file
from skills.packages.frontmatter import CatalogFields
from skills.packages.reader import PackagedSkill, read_package
from skills.packages.writer import (
    ExportedPackage,
    ExportedPackages,
    ExportProfile,
    ExportSource,
    export_package,
    export_packages,
)
from skills.parser import parse as parser
from skills.parser.draft import SkillDraft
from skills.parser.source import SkillSource
from skills.schema import SkillFile
from skills.slugs import choose_slug
from tests.skills.diagnostic_examples import Case, all_cases

_DAILY = """# SKILL: 日报生成

## 描述
根据当天的提交记录生成日报，<b>重点</b>突出。

## 触发条件
- 写日报
- write the daily report

## 不适用场景
- 周报

## 允许工具
- `search_knowledge_base`

## 步骤
1. 读取提交记录。
2. 写日报。
""".encode()
_AGENT = (
    b"---\n# whose is it\nname: Daily Report\ndescription: Writes <b>. Use when the day ends.\n"
    b"category: writing\nallowed-tools: [Read, 'Bash(git:*)']\nlicense: MIT # short\n---\n\n# Daily\n"
)


def _source(content: bytes, slug: str = "daily-report", **known: object) -> ExportSource:
    return ExportSource(content, slug, catalog=CatalogFields(**known))  # type: ignore[arg-type]


def _exported(source: ExportSource, profile: ExportProfile = ExportProfile.PORTABLE) -> ExportedPackage:
    package = export_package(source, profile)
    assert isinstance(package, ExportedPackage), package
    return package


def _members(content: bytes) -> dict[str, bytes]:
    with ZipFile(BytesIO(content)) as archive:
        return {entry.filename: archive.read(entry) for entry in archive.infolist()}


def _skill(package: ExportedPackage) -> bytes:
    return _members(package.content)[f"{package.slug}/SKILL.md"]


def _fields(content: bytes) -> dict[str, object]:
    return yaml.safe_load(content.decode().split("---")[1])


def _back(package: ExportedPackage) -> PackagedSkill:
    (skill,) = read_package(package.content, f"{package.slug}.zip").skills
    assert not skill.problems
    return skill


def _refusals(content: bytes) -> list[str]:
    with TemporaryDirectory() as root:
        with ZipFile(BytesIO(content)) as archive:
            archive.extractall(root)
        return [text for folder in Path(root).iterdir() for text in validate(folder)]


@pytest.mark.parametrize("case", all_cases(), ids=lambda case: case.name)
@pytest.mark.parametrize("profile", [ExportProfile.PORTABLE, ExportProfile.CODEX])
def test_the_export_of_every_valid_skill_passes_the_reference_validator(case: Case, profile: ExportProfile):
    report = case.report()
    files = tuple(file for file in case.files if not is_skill_file(file.path))
    slug = choose_slug(report.parsed.name if report.parsed else "", "abcdef")
    package = export_package(ExportSource(case.content, slug, files), profile)
    if lint(case.content).valid:
        assert isinstance(package, ExportedPackage), package
        assert _refusals(package.content) == []
    else:
        assert isinstance(package, PackageProblem)
        assert package.code is PackageFault.NOT_VALID


def test_a_native_skill_gets_frontmatter_that_says_what_it_does_and_when():
    package = _exported(
        _source(
            _DAILY,
            version=3,
            category="办公",
            tags=("日报", "team"),
            owner="lin",
            tool_names={"search_knowledge_base": "mcp__agentex__search"},
        )
    )
    content = _skill(package)
    assert content.endswith(_DAILY)
    assert _fields(content) == {
        "name": "daily-report",
        "description": "根据当天的提交记录生成日报，b重点/b突出。 适用：写日报；write the daily report。 不适用：周报",
        "compatibility": "Written for an agent with these tools: search_knowledge_base.",
        "metadata": {
            "title": "日报生成",
            "version": "3",
            "category": "办公",
            "tags": "日报, team",
            "owner": "lin",
            "source-format": "native-skill/1",
            "source-sha256": hashlib.sha256(_DAILY).hexdigest(),
        },
        "allowed-tools": "mcp__agentex__search",
    }
    lines = content.decode().split("---")[1].strip().splitlines()
    assert [line.partition(":")[0] for line in lines if line[0] != " "] == [
        *("name", "description", "compatibility", "metadata", "allowed-tools")
    ]


def test_an_export_holds_no_address_and_no_tool_that_allows_every_command():
    package = _exported(_source(_DAILY, owner="lin@example.net", tool_names={"search_knowledge_base": "Bash"}))
    content = _skill(package).decode()
    assert "@" not in content
    assert "allowed-tools" not in content


def test_portable_content_is_exported_untouched():
    content = b"---\nname: my-notes\ndescription: Writes notes. Use when asked.\n---\n# Notes\n"
    package = _exported(_source(content, slug="another-slug"))
    assert (package.slug, _skill(package)) == ("my-notes", content)


def test_only_failing_fields_are_rewritten():
    package = _exported(_source(_AGENT))
    assert _skill(package).decode() == (
        '---\n# whose is it\nname: "daily-report"\ndescription: "Writes b. Use when the day ends."\n'
        'allowed-tools: "Read Bash(git:*)"\nlicense: MIT # short\n'
        'metadata:\n  category: "writing"\n---\n\n# Daily\n'
    )


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_the_body_is_kept_byte_for_byte_when_frontmatter_is_rewritten(newline: str):
    body = "\n# Daily\t \n\ntext\n\n\n".replace("\n", newline)
    head = "---\nname: X Y\ndescription: d --- e\nversion: 1\n---\n".replace("\n", newline)
    content = _skill(_exported(_source((head + body).encode())))
    assert content.endswith(f"---{newline}{body}".encode())
    assert _fields(content)["metadata"] == {"version": "1"}
    assert _fields(content)["description"] == "d --- e" or b"--\\u002d" in content


def test_equal_skills_give_equal_archives_whatever_the_order_of_their_files():
    files = (SkillFile("scripts/run.sh", b"ls\n"), SkillFile("assets/a.txt", b"a" * 3_000_000))
    first = _exported(replace(_source(_DAILY), files=files))
    second = _exported(replace(_source(_DAILY), files=files[::-1]))
    assert first == second
    with ZipFile(BytesIO(first.content)) as archive:
        entries = archive.infolist()
    assert {entry.date_time for entry in entries} == {(1980, 1, 1, 0, 0, 0)}
    assert [(e.filename, stat.S_IMODE(e.external_attr >> 16)) for e in entries] == [
        ("daily-report/SKILL.md", 0o644),
        ("daily-report/assets/a.txt", 0o644),
        ("daily-report/scripts/run.sh", 0o755),
    ]
    assert _back(first).files == files[::-1]


def test_a_profile_adds_what_only_its_program_knows():
    content = _DAILY + "\n## 输入参数\n- `日期` (date, 必填): 哪天\n- `format` (string, 可选): 格式\n".encode()
    claude = _fields(_skill(_exported(replace(_source(content), is_offered=False), ExportProfile.CLAUDE_CODE)))
    assert claude["disable-model-invocation"] is True
    assert claude["argument-hint"] == "日期 [format]"
    codex = _members(_exported(_source(content), ExportProfile.CODEX).content)
    assert codex["daily-report/agents/openai.yaml"] == (b"policy:\n  allow_implicit_invocation: true\n")


@pytest.mark.parametrize("is_offered", [True, False])
def test_the_policy_that_an_export_wrote_comes_back_as_no_file(is_offered: bool):
    source = replace(_source(_DAILY), is_offered=is_offered)
    assert _back(_exported(source, ExportProfile.CODEX)).files == ()


def test_a_policy_of_somebody_elses_comes_back():
    theirs = SkillFile("agents/openai.yaml", b"interface:\n  display_name: x\n")
    source = replace(_source(_DAILY), files=(theirs,))
    assert _back(_exported(source, ExportProfile.CODEX)).files == (theirs,)


def test_a_skill_with_errors_or_bad_files_is_refused():
    refused = export_package(_source(b"no skill"))
    assert isinstance(refused, PackageProblem)
    assert refused.code is PackageFault.NOT_VALID
    bad = export_package(replace(_source(_DAILY), files=(SkillFile("../x", b""),)))
    assert isinstance(bad, PackageProblem)
    assert bad.code is PackageFault.UNSAFE_NAME


def test_a_long_description_is_cut_at_a_sentence():
    content = _DAILY.replace("重点".encode(), "很长的句子。".encode() * 400)
    text = str(_fields(_skill(_exported(_source(content))))["description"])
    assert 900 < len(text) <= 1024
    assert text.endswith("。")


def test_many_skills_share_an_archive_and_equal_names_get_numbers():
    bulk = export_packages([_source(_DAILY), _source(_AGENT), _source(b"bad"), _source(_DAILY)])
    assert isinstance(bulk, ExportedPackages)
    assert bulk.outcomes[:2] == ("daily-report", "daily-report-2")
    assert isinstance(bulk.outcomes[2], PackageProblem)
    assert bulk.outcomes[3] == "daily-report-3"
    assert _refusals(bulk.content) == []
    skills = read_package(bulk.content, "all.zip").skills
    assert [skill.content for skill in skills][::2] == [_DAILY, _DAILY]


_PATHS = st.lists(
    st.from_regex(r"(scripts|references|assets|资料)/[A-Za-z0-9 _.é-]{1,12}", fullmatch=True),
    max_size=4,
).filter(
    lambda paths: not find_duplicates(paths) and all(is_safe_path(path) and not is_skill_file(path) for path in paths)
)
_CONTENTS = st.binary(max_size=200).filter(lambda content: not is_executable(content))
_LINE = st.text(st.characters(exclude_categories=("Cs", "Cc", "Cf", "Co", "Cn")), min_size=1)
_NATIVE = st.builds(
    lambda mark, name, text, more, end: f"{mark}# SKILL: {name}{end}{end}## 描述{end}{text}{end}{more}",
    mark=st.sampled_from(["", "\ufeff"]),
    name=_LINE,
    text=_LINE,
    more=st.text(st.characters(exclude_categories=("Cs", "Cf"), exclude_characters="\0")),
    end=st.sampled_from(["\n", "\r\n"]),
)


@settings(max_examples=60)
@given(_NATIVE, _PATHS, st.data())
def test_a_native_skill_comes_back_equal_byte_for_byte(text: str, paths: list[str], data: st.DataObject):
    content = text.encode()
    files = tuple(SkillFile(path, data.draw(_CONTENTS)) for path in sorted(paths))
    package = export_package(ExportSource(content, "some-slug", files))
    if not lint(content).valid:
        assert isinstance(package, PackageProblem)
        return
    assert isinstance(package, ExportedPackage), package
    skill = _back(package)
    assert (skill.content, skill.files, skill.is_own_export) == (content, files, True)
    assert _refusals(package.content) == []


@settings(max_examples=60)
@given(st.sampled_from(["name: my-notes\n", "name: My Notes\n", ""]), _LINE, st.text())
def test_a_body_behind_frontmatter_comes_back_equal(name: str, description: str, body: str):
    content = f"---\n{name}description: {description}\n---\n{body}".encode("utf-8", "replace")
    package = export_package(ExportSource(content, "some-slug"))
    if isinstance(package, PackageProblem):
        assert package.code is PackageFault.NOT_VALID
        return
    back = _back(package).content
    assert back.partition(b"\n---\n")[2] == content.partition(b"\n---\n")[2]
    if lint(content, LintContext(folder="my-notes")).portable:
        assert back == content


def test_a_skill_is_read_once_also_where_its_folder_gets_a_number(
    monkeypatch: pytest.MonkeyPatch,
):
    read: list[bytes] = []
    assemble = parser.assemble

    def counted(source: SkillSource, default_name: str = "") -> SkillDraft:
        read.append(source.content)
        return assemble(source, default_name)

    monkeypatch.setattr(parser, "assemble", counted)
    made = export_packages([_source(_DAILY), _source(_DAILY + b"3. x\n"), _source(_AGENT)])

    assert made.outcomes == ("daily-report", "daily-report-2", "daily-report-3")
    assert [content for content in read if content.endswith((_DAILY, b"3. x\n", _AGENT))] == [
        _DAILY,
        _DAILY + b"3. x\n",
        _AGENT,
    ]
