"""Knowledge bases that are kept in step with buckets of the S3 API."""

from collections.abc import Iterator
from html import escape
from typing import Any

import pytest

from core.errors.requests import InvalidRequest, UrlNotAllowed
from tests.fixtures.files.hostile_documents import TABLE
from tests.fixtures.http.client import Api
from tests.fixtures.knowledge.knowledge_sources import Source, allowed_targets
from tests.fixtures.product.server import Server
from tests.fixtures.product.worker_bounds import worker_bounds
from tests.fixtures.servers.s3_server import S3Server, s3_server
from tests.fixtures.servers.web_site import WebSite, web_site

KEYS = {"access_key_id": "test", "secret_access_key": "test"}


@pytest.fixture
def writer(embedded: Server) -> Api:
    return embedded.person()


@pytest.fixture
def s3(embedded: Server) -> Iterator[S3Server]:
    """A bucket with notes on three animals, which the product may connect to."""
    with s3_server() as server, allowed_targets(embedded, server.port):
        server.put("otter.md", "The otter eats crayfish.")
        server.put("notes/heron.md", "The heron eats frogs.")
        server.put("notes/说明 a+b%2F?.md", "The badger eats worms.")
        yield server


def make_source(writer: Api, s3: S3Server, credentials: dict[str, str] | None = None, **settings: Any) -> Source:
    place = {"endpoint": s3.endpoint, "bucket": s3.bucket, **settings}
    return Source(writer, writer.create_kb(), "s3", place, credentials=credentials)


def listing(*entries: tuple[str, int], token: str = "") -> str:
    """A page of ListObjectsV2."""
    contents = "".join(
        f"<Contents><Key>{escape(key)}</Key><ETag>&quot;1&quot;</ETag><Size>{size}</Size></Contents>"
        for key, size in entries
    )
    rest = f"<IsTruncated>true</IsTruncated><NextContinuationToken>{token}</NextContinuationToken>" if token else ""
    space = "http://s3.amazonaws.com/doc/2006-03-01/"
    return f'<?xml version="1.0"?><ListBucketResult xmlns="{space}">{contents}{rest}</ListBucketResult>'


def test_knowledge_base_equals_the_bucket_after_each_change(writer: Api, s3: S3Server):
    s3.put("notes/", b"")
    s3.put("program.exe", b"MZ\x00")
    source = make_source(writer, s3, KEYS)
    sync = source.wait()
    assert (sync["status"], sync["counts"]) == ("completed", {"created": 3}), sync
    assert source.contents() == {
        "otter.md": "The otter eats crayfish.",
        "notes › heron.md": "The heron eats frogs.",
        "notes › 说明 a+b%2F?.md": "The badger eats worms.",
    }
    first = source.documents()
    assert first["notes › heron.md"]["metadata"] == {"key": "notes/heron.md"}
    assert source.sync()["counts"] == {"unchanged": 3}

    s3.put("otter.md", "The otter eats eels now.")
    s3.put("marten.md", "The marten eats berries.")
    s3.put("birds/heron.md", "The heron eats frogs.")
    s3.delete("notes/heron.md", "notes/说明 a+b%2F?.md")
    assert source.sync()["counts"] == {"updated": 1, "created": 1, "renamed": 1, "deleted": 1}
    after = source.documents()
    assert set(after) == {"otter.md", "marten.md", "birds › heron.md"}
    assert after["birds › heron.md"]["id"] == first["notes › heron.md"]["id"]
    assert (after["otter.md"]["revision"], after["birds › heron.md"]["revision"]) == (2, 1)

    source.update(prefix="birds/", exclude=["*.txt"])
    assert source.sync()["counts"] == {"unchanged": 1, "deleted": 2}
    s3.delete("otter.md", "marten.md", "birds/heron.md", "notes/", "program.exe")
    s3.delete_bucket()
    sync = source.sync()
    assert (sync["status"], sync["failure"]["reason"]) == ("failed", "no_bucket")
    assert set(source.contents()) == {"birds › heron.md"}


def test_objects_that_cannot_be_read_fail_alone(embedded: Server, writer: Api, s3: S3Server):
    s3.put("huge.txt", b"a" * (3 * 2**20))
    # Files of some kilobytes that unpack to 60 MB each.
    s3.put("bomb.docx", TABLE["bomb_media.docx"].make())
    s3.put("books/bomb.epub", TABLE["bomb.epub"].make())
    s3.put("old.md", "Long ago", x_amz_storage_class="GLACIER")
    s3.put("notes/../secret.md", "Another one's")
    s3.put("bell\x07.md", "Ring")
    with worker_bounds(embedded):
        source = make_source(writer, s3, KEYS)
        assert source.wait()["counts"] == {"created": 3, "failed": 6}
    (sync,) = writer.get(f"{source.path}/syncs")["items"]
    assert {"bomb.docx", "books › bomb.epub"} <= {*sync["examples"]["failed"]}
    assert {*source.contents()} == {"otter.md", "notes › heron.md", "notes › 说明 a+b%2F?.md"}
    assert source.failures() == {
        "huge.txt": "too_large",
        "bomb.docx": "archive_limits",
        "books/bomb.epub": "archive_limits",
        "old.md": "archived",
        "notes/../secret.md": "unusable_key",
        "bell�.md": "unusable_key",
    }


def test_signatures_are_checked_and_keys_revoked(writer: Api, s3: S3Server):
    keys = s3.make_key("somebody")
    s3.check_signatures(on=True)
    part = make_source(writer, s3, keys, prefix="notes/说明 a+b%2")
    source = make_source(writer, s3, keys)
    assert source.wait()["counts"] == {"created": 3}
    assert part.wait()["counts"] == {"created": 1}

    def reason(credentials: dict[str, str]) -> str:
        source.body["credentials"] = credentials
        source.update()
        sync = source.sync()
        assert sync["status"] == "failed", sync
        assert keys["secret_access_key"] not in str(sync)
        return sync["failure"]["reason"]

    assert reason(keys | {"secret_access_key": "wrong"}) == "wrong_credentials"
    s3.check_signatures(on=False)
    s3.forbid("somebody")
    s3.check_signatures(on=True)
    assert reason(keys) == "access_denied"
    s3.check_signatures(on=False)
    s3.revoke("somebody", keys["access_key_id"])
    s3.check_signatures(on=True)
    assert reason(keys) == "wrong_credentials"
    assert len(source.contents()) == 3


def test_without_credentials_only_what_is_public_is_read(writer: Api, s3: S3Server):
    source = make_source(writer, s3)
    assert source.wait()["counts"] == {"failed": 3}
    assert set(source.failures().values()) == {"access_denied"}
    s3.make_public()
    assert source.sync()["counts"] == {"created": 3}


def test_servers_that_lie_are_bounded(embedded: Server, writer: Api):
    pages = "/animals/?list-type=2&max-keys=1000&encoding-type=url&prefix="
    with web_site() as site, allowed_targets(embedded, site.port):
        site.pages[pages] = listing(("otter.md", 9), ("small.txt", 1), ("vast.txt", 10 * 2**30), token="a+/=")
        site.pages[f"{pages}&continuation-token=a%2B%2F%3D"] = listing(("gone.md", 5), ("heron.md", 5), ("../up.md", 5))
        site.pages |= {"/animals/otter.md": "The otter", "/animals/heron.md": "heron"}
        # Longer than it was said to be.
        site.pages["/animals/small.txt"] = "a" * (3 * 2**20)
        source = Source(writer, writer.create_kb(), "s3", {"endpoint": site.url(), "bucket": "animals"})
        assert source.wait()["counts"] == {"created": 2, "failed": 3}
        assert source.failures() == {
            "small.txt": "too_large",
            "vast.txt": "too_large",
            "../up.md": "unusable_key",
        }
        assert not site.sent["/animals/vast.txt"]
        _refuses_what_is_no_list(source, site, pages)
        assert set(source.contents()) == {"otter.md", "heron.md"}


def _refuses_what_is_no_list(source: Source, site: WebSite, pages: str) -> None:
    laughs = '<!DOCTYPE a [<!ENTITY a "ha">]>'
    broken = (
        "<html><body>A console</body></html>",
        listing(("otter.md", 9)).replace("?>", f"?>{laughs}"),
        listing(("otter.md", 9)).replace("</ListBucketResult>", "<IsTruncated>true</IsTruncated></ListBucketResult>"),
        # Always the same page: nothing of it may be taken for the end.
        listing(("otter.md", 9), token="a+/="),
    )
    reasons: list[str] = []
    for text in broken:
        site.pages[pages] = site.pages[f"{pages}&continuation-token=a%2B%2F%3D"] = text
        reasons.append(source.sync()["failure"]["reason"])
    assert reasons == ["not_s3", "not_s3", "not_s3", "too_many_items"]
    site.statuses[pages] = 503, "1"
    failure = source.sync()["failure"]
    assert (failure["reason"], bool(failure["next_action_zh"])) == ("busy", True)


def test_settings_of_buckets_are_checked(writer: Api):
    path = f"/knowledge-bases/{writer.create_kb()}/sources"

    def field(credentials: dict[str, str] | None = None, **settings: str) -> str:
        body = {"name": "wrong", "connector": "s3", "settings": settings, "credentials": credentials}
        return writer.refused(InvalidRequest, "POST", path, json=body)["field"]

    assert field(bucket="a/b") == "settings.bucket"
    assert field(bucket="animals", region="eu west") == "settings.region"
    for endpoint in ("https://example.org/?x=1", "http://a:b@example.org"):
        assert field(bucket="animals", endpoint=endpoint) == "settings.endpoint"
    assert field({"access_key_id": "key"}, bucket="animals") == "credentials.secret_access_key"
    for endpoint in ("http://127.0.0.1:9/", "http://169.254.169.254", "ftp://example.org"):
        body = {"name": "in", "connector": "s3", "settings": {"bucket": "animals", "endpoint": endpoint}}
        writer.refused(UrlNotAllowed, "POST", path, json=body)
