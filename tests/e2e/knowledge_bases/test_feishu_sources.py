"""Knowledge bases that are kept in step with wikis and folders of Feishu."""

from collections.abc import Iterator
from typing import Any

import pytest

from core.errors.requests import InvalidRequest, UrlNotAllowed
from tests.fixtures.http.client import Api
from tests.fixtures.knowledge.knowledge_sources import Source, allowed_targets
from tests.fixtures.product.server import Server
from tests.fixtures.servers.web_site import web_site
from tests.fixtures.wikis.feishu_server import APP_ID, FOLDER, SPACE, FeishuServer, text
from tests.fixtures.wikis.rest_server import Answer, serving

LIST = f"/open-apis/wiki/v2/spaces/{SPACE}/nodes"
OTTER: tuple[dict[str, Any], ...] = (
    {"block_type": 3, "heading1": text("Food")},
    {"block_type": 2, "text": text("# Crayfish", bold=True)},
    {"block_id": "list", "block_type": 12, "bullet": text("fish"), "children": ["inner"]},
    {"block_id": "inner", "block_type": 12, "bullet": text("eels")},
    {"block_type": 12, "bullet": text("frogs")},
    {"block_type": 17, "todo": text("Feed it") | {"style": {"done": True}}},
    {"block_type": 14, "code": text("if a:\n    b = '```'")},
    {"block_id": "call", "block_type": 19, "callout": {}, "children": ["said"]},
    {"block_id": "said", "block_type": 2, "text": text("It bites.", link={"url": "https%3A%2F%2Fexample.org%2Fotter"})},
    {"block_id": "table", "block_type": 31, "table": {"cells": ["a", "b", "c", "d"], "property": {"column_size": 2}}},
    *({"block_id": name, "block_type": 32, "table_cell": {}, "children": [f"{name}1"]} for name in "abcd"),
    *({"block_id": f"{name}1", "block_type": 2, "text": text(f"cell {name}")} for name in "abcd"),
    {"block_id": "loop", "block_type": 24, "grid": {}, "children": ["loop2"]},
    {"block_id": "loop2", "block_type": 25, "grid_column": {}, "children": ["loop"]},
)
OTTER_MARKDOWN = """# The otter

## Food

**# Crayfish**

- fish
   - eels
- frogs
- [x] Feed it

````
if a:
    b = '```'
````

> [It bites.](https://example.org/otter)

| cell a | cell b |
| --- | --- |
| cell c | cell d |
"""


@pytest.fixture
def writer(embedded: Server) -> Api:
    return embedded.person()


@pytest.fixture
def feishu(embedded: Server) -> Iterator[FeishuServer]:
    """A space with five pages on two levels and a sheet, which the product may connect to."""
    with serving(FeishuServer()) as service, allowed_targets(embedded, service.port):
        service.add("The otter", *OTTER)
        birds = service.add("Birds / all", {"block_type": 2, "text": text("Birds fly.")})
        service.add("The heron", {"block_type": 2, "text": text("Herons eat frogs.")}, parent=birds)
        service.add("The owl", {"block_type": 2, "text": text("Owls eat mice.")}, parent=birds)
        service.add("The tern", {"block_type": 2, "text": text("Terns eat fish.")}, parent=birds)
        service.add("Weights", kind="sheet")
        yield service


def make_source(writer: Api, feishu: FeishuServer, **settings: Any) -> Source:
    place = {"url": feishu.url(), **(settings or {"space_id": SPACE})}
    credentials = {"app_id": APP_ID, "app_secret": feishu.secret}
    return Source(writer, writer.create_kb(), "feishu", place, credentials=credentials)


def test_knowledge_base_equals_the_space_after_each_change(writer: Api, feishu: FeishuServer):
    source = make_source(writer, feishu)
    sync = source.wait()
    assert (sync["status"], sync["counts"]) == ("completed", {"created": 5}), sync
    first, contents = source.documents(), source.contents()
    assert {*first} == {"The otter.md", "Birds - all.md", "The heron.md", "The owl.md", "The tern.md"}
    assert contents["The otter.md"] == OTTER_MARKDOWN
    read = feishu.asked("/docx/")
    assert source.sync()["counts"] == {"unchanged": 5}
    # One token is enough for a sync, and no document is read.
    assert (feishu.asked("/docx/"), feishu.signed_in) == (read, 2)

    feishu.rename("wikcn3", "The grey heron")
    feishu.change("wikcn4", {"block_type": 2, "text": text("Owls eat voles.")})
    feishu.delete("wikcn5")
    feishu.add("The marten", {"block_type": 2, "text": text("Martens eat berries.")}, parent="wikcn4")
    assert source.sync()["counts"] == {"updated": 1, "renamed": 1, "unchanged": 2, "created": 1, "deleted": 1}
    after = source.documents()
    assert {*after} == {"The otter.md", "Birds - all.md", "The grey heron.md", "The owl.md", "The marten.md"}
    assert after["The grey heron.md"]["id"] == first["The heron.md"]["id"]
    assert "Owls eat voles." in source.contents()["The owl.md"]

    # A page with what is below it.
    source.update(space_id="", node_token="wikcn2")
    assert source.sync()["counts"] == {"unchanged": 4, "deleted": 1}


def test_documents_of_a_folder_and_of_those_in_it(writer: Api, feishu: FeishuServer):
    for name in ("One", "Two", "Three"):
        feishu.add_file(name, {"block_type": 2, "text": text(f"Chapter {name}")})
    inner = feishu.add_file("More", kind="folder")
    feishu.add_file("Four", {"block_type": 2, "text": text("Chapter four")}, parent=inner)
    feishu.add_file("Numbers", kind="bitable")
    source = make_source(writer, feishu, folder_token=FOLDER)
    assert source.wait()["counts"] == {"created": 4}
    assert "Chapter four" in source.contents()["Four.md"]
    assert source.sync()["counts"] == {"unchanged": 4}


def test_a_service_that_is_away_or_refuses_deletes_nothing(writer: Api, feishu: FeishuServer):
    source = make_source(writer, feishu)
    source.wait()

    def reason() -> str:
        sync = source.sync()
        assert sync["status"] == "failed", sync
        assert feishu.secret not in str(sync)
        return sync["failure"]["reason"]

    feishu.is_away = True
    assert reason() == "no_answer"
    feishu.is_away, feishu.is_circular = False, True
    assert reason() == "endless_listing"
    feishu.is_circular = False
    limit = {"code": 99991400, "msg": "request trigger frequency limit"}
    feishu.next_answers.append(Answer(limit, 429, {"x-ogw-ratelimit-reset": "600"}))
    assert reason() == "rate_limited"
    feishu.next_answers.append(Answer(limit, 400, {"x-ogw-ratelimit-reset": "1"}))
    feishu.next_answers.append(Answer({"code": 2200, "msg": "internal error"}, 500, {"Retry-After": "0"}))
    assert source.sync()["counts"] == {"unchanged": 5}
    feishu.next_answers.append(Answer({"code": 99991672, "msg": "Access denied. One of the following scopes"}, 400))
    assert reason() == "access_denied"
    with web_site() as inside:
        feishu.redirects[LIST] = inside.url(LIST)
        assert reason() == "elsewhere"
        feishu.redirects.clear()
        assert not inside.sent
    source.update(space_id="7000000000000000009")
    assert reason() == "access_denied"
    source.update(space_id="", node_token="wikcnGone")
    assert reason() == "not_found"
    source.update(space_id=SPACE, node_token="")
    feishu.secret = "secret-new"
    assert reason() == "wrong_credentials"
    assert len(source.contents()) == 5


def test_documents_that_cannot_be_read_fail_alone(writer: Api, feishu: FeishuServer):
    source = make_source(writer, feishu)
    source.wait()
    feishu.change("wikcn1", {"block_type": 2, "text": text("x" * (3 * 2**20))})
    feishu.change("wikcn3", {"block_type": [2], "text": 7, "children": {"a": 1}})
    feishu.change("wikcn4")
    feishu.statuses["/open-apis/docx/v1/documents/doxcn4/blocks"] = 451
    assert source.sync()["counts"] == {"unchanged": 2, "failed": 2, "updated": 1}
    assert source.failures() == {"doxcn1": "too_large", "doxcn4": "refused"}
    assert source.contents()["The heron.md"] == "# The heron\n"


def test_settings_of_wikis_are_checked(writer: Api):
    path = f"/knowledge-bases/{writer.create_kb()}/sources"

    def refused(error: Any, **settings: Any) -> dict[str, Any]:
        body = {"name": "wrong", "connector": "feishu", "settings": settings}
        return writer.refused(error, "POST", path, json=body)

    assert refused(InvalidRequest)["field"] == "settings.space_id"
    assert refused(InvalidRequest, space_id="7", folder_token="fld")["field"] == "settings.space_id"
    assert refused(InvalidRequest, space_id="../x")["field"] == "settings.space_id"
    refused(UrlNotAllowed, space_id="7", url="http://127.0.0.1:9")
