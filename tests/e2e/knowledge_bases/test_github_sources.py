"""Knowledge bases that are kept in step with the issues of GitHub repositories."""

from collections.abc import Iterator
from typing import Any

import pytest

from core.errors.requests import InvalidRequest, UrlNotAllowed
from tests.fixtures.http.client import Api
from tests.fixtures.knowledge.knowledge_sources import Source, allowed_targets
from tests.fixtures.product.server import Server
from tests.fixtures.servers.web_site import web_site
from tests.fixtures.wikis.github_server import GitHubServer
from tests.fixtures.wikis.rest_server import Answer, serving

LIST = "/api/v3/repos/acme/animals/issues"


@pytest.fixture
def writer(embedded: Server) -> Api:
    return embedded.person()


@pytest.fixture
def github(embedded: Server) -> Iterator[GitHubServer]:
    """A repository with five issues, the second with comments, which the product may connect to."""
    with serving(GitHubServer()) as service, allowed_targets(embedded, service.port):
        service.add("The otter", "The otter eats *crayfish*.\r\n", labels=("animal", "water"))
        heron = service.add("The heron / a fisher", None)
        service.add("The owl", "Owls eat mice.", labels=("animal",))
        service.add("Feed the bats", "A change", is_pull=True)
        service.add("The vole", "Voles eat grass.")
        for text in ("It eats frogs.", "And fish.", "In shallow water."):
            service.comment(heron, text)
        yield service


def make_source(writer: Api, github: GitHubServer, **settings: Any) -> Source:
    place = {"url": github.repository, **settings}
    credentials = {"token": github.token}
    return Source(writer, writer.create_kb(), "github_issues", place, credentials=credentials)


def test_issues_with_their_comments_become_documents(writer: Api, github: GitHubServer):
    source = make_source(writer, github)
    sync = source.wait()
    assert (sync["status"], sync["counts"]) == ("completed", {"created": 4}), sync
    contents = source.contents()
    assert {*contents} == {"#1 The otter.md", "#2 The heron - a fisher.md", "#3 The owl.md", "#5 The vole.md"}
    assert contents["#1 The otter.md"] == (
        "# The otter\n\nIssue #1 by octocat, 2026-11-28, open  \nLabels: animal, water\n\nThe otter eats *crayfish*.\n"
    )
    heron = contents["#2 The heron - a fisher.md"]
    assert heron.count("## Comment by ghost, 2026-11-28") == 3
    assert heron.endswith("In shallow water.\n")
    otter = source.documents()["#1 The otter.md"]
    assert otter["metadata"] == {
        "url": f"{github.repository}/issues/1",
        "number": "1",
        "state": "open",
        "labels": "animal, water",
    }


def test_knowledge_base_equals_the_issues_after_each_change(writer: Api, github: GitHubServer):
    source = make_source(writer, github)
    source.wait()
    first = source.documents()
    calls = dict(github.calls)
    assert source.sync()["counts"] == {"unchanged": 4}
    # Neither an issue nor a page of the list is sent again.
    assert (dict(github.calls), github.unchanged) == (calls, 3)

    github.change(1, title="The otter, again", labels=[])
    github.comment(3, "And voles.")
    github.delete(5)
    github.add("The marten", "Martens eat berries.")
    assert source.sync(preview=True)["counts"] == {"updated": 2, "unchanged": 1, "created": 1, "deleted": 1}
    assert source.sync()["counts"] == {"updated": 2, "unchanged": 1, "created": 1, "deleted": 1}
    after = source.documents()
    assert {*after} == {"#1 The otter, again.md", "#2 The heron - a fisher.md", "#3 The owl.md", "#6 The marten.md"}
    renamed = after["#1 The otter, again.md"]
    assert (renamed["id"], renamed["revision"]) == (first["#1 The otter.md"]["id"], 2)
    assert "labels" not in renamed["metadata"]
    assert "And voles." in source.contents()["#3 The owl.md"]

    # A name that somebody gave a document here stays.
    path = f"/knowledge-bases/{source.kb_id}/documents/{renamed['id']}"
    writer.put(path, {"name": "Otters.md"})
    github.change(1, title="The sea otter")
    assert source.sync()["counts"] == {"updated": 1, "unchanged": 3}
    assert "# The sea otter" in source.contents()["Otters.md"]

    source.update(pull_requests=True, comments=False)
    assert source.sync()["counts"] == {"unchanged": 4, "created": 1}
    assert "Pull request #4" in source.contents()["#4 Feed the bats.md"]
    github.change(2, state="closed")
    source.update(state="open", pull_requests=False)
    assert source.sync()["counts"] == {"unchanged": 3, "deleted": 2}
    source.update(labels=["animal"])
    assert source.sync()["counts"]["unchanged"] == 1


def test_a_repository_that_is_away_or_refuses_deletes_nothing(writer: Api, github: GitHubServer):
    source = make_source(writer, github)
    source.wait()

    def failure() -> dict[str, str]:
        sync = source.sync()
        assert sync["status"] == "failed", sync
        assert "github_pat" not in str(sync)
        assert sync["failure"]["message_zh"]
        assert sync["failure"]["next_action_zh"]
        return sync["failure"]

    token, github.token = github.token, "github_pat_new"
    assert failure()["reason"] == "wrong_credentials"
    github.token = token
    github.is_away = True
    assert failure()["reason"] == "no_answer"
    github.is_away = False
    github.is_circular = True
    assert failure()["reason"] == "endless_listing"
    github.is_circular = False
    github.statuses[LIST] = 404
    assert failure()["reason"] == "not_found"
    del github.statuses[LIST]
    github.next_answers.append(Answer({}, 403, {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "99999999999"}))
    assert failure()["reason"] == "rate_limited"
    github.next_answers.append(Answer(b"<html>A console</html>"))
    assert failure()["reason"] == "unexpected_answer"
    github.next_answers.append(Answer(b'["' + b"x" * (17 * 2**20) + b'"]'))
    assert failure()["reason"] == "too_large"
    with web_site() as inside:
        inside.pages[LIST] = "[]"
        github.redirects[LIST] = inside.url(LIST)
        assert failure()["reason"] == "elsewhere"
        assert not inside.sent
    assert len(source.contents()) == 4


def test_limits_of_requests_are_waited_for(writer: Api, github: GitHubServer):
    source = make_source(writer, github)
    source.wait()
    github.next_answers.append(Answer({"message": "secondary rate limit"}, 403, {"Retry-After": "0"}))
    github.next_answers.append(Answer({}, 429, {"Retry-After": "1"}))
    github.next_answers.append(Answer({}, 502, {"Retry-After": "0"}))
    assert source.sync()["counts"] == {"unchanged": 4}

    # A repository that has moved on the same server is followed; an issue that can't be read fails alone.
    github.redirects["/api/v3/repos/acme/zoo/issues"] = LIST
    github.statuses[f"{LIST}/1"] = 451
    github.comment(1, "Hello")
    github.comment(2, "Hello")
    assert source.sync()["counts"] == {"unchanged": 2, "updated": 1, "failed": 1}
    assert source.failures() == {"1001": "refused"}


def test_a_limit_in_the_middle_of_a_sync_keeps_what_was_read(writer: Api, github: GitHubServer):
    source = make_source(writer, github)
    source.wait()
    for number in (1, 2, 3):
        github.change(number, body="Changed")
    github.statuses[f"{LIST}/3"] = 401
    sync = source.sync()
    assert (sync["status"], sync["failure"]["reason"]) == ("failed", "wrong_credentials")
    github.statuses.clear()
    assert source.sync()["counts"] == {"unchanged": 3, "updated": 1}


def test_settings_of_repositories_are_checked(writer: Api):
    path = f"/knowledge-bases/{writer.create_kb()}/sources"

    def refused(error: Any, **settings: Any) -> dict[str, Any]:
        body = {"name": "wrong", "connector": "github_issues", "settings": settings}
        return writer.refused(error, "POST", path, json=body)

    for url in ("https://github.com/acme", "https://github.com/acme/a/issues", "https://github.com/../.."):
        assert refused(InvalidRequest, url=url)["field"] == "settings.url"
    for url in ("https://github.com/a/b?x=1", "https://token@github.com/a/b"):
        assert refused(InvalidRequest, url=url)["field"] == "settings.url"
    assert refused(InvalidRequest, url="https://github.com/a/b", state="shut")["field"] == "settings.state"
    for url in ("http://127.0.0.1:9/a/b", "ftp://github.com/a/b"):
        refused(UrlNotAllowed, url=url)
    body = {"name": "wrong", "connector": "github_issues", "settings": {"url": "https://github.com/a/b"}}
    answer = writer.refused(InvalidRequest, "POST", path, json=body | {"credentials": {"token": "ghp_x\r\nX-Evil: 1"}})
    assert answer["field"] == "credentials.token"
    assert "ghp_x" not in str(answer)
