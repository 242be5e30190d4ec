"""Knowledge bases that are kept in step with Confluence, of the cloud and of the data center."""

from collections.abc import Iterator
from typing import Any

import pytest

from core.errors.requests import InvalidRequest, UrlNotAllowed
from tests.fixtures.http.client import Api
from tests.fixtures.knowledge.knowledge_sources import Source, allowed_targets
from tests.fixtures.product.server import Server
from tests.fixtures.servers.web_site import web_site
from tests.fixtures.wikis.confluence_server import EMAIL, ConfluenceServer
from tests.fixtures.wikis.rest_server import Answer, serving

OTTER = """<h2>Food</h2><p>The otter eats&nbsp;crayfish &amp; fish.</p>
<ac:structured-macro ac:name="toc"><ac:parameter ac:name="maxLevel">2</ac:parameter></ac:structured-macro>
<ac:structured-macro ac:name="code"><ac:parameter ac:name="language">py</ac:parameter>
<ac:plain-text-body><![CDATA[if a < b: print("&nbsp;")]]></ac:plain-text-body></ac:structured-macro>
<ac:structured-macro ac:name="info"><ac:parameter ac:name="title">Mind</ac:parameter>
<ac:rich-text-body><p>It bites.</p></ac:rich-text-body></ac:structured-macro>
<p>See <ac:link><ri:page ri:content-title="The heron" /></ac:link> and
<ac:link><ri:page ri:content-title="X"/><ac:plain-text-link-body><![CDATA[the owl]]></ac:plain-text-link-body></ac:link>
<script>alert(1)</script><ac:structured-macro ac:name="status"><ac:parameter ac:name="title">DONE</ac:parameter>
</ac:structured-macro></p>
<ac:task-list><ac:task><ac:task-id>7</ac:task-id><ac:task-status>complete</ac:task-status>
<ac:task-body>Feed it</ac:task-body></ac:task></ac:task-list><table><tbody><tr><td colspan="2">Weight</td></tr></tbody>
</table>"""


@pytest.fixture
def writer(embedded: Server) -> Api:
    return embedded.person()


@pytest.fixture(params=["cloud", "data_center"])
def confluence(embedded: Server, request: pytest.FixtureRequest) -> Iterator[ConfluenceServer]:
    """A site with four pages in one space and one in another, which the product may connect to."""
    service = ConfluenceServer(is_cloud=request.param == "cloud")
    with serving(service), serving(service.media), allowed_targets(embedded, service.port, service.media.port):
        service.add("The otter / a fisher", OTTER, labels=("water",))
        service.add("The heron", "<p>Herons eat frogs.</p>", labels=("water", "bird"))
        service.add("The owl", "<p>Owls eat mice.</p>", labels=("bird",))
        service.add("The vole", "<p>Voles eat grass.</p>")
        service.add("Results", "<p>Secret</p>", space="LAB")
        yield service


def make_source(writer: Api, confluence: ConfluenceServer, **settings: Any) -> Source:
    place = {
        "url": confluence.url("/wiki" if confluence.is_cloud else ""),
        "edition": "cloud" if confluence.is_cloud else "data_center",
        "spaces": ["ZOO"],
        **settings,
    }
    credentials = {"token": confluence.token} | ({"email": EMAIL} if confluence.is_cloud else {})
    return Source(writer, writer.create_kb(), "confluence", place, credentials=credentials)


def bodies(confluence: ConfluenceServer) -> int:
    return sum(number for path, number in confluence.calls.items() if path.rpartition("/")[2].isdecimal())


def test_knowledge_base_equals_the_space_after_each_change(writer: Api, confluence: ConfluenceServer):
    source = make_source(writer, confluence)
    sync = source.wait()
    assert (sync["status"], sync["counts"]) == ("completed", {"created": 4}), sync
    first, contents = source.documents(), source.contents()
    assert {*first} == {f"ZOO › The {name}.html" for name in ("otter - a fisher", "heron", "owl", "vole")}
    _is_readable(contents["ZOO › The otter - a fisher.html"])
    otter = first["ZOO › The otter - a fisher.html"]
    base = confluence.url("/wiki" if confluence.is_cloud else "")
    assert otter["metadata"] == {"url": f"{base}/spaces/ZOO/pages/500", "space": "ZOO"}
    assert bodies(confluence) == 4
    assert source.sync()["counts"] == {"unchanged": 4}
    assert bodies(confluence) == 4

    confluence.change("500", title="Otters")
    confluence.change("501", body="<p>Herons eat fish.</p>")
    confluence.move("502", "archived")
    confluence.add("The marten", "<p>Martens eat berries.</p>")
    assert source.sync()["counts"] == {"updated": 2, "unchanged": 1, "created": 1, "deleted": 1}
    after = source.documents()
    assert {*after} == {f"ZOO › {name}.html" for name in ("Otters", "The heron", "The vole", "The marten")}
    assert after["ZOO › Otters.html"]["id"] == otter["id"]
    assert "Herons eat fish." in source.contents()["ZOO › The heron.html"]

    confluence.move("500", "trashed")
    confluence.restrict("503")
    assert source.sync()["counts"] == {"unchanged": 2, "deleted": 2}
    # Everything that the account sees, then only what has one of the labels.
    source.update(spaces=[])
    assert source.sync()["counts"] == {"unchanged": 2, "created": 1}
    source.update(labels=["bird", "fish"], spaces=["ZOO"])
    assert source.sync()["counts"] == {"unchanged": 1, "deleted": 2}


def _is_readable(page: str) -> None:
    assert "<h1>The otter / a fisher</h1>" in page
    assert "The otter eats\xa0crayfish &amp; fish." in page
    assert '<pre>if a &lt; b: print("&amp;nbsp;")</pre>' in page
    assert "<p><strong>Mind</strong></p>" in page
    assert "See The heron and\nthe owl" in page
    assert "DONE" in page
    assert "[x] " in page
    assert '<td colspan="2">Weight</td>' in page
    assert "<script" not in page
    assert not any(word in page for word in ("maxLevel", ">py<", "7Feed", ">7"))


def test_a_site_that_is_away_or_refuses_deletes_nothing(writer: Api, confluence: ConfluenceServer):
    source = make_source(writer, confluence)
    source.wait()

    def reason() -> str:
        sync = source.sync()
        assert sync["status"] == "failed", sync
        assert confluence.token not in str(sync)
        return sync["failure"]["reason"]

    confluence.is_away = True
    assert reason() == "no_answer"
    confluence.is_away, confluence.is_circular = False, True
    assert reason() == "endless_listing"
    confluence.is_circular = False
    confluence.next_answers.append(Answer({}, 429, {"Retry-After": "3600"}))
    assert reason() == "rate_limited"
    confluence.next_answers.append(Answer({"results": [{"id": "../../x", "title": "", "version": {"number": 1}}]}))
    assert reason() == "unexpected_answer"
    confluence.next_answers.extend([Answer({}, 429, {"Retry-After": "0"}), Answer({}, 503, {"Retry-After": "1"})])
    assert source.sync()["counts"] == {"unchanged": 4}
    with web_site() as inside:
        confluence.next_answers.append(Answer({}, 302, {"Location": inside.url("/login")}))
        assert reason() == "elsewhere"
        assert not inside.sent
    source.update(spaces=["ZOO", "NONE"])
    assert reason() == ("no_space" if confluence.is_cloud else "not_found")
    source.update(spaces=["ZOO"], cql='creator = "bad"')
    assert reason() == "refused"
    source.update(cql="")
    confluence.token = "ATATT-revoked"
    assert reason() == "wrong_credentials"
    assert len(source.contents()) == 4


def test_files_on_pages_become_documents(writer: Api, confluence: ConfluenceServer):
    confluence.attach("500", "weights.csv", b"animal,weight\notter,9\n")
    confluence.attach("500", "logo.exe", b"MZ")
    confluence.attach("501", "food.txt", b"frogs")
    confluence.attach("503", "huge.txt", b"x" * (3 * 2**20))
    source = make_source(writer, confluence, attachments=True)
    assert source.wait()["counts"] == {"created": 6, "failed": 1}
    assert source.failures() == {"att5038": "too_large"}
    name = "ZOO › The otter - a fisher › weights.csv"
    assert source.contents()[name] == "animal,weight\notter,9\n"
    assert source.documents()[name]["metadata"]["attachment"] == "weights.csv"
    read = confluence.asked("/download/")
    assert source.sync()["counts"] == {"unchanged": 6, "failed": 1}
    assert confluence.asked("/download/") == read

    confluence.attach("500", "weights.csv", b"animal,weight\notter,8\n")
    confluence.move("501", "trashed")
    assert source.sync()["counts"] == {"unchanged": 3, "updated": 1, "deleted": 2, "failed": 1}
    assert source.contents()[name].endswith("otter,8\n")
    source.update(attachments=False)
    assert source.sync()["counts"] == {"unchanged": 3, "deleted": 1}


def test_pages_that_cannot_be_read_fail_alone(writer: Api, confluence: ConfluenceServer):
    source = make_source(writer, confluence)
    source.wait()
    confluence.change("500", body="<p>Not closed")
    confluence.change("501", body='<!DOCTYPE a [<!ENTITY b "c">]><p>&b;</p>')
    confluence.change("502", body="<p>" + "x" * (3 * 2**20) + "</p>")
    assert source.sync()["counts"] == {"unchanged": 1, "failed": 3}
    assert source.failures() == {"500": "unexpected_answer", "501": "unexpected_answer", "502": "too_large"}
    assert len(source.contents()) == 4


def test_settings_of_sites_are_checked(writer: Api):
    path = f"/knowledge-bases/{writer.create_kb()}/sources"

    def refused(error: Any, **settings: Any) -> dict[str, Any]:
        body = {"name": "wrong", "connector": "confluence", "settings": {"url": "https://a.atlassian.net", **settings}}
        return writer.refused(error, "POST", path, json=body)

    assert refused(InvalidRequest, spaces=['A" or space = "B'])["field"] == "settings.spaces.0"
    assert refused(InvalidRequest, labels=['a") or ("'])["field"] == "settings.labels.0"
    for url in ("https://a.atlassian.net/wiki?x=1", "https://me:token@a.atlassian.net"):
        assert refused(InvalidRequest, url=url)["field"] == "settings.url"
    refused(UrlNotAllowed, url="http://127.0.0.1:9/wiki")
