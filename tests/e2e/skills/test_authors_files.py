"""Skills as authors write and pack them, over HTTP."""

import gzip
from typing import Any

import pytest

from tests.fixtures.files.sample_files import zipped
from tests.fixtures.http.client import Api, check_success


def imported(caller: Api, name: str, content: bytes) -> dict[str, Any]:
    answer = caller.request("POST", "/skills/import", files=[("file", (name, content))])
    (item,) = check_success(answer)["items"]
    return item


@pytest.mark.parametrize(
    "description",
    ["Use when: asked", '"Quick" check', "@lead", "**Bold** text", "[BETA] thing"],
)
def test_unquoted_description_is_stored_as_it_stands_and_mended_on_request(user: Api, description: str):
    content = f"---\nname: my-skill\ndescription: {description}\n---\n\n# Body\n\nDo it.\n"

    item = imported(user, "my-skill.zip", zipped({"my-skill/SKILL.md": content}))

    path = f"/skills/{item['skill']['id']}"
    made = user.get(path)
    assert (made["slug"], made["description"], made["valid"]) == ("my-skill", description, True)
    (found,) = [one for one in made["diagnostics"] if one["code"] == "SK018"]
    assert (found["severity"], found["line"], bool(found["fix"])) == ("warning", 3, True)
    user.post(f"{path}/apply-fix", {"fixes": [{"code": "SK018"}]})
    mended = user.get(path)
    assert mended["description"] == description
    assert "SK018" not in [one["code"] for one in mended["diagnostics"]]


def test_archive_of_another_kind_is_called_what_it_is_and_backslashes_are_folders(user: Api):
    content = "---\nname: notes\ndescription: Writes notes. Use when asked.\nmetadata:\n  tags:\n    - a\n---\n"
    other_kind = imported(user, "notes.tar.gz", gzip.compress(content.encode()))
    assert (other_kind["outcome"], other_kind["problems"][0]["code"]) == ("refused", "other_archive")
    assert "gzip" in other_kind["problems"][0]["message"]

    item = imported(user, "notes.zip", zipped({"notes\\SKILL.md": content, "notes\\references\\a.md": "A.\n"}))

    made = user.get(f"/skills/{item['skill']['id']}")
    assert (made["slug"], made["portable"]) == ("notes", True)
    assert "AS012" in [one["code"] for one in made["diagnostics"]]
    assert [file["path"] for file in made["files"]] == ["references/a.md"]


def test_nameless_skill_has_its_folders_name_through_every_version(user: Api):
    content = "---\ndescription: Writes notes. Use when asked.\n---\n\nDo it.\n"
    item = imported(user, "x.zip", zipped({"My Folder/SKILL.md": content}))
    path = f"/skills/{item['skill']['id']}"
    made = user.get(path)
    assert (made["name"], made["slug"], made["valid"]) == ("My Folder", "my-folder", True)

    user.put(path, {"content": content + "Then more.\n"})

    changed = user.get(path)
    assert (changed["version"], changed["name"], changed["valid"]) == (2, "My Folder", True)
    user.put(path, {"content": content.replace("---\n", "---\nname: 发布说明\n", 1) + "# Body\n"})
    named = user.get(path)
    assert (named["name"], named["slug"], named["valid"]) == ("发布说明", "my-folder", True)


@pytest.mark.parametrize("name", ["发布说明", "заметки"])
def test_name_of_any_script_wins_over_the_heading(user: Api, name: str):
    content = f"---\nname: {name}\ndescription: Writes notes. Use when asked.\n---\n\n# Body\n"
    made = user.post("/skills", {"content": content})
    assert (made["name"], made["valid"]) == (name, True)
    assert made["slug"].startswith("skill-")


def test_blank_tools_restrict_nothing_and_no_tools_are_warned_of(user: Api):
    content = "---\nname: notes\ndescription: Writes notes. Use when asked.\nallowed-tools:{}\n---\n"
    blank = user.post("/skills/validate", {"content": content.format("")})
    none = user.post("/skills/validate", {"content": content.format(" none")})
    assert (blank["parsed"]["tools"], none["parsed"]["tools"]) == (None, [])
    assert "SK047" in [one["code"] for one in none["warnings"]]
    assert "SK047" not in [one["code"] for one in blank["warnings"]]
