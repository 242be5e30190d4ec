"""Prometheus metrics of requests and of the system."""

import secrets
import time
from collections.abc import Mapping
from importlib.metadata import version
from typing import cast

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from api.stats import SystemStats
from core.auth.permissions import Permission
from core.auth.principal import Principal
from core.settings import Settings

PATH = "/metrics"
CONTENT_TYPE = CONTENT_TYPE_LATEST
# Any other method and any path without a route is one label: who asks must not make new ones.
_METHODS = frozenset({"GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"})
_OTHER = "other"
_UNROUTED = "unrouted"
_STREAMS = (b"text/event-stream", b"application/vnd.ag-ui.event+proto")
_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)


class Metrics:
    """The metrics of one application; labels hold routes, methods and states, never user input."""

    def __init__(self) -> None:
        self._registry = registry = CollectorRegistry()
        ProcessCollector(registry=registry)
        self._requests = Counter(
            "agentex_http_requests", "Requests that were answered",
            ["method", "route", "status"], registry=registry,
        )  # fmt: skip
        self._seconds = Histogram(
            "agentex_http_request_seconds", "Seconds until an answer began",
            ["method", "route"], buckets=_BUCKETS, registry=registry,
        )  # fmt: skip
        self._streams = Gauge("agentex_open_streams", "Open event streams", registry=registry)
        build = Gauge("agentex_build", "The running version", ["version"], registry=registry)
        build.labels(version("agentex")).set(1)
        self._up = Gauge("agentex_figures_up", "Whether the figures are known", registry=registry)
        self._documents = self._by("documents", "Documents by status", "status")
        self._runs = self._by("runs", "Runs by state", "state")
        self._single = {
            name: Gauge(f"agentex_{name}", text, registry=registry)
            for name, text in (
                ("users", "Accounts"),
                ("sessions", "Sessions"),
                ("knowledge_bases", "Knowledge bases"),
                ("database_bytes", "Size of the database"),
                ("points", "Points of the vector indexes"),
                ("vector_bytes", "Size of the vector indexes"),
                ("queue_depth", "Jobs that wait or run"),
                ("workers", "Living workers"),
            )
        }

    def _by(self, name: str, text: str, label: str) -> Gauge:
        return Gauge(f"agentex_{name}", text, [label], registry=self._registry)

    def observe(self, scope: Scope) -> "Observation":
        return Observation(scope, self._requests, self._seconds, self._streams)

    def render(self, figures: SystemStats | None) -> bytes:
        """The text for Prometheus; without ``figures`` no outdated ones are shown."""
        self._up.set(figures is not None)
        self._fill(self._documents, figures.documents if figures else {})
        self._fill(self._runs, figures.runs if figures else {})
        for name, gauge in self._single.items():
            value = getattr(figures, name, None)
            # Not a number: nobody knows, which 0 would deny.
            gauge.set(float("nan") if value is None else _number(value))
        return generate_latest(self._registry)

    @staticmethod
    def _fill(gauge: Gauge, counts: Mapping[str, int]) -> None:
        gauge.clear()
        for label, count in counts.items():
            gauge.labels(label).set(count)


class MetricsMiddleware:
    """Watches each request; the outermost middleware, so that nothing is missed."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        observation = self._metrics.observe(scope)

        async def watched(message: Message) -> None:
            if message["type"] == "http.response.start":
                observation.begins(message)
            await send(message)

        try:
            await self._app(scope, receive, watched)
        finally:
            observation.ends()


def scrape_principal(scope: Scope, headers: Headers, settings: Settings) -> Principal | None:
    """The holder of the scrape token, which opens this one path; None for others."""
    token, authorization = settings.metrics_token, headers.get("authorization", "")
    if token is None or scope["path"] != PATH:
        return None
    expected = f"Bearer {token.get_secret_value()}"
    if not secrets.compare_digest(authorization.encode(), expected.encode()):
        return None
    return Principal("", "metrics", "", frozenset({Permission.SYSTEM_MANAGE}))


class Observation:
    """One request, from its arrival to the end of its answer."""

    __slots__ = ("_is_stream", "_requests", "_scope", "_seconds", "_started", "_streams")

    def __init__(self, scope: Scope, requests: Counter, seconds: Histogram, streams: Gauge) -> None:
        self._scope = scope
        self._requests, self._seconds, self._streams = requests, seconds, streams
        self._started = time.perf_counter()
        self._is_stream = False

    def begins(self, message: Message) -> None:
        route = getattr(self._scope.get("route"), "path_format", _UNROUTED)
        method = self._scope["method"]
        method = method if method in _METHODS else _OTHER
        self._requests.labels(method, route, str(message["status"])).inc()
        self._seconds.labels(method, route).observe(time.perf_counter() - self._started)
        kinds = [value for name, value in message.get("headers", ()) if name == b"content-type"]
        self._is_stream = any(kind.startswith(_STREAMS) for kind in kinds)
        if self._is_stream:
            self._streams.inc()

    def ends(self) -> None:
        if self._is_stream:
            self._streams.dec()


def _number(value: object) -> float:
    return float(len(cast(list[str], value))) if isinstance(value, list) else float(str(value))
