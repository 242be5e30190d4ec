"""Sharing of skills: who sees, changes and is served which version."""

from collections.abc import Callable
from typing import Any

import pytest

from core.errors.auth import OwnerOnly, PermissionDenied, ReadOnly, SkillNotFound, SkillVersionNotFound
from core.errors.conflicts import SkillNotPublishable
from core.errors.requests import QuotaExceeded
from tests.fixtures.http.client import Api
from tests.fixtures.product.server import Server, one_shape
from tests.fixtures.skills.skill_texts import HIDDEN, REPORT, REVIEW

WIDER = REPORT.replace("- search_knowledge_base", "- search_knowledge_base\n- send_mail")


@pytest.fixture
def admin(server: Server, admin_of: Callable[[Server], Api]) -> Api:
    return admin_of(server)


@pytest.fixture
def skill(user: Api) -> str:
    """The path of a skill of the user's."""
    return f"/skills/{user.post('/skills', {'content': REPORT})['id']}"


def share(owner: Api, path: str, *shares: dict[str, Any]) -> list[dict[str, Any]]:
    return owner.put(f"{path}/shares", {"shares": list(shares)})["items"]


def list_slugs(caller: Api, **params: Any) -> set[str]:
    items = caller.get("/skills", page_size=100, **params)["items"]
    return {f"/skills/{item['id']}" for item in items}


def test_private_skill_is_its_owners_alone_and_absent_for_others(user: Api, other: Api, admin: Api, skill: str):
    absent = other.request("GET", "/skills/00000000-0000-4000-8000-000000000000").json()
    for caller in (other, admin):
        assert caller.request("GET", skill).json() == absent
        assert skill not in list_slugs(caller, include_public=True)
    assert skill in list_slugs(user)


def test_public_skill_is_in_lists_that_ask_for_it_and_can_be_forked(user: Api, other: Api, skill: str):
    user.put(skill, {"is_public": True})
    assert skill not in list_slugs(other)
    assert skill in list_slugs(other, include_public=True)
    shown = other.get(skill)
    assert (shown["access"], shown["can_write"], shown["content"]) == ("read", False, REPORT)
    other.refused(ReadOnly, "PUT", skill, json={"content": REVIEW})
    copy = other.post(f"{skill}/fork", {"name": "My report"})
    assert (copy["content"], copy["name"], copy["is_public"]) == (REPORT, "My report", False)
    assert copy["forked_from"] == skill.removeprefix("/skills/")
    assert copy["owner"]["id"] == other.user_id


@one_shape
def test_shared_reader_reads_writer_writes_and_owner_decides(server: Server, user: Api, other: Api, skill: str):
    third = server.person()
    share(user, skill, {"username": other.name}, {"user_id": third.user_id, "access": "write"})
    assert skill in list_slugs(other)
    other.refused(ReadOnly, "PUT", skill, json={"content": REVIEW})
    changed = third.put(skill, {"content": REVIEW, "change_note": "by a friend"})
    assert (changed["version"], changed["access"]) == (2, "write")
    newest = user.get(f"{skill}/versions")["items"][0]
    assert newest["author"]["username"] == third.name
    for body in ({"is_public": True}, {"slug": "mine"}, {"enabled": False}):
        third.refused(OwnerOnly, "PUT", skill, json=body)
    third.refused(OwnerOnly, "DELETE", skill)
    third.refused(OwnerOnly, "GET", f"{skill}/shares")
    share(user, skill)
    other.refused(SkillNotFound, "GET", skill)
    third.refused(SkillNotFound, "PUT", skill, json={"content": REPORT})


@one_shape
def test_how_much_its_owner_keeps_is_told_to_nobody_else(server: Server, user: Api, other: Api):
    path = f"/skills/{user.post('/skills', {'content': REPORT})['id']}"
    share(user, path, {"username": other.name, "access": "write"})
    full = {"size": 600 * 2**20, "id": path.removeprefix("/skills/")}
    server.sql("UPDATE skill_blob SET size = :size WHERE skill_id = :id", **full)
    body = {"json": {"content": REVIEW}}
    assert other.refused(QuotaExceeded, "PUT", path, **body) == {}
    mine = user.refused(QuotaExceeded, "PUT", path, **body)
    assert mine["used_bytes"] > mine["limit_bytes"]


def test_role_that_a_skill_is_shared_with_reads_it(user: Api, other: Api, skill: str):
    share(user, skill, {"role": "user"})
    assert other.get(skill)["content"] == REPORT
    share(user, skill, {"role": "developer"})
    other.refused(SkillNotFound, "GET", skill)


def test_skill_with_errors_is_shared_with_nobody(user: Api, other: Api, skill: str):
    user.put(skill, {"content": HIDDEN})
    for url, body in (
        (skill, {"is_public": True}),
        (f"{skill}/shares", {"shares": [{"username": other.name}]}),
    ):
        details = user.refused(SkillNotPublishable, "PUT", url, json=body)
        assert "SEC901" in details["codes"]
    assert user.get(skill)["is_public"] is False
    assert user.get(f"{skill}/shares")["total"] == 0
    other.refused(SkillNotFound, "GET", skill)


def test_others_keep_the_last_version_without_errors(user: Api, other: Api, skill: str):
    user.put(skill, {"is_public": True})
    broken = user.put(skill, {"content": HIDDEN})
    assert (broken["version"], broken["valid"]) == (2, False)
    assert (other.get(skill)["version"], other.get(skill)["content"]) == (1, REPORT)
    assert [version["version"] for version in other.get(f"{skill}/versions")["items"]] == [1]
    other.refused(SkillVersionNotFound, "GET", f"{skill}/versions/2")
    mended = user.put(skill, {"content": REPORT + "3. Send it\n"})
    assert (mended["version"], other.get(skill)["version"]) == (3, 3)


def test_riskier_version_of_a_public_skill_is_served_after_a_review(user: Api, other: Api, admin: Api, skill: str):
    user.put(skill, {"is_public": True})
    renamed = WIDER.replace("Daily report", "Sent report")
    mine = user.put(skill, {"content": renamed})
    assert (mine["version"], mine["pending_version"]) == (2, 2)
    shown = other.get(skill)
    assert (shown["version"], shown["name"], shown["pending_version"]) == (1, "Daily report", None)
    for path in (f"{skill}/versions/2", f"{skill}/export?version=2", f"{skill}/files?version=2"):
        other.refused(SkillVersionNotFound, "GET", path)
    approve = {"decision": "approve", "version": 2, "note": "looked at it"}
    user.refused(PermissionDenied, "POST", f"{skill}/review", json=approve)
    other.refused(PermissionDenied, "POST", f"{skill}/review", json=approve)
    assert skill in list_slugs(user, pending=True)
    assert skill not in list_slugs(other, pending=True)
    assert skill in list_slugs(admin, pending=True)
    assert admin.get(f"{skill}/versions/2")["content"] == renamed
    admin.post(f"{skill}/review", approve)
    assert (other.get(skill)["version"], other.get(skill)["name"]) == (2, "Sent report")
    assert skill not in list_slugs(admin, pending=True)
    newest = user.get(f"{skill}/versions")["items"][0]
    assert (newest["review"], newest["review_note"]) == ("approved", "looked at it")


def test_rejected_version_is_never_served_and_a_milder_one_needs_no_review(
    user: Api, other: Api, admin: Api, skill: str
):
    user.put(skill, {"is_public": True})
    user.put(skill, {"content": WIDER})
    admin.post(f"{skill}/review", {"decision": "reject"})
    assert other.get(skill)["version"] == 1
    other.refused(SkillVersionNotFound, "GET", f"{skill}/versions/2")
    user.put(skill, {"content": REPORT + "3. Send it\n"})
    assert other.get(skill)["version"] == 3


def test_taking_a_skill_back_and_publishing_it_anew_does_not_avoid_the_review(user: Api, other: Api, skill: str):
    user.put(skill, {"is_public": True})
    user.put(skill, {"is_public": False})
    user.put(skill, {"content": WIDER})
    assert user.put(skill, {"is_public": True})["pending_version"] == 2
    assert other.get(skill)["version"] == 1


def test_acts_about_skills_are_in_the_audit_log(server: Server, user: Api, other: Api, skill: str):
    user.put(skill, {"is_public": True})
    share(user, skill, {"username": other.name})
    user.delete(skill)
    rows = server.sql(
        "SELECT action, details FROM audit_entry WHERE object_id = :id ORDER BY created_at",
        id=skill.removeprefix("/skills/"),
    )
    assert [row["action"] for row in rows] == ["skill.shared", "skill.shared", "skill.deleted"]
    assert "Daily" not in str(rows)


@one_shape
def test_trigger_test_tells_recall_precision_and_what_is_mistaken_for_the_skill(user: Api):
    report = user.post("/skills", {"content": REPORT})
    twin = REPORT.replace("Daily report", "Weekly digest").replace("daily report", "weekly digest")
    user.post("/skills", {"content": twin.replace("of today", "of the week")})
    queries = [
        {"query": "write my daily report", "should_trigger": True},
        {"query": "write my weekly digest", "should_trigger": True},
        {"query": "What is the weather in Paris?", "should_trigger": False},
        {"query": "Book a table for two", "should_trigger": False},
    ]
    path = f"/skills/{report['id']}/trigger-test"
    told = user.post(path, {"queries": queries})
    assert [answer["triggered"] for answer in told["answers"]] == [True, False, False, False]
    assert (told["version"], told["neighbours"]) == (1, 1)
    assert (told["all"]["recall"], told["all"]["precision"]) == (0.5, 1.0)
    assert told["confusion"] == {"weekly-digest": 1}
    assert told["train"]["queries"] + told["validation"]["queries"] == 4
    assert user.post(path, {"queries": queries}) == told
    body = {"json": {"queries": queries, "version": 2}}
    user.refused(SkillVersionNotFound, "POST", path, **body)
