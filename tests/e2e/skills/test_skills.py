"""Skills over HTTP: the documented examples, and what authors rely on."""

import json
from concurrent.futures import ThreadPoolExecutor

import pytest

from core.errors.auth import NotAuthenticated, PermissionDenied, SkillFileNotFound, SkillNotFound, SkillVersionNotFound
from core.errors.conflicts import SkillChanged, SkillSlugTaken
from core.errors.requests import InvalidPagination, InvalidRequest, SkillFilesRefused, UnreadableSkill
from tests.fixtures.http.client import Api, check_error, check_success, conforms, unique
from tests.fixtures.product.server import Server, one_shape
from tests.fixtures.skills.skill_texts import REPORT, REVIEW

LISTED = json.loads("""{
  "id": "uuid", "name": "代码审查", "description": "对提交的代码进行审查...", "category": "开发工具",
  "tags": ["代码", "审查"], "is_public": false, "version": 2,
  "owner": {"id": "uuid", "username": "zhangsan"},
  "created_at": "2026-01-15T10:00:00Z", "updated_at": "2026-02-01T10:00:00Z"
}""")
CREATED = {
    "name": "日报生成",
    "description": "根据今日工作内容生成工作日报",
    "content": "# SKILL: 日报生成\n\n## 描述\n\n根据今日工作内容生成工作日报",
    "category": "效率工具",
    "tags": ["日报", "工作"],
    "is_public": False,
}


def reviewing(caller: Api, **fields: object) -> dict:
    body = {"content": REVIEW, "category": "开发工具", "tags": ["代码", "审查"], **fields}
    return caller.post("/skills", body)


def test_8_1_list_of_skills(user: Api):
    made = reviewing(user)
    user.put(f"/skills/{made['id']}", {"content": REVIEW + "3. 总结\n"})
    data = user.get("/skills")
    conforms(data["items"][0], LISTED)
    assert (data["total"], data["page"], data["page_size"], data["pages"]) == (1, 1, 20, 1)
    assert data["items"][0]["version"] == 2
    assert "content" not in data["items"][0]


def test_8_2_detail_of_a_skill(user: Api):
    made = reviewing(user)
    data = user.get(f"/skills/{made['id']}")
    conforms(data, LISTED | {"content": "# SKILL: 代码审查"})
    assert data["content"] == REVIEW
    assert data["owner"] == {"id": user.user_id, "username": user.name}


def test_8_3_creation_of_a_skill(user: Api):
    data = user.post("/skills", CREATED)
    assert {name: data[name] for name in CREATED} == CREATED
    assert (data["version"], data["access"], data["valid"]) == (1, "owner", True)


def test_8_4_update_of_a_skill_makes_a_version(user: Api):
    made = user.post("/skills", CREATED)
    content = CREATED["content"] + "\n\n## 步骤\n\n1. 写"
    body = {"name": "日报生成", "content": content, "change_note": "修复了日期格式问题"}
    data = user.put(f"/skills/{made['id']}", body)
    assert (data["version"], data["content"], data["is_new_version"]) == (2, content, True)
    again = user.put(f"/skills/{made['id']}", body)
    assert (again["version"], again["is_new_version"]) == (2, False)
    versions = user.get(f"/skills/{made['id']}/versions")["items"]
    assert [version["change_note"] for version in versions] == ["修复了日期格式问题", ""]


def test_8_5_deletion_of_a_skill_leaves_nothing(server: Server, user: Api):
    made = reviewing(user)
    user.delete(f"/skills/{made['id']}")
    user.refused(SkillNotFound, "GET", f"/skills/{made['id']}")
    for table in ("skill_version", "skill_blob", "skill_term", "skill_tag"):
        assert server.count(table, skill_id=made["id"]) == 0


def test_8_6_validation_of_a_content(someone: Api, server: Server):
    data = someone.post("/skills/validate", {"content": REVIEW})
    assert data["valid"] is True
    assert data["parsed"]["name"] == "代码审查"
    assert data["parsed"]["trigger_conditions"] == ["用户请求审查代码"]
    assert [step["index"] for step in data["parsed"]["steps"]] == [1, 2]
    assert data["parsed"]["input_params"] == []
    assert isinstance(data["warnings"], list)
    broken = someone.post("/skills/validate", {"content": "# SKILL: x\n\ntext \x00"})
    assert (broken["valid"], broken["parsed"]) == (False, None)
    (error,) = broken["errors"]
    assert (error["code"], error["line"]) == ("SK015", 3)
    lacking = someone.post("/skills/validate", {"content": "# SKILL: x"})
    assert "SK005" in [diagnostic["code"] for diagnostic in lacking["errors"]]
    assert server.count("skill", owner_id=someone.user_id) == 0


WRONG_TOOL = CREATED["content"] + "\n\n## 步骤\n\n1. 使用工具：`search_knowledge_bas`\n"


def codes(report: dict) -> set[str]:
    return {diagnostic["code"] for diagnostic in report["diagnostics"]}


def test_validation_knows_the_tools_and_the_other_skills_of_the_caller(user: Api, other: Api):
    made = user.post("/skills", {"content": WRONG_TOOL})

    (found,) = [diagnostic for diagnostic in made["diagnostics"] if diagnostic["code"] == "SK043"]
    assert found["fix"]["edits"][0]["replacement"] == "search_knowledge_base"
    again = user.post("/skills/validate", {"content": WRONG_TOOL})
    assert {"SK043", "SK062"} <= codes(again)
    itself = user.post("/skills/validate", {"content": WRONG_TOOL, "skill_id": made["id"]})
    assert "SK062" not in codes(itself) | codes(made)
    # Nobody learns of a skill that they may not see.
    assert "SK062" not in codes(other.post("/skills/validate", {"content": WRONG_TOOL}))
    right = user.put(f"/skills/{made['id']}", {"content": WRONG_TOOL.replace("_bas`", "_base`")})
    assert not {"SK043", "SK062"} & codes(right)


def test_8_7_export_of_a_skill(user: Api):
    made = reviewing(user)
    answer = user.request("GET", f"/skills/{made['id']}/export")
    assert answer.headers["Content-Type"] == "text/markdown; charset=utf-8"
    assert answer.headers["Content-Disposition"] == (
        f"attachment; filename=\"{made['slug']}.md\"; filename*=UTF-8''%E4%BB%A3%E7%A0%81%E5%AE%A1%E6%9F%A5.md"
    )
    assert answer.content == REVIEW.encode()
    assert answer.headers["ETag"] == f'"{made["content_sha256"]}"'
    user.put(f"/skills/{made['id']}", {"content": REPORT})
    old = user.request("GET", f"/skills/{made['id']}/export", params={"version": 1})
    assert old.content == REVIEW.encode()


def test_8_8_history_of_versions(user: Api):
    made = reviewing(user, change_note="first")
    user.put(f"/skills/{made['id']}", {"content": REPORT, "change_note": "second"})
    newest, first = user.get(f"/skills/{made['id']}/versions")["items"]
    assert (newest["version"], newest["change_note"], first["change_note"]) == (
        2,
        "second",
        "first",
    )
    assert newest["author"] == {"id": user.user_id, "username": user.name}
    assert first["content_sha256"] == made["content_sha256"]
    detail = user.get(f"/skills/{made['id']}/versions/1")
    assert (detail["content"], detail["parsed"]["name"]) == (REVIEW, "代码审查")
    path = f"/skills/{made['id']}/versions/3"
    user.refused(SkillVersionNotFound, "GET", path)


def test_8_8_history_comes_in_pages(user: Api):
    made = reviewing(user)
    path = f"/skills/{made['id']}/versions"
    for number in (2, 3):
        user.put(f"/skills/{made['id']}", {"content": f"{REVIEW}{number + 1}. 总结\n"})

    def page(**params: object) -> tuple[list[int], int, int]:
        found = user.get(path, **params)
        return [item["version"] for item in found["items"]], found["total"], found["pages"]

    assert page() == ([3, 2, 1], 3, 1)
    assert page(page_size=2) == ([3, 2], 3, 2)
    assert page(page_size=2, page=2) == ([1], 3, 2)
    assert page(page=9) == ([], 3, 1)
    assert page(sort_by="created_at", sort_order="asc", page_size=1) == ([1], 3, 3)
    wrong = {"params": {"sort_by": "size"}}
    assert user.refused(InvalidPagination, "GET", path, **wrong)["field"] == "sort_by"


def test_content_is_kept_byte_for_byte(user: Api):
    content = "\ufeff# SKILL: 日报\r\n\r\n## 描述\r\n\r\n写日报 😀\t \r\n\r\n\r\n"
    made = user.post("/skills", {"content": content})
    exported = user.request("GET", f"/skills/{made['id']}/export")
    assert exported.content == content.encode()
    assert user.get(f"/skills/{made['id']}")["content"] == content


def test_lost_update_is_refused_by_header_and_by_base_version(user: Api):
    made = reviewing(user)
    path = f"/skills/{made['id']}"
    tag = user.request("GET", path).headers["ETag"]
    first = user.request("PUT", path, json={"content": REPORT}, headers={"If-Match": tag})
    assert check_success(first)["version"] == 2
    other = {"content": REVIEW + "\n"}
    late = user.request("PUT", path, json=other, headers={"If-Match": tag})
    assert check_error(late, SkillChanged)["version"] == 2
    user.refused(SkillChanged, "PUT", path, json=other | {"base_version": 1})
    assert user.get(path)["content"] == REPORT
    assert user.put(path, other | {"base_version": 2})["version"] == 3
    for tag in ("3", '"3"', '"x"', 'W/"3.3"', f'"{made["content_sha256"]}"'):
        options = {"json": {}, "headers": {"If-Match": tag}}
        user.refused(InvalidRequest, "PUT", path, **options)


def test_of_two_updates_at_once_from_the_same_version_one_is_refused(user: Api):
    path = f"/skills/{reviewing(user)['id']}"

    def change(number: int) -> int:
        body = {"content": f"{REPORT}{number}. more\n", "base_version": 1}
        return user.request("PUT", path, json=body).json()["code"]

    with ThreadPoolExecutor(6) as pool:
        codes = sorted(pool.map(change, range(3, 9)))
    assert codes == [0] + [SkillChanged.code] * 5
    assert user.get(path)["version"] == 2


def test_of_two_creations_at_once_with_the_same_slug_one_is_refused(user: Api):
    def create(_: int) -> int:
        body = {"content": REPORT, "slug": "report"}
        return user.request("POST", "/skills", json=body).json()["code"]

    with ThreadPoolExecutor(6) as pool:
        codes = sorted(pool.map(create, range(6)))
    assert codes == [0] + [SkillSlugTaken.code] * 5


def test_names_may_repeat_and_slugs_get_a_number(user: Api, other: Api):
    slugs = [user.post("/skills", {"content": REPORT})["slug"] for _ in range(3)]
    assert slugs == ["daily-report", "daily-report-2", "daily-report-3"]
    assert other.post("/skills", {"content": REPORT})["slug"] == "daily-report"
    body = {"content": REPORT, "slug": "Daily Report"}
    user.refused(InvalidRequest, "POST", "/skills", json=body)


def test_catalogue_follows_the_content_until_a_request_says_otherwise(user: Api):
    made = user.post("/skills", {"content": REPORT})
    path = f"/skills/{made['id']}"
    assert made["name"] == "Daily report"
    assert made["description"].startswith("Writes a daily report")
    renamed = REPORT.replace("Daily report", "Evening report")
    assert user.put(path, {"content": renamed})["name"] == "Evening report"
    named = user.put(path, {"name": "Mine"})
    assert (named["name"], named["version"]) == ("Mine", 2)
    (notice,) = [diagnostic for diagnostic in named["diagnostics"] if diagnostic["code"] == "CAT001"]
    assert (notice["severity"], "name" in notice["message"]) == ("info", True)
    assert user.put(path, {"content": REPORT})["name"] == "Mine"
    assert user.put(path, {"name": ""})["name"] == "Daily report"


def test_list_is_narrowed_by_category_tag_words_and_page(user: Api):
    for content, category, tags in (
        (REVIEW, "开发工具", ["代码", "审查"]),
        (REPORT, "Writing", ["Daily", "Work"]),
    ):
        user.post("/skills", {"content": content, "category": category, "tags": tags})

    def names(**params: object) -> list[str]:
        return [item["name"] for item in user.get("/skills", **params)["items"]]

    assert names(category="writing") == ["Daily report"]
    assert names(tag="审查") == ["代码审查"]
    assert names(tag="daily", category="开发工具") == []
    for words in ("daily", "report daily", "dai", "reports", "DAILY", "daily-report"):
        assert names(q=words) == ["Daily report"], words
    for words in ("代码", "审", "代码审查", "请求审查"):
        assert names(q=words) == ["代码审查"], words
    for words in ("zebra", "daily zebra", "!?", " "):
        assert names(q=words) == [], words
    assert names(sort_by="name", sort_order="asc") == ["Daily report", "代码审查"]
    page = user.get("/skills", page=2, page_size=1, sort_by="name", sort_order="asc")
    assert ([item["name"] for item in page["items"]], page["total"], page["pages"]) == (
        ["代码审查"], 2, 2,
    )  # fmt: skip
    user.refused(InvalidPagination, "GET", "/skills", params={"sort_by": "content"})


def test_skill_with_errors_is_kept_and_one_that_is_no_text_is_not(user: Api):
    made = user.post("/skills", {"content": "notes without a heading", "name": "Notes"})
    assert (made["valid"], made["name"]) == (False, "Notes")
    assert any(diagnostic["severity"] == "error" for diagnostic in made["diagnostics"])
    large = {"content": "# SKILL: x\n" + "x" * (256 * 1024)}
    details = user.refused(UnreadableSkill, "POST", "/skills", json=large)
    assert details["diagnostics"][0]["code"] == "SK052"
    assert user.get("/skills")["total"] == 1


def test_restored_version_is_a_new_one_with_the_old_bytes(user: Api):
    path = f"/skills/{reviewing(user)['id']}"
    user.put(path, {"content": REPORT})
    restored = user.post(f"{path}/versions/1/restore", {"change_note": "back"})
    assert (restored["version"], restored["content"], restored["name"]) == (3, REVIEW, "代码审查")
    newest = user.get(f"{path}/versions")["items"][0]
    assert (newest["restored_from"], newest["change_note"]) == (1, "back")
    assert user.post(f"{path}/versions/1/restore", {})["is_new_version"] is False
    late = {"json": {"base_version": 1}}
    user.refused(SkillChanged, "POST", f"{path}/versions/2/restore", **late)


def test_difference_of_versions_is_told_line_by_line_and_in_meaning(user: Api):
    path = f"/skills/{user.post('/skills', {'content': REPORT})['id']}"
    wider = REPORT.replace("- search_knowledge_base", "- search_knowledge_base\n- send_mail")
    user.put(path, {"content": wider})
    told = user.get(f"{path}/diff")
    assert (told["from_version"], told["to_version"], told["breaking"]) == (1, 2, True)
    assert "+- send_mail" in told["text"].splitlines()
    assert told["semantic"]["tools"]["added"] == ["send_mail"]
    back = user.get(f"{path}/diff", **{"from": 2, "to": 1})
    assert (back["breaking"], back["semantic"]["tools"]["removed"]) == (False, ["send_mail"])
    user.refused(SkillVersionNotFound, "GET", f"{path}/diff", params={"to": 1})


def test_files_beside_the_content_are_versions_too(user: Api):
    path = f"/skills/{reviewing(user)['id']}"
    script = b"print('hi')\r\n\x00"
    put = user.request("PUT", f"{path}/files/scripts/run.py?change_note=add", content=script)
    assert check_success(put)["version"] == 2
    again = user.request("PUT", f"{path}/files/scripts/run.py", content=script)
    assert check_success(again)["is_new_version"] is False
    (entry,) = user.get(f"{path}/files")["items"]
    assert (entry["path"], entry["size"]) == ("scripts/run.py", len(script))
    read = user.request("GET", f"{path}/files/scripts/run.py")
    assert read.content == script
    assert read.headers["Content-Disposition"] == "attachment; filename=\"run.py\"; filename*=UTF-8''run.py"
    user.put(path, {"content": REPORT})
    assert user.get(f"{path}/files")["items"] == [entry]
    user.delete(f"{path}/files/scripts/run.py")
    assert user.get(f"{path}/files") == {"version": 4, "items": [], "total": 0}
    old = user.request("GET", f"{path}/files/scripts/run.py", params={"version": 3})
    assert old.content == script
    for method in ("GET", "DELETE"):
        user.refused(SkillFileNotFound, method, f"{path}/files/scripts/run.py")


@one_shape
@pytest.mark.parametrize("name", ["a\\b", "C:x", "SKILL.md", "skill.md/x", "a%0ab", "%2e%2e/a"])
def test_file_that_an_import_would_refuse_is_refused(user: Api, name: str):
    path = f"/skills/{reviewing(user)['id']}"
    answer = user.request("PUT", f"{path}/files/{name}", content=b"x")
    assert answer.status_code in {400, 404}, answer.text
    assert user.get(path)["version"] == 1


@one_shape
def test_program_in_machine_code_is_refused_with_its_reason(user: Api):
    path = f"/skills/{reviewing(user)['id']}/files/scripts/x"
    details = user.refused(SkillFilesRefused, "PUT", path, content=b"\x7fELF rest")
    (problem,) = details["problems"]
    assert (problem["code"], problem["path"]) == ("executable", "scripts/x")


@one_shape
def test_skills_are_limited_by_permissions_and_scopes_of_keys(server: Server, user: Api):
    made = reviewing(user)
    key = user.post("/users/me/api-keys", {"name": unique("key"), "scopes": ["skill:view"]})
    reader = server.api(**{"X-API-Key": key["key"]})
    assert reader.get(f"/skills/{made['id']}")["content"] == REVIEW
    reader.post("/skills/validate", {"content": REVIEW})
    for method, path in (("POST", "/skills"), ("PUT", f"/skills/{made['id']}")):
        reader.refused(PermissionDenied, method, path, json={"content": REVIEW})
    nobody = server.api()
    nobody.refused(NotAuthenticated, "POST", "/skills", content=b"{not json")


def test_fixes_are_applied_to_the_named_places_only(user: Api):
    content = "\ufeff" + REPORT.replace("# SKILL: Daily", "# Daily") + "\n## Notes\n\n```\ncode\n"
    made = user.post("/skills", {"content": content})
    fixable = [diagnostic for diagnostic in made["diagnostics"] if diagnostic["fix"]]
    assert len({diagnostic["code"] for diagnostic in fixable}) > 1
    path = f"/skills/{made['id']}"
    first = fixable[0]
    place = {"code": first["code"], "line": first["line"], "column": first["column"]}
    fixed = user.post(f"{path}/apply-fix", {"fixes": [place]})
    assert fixed["version"] == 2
    assert first["code"] not in [diagnostic["code"] for diagnostic in fixed["diagnostics"]]
    body = {"json": {"fixes": [place]}}
    user.refused(InvalidRequest, "POST", f"{path}/apply-fix", **body)
    assert fixed["fixed"] == [first["code"]]
    whole = user.post(f"{path}/apply-fix", {})
    assert [diagnostic for diagnostic in whole["diagnostics"] if diagnostic["fix"]] == []
    assert whole["left"] == len(whole["diagnostics"])
    again = user.post(f"{path}/apply-fix", {})
    assert (again["fixed"], again["is_new_version"]) == ([], False)


@one_shape
def test_fixes_go_on_with_what_they_bring_to_light(user: Api):
    content = "# SKILL: a\n\n## Description\n\nText.\n\n## Workflw\n\n1. x\n3. y\n"
    path = f"/skills/{user.post('/skills', {'content': content})['id']}"
    # The numbers of steps are looked at where a heading says that there are steps.
    once = user.post(f"{path}/apply-fix", {"fixes": [{"code": "SK020"}]})
    assert (
        once["fixed"],
        "SK045" in {diagnostic["code"] for diagnostic in once["diagnostics"]},
    ) == (
        ["SK020"],
        True,
    )
    user.put(path, {"content": content})
    whole = user.post(f"{path}/apply-fix", {})
    assert whole["content"].endswith("## Workflow\n\n1. x\n2. y\n")
    assert {"SK020", "SK045"} <= set(whole["fixed"])
    assert whole["version"] == 4
