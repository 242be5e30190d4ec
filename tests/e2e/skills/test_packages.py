"""Skill packages over HTTP: import of archives, export as folders."""

import asyncio
import io
import json
import secrets
import zipfile
from typing import Any

from core.db.database import Database
from core.db.unit_of_work import unit_of_work
from core.errors.auth import SkillNotFound
from core.errors.conflicts import SkillNotExportable, SkillNotPending, SkillReviewNeeded, SkillsFull
from core.errors.requests import FileTooLarge, InvalidRequest
from tests.fixtures.files.sample_files import zipped
from tests.fixtures.http.client import Api, check_error, check_success
from tests.fixtures.product.server import Server, one_shape
from tests.fixtures.skills.skill_texts import HIDDEN, PACKAGED, REPORT, REVIEW

WRITERS_WAIT_SECONDS = 10
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


def without_ids(items: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [item | {"skill": item["skill"] | {"id": None}} for item in items]


def outcomes(answer: dict[str, Any]) -> list[str]:
    return [item["outcome"] for item in answer["items"]]


def test_imported_skill_is_private_and_not_trusted_until_its_owner_reviews_it(user: Api, other: Api):
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
    user.refused(SkillReviewNeeded, "PUT", path, **public)
    shares = {"json": {"shares": [{"username": other.name}]}}
    user.refused(SkillReviewNeeded, "PUT", f"{path}/shares", **shares)
    other.refused(SkillNotFound, "GET", path)
    approval = {"decision": "approve", "version": 1}
    assert user.post(f"{path}/review", {"decision": "reject"})["trusted"] is False
    tag = user.request("GET", path).headers["ETag"]
    assert user.post(f"{path}/review", approval)["trusted"] is True
    assert user.request("GET", path).headers["ETag"] != tag
    again = {"json": approval}
    user.refused(SkillNotPending, "POST", f"{path}/review", **again)
    assert user.put(path, {"is_public": True})["is_public"] is True
    assert other.get(path)["content"] == PACKAGED


def test_each_skill_of_a_file_has_its_own_outcome(user: Api):
    answer = send(user, ("many.zip", zipped(MIXED)), ("report.md", REPORT.encode()), ("x.zip", b"x"))
    assert outcomes(answer) == ["refused", "created", "created", "refused"]
    bad, good, _, damaged = answer["items"]
    assert (bad["problems"][0]["code"], damaged["problems"][0]["code"]) == (
        "executable", "not_an_archive",
    )  # fmt: skip
    assert good["skill"]["slug"] == "good"
    assert answer["ignored"] == ["readme.txt"]
    assert sorted(item["slug"] for item in user.get("/skills")["items"]) == ["daily-report", "good"]


def test_dry_run_tells_the_same_and_keeps_nothing(user: Api):
    files = (("many.zip", zipped(MIXED)), ("report.md", REPORT.encode()))
    dry = send(user, *files, dry_run=True)
    assert (dry["dry_run"], outcomes(dry)) == (True, ["refused", "created", "created"])
    assert [item["skill"] and item["skill"]["id"] for item in dry["items"]] == [None] * 3
    assert user.get("/skills")["total"] == 0
    assert outcomes(send(user, *files)) == outcomes(dry)


def test_dry_run_tells_what_each_conflict_would_come_to(user: Api):
    changed = REPORT.replace("Daily", "Nightly") + "\n3. Send it\n"
    user.post("/skills", {"content": REPORT})
    texts = {"a": REPORT, "b": changed.replace("Nightly", "Daily"), "c": changed, "d": changed}
    archive = ("many.zip", zipped({f"{name}/SKILL.md": text for name, text in texts.items()}))
    for policy, wanted in (
        ("skip", ["skipped", "skipped", "created", "skipped"]),
        ("new_version", ["unchanged", "new_version", "unchanged", "unchanged"]),
        ("new", ["created"] * 4),
    ):
        told, done = (send(user, archive, dry_run=dry, on_conflict=policy)["items"] for dry in (True, False))
        assert [item["outcome"] for item in done] == wanted
        assert without_ids(told) == without_ids(done)


@one_shape
def test_dry_run_waits_for_nobody_who_writes(server: Server, user: Api):
    async def plan(database: Database) -> dict[str, Any]:
        async with unit_of_work(database), asyncio.timeout(WRITERS_WAIT_SECONDS - 2):
            return await asyncio.to_thread(send, user, ("a.md", REPORT.encode()), dry_run=True)

    # Nobody has noted yet that this key was used.
    server.sql("UPDATE api_key SET last_used_at = NULL WHERE user_id = :id", id=user.user_id)
    assert outcomes(server.work(plan)) == ["created"]


@one_shape
def test_others_write_while_many_skills_are_taken_in(server: Server, user: Api):
    answer = send(user, ("many.zip", zipped({f"s{n}/SKILL.md": PACKAGED for n in range(45)})))
    assert outcomes(answer) == ["created"] * 45
    assert len({item["skill"]["slug"] for item in answer["items"]}) == 45
    rows = server.sql(
        "SELECT details FROM audit_entry WHERE action = 'skills.imported' AND actor_id = :id",
        id=user.user_id,
    )
    assert sorted(json.loads(row["details"])["skills"] for row in rows) == [5, 20, 20]


@one_shape
def test_import_counts_bytes_as_they_are_unpacked(user: Api):
    # Not so much repetition that it would look like an attack.
    notes = b"".join(secrets.token_bytes(40) + bytes(2008) for _ in range(11 * 1024))
    files = [(f"{n}.zip", zipped({"SKILL.md": PACKAGED, "notes.txt": notes})) for n in range(4)]
    assert sum(len(content) for _, content in files) < 4 * 2**20
    answer = send(user, *files, dry_run=True)
    assert outcomes(answer) == ["created", "created", "refused", "refused"]
    for item in answer["items"][2:]:
        assert item["error"]["code"] == FileTooLarge.code


@one_shape
def test_import_takes_no_more_skills_than_one_person_may_have(user: Api):
    user.post("/skills", {"content": REPORT})
    many = zipped({f"s{n:04}/SKILL.md": "# SKILL: Daily report\n" for n in range(1010)})
    answer = send(user, ("many.zip", many), dry_run=True, on_conflict="skip")
    assert outcomes(answer) == ["skipped"] * 1000 + ["refused"]
    error = answer["items"][-1]["error"]
    assert (error["code"], error["details"]) == (SkillsFull.code, {"limit": 1000})


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
    first, second = (user.request("GET", f"{path}/export", params={"format": "agent-skill"}) for _ in range(2))
    assert first.headers["Content-Type"] == "application/zip"
    assert 'filename="daily-report.zip"' in first.headers["Content-Disposition"]
    assert first.content == second.content
    archive = zipfile.ZipFile(io.BytesIO(first.content))
    names = sorted(archive.namelist())
    assert names == ["daily-report/SKILL.md", "daily-report/scripts/run.py"]
    # In the bytes of the archive the sign may be part of a checksum.
    assert b"@" not in archive.read(names[0])
    (item,) = send(other, ("daily-report.skill", first.content))["items"]
    back = other.get(f"/skills/{item['skill']['id']}")
    assert (back["content"], back["slug"]) == (REPORT, "daily-report")
    assert [(file["path"], file["size"]) for file in back["files"]] == [("scripts/run.py", 9)]


def test_several_skills_are_exported_as_one_archive_or_none(user: Api, other: Api):
    ids = [user.post("/skills", {"content": content})["id"] for content in (REPORT, REPORT, REVIEW)]
    answer = user.request("POST", "/skills/export", json={"ids": ids})
    folders = {name.split("/")[0] for name in zipfile.ZipFile(io.BytesIO(answer.content)).namelist()}
    assert len(folders) == 3
    assert {"daily-report", "daily-report-2"} <= folders
    foreign = other.post("/skills", {"content": REPORT})["id"]
    body = {"json": {"ids": [*ids, foreign]}}
    user.refused(SkillNotFound, "POST", "/skills/export", **body)
    broken = user.post("/skills", {"content": "no skill", "name": "x"})["id"]
    refused = user.request("POST", "/skills/export", json={"ids": [*ids, broken]})
    (problem,) = check_error(refused, SkillNotExportable)["problems"]
    assert (problem["code"], problem["skill_id"]) == ("not_valid", broken)


@one_shape
def test_too_much_for_one_archive_is_refused_before_it_is_read(server: Server, user: Api):
    ids = [user.post("/skills", {"content": content})["id"] for content in (REPORT, REVIEW)]
    for skill_id in ids:
        size = {"size": 150 * 2**20, "id": skill_id}
        server.sql("UPDATE skill_version SET size = :size WHERE skill_id = :id", **size)
    details = user.refused(SkillNotExportable, "POST", "/skills/export", json={"ids": ids})
    (problem,) = details["problems"]
    assert (problem["code"], problem["skill_id"]) == ("too_large", ids[1])


def test_import_of_many_versions_onto_a_public_skill_waits_for_a_review(user: Api, other: Api):
    made = user.post("/skills", {"content": REPORT, "is_public": True})
    path = f"/skills/{made['id']}"
    changed = ("report.md", REPORT.encode() + b"\n3. Send it\n")
    send(user, changed, on_conflict="new_version")
    mine = user.get(path)
    assert (mine["version"], mine["pending_version"], mine["trusted"]) == (2, 2, False)
    assert (other.get(path)["version"], other.get(path)["content"]) == (1, REPORT)


@one_shape
def test_import_needs_a_file(user: Api):
    user.refused(InvalidRequest, "POST", "/skills/import", json={})
    user.refused(InvalidRequest, "POST", "/skills/import", files={"other": ("a", b"")})


@one_shape
def test_hidden_characters_are_told_by_an_import(user: Api):
    (item,) = send(user, ("report.md", HIDDEN.encode()))["items"]
    assert "SEC901" in [diagnostic["code"] for diagnostic in item["diagnostics"]]
    assert (item["outcome"], item["valid"]) == ("created", False)
