"""Skills as authors write and pack them, over HTTP."""

import gzip
from typing import Any

import pytest

from tests.fixtures.files.sample_files import zipped
from tests.fixtures.http.client import Api, check_success
from tests.fixtures.product.server import one_shape

pytestmark = one_shape

NOTES = "---\nname: notes\ndescription: Writes notes. Use when asked.\n---\n\nDo it.\n"


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


@pytest.mark.parametrize("name", ["notes.tar.gz", "notes.zip"])
def test_archive_of_another_kind_is_called_what_it_is(user: Api, name: str):
    item = imported(user, name, gzip.compress(NOTES.encode()))

    assert item["outcome"] == "refused"
    (problem,) = item["problems"]
    assert "gzip" in problem["message"]
    assert ".zip" in problem["message"]


@pytest.mark.parametrize("slash", ["\\", "/"])
def test_archive_is_read_whatever_slash_its_folders_have(user: Api, slash: str):
    item = imported(user, "notes.zip", zipped({f"notes{slash}SKILL.md": NOTES, f"notes{slash}a{slash}b.md": "A.\n"}))

    assert item["outcome"] == "created", item
    made = user.get(f"/skills/{item['skill']['id']}")
    assert made["slug"] == "notes"
    assert [file["path"] for file in made["files"]] == ["a/b.md"]


@pytest.mark.parametrize("value", ["\n  tags:\n    - a", "\n  version: 1.0", "\n  author:\n    name: anna"])
def test_metadata_that_the_reference_validator_takes_is_portable(user: Api, value: str):
    made = user.post("/skills", {"content": NOTES.replace("---\n\n", f"metadata:{value}\n---\n\n")})

    assert made["portable"] is True, made["diagnostics"]
    assert "AS012" in [one["code"] for one in made["diagnostics"]]


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


def with_tools(field: str) -> dict[str, str]:
    return {"content": NOTES.replace("---\n\n", f"allowed-tools:{field}\n---\n\n")}


@pytest.mark.parametrize("field", ["", " ''", " null"])
def test_blank_tools_restrict_nothing(user: Api, field: str):
    judged = user.post("/skills/validate", with_tools(field))
    assert judged["parsed"]["tools"] is None
    assert "SK047" not in [one["code"] for one in judged["warnings"]]


@pytest.mark.parametrize("field", [" none", " []", " '-'"])
def test_tools_that_leave_no_tool_at_all_are_warned_of(user: Api, field: str):
    judged = user.post("/skills/validate", with_tools(field))
    assert judged["parsed"]["tools"] == []
    assert "SK047" in [one["code"] for one in judged["warnings"]]
