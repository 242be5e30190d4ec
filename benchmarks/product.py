"""A running Agentex for a benchmark: started as a person would start it, used over HTTP."""

import asyncio
import os
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncGenerator, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import psutil
from pydantic import BaseModel, JsonValue

from cli.commands.ingest.run import UPLOADS_AT_ONCE, grouped

READY_SECONDS = 120
_STOP_SECONDS = 60
_UPLOADS_AT_ONCE = 8
_POLL_SECONDS = 0.25
_INGEST_SECONDS = 3600


@dataclass(frozen=True)
class Product:
    """A server of ours: where it listens, who may log in, where its data lies, its process."""

    url: str
    username: str
    password: str
    data_dir: Path
    pid: int

    def environment(self) -> dict[str, str]:
        """What a terminal client needs to talk to it; its logins stay in the data folder."""
        return {
            **os.environ,
            "AGENTEX_URL": self.url,
            "AGENTEX_DATA_DIR": str(self.data_dir),
            "XDG_CONFIG_HOME": str(self.data_dir / "client"),
            "LC_ALL": "C.UTF-8",
        }

    def memory(self) -> dict[str, int]:
        """Resident bytes of each part, by the module or program that it runs."""
        found: dict[str, int] = {}
        for process in psutil.Process(self.pid).children(recursive=True):
            try:
                name = part_of(process.cmdline())
                found[name] = found.get(name, 0) + process.memory_info().rss
            except psutil.NoSuchProcess:
                continue
        return found

    def processor_seconds(self) -> dict[str, float]:
        """Processor time that each part has used, by the module or program that it runs."""
        found: dict[str, float] = {}
        for process in psutil.Process(self.pid).children(recursive=True):
            try:
                name, used = part_of(process.cmdline()), process.cpu_times()
                found[name] = found.get(name, 0.0) + used.user + used.system
            except psutil.NoSuchProcess:
                continue
        return found

    def disk(self) -> int:
        """Bytes that the data folder takes on the disk."""
        return sum(path.stat().st_blocks * 512 for path in self.data_dir.rglob("*") if path.is_file())


def part_of(command: Sequence[str]) -> str:
    if "-m" in command:
        return command[command.index("-m") + 1]
    return Path(command[0]).name if command else "?"


@contextmanager
def running_product(data_dir: Path | None = None, settings: Mapping[str, str] | None = None) -> Generator[Product]:
    """Start ``agentex serve``, wait until it is ready, stop it at the end.

    Args:
        data_dir: is kept, with the password in it; without one a folder that goes at the end.
        settings: environment variables beside those that every benchmark needs.
    """
    folder = data_dir or Path(tempfile.mkdtemp(prefix="agentex-bench-"))
    folder.mkdir(parents=True, exist_ok=True)
    password = _password(folder)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    variables = {
        "AGENTEX_DATA_DIR": str(folder),
        "AGENTEX_PORT": str(port),
        "AGENTEX_ADMIN_PASSWORD": password,
        "AGENTEX_DOCUMENTATION_ENABLED": "false",
        "AGENTEX_STARTER_SKILLS_ENABLED": "false",
        # One user does here what many do elsewhere: counted, but not turned away.
        "AGENTEX_REQUESTS_PER_MINUTE": "1000000000",
        "AGENTEX_KEY_REQUESTS_PER_MINUTE": "1000000000",
        **(settings or {}),
    }
    # A log file of its own: a pipe that nobody reads would stop the server.
    with (folder / "serve.log").open("ab") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "cli.main", "serve"],
            env={**os.environ, **variables},
            stdout=log,
            stderr=subprocess.STDOUT,
        )
        try:
            url = f"http://127.0.0.1:{port}"
            _wait_until_ready(process, url)
            yield Product(url, "admin", password, folder.resolve(), process.pid)
        finally:
            process.terminate()
            process.wait(_STOP_SECONDS)
            if data_dir is None:
                shutil.rmtree(folder)


def _password(folder: Path) -> str:
    path = folder / "benchmark-password"
    if not path.exists():
        path.touch(mode=0o600)
        path.write_text(secrets.token_urlsafe(16) + "aA1", encoding="utf-8")
    return path.read_text(encoding="utf-8")


def _wait_until_ready(process: subprocess.Popen[bytes], url: str) -> None:
    deadline = time.monotonic() + READY_SECONDS
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise SystemExit(f"the server ended with {process.returncode}: see its serve.log")
        try:
            if httpx.get(f"{url}/readyz", timeout=5).status_code == httpx.codes.OK:
                return
        except httpx.TransportError:
            pass
        time.sleep(_POLL_SECONDS)
    raise SystemExit(f"the server was not ready after {READY_SECONDS} s")


@dataclass(frozen=True)
class SampleDocument:
    """A document to upload."""

    name: str
    content: bytes

    @property
    def size(self) -> int:
        """In bytes."""
        return len(self.content)


class SearchHit(BaseModel):
    """A found passage; ``document_name`` is the uploaded file's."""

    document_id: str
    document_name: str
    content: str
    score: float


class Found(BaseModel):
    """A search's answer; ``took_ms`` is the server's own measure."""

    results: list[SearchHit]
    took_ms: float


@dataclass(frozen=True)
class Ingested:
    """What became of uploads.

    Args:
        documents: ids by name.
        seconds: from the first upload until the last document could be searched.
        chunks: pieces of all documents.
        failures: how many documents failed, by reason.
    """

    documents: dict[str, str]
    seconds: float
    chunks: int
    failures: dict[str, int]


class Session:
    """One person's use of the HTTP API, with a bearer token."""

    def __init__(self, http: httpx.AsyncClient) -> None:
        self.http = http

    async def create(self, name: str, **settings: JsonValue) -> str:
        """Make a knowledge base, with settings such as its splitter, and give its id."""
        body: dict[str, JsonValue] = {"name": name, **settings}
        return str((await self.call("POST", "/api/v1/knowledge-bases", body))["id"])

    async def search(self, kb_id: str, query: str, *, top_k: int) -> Found:
        """Search one knowledge base."""
        body: dict[str, JsonValue] = {"query": query, "top_k": top_k}
        path = f"/api/v1/knowledge-bases/{kb_id}/search"
        return Found.model_validate(await self.call("POST", path, body))

    async def upload(self, kb_id: str, uploads: Iterable[SampleDocument]) -> dict[str, str]:
        """Upload documents, a few at a time; their ids by name."""
        queue, documents = iter(uploads), dict[str, str]()
        async with asyncio.TaskGroup() as group:
            for _ in range(_UPLOADS_AT_ONCE):
                group.create_task(self._upload_each(kb_id, queue, documents))
        return documents

    async def upload_together(self, kb_id: str, uploads: Sequence[SampleDocument]) -> dict[str, str]:
        """Upload documents as ``agentex ingest`` does, small ones together; their ids by name."""
        queue, documents = grouped(uploads, UPLOADS_AT_ONCE), dict[str, str]()
        async with asyncio.TaskGroup() as group:
            for _ in range(UPLOADS_AT_ONCE):
                group.create_task(self._upload_groups(kb_id, queue, documents))
        return documents

    async def _upload_groups(
        self, kb_id: str, queue: Iterator[list[SampleDocument]], documents: dict[str, str]
    ) -> None:
        path = f"/api/v1/knowledge-bases/{kb_id}/documents/batch"
        for few in queue:
            files = [("file", (one.name, one.content)) for one in few]
            answer = await self.http.post(path, files=files)
            answer.raise_for_status()
            items = answer.json()["data"]["items"]
            documents |= {one.name: i["document"]["id"] for one, i in zip(few, items, strict=True)}

    async def ingest(self, kb_id: str, uploads: Sequence[SampleDocument], *, together: bool = False) -> Ingested:
        """Upload documents, one by one or small ones together, and wait until none is under way."""
        started = time.perf_counter()
        upload = self.upload_together if together else self.upload
        documents = await upload(kb_id, uploads)
        async with asyncio.timeout(_INGEST_SECONDS):
            await self._settled(kb_id)
        seconds = time.perf_counter() - started
        chunks, failures = await self.outcome(kb_id)
        return Ingested(documents, seconds, chunks, failures)

    async def _settled(self, kb_id: str) -> None:
        # Another process works on them: there is nothing here to be woken by.
        open_ones = 1
        while open_ones:
            await asyncio.sleep(_POLL_SECONDS)
            open_ones = await self.count(kb_id, "pending") or await self.count(kb_id, "processing")

    async def count(self, kb_id: str, status: str) -> int:
        """How many documents of a knowledge base are in a state."""
        path = f"/api/v1/knowledge-bases/{kb_id}/documents?status={status}&page_size=1"
        return int((await self.call("GET", path))["total"])

    async def outcome(self, kb_id: str) -> tuple[int, dict[str, int]]:
        """Pieces of all documents of a knowledge base, and its failures by reason."""
        chunks, failures, page = 0, dict[str, int](), 1
        while True:
            path = f"/api/v1/knowledge-bases/{kb_id}/documents?page={page}&page_size=100"
            items = (await self.call("GET", path))["items"]
            for item in items:
                chunks += item["chunk_count"]
                if item["failure"]:
                    reason = item["failure"]["reason"]
                    failures[reason] = failures.get(reason, 0) + 1
            if len(items) < 100:
                return chunks, failures
            page += 1

    async def call(self, method: str, path: str, body: dict[str, JsonValue] | None = None):
        """The ``data`` of an answer; any refusal ends the benchmark."""
        answer = await self.http.request(method, path, json=body)
        answer.raise_for_status()
        return answer.json()["data"]

    async def delete(self, path: str) -> None:
        """Delete what a path names."""
        (await self.http.delete(path)).raise_for_status()

    async def _upload_each(self, kb_id: str, queue: Iterator[SampleDocument], documents: dict[str, str]) -> None:
        for upload in queue:
            answer = await self.http.post(
                f"/api/v1/knowledge-bases/{kb_id}/documents",
                files={"file": (upload.name, upload.content)},
            )
            answer.raise_for_status()
            documents[upload.name] = answer.json()["data"]["id"]


@asynccontextmanager
async def logged_in(product: Product) -> AsyncGenerator[Session]:
    """Log in with the password and use the token from then on."""
    async with httpx.AsyncClient(base_url=product.url, timeout=120) as http:
        login = {"username": product.username, "password": product.password}
        answer = await http.post("/api/v1/auth/login", json=login)
        answer.raise_for_status()
        http.headers["Authorization"] = f"Bearer {answer.json()['data']['access_token']}"
        yield Session(http)
