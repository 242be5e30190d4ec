"""Metrics for Prometheus: read by its own parser, bounded labels, closed to everybody else."""

import httpx
from prometheus_client.parser import text_string_to_metric_families as parsed

from core.errors.auth import InvalidToken, NotAuthenticated, PermissionDenied
from tests.fixtures.http.client import Api, check_error, eventually
from tests.fixtures.product.server import METRICS_TOKEN as TOKEN
from tests.fixtures.product.server import Server


def scrape(server: Server) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    answer = server.http.get("/metrics", headers={"Authorization": f"Bearer {TOKEN}"})
    assert answer.status_code == httpx.codes.OK, answer.text
    assert answer.headers["content-type"].startswith("text/plain; version=")
    samples = [sample for family in parsed(answer.text) for sample in family.samples]
    return {(one.name, tuple(sorted(one.labels.items()))): one.value for one in samples}


def labels(method: str, route: str, status: int) -> tuple[tuple[str, str], ...]:
    return (("method", method), ("route", route), ("status", str(status)))


def test_requests_and_figures_are_told_and_nothing_that_people_send(embedded: Server):
    person = embedded.person()
    kb_id = person.create_kb(name="the secret plan")
    before = scrape(embedded)
    person.get(f"/knowledge-bases/{kb_id}")
    embedded.http.get("/api/v1/no-such-path-of-mine")
    embedded.http.request("BREW", "/healthz")
    found = scrape(embedded)
    route = "/api/v1/knowledge-bases/{kb_id}"
    for counted in (
        ("agentex_http_requests_total", labels("GET", route, 200)),
        ("agentex_http_request_seconds_count", (("method", "GET"), ("route", route))),
    ):
        assert found[counted] == before.get(counted, 0) + 1
    assert found["agentex_workers", ()] == 1
    assert found["agentex_figures_up", ()] == 1
    assert found["agentex_documents", (("status", "completed"),)] >= 0
    assert found["agentex_runs", (("state", "running"),)] >= 0
    assert found["process_resident_memory_bytes", ()] > 0
    query = "SELECT count(*) AS n FROM knowledge_base WHERE deleted_at IS NULL"

    # Earlier tests' knowledge bases may still be made or erased meanwhile.
    def is_counted() -> bool:
        (there,) = embedded.sql(query)
        return scrape(embedded)["agentex_knowledge_bases", ()] == there["n"] > 0

    # Figures are counted anew every ten seconds at most, and somebody may just have asked.
    eventually(is_counted, what="it counts", pause=0.5)
    told = str(found)
    for word in ("secret plan", kb_id, "no-such-path", "BREW", person.name):
        assert word not in told


def test_who_has_neither_the_token_nor_the_permission_reads_nothing(embedded: Server):
    person = embedded.person()
    wrong = Api(embedded.http, {"Authorization": f"Bearer {TOKEN}x"})
    for caller, code in (
        (person, PermissionDenied),
        (wrong, InvalidToken),
        (embedded.api(), NotAuthenticated),
    ):
        check_error(embedded.http.get("/metrics", headers=caller.headers), code)
    admin = embedded.admin()
    assert "agentex_build" in embedded.http.get("/metrics", headers=admin.headers).text
    # The token opens this one path and no other.
    token = {"Authorization": f"Bearer {TOKEN}"}
    answer = embedded.http.get("/api/v1/admin/system/info", headers=token)
    check_error(answer, InvalidToken)
