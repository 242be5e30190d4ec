"""Knowledge bases that are kept in step with Notion."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from core.errors.requests import InvalidRequest, UrlNotAllowed
from tests.fixtures.http.client import Api
from tests.fixtures.knowledge.knowledge_sources import Source, allowed_targets
from tests.fixtures.product.server import Server
from tests.fixtures.servers.web_site import web_site
from tests.fixtures.wikis.notion_server import DATABASE, NotionServer, block, rich
from tests.fixtures.wikis.rest_server import Answer, serving

CELLS = ([rich("Animal"), rich("Weight")], [rich("Otter"), rich("9 | kg")])
OTTER = (
    block("heading_1", "Food"),
    block("paragraph", rich_text=[*rich("Crayfish", annotations={"bold": True}), *rich(" and fish.")]),
    block("bulleted_list_item", "fish", block("bulleted_list_item", "eels")),
    block("bulleted_list_item", "frogs"),
    block("to_do", "Feed it", checked=True),
    block("code", "a = 1", language="python"),
    block("callout", "Mind", block("paragraph", "It bites.")),
    block("table", "", *(block("table_row", cells=row) for row in CELLS)),
    block("column_list", "", block("column", "", block("paragraph", "Left"))),
    block("bookmark", url="https://example.org/otter", caption=rich("More")),
    block("child_page", "", block("paragraph", "Another page's text"), title="The heron"),
    block("unsupported"),
)
OTTER_MARKDOWN = """# The otter

Kind: mammal  
Tags: water, fish  
Seen: yes

## Food

**Crayfish** and fish.

- fish
   - eels
- frogs
- [x] Feed it

```
a = 1
```

> Mind
>
> It bites.

| Animal | Weight |
| --- | --- |
| Otter | 9 \\| kg |

Left

[More](https://example.org/otter)

The heron
"""
PROPERTIES = {
    "Kind": {"id": "a", "type": "select", "select": {"name": "mammal"}},
    "Tags": {"id": "b", "type": "multi_select", "multi_select": [{"name": "water"}, {"name": "fish"}]},
    "Seen": {"id": "c", "type": "checkbox", "checkbox": True},
}


@pytest.fixture
def writer(embedded: Server) -> Api:
    return embedded.person()


@pytest.fixture
def notion(embedded: Server) -> Iterator[NotionServer]:
    """A workspace with five pages, two of them in a database, which the product may connect to."""
    with serving(NotionServer()) as service, allowed_targets(embedded, service.port):
        yield service


@pytest.fixture
def pages(notion: NotionServer) -> dict[str, str]:
    """The ids of the pages by name."""
    return {
        "otter": notion.add("The otter", *OTTER, properties=PROPERTIES),
        "vole": notion.add("The vole", block("paragraph", "Voles eat grass."), properties=PROPERTIES),
        "heron": notion.add("The heron / a fisher", block("paragraph", "Herons eat frogs.")),
        "owl": notion.add("The owl", block("paragraph", "Owls eat mice.")),
        "tern": notion.add("The tern", block("paragraph", "Terns eat fish.")),
    }


def make_source(writer: Api, notion: NotionServer, **settings: Any) -> Source:
    place = {"url": notion.url(), **settings}
    return Source(writer, writer.create_kb(), "notion", place, credentials={"token": notion.token})


def test_knowledge_base_equals_the_workspace_after_each_change(
    writer: Api, notion: NotionServer, pages: dict[str, str]
):
    source = make_source(writer, notion)
    sync = source.wait()
    assert (sync["status"], sync["counts"]) == ("completed", {"created": 5}), sync
    first, contents = source.documents(), source.contents()
    assert {*first} == {f"The {name}.md" for name in ("otter", "vole", "heron - a fisher", "owl", "tern")}
    assert contents["The otter.md"] == OTTER_MARKDOWN
    read = notion.asked("/v1/blocks/")
    assert source.sync()["counts"] == {"unchanged": 5}
    assert notion.asked("/v1/blocks/") == read

    notion.rename(pages["heron"], "The grey heron")
    notion.change(pages["owl"], block("paragraph", "Owls eat voles."))
    notion.trash(pages["tern"])
    notion.add("The marten", block("paragraph", "Martens eat berries."))
    assert source.sync()["counts"] == {"updated": 2, "unchanged": 2, "created": 1, "deleted": 1}
    after = source.documents()
    assert {*after} == {f"The {name}.md" for name in ("otter", "vole", "grey heron", "owl", "marten")}
    assert after["The grey heron.md"]["id"] == first["The heron - a fisher.md"]["id"]
    assert "Owls eat voles." in source.contents()["The owl.md"]

    notion.unshare(pages["vole"])
    assert source.sync()["counts"] == {"unchanged": 4, "deleted": 1}
    source.update(databases=[DATABASE], pages=[pages["owl"]])
    assert source.sync()["counts"] == {"unchanged": 2, "deleted": 2}


def test_a_page_that_was_just_edited_is_read_once_more(writer: Api, notion: NotionServer):
    page = notion.add("The otter", block("paragraph", "Otters eat fish."))
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:00.000Z")
    notion.change(page, block("paragraph", "Otters eat frogs."), at=now)
    source = make_source(writer, notion)
    source.wait()
    # Another edit within the same minute has the same time.
    notion.change(page, block("paragraph", "Otters eat eels."), at=now)
    assert source.sync()["counts"] == {"updated": 1}
    assert "eels" in source.contents()["The otter.md"]


def test_a_service_that_is_away_or_refuses_deletes_nothing(writer: Api, notion: NotionServer, pages: dict[str, str]):
    source = make_source(writer, notion)
    source.wait()

    def reason() -> str:
        sync = source.sync()
        assert sync["status"] == "failed", sync
        assert notion.token not in str(sync)
        return sync["failure"]["reason"]

    notion.is_away = True
    assert reason() == "no_answer"
    notion.is_away, notion.is_circular = False, True
    assert reason() == "endless_listing"
    notion.is_circular = False
    notion.next_answers.append(Answer({"code": "rate_limited"}, 429, {"Retry-After": "900"}))
    assert reason() == "rate_limited"
    notion.next_answers.append(Answer({"code": "rate_limited"}, 429, {"Retry-After": "1"}))
    notion.next_answers.append(Answer({"code": "service_unavailable"}, 503, {"Retry-After": "0"}))
    assert source.sync()["counts"] == {"unchanged": 5}
    with web_site() as inside:
        notion.redirects["/v1/search"] = inside.url("/")
        assert reason() == "refused"
        notion.redirects[f"/v1/pages/{pages['owl']}"] = inside.url("/")
        source.update(pages=[pages["owl"]])
        assert reason() == "elsewhere"
        assert not inside.sent
    source.update(pages=[], databases=["00000000-0000-0000-0000-00000000dead"])
    assert reason() == "not_found"
    notion.redirects.clear()
    source.update(databases=[])
    notion.token = "ntn_revoked"
    assert reason() == "wrong_credentials"
    assert len(source.contents()) == 5


def test_pages_that_cannot_be_read_fail_alone(writer: Api, notion: NotionServer, pages: dict[str, str]):
    source = make_source(writer, notion)
    source.wait()
    notion.change(pages["otter"], block("paragraph", "x" * (3 * 2**20)))
    notion.change(pages["owl"])
    notion.statuses[f"/v1/blocks/{pages['owl']}/children"] = 409
    notion.change(
        pages["tern"], block("paragraph", rich_text={"a": 1}), block("table", "", block("table_row", cells=7))
    )
    assert source.sync()["counts"] == {"unchanged": 2, "failed": 2, "updated": 1}
    assert source.failures() == {pages["otter"]: "too_large", pages["owl"]: "refused"}
    assert source.contents()["The tern.md"] == "# The tern\n"


def test_settings_of_workspaces_are_checked(writer: Api):
    path = f"/knowledge-bases/{writer.create_kb()}/sources"

    def refused(error: Any, **settings: Any) -> dict[str, Any]:
        body = {"name": "wrong", "connector": "notion", "settings": settings}
        return writer.refused(error, "POST", path, json=body)

    assert refused(InvalidRequest, pages=["../users"])["field"] == "settings.pages.0"
    assert refused(InvalidRequest, databases=["a" * 33])["field"] == "settings.databases.0"
    refused(UrlNotAllowed, url="http://127.0.0.1:9")
