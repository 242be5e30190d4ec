"""Knowledge bases that are kept in step with RSS, Atom and JSON feeds."""

import json
from collections.abc import Iterator
from html import escape
from typing import Any

import pytest

from tests.fixtures.http.client import Api
from tests.fixtures.knowledge.knowledge_sources import Source, allowed_targets
from tests.fixtures.product.server import Server
from tests.fixtures.servers.web_site import WebSite, web_site

FEED = "/feed.xml"
ATOM = """<?xml version="1.0"?><feed xmlns="http://www.w3.org/2005/Atom"><title>News</title>
<entry><id>urn:otter</id><title>The otter / a fisher</title><updated>2026-11-28T10:00:00Z</updated>
<link href="otter.html"/><content type="html">&lt;p&gt;The otter eats crayfish.&lt;/p&gt;</content></entry>
<entry><title type="text">Owls &amp; mice</title><link href="/owl.html"/><summary>Owls eat &lt;mice&gt;.</summary></entry>
</feed>"""


@pytest.fixture
def writer(embedded: Server) -> Api:
    return embedded.person()


@pytest.fixture
def site(embedded: Server) -> Iterator[WebSite]:
    """A site with a feed and two pages, which the product may connect to."""
    with web_site() as site, allowed_targets(embedded, site.port):
        site.link("/otter.html", "The otter")
        site.link("/heron.html", "The heron")
        yield site


def item(name: str, **fields: str) -> str:
    values = {"title": f"The {name}", "link": f"/{name}.html", **fields}
    texts = [f"<{tag}>{escape(text)}</{tag}>" for tag, text in values.items() if text]
    guid = f'<guid isPermaLink="false">id-{name}</guid>' if name else ""
    return "".join(["<item>", guid, *texts, "</item>"])


def rss(*items: str) -> str:
    return f'<?xml version="1.0"?><rss version="2.0"><channel><title>News</title>{"".join(items)}</channel></rss>'


def make_source(writer: Api, site: WebSite, path: str = FEED, **settings: Any) -> Source:
    return Source(writer, writer.create_kb(), "rss", {"url": site.url(path), **settings})


def test_pages_of_a_feed_come_and_stay_when_it_forgets_them(writer: Api, site: WebSite):
    site.pages[FEED] = rss(item("otter"), item("heron", pubDate="Sat, 28 Nov 2026 10:00:00 GMT"))
    source = make_source(writer, site)
    sync = source.wait()
    assert (sync["status"], sync["counts"], sync["is_cut"]) == ("completed", {"created": 2}, False)
    assert source.contents()["The otter.html"] == site.pages["/otter.html"]
    heron = source.documents()["The heron.html"]
    assert heron["metadata"] == {"url": site.url("/heron.html"), "published": "2026-11-28"}

    # Of four entries three are new, and none of those is what an old one was renamed to.
    names = [*"abc"]
    site.pages |= {f"/{name}.html": site.pages["/otter.html"] for name in names}
    site.pages[FEED] = rss(*map(item, names), item("heron", title="The grey heron"))
    site.link("/heron.html", "The grey heron")
    sent = site.sent["/otter.html"]
    preview = source.sync(preview=True)
    assert preview["counts"] == {"created": 3, "updated": 1}
    assert source.sync()["counts"] == {"created": 3, "updated": 1}
    assert site.sent["/otter.html"] == sent
    assert source.contents()["The grey heron.html"] == site.pages["/heron.html"]
    assert source.documents()["The grey heron.html"]["id"] == heron["id"]
    assert set(source.contents()) == {"The otter.html", "The grey heron.html", *(f"The {name}.html" for name in names)}
    sent = dict(site.sent)
    assert source.sync()["counts"] == {"unchanged": 4}
    # A feed that has not changed is not even sent.
    assert dict(site.sent) == sent

    # Not even a feed that has nothing any more deletes, nor does it ask whether it may.
    site.pages[FEED] = rss()
    sync = source.sync()
    assert (sync["status"], sync["counts"]) == ("completed", {})
    assert len(source.contents()) == 5


def test_contents_of_the_feed_itself_become_documents(writer: Api, site: WebSite):
    site.pages[FEED] = ATOM
    source = make_source(writer, site, linked_pages=False)
    assert source.wait()["counts"] == {"created": 2}
    contents = source.contents()
    assert set(contents) == {"The otter - a fisher.html", "Owls & mice.html"}
    assert "<p>The otter eats crayfish.</p>" in contents["The otter - a fisher.html"]
    assert "<title>The otter / a fisher</title>" in contents["The otter - a fisher.html"]
    assert "Owls eat &lt;mice&gt;." in contents["Owls & mice.html"]
    assert not site.sent["/otter.html"]

    site.pages[FEED] = ATOM.replace("crayfish", "eels").replace("10:00", "11:00")
    assert source.sync()["counts"] == {"updated": 1, "unchanged": 1}
    assert "eels" in source.contents()["The otter - a fisher.html"]


def test_json_feeds_are_read_like_others(writer: Api, site: WebSite):
    def feed(*items: dict[str, Any]) -> str:
        return json.dumps({"version": "https://jsonfeed.org/version/1.1", "title": "News", "items": items})

    otter = {"id": 7, "url": "/otter.html", "title": "The otter", "date_published": "2026-11-28T23:30:00-05:00"}
    attachment = {"url": site.url("/owl.bin"), "mime_type": "audio/mpeg", "size_in_bytes": 10**12}
    texts = [
        {"id": "heron", "title": "The heron", "content_html": "<p>Herons eat frogs.</p>", "content_text": "No."},
        {"id": "owl", "title": "The owl", "content_text": "Owls eat <mice>.\n\nAt night.", "attachments": [attachment]},
    ]
    site.pages["/feed.json"] = feed(otter)
    pages = make_source(writer, site, "/feed.json")
    assert pages.wait()["counts"] == {"created": 1}
    document = pages.documents()["The otter.html"]
    assert document["metadata"] == {"url": site.url("/otter.html"), "published": "2026-11-29"}
    assert pages.contents() == {"The otter.html": site.pages["/otter.html"]}

    site.pages["/feed.json"] = feed(*texts, otter)
    source = make_source(writer, site, "/feed.json", linked_pages=False, max_items=2)
    sync = source.wait()
    assert (sync["counts"], sync["is_cut"]) == ({"created": 2}, True)
    contents = source.contents()
    assert "<h1>The heron</h1>\n<p>Herons eat frogs.</p>" in contents["The heron.html"]
    assert "<p>Owls eat &lt;mice&gt;.</p>\n<p>At night.</p>" in contents["The owl.html"]
    assert not site.sent["/owl.bin"]
    site.pages["/feed.json"] = feed({**texts[0], "content_html": "<p>Herons eat eels.</p>"})
    assert source.sync()["counts"] == {"updated": 1}
    assert "eels" in source.contents()["The heron.html"]
    site.pages["/feed.json"] = '{"version": "1.0", "items": []}'
    assert source.sync()["failure"]["reason"] == "not_a_feed"
    assert len(source.contents()) == 2


def test_entries_that_cannot_be_read_fail_alone(embedded: Server, writer: Api, site: WebSite):
    with web_site() as inside, web_site() as elsewhere:
        inside.link("/", "Inside")
        elsewhere.link("/otter.html", "The otter")
        site.pages["/robots.txt"] = "User-agent: *\nDisallow: /secret.html\n"
        site.link("/secret.html", "Secret")
        site.pages["/paper.bin"] = "no page"
        site.redirects["/moved.html"] = elsewhere.url("/otter.html")
        site.pages[FEED] = rss(
            item("otter"),
            item("otter", title="Again, with the same id"),
            item("inside", link=inside.url()),
            item("missing"),
            item("secret"),
            item("paper", link="/paper.bin"),
            item("moved"),
            item("script", link="javascript:alert(1)"),
            item("unlinked", link=""),
            item("", link="", title="Nameless"),
        )
        source = make_source(writer, site)
        assert source.wait()["counts"] == {"created": 1, "failed": 8}
        failures = source.failures()
        nameless = next(key for key in failures if not key.startswith("id-"))
        assert failures == {
            "id-inside": "not_allowed",
            "id-missing": "nothing_found",
            "id-secret": "robots",
            "id-paper": "not_html",
            "id-moved": "not_allowed",
            "id-script": "no_link",
            "id-unlinked": "no_link",
            nameless: "no_link",
        }
        assert not inside.sent
        assert not elsewhere.sent
        assert not site.sent["/secret.html"]

        # What could not be read and is forgotten is no failure any more; another site is read along a redirect.
        site.pages[FEED] = rss(item("otter"), item("moved"))
        with allowed_targets(embedded, site.port, elsewhere.port):
            assert source.sync()["counts"] == {"created": 1, "unchanged": 1}
        assert source.failures() == {}
        assert elsewhere.sent["/otter.html"] == 1


def test_feed_is_read_up_to_its_limit(writer: Api, site: WebSite):
    texts = (item(str(number), description=f"Note {number}") for number in range(20_000))
    site.pages[FEED] = rss(*texts)
    source = make_source(writer, site, linked_pages=False, max_items=3)
    sync = source.wait()
    assert (sync["counts"], sync["is_cut"]) == ({"created": 3}, True)
    assert set(source.contents()) == {"The 0.html", "The 1.html", "The 2.html"}

    # Many feeds in Chinese are in encodings of their own.
    chinese = rss(item("獭", description="水獭吃小龙虾")).replace("?>", ' encoding="gb2312"?>')
    site.pages[FEED] = chinese.encode("gb18030")
    assert source.sync()["counts"] == {"created": 1}
    assert "水獭吃小龙虾" in source.contents()["The 獭.html"]

    # Feeds are often broken; what can be read of them is.
    broken = rss(item("bat", description="Bats &nbsp; eat")).replace("&amp;nbsp;", "&nbsp;")[:-20]
    site.pages[FEED] = broken
    assert source.sync()["counts"] == {"created": 1}
    site.pages[FEED] = broken + "<b>" * 190_000
    assert source.sync()["failure"]["reason"] == "broken_feed"


def test_what_is_no_feed_is_named_and_deletes_nothing(writer: Api, site: WebSite):
    site.pages[FEED] = rss(item("otter"))
    source = make_source(writer, site)
    source.wait()
    laughs = "".join(f'<!ENTITY a{n} "{f"&a{n - 1};" * 10}">' for n in range(1, 10))
    attributes = " ".join(f'a{n}=""' for n in range(1000))
    hostile = {
        "unsafe_feed": f'<!DOCTYPE rss [<!ENTITY a0 "ha">{laughs}]>{rss(item("x")).replace("The x", "&a9;")}',
        "not_a_feed": '{"animals": []}',
        "too_complex": rss(item("x")).replace("<item>", f"<item {attributes}>"),
        "too_large": rss(item("x", description="x" * 10_000_000)),
    }
    for reason, text in hostile.items():
        site.pages[FEED] = text
        sync = source.sync()
        assert (sync["status"], sync["failure"]["reason"]) == ("failed", reason)
        assert sync["failure"]["next_action_zh"]
    del site.pages[FEED]
    assert source.sync()["failure"]["reason"] == "nothing_found"
    assert set(source.contents()) == {"The otter.html"}
