"""Metrics for Prometheus: read by its own parser, bounded labels, closed to everybody else."""

from collections.abc import Iterator

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families as parsed

from core.errors import ErrorCode
from tests.fixtures.client import Api, check_error, eventually
from tests.fixtures.server import Server, running_server

TOKEN = "scrape-me-if-you-can"


@pytest.fixture(scope="module")
def scraped(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    variables = {"AGENTEX_METRICS_TOKEN": TOKEN}
    with running_server(tmp_path_factory.mktemp("scraped"), variables=variables) as server:
        yield server


def scrape(server: Server) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    answer = server.http.get("/metrics", headers={"Authorization": f"Bearer {TOKEN}"})
    assert answer.status_code == httpx.codes.OK, answer.text
    assert answer.headers["content-type"].startswith("text/plain; version=")
    samples = [sample for family in parsed(answer.text) for sample in family.samples]
    return {(one.name, tuple(sorted(one.labels.items()))): one.value for one in samples}


def labels(method: str, route: str, status: int) -> tuple[tuple[str, str], ...]:
    return (("method", method), ("route", route), ("status", str(status)))


def test_requests_and_figures_are_told_and_nothing_that_people_send(scraped: Server):
    person = scraped.person()
    kb_id = person.create_kb(name="the secret plan")
    person.get(f"/knowledge-bases/{kb_id}")
    scraped.http.get("/api/v1/no-such-path-of-mine")
    scraped.http.request("BREW", "/healthz")
    found = scrape(scraped)
    route = "/api/v1/knowledge-bases/{kb_id}"
    assert found["agentex_http_requests_total", labels("GET", route, 200)] == 1
    seconds = (("method", "GET"), ("route", route))
    assert found["agentex_http_request_seconds_count", seconds] == 1
    assert found["agentex_workers", ()] == 1
    assert found["agentex_figures_up", ()] == 1
    assert found["agentex_documents", (("status", "completed"),)] == 0
    assert found["agentex_runs", (("state", "running"),)] == 0
    assert found["process_resident_memory_bytes", ()] > 0
    # Figures are counted anew every ten seconds at most, and somebody may just have asked.
    eventually(lambda: scrape(scraped)["agentex_knowledge_bases", ()] >= 1, what="it counts")
    told = str(found)
    for word in ("secret plan", kb_id, "no-such-path", "BREW", person.name):
        assert word not in told


def test_who_has_neither_the_token_nor_the_permission_reads_nothing(scraped: Server):
    person = scraped.person()
    wrong = Api(scraped.http, {"Authorization": f"Bearer {TOKEN}x"})
    for caller, code in (
        (person, ErrorCode.PERMISSION_DENIED),
        (wrong, ErrorCode.INVALID_TOKEN),
        (scraped.api(), ErrorCode.NOT_AUTHENTICATED),
    ):
        check_error(scraped.http.get("/metrics", headers=caller.headers), code)
    admin = scraped.admin()
    assert "agentex_build" in scraped.http.get("/metrics", headers=admin.headers).text
    # The token opens this one path and no other.
    token = {"Authorization": f"Bearer {TOKEN}"}
    answer = scraped.http.get("/api/v1/admin/system/info", headers=token)
    check_error(answer, ErrorCode.INVALID_TOKEN)
