"""Where a skill's name comes from: its frontmatter, its title, its folder."""

import asyncio

import pytest

from skills.editor.fields import edit_fields
from skills.lint.context import LintContext
from skills.lint.linter import lint
from skills.packages.reader import PackagedSkill, read_package
from skills.packages.writer import ExportedPackage, ExportSource, export_package
from skills.schema import ParsedSkill
from skills.transfer import import_service
from tests.fixtures.files.sample_files import zipped

_BODY = "description: Writes notes. Use when asked.\n---\n\n"


def parsed(content: str, folder: str | None = None) -> ParsedSkill:
    model = lint(content.encode(), LintContext(folder=folder)).parsed
    assert model is not None
    return model


@pytest.mark.parametrize(
    "heading", ["# Body", "# SKILL: Body", "# 技能：正文", "# The whole guide to notes", "## Body", "Text"]
)
@pytest.mark.parametrize(
    ("name", "slug"),
    [("my-skill", "my-skill"), ("发布说明", ""), ("Relève des notes", "releve-des-notes"), ("заметки", "")],
)
def test_a_name_in_the_frontmatter_wins_over_any_heading_whatever_its_script(heading: str, name: str, slug: str):
    model = parsed(f"---\nname: {name}\n{_BODY}{heading}\n")

    assert (model.name, model.slug) == (name, slug)


@pytest.mark.parametrize("folder", ["my-folder", "发布说明", "My Folder"])
@pytest.mark.parametrize("body", ["# Body\n", "Text.\n", ""])
def test_a_skill_without_a_name_takes_its_folders(folder: str, body: str):
    report = lint(f"---\n{_BODY}{body}".encode(), LintContext(folder=folder))

    assert report.parsed is not None
    assert (report.parsed.name, report.valid) == (folder, True)
    assert report.parsed.slug == folder.lower().replace(" ", "-").replace("发布说明", "")
    # The open standard asks for the name itself.
    assert "AS001" in {diagnostic.code for diagnostic in report.diagnostics}


@pytest.mark.parametrize("title", ["# SKILL: Notes", "# 技能：Notes"])
def test_a_native_title_is_a_name_whatever_the_folder(title: str):
    assert parsed(f"{title}\n\n## Description\nWrites notes.\n", "other").name == "Notes"


def test_without_name_and_folder_the_heading_is_the_name():
    assert parsed(f"---\n{_BODY}# Notes of a day\n").name == "Notes of a day"


def test_an_import_names_a_skill_by_the_folder_in_the_archive():
    archive = zipped({"my-folder/SKILL.md": f"---\n{_BODY}# Body\n"})
    (packaged,) = read_package(archive, "x.zip").skills

    incoming = asyncio.run(import_service.prepare("x.zip", packaged))

    assert incoming.validated is not None
    assert (incoming.slug, incoming.validated.parsed.name) == ("my-folder", "my-folder")
    alone = asyncio.run(import_service.prepare("x.md", PackagedSkill("", packaged.content)))
    assert alone.validated is not None
    assert alone.validated.parsed.name == "Body"


@pytest.mark.parametrize("name", ["发布说明", "заметки", "Relève"])
def test_an_export_keeps_a_name_that_no_folder_can_have(name: str):
    content = f"---\nname: {name}\n{_BODY}# Body\n".encode()

    package = export_package(ExportSource(content, "release-notes"))

    assert isinstance(package, ExportedPackage)
    (back,) = read_package(package.content, "x.zip").skills
    model = lint(back.content).parsed
    assert model is not None
    assert (package.slug, model.slug) == ("release-notes", "release-notes")
    assert model.metadata["title"] == name


def test_a_nameless_skill_is_exported_under_its_slug():
    package = export_package(ExportSource(f"---\n{_BODY}Text.\n".encode(), "my-folder"))

    assert isinstance(package, ExportedPackage)
    (back,) = read_package(package.content, "x.zip").skills
    assert parsed(back.content.decode()).name == "my-folder"


@pytest.mark.parametrize("heading", ["# Body\n", "# SKILL: Body\n", "Text.\n"])
def test_a_name_is_edited_where_it_stands(heading: str):
    content = f"---\nname: notes\n{_BODY}{heading}".encode()

    edited = edit_fields(content, {"name": "发布说明"})

    assert edited == content.replace(b"name: notes", 'name: "发布说明"'.encode())
