"""Concurrent changes of skills: slow ones, and ones made from an older state."""

import asyncio
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from core.db.database import Database
from core.db.unit_of_work import unit_of_work
from core.errors.auth import SkillVersionNotFound
from core.errors.conflicts import SkillChanged
from core.errors.requests import InvalidRequest, UnreadableSkill
from core.errors.server import DatabaseUnavailable
from tests.fixtures.files.sample_files import zipped
from tests.fixtures.http.client import Api, check_error, check_success
from tests.fixtures.product.server import Server, one_shape
from tests.fixtures.skills.skill_texts import REPORT, REVIEW


@one_shape
def test_file_that_arrives_slowly_keeps_nobody_from_writing(user: Api, other: Api):
    path = f"/skills/{user.post('/skills', {'content': REPORT})['id']}"
    mine = other.post("/skills", {"content": REPORT})["id"]
    codes: list[int] = []

    def slowly() -> Iterator[bytes]:
        yield b"one half, "
        for number in range(5):
            body = {"name": f"name {number}"}
            codes.append(other.request("PUT", f"/skills/{mine}", json=body).status_code)
        yield b"the other half"

    put = user.request("PUT", f"{path}/files/notes.txt", content=slowly())
    assert check_success(put)["version"] == 2
    assert codes == [200] * 5


@one_shape
def test_content_is_judged_before_others_are_kept_from_writing(server: Server, user: Api):
    path = f"/skills/{user.post('/skills', {'content': REPORT})['id']}"
    large = {"content": "# SKILL: x\n" + "x" * (256 * 1024)}

    async def refused(database: Database) -> None:
        async with unit_of_work(database):
            for method, url, body, code in (
                ("PUT", path, large, UnreadableSkill),
                ("POST", f"{path}/versions/9/restore", {}, SkillVersionNotFound),
                ("POST", f"{path}/fork", {"version": 9}, SkillVersionNotFound),
            ):
                await asyncio.to_thread(user.refused, code, method, url, json=body)

    server.work(refused)


# SQLite lets one write at a time.
@pytest.mark.parametrize("server", ["external"], indirect=True)
def settled(request: Callable[[], httpx.Response]) -> int:
    """The code of an answer; where a busy machine made the wait for others too long, that of a second one."""
    code = request().json()["code"]
    return request().json()["code"] if code == DatabaseUnavailable.code else code


def test_imports_and_changes_of_the_same_skills_wait_for_each_other(user: Api):
    contents = {f"s-{number:02}": REPORT.replace("Daily report", f"S {number:02}") for number in range(20)}
    paths = {
        slug: f"/skills/{user.post('/skills', {'content': content, 'slug': slug})['id']}"
        for slug, content in contents.items()
    }
    archive = zipped({f"{slug}/SKILL.md": f"{text}\n3. Send\n" for slug, text in contents.items()})

    def take_in(_: int) -> int:
        parts, params = {"file": ("all.zip", archive)}, {"on_conflict": "new_version"}
        return settled(lambda: user.request("POST", "/skills/import", files=parts, params=params))

    def change(slug: str) -> int:
        body = {"content": f"{contents[slug]}4. Print\n"}
        return settled(lambda: user.request("PUT", paths[slug], json=body))

    with ThreadPoolExecutor(8) as pool:
        imports = pool.map(take_in, range(3))
        changes = pool.map(change, sorted(paths, reverse=True) * 2)
        assert {*imports, *changes} == {0}


def test_editors_of_one_catalogue_entry_do_not_overwrite_each_other(user: Api):
    path = f"/skills/{user.post('/skills', {'content': REPORT})['id']}"
    tag = user.request("GET", path).headers["ETag"]
    first = user.request("PUT", path, json={"name": "One"}, headers={"If-Match": tag})
    assert (check_success(first)["version"], first.headers["ETag"] == tag) == (1, False)
    late = user.request("PUT", path, json={"tags": ["two"]}, headers={"If-Match": tag})
    check_error(late, SkillChanged)
    assert (user.get(path)["name"], user.get(path)["tags"]) == ("One", [])
    again = {"json": {"tags": ["two"]}, "headers": {"If-Match": first.headers["ETag"]}}
    assert check_success(user.request("PUT", path, **again))["tags"] == ["two"]
    # Who says only which version was read guards the content.
    assert user.put(path, {"name": "Three", "base_version": 1})["name"] == "Three"
    before = user.request("GET", path).headers["ETag"]
    everything = {"content": REVIEW, "slug": "other", "is_public": True}
    after = user.request("PUT", path, json=everything).headers["ETag"]
    revisions = [int(etag.strip('"').partition(".")[2]) for etag in (before, after)]
    assert revisions[1] == revisions[0] + 1


def test_file_is_changed_only_by_who_read_it_as_it_is(user: Api):
    path = f"/skills/{user.post('/skills', {'content': REPORT})['id']}"
    url = f"{path}/files/notes.txt"

    def put(content: bytes, tag: str):
        return user.request("PUT", url, content=content, headers={"If-Match": tag})

    made = user.request("PUT", url, content=b"one")
    tag = user.request("GET", url).headers["ETag"]
    assert made.headers["ETag"] == tag
    user.request("PUT", f"{path}/files/other.txt", content=b"beside it")
    assert check_success(put(b"two", tag))["version"] == 4
    check_error(put(b"three", tag), SkillChanged)
    stale = {"headers": {"If-Match": tag}}
    user.refused(SkillChanged, "DELETE", url, **stale)
    whole = user.request("GET", path).headers["ETag"]
    assert check_success(put(b"four", whole))["version"] == 5
    check_error(put(b"five", whole), SkillChanged)
    assert user.request("GET", url).content == b"four"
    # The hash of a content says nothing of the files beside it.
    exported = user.request("GET", f"{path}/export").headers["ETag"]
    check_error(put(b"six", exported), SkillChanged)
    options = {"json": {"content": REVIEW}, "headers": {"If-Match": exported}}
    user.refused(InvalidRequest, "PUT", path, **options)
    fresh = {"headers": {"If-Match": user.request("GET", url).headers["ETag"]}}
    assert check_success(user.request("DELETE", url, **fresh))["files"][0]["path"] == "other.txt"
