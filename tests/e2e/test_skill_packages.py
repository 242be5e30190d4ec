"""Skills as files: imported from archives, exported as folders of the open standard."""

import io
import zipfile
from typing import Any

from core.errors import ErrorCode
from tests.fixtures.client import Api, check_error, check_success
from tests.fixtures.made_files import zipped
from tests.fixtures.server import one_shape
from tests.fixtures.skill_texts import HIDDEN, PACKAGED, REPORT, REVIEW

FACTORS = "| inch | 2.54 |\n"
FOLDER = {"unit-converter/SKILL.md": PACKAGED, "unit-converter/references/factors.md": FACTORS}
MIXED = {
    "good/SKILL.md": PACKAGED.replace("unit-converter", "good"),
    "bad/SKILL.md": REPORT,
    "bad/run.exe": b"\x7fELF",
    "readme.txt": "about these skills",
}


def send(caller: Api, *files: tuple[str, bytes], **params: Any) -> dict[str, Any]:
    parts = [("file", (name, content)) for name, content in files]
    answer = caller.request("POST", "/skills/import", files=parts, params=params)
    return check_success(answer)


def outcomes(answer: dict[str, Any]) -> list[str]:
    return [item["outcome"] for item in answer["items"]]


def test_imported_skill_is_private_and_not_trusted_until_its_owner_reviews_it(
    user: Api, other: Api
):
    answer = send(user, ("unit-converter.zip", zipped(FOLDER)))
    (item,) = answer["items"]
    assert (item["outcome"], item["folder"], item["skill"]["slug"]) == (
        "created", "unit-converter", "unit-converter",
    )  # fmt: skip
    path = f"/skills/{item['skill']['id']}"
    made = user.get(path)
    assert (made["content"], made["origin"], made["trusted"], made["is_public"]) == (
        PACKAGED, "imported", False, False,
    )  # fmt: skip
    assert [file["path"] for file in made["files"]] == ["references/factors.md"]
    public = {"json": {"is_public": True}}
    user.refused(ErrorCode.SKILL_REVIEW_NEEDED, "PUT", path, **public)
    shares = {"json": {"shares": [{"username": other.name}]}}
    user.refused(ErrorCode.SKILL_REVIEW_NEEDED, "PUT", f"{path}/shares", **shares)
    other.refused(ErrorCode.SKILL_NOT_FOUND, "GET", path)
    assert user.post(f"{path}/review", {"decision": "reject"})["trusted"] is False
    assert user.post(f"{path}/review", {"decision": "approve"})["trusted"] is True
    again = {"json": {"decision": "approve"}}
    user.refused(ErrorCode.SKILL_NOT_PENDING, "POST", f"{path}/review", **again)
    assert user.put(path, {"is_public": True})["is_public"] is True
    assert other.get(path)["content"] == PACKAGED


def test_each_skill_of_a_file_has_its_own_outcome(user: Api):
    answer = send(
        user, ("many.zip", zipped(MIXED)), ("report.md", REPORT.encode()), ("x.zip", b"x")
    )
    assert outcomes(answer) == ["refused", "created", "created", "refused"]
    bad, good, _, damaged = answer["items"]
    assert (bad["problems"][0]["code"], damaged["problems"][0]["code"]) == (
        "executable", "not_an_archive",
    )  # fmt: skip
    assert good["skill"]["slug"] == "good"
    assert answer["ignored"] == ["readme.txt"]
    assert sorted(one["slug"] for one in user.get("/skills")["items"]) == ["daily-report", "good"]


def test_dry_run_tells_the_same_and_keeps_nothing(user: Api):
    files = (("many.zip", zipped(MIXED)), ("report.md", REPORT.encode()))
    dry = send(user, *files, dry_run=True)
    assert (dry["dry_run"], outcomes(dry)) == (True, ["refused", "created", "created"])
    assert [one["skill"] and one["skill"]["id"] for one in dry["items"]] == [None] * 3
    assert user.get("/skills")["total"] == 0
    assert outcomes(send(user, *files)) == outcomes(dry)


def test_conflict_policy_says_what_becomes_of_a_taken_slug(user: Api):
    first = user.post("/skills", {"content": REPORT})
    changed = ("report.md", REPORT.encode() + b"\n3. Send it\n")

    def taken(policy: str, *files: tuple[str, bytes]) -> tuple[str, str, int]:
        (item,) = send(user, *files, on_conflict=policy)["items"]
        return item["outcome"], item["skill"]["slug"], item["skill"]["version"]

    assert taken("skip", changed) == ("skipped", "daily-report", 1)
    assert taken("new", changed) == ("created", "daily-report-2", 1)
    same = ("report.md", REPORT.encode())
    assert taken("new_version", same) == ("unchanged", "daily-report", 1)
    assert taken("new_version", changed) == ("new_version", "daily-report", 2)
    assert user.get(f"/skills/{first['id']}")["trusted"] is False


def test_exported_folder_comes_back_as_the_same_skill(user: Api, other: Api):
    made = user.post("/skills", {"content": REPORT, "category": "Writing", "tags": ["daily"]})
    path = f"/skills/{made['id']}"
    user.request("PUT", f"{path}/files/scripts/run.py", content=b"print(1)\n")
    first, second = (
        user.request("GET", f"{path}/export", params={"format": "agent-skill"}) for _ in range(2)
    )
    assert first.headers["Content-Type"] == "application/zip"
    assert 'filename="daily-report.zip"' in first.headers["Content-Disposition"]
    assert first.content == second.content
    names = zipfile.ZipFile(io.BytesIO(first.content)).namelist()
    assert sorted(names) == ["daily-report/SKILL.md", "daily-report/scripts/run.py"]
    assert b"@" not in first.content
    (item,) = send(other, ("daily-report.skill", first.content))["items"]
    back = other.get(f"/skills/{item['skill']['id']}")
    assert (back["content"], back["slug"]) == (REPORT, "daily-report")
    assert [(file["path"], file["size"]) for file in back["files"]] == [("scripts/run.py", 9)]


def test_several_skills_are_exported_as_one_archive_or_none(user: Api, other: Api):
    ids = [user.post("/skills", {"content": content})["id"] for content in (REPORT, REPORT, REVIEW)]
    answer = user.request("POST", "/skills/export", json={"ids": ids})
    folders = {
        name.split("/")[0] for name in zipfile.ZipFile(io.BytesIO(answer.content)).namelist()
    }
    assert len(folders) == 3
    assert {"daily-report", "daily-report-2"} <= folders
    foreign = other.post("/skills", {"content": REPORT})["id"]
    body = {"json": {"ids": [*ids, foreign]}}
    user.refused(ErrorCode.SKILL_NOT_FOUND, "POST", "/skills/export", **body)
    broken = user.post("/skills", {"content": "no skill", "name": "x"})["id"]
    refused = user.request("POST", "/skills/export", json={"ids": [*ids, broken]})
    (problem,) = check_error(refused, ErrorCode.SKILL_NOT_EXPORTABLE)["problems"]
    assert (problem["code"], problem["skill_id"]) == ("not_valid", broken)


def test_import_of_many_versions_onto_a_public_skill_waits_for_a_review(user: Api, other: Api):
    made = user.post("/skills", {"content": REPORT, "is_public": True})
    path = f"/skills/{made['id']}"
    changed = ("report.md", REPORT.encode() + b"\n3. Send it\n")
    send(user, changed, on_conflict="new_version")
    mine = user.get(path)
    assert (mine["version"], mine["pending_version"], mine["trusted"]) == (2, 2, True)
    assert (other.get(path)["version"], other.get(path)["content"]) == (1, REPORT)


@one_shape
def test_import_needs_a_file(user: Api):
    user.refused(ErrorCode.INVALID_REQUEST, "POST", "/skills/import", json={})
    user.refused(ErrorCode.INVALID_REQUEST, "POST", "/skills/import", files={"other": ("a", b"")})


@one_shape
def test_hidden_characters_are_told_by_an_import(user: Api):
    (item,) = send(user, ("report.md", HIDDEN.encode()))["items"]
    assert "SEC901" in [one["code"] for one in item["diagnostics"]]
    assert (item["outcome"], item["valid"]) == ("created", False)
