"""The Agentex API as typed methods for the terminal commands."""

import asyncio
import uuid
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from itertools import count
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar

import httpx
from pydantic import JsonValue

from cli.client.auth import SignIn
from cli.client.credentials import Login
from cli.client.schemas import (
    AbsenceRecord,
    AccountRecord,
    ArchiveMemberRecord,
    ArchiveRecord,
    DocumentRecord,
    JsonObject,
    KnowledgeBaseRecord,
    Record,
    SearchRecord,
    SplitPreviewRecord,
)
from cli.client.transport import STREAM_TIMEOUT, BuildRequest, Transport
from cli.client.uploads import BatchUploadBody, UploadBody
from cli.commands.ingest.local_files import CountedFile
from cli.errors import CommandFailed, ExitCode, ServerRefused, exit_code
from cli.ui.i18n.common import KB_AMBIGUOUS, KB_UNKNOWN
from core.errors.auth import InvalidToken, KnowledgeBaseNotFound, NotAuthenticated, TokenExpired
from core.errors.conflicts import Conflict

_PAGE_SIZE = 100
_EXPIRED = {NotAuthenticated.code, InvalidToken.code, TokenExpired.code}
_LISTED_NAMES = 10
# The server answers once each of up to 2,000 members is stored.
_ARCHIVE_SECONDS = 600

R = TypeVar("R", bound=Record)
Query = Mapping[str, str | int]


class ApiClient:
    """Client of one server for one person, whose ``sign_in`` supplies and renews credentials."""

    def __init__(self, transport: Transport, sign_in: SignIn) -> None:
        self.transport = transport
        self.sign_in = sign_in
        self._renewal = asyncio.Lock()

    async def __aenter__(self) -> Self:
        await self.transport.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.transport.__aexit__(kind, error, trace)

    async def me(self) -> AccountRecord:
        """The owner of the credentials."""
        return self._read(AccountRecord, await self._call("GET", "/api/v1/users/me"))

    async def log_out(self) -> None:
        await self._call("POST", "/api/v1/auth/logout", body={})

    async def list_knowledge_bases(self) -> list[KnowledgeBaseRecord]:
        """All that the person may see."""
        items = [item async for page in self.pages("/api/v1/knowledge-bases") for item in page]
        return [self._read(KnowledgeBaseRecord, item) for item in items]

    async def find_knowledge_base(self, name: str) -> KnowledgeBaseRecord:
        """The knowledge base with this id, or with this name in any case."""
        bases = await self.list_knowledge_bases()
        exact = [base for base in bases if base.id == name]
        namesakes = [base for base in bases if _fold(base.name) == _fold(name)]
        # The caller's own comes before another person's of the same name.
        matches = exact or [base for base in namesakes if base.access == "owner"] or namesakes
        if not matches:
            names = ", ".join(base.name for base in bases[:_LISTED_NAMES]) or "-"
            raise CommandFailed(KnowledgeBaseNotFound(), KB_UNKNOWN, wanted=name, names=names)
        if len(matches) > 1:
            ids = ", ".join(base.id for base in matches)
            raise CommandFailed(Conflict(), KB_AMBIGUOUS, wanted=name, ids=ids)
        return matches[0]

    async def create_knowledge_base(self, body: JsonObject) -> KnowledgeBaseRecord:
        """Create a knowledge base; its record may carry notices."""
        return self._read(KnowledgeBaseRecord, await self._call("POST", "/api/v1/knowledge-bases", body=body))

    async def delete_knowledge_base(self, knowledge_base_id: str) -> None:
        await self._call("DELETE", f"/api/v1/knowledge-bases/{knowledge_base_id}")

    async def reindex(self, shape: type[R], method: str, path: str, body: JsonObject) -> R:
        """Query or change the re-index of a knowledge base.

        Args:
            method: ``GET`` only queries.
            path: after ``/knowledge-bases/``.
        """
        content = None if method == "GET" else body
        return self._read(shape, await self._call(method, f"/api/v1/knowledge-bases/{path}", body=content))

    async def document_pages(
        self, knowledge_base_id: str, query: Query | None = None
    ) -> AsyncIterator[list[DocumentRecord]]:
        """The documents of a knowledge base, a page at a time."""
        path = f"/api/v1/knowledge-bases/{knowledge_base_id}/documents"
        async for page in self.pages(path, query):
            yield [self._read(DocumentRecord, item) for item in page]

    async def upload(
        self, knowledge_base_id: str, path: Path, name: str, on_progress: Callable[[int], None], query: Query
    ) -> DocumentRecord:
        """Upload a file as a document; idempotent.

        Args:
            on_progress: called with the bytes sent so far.
            query: its options, such as ``on_conflict``.
        """
        url = f"/api/v1/knowledge-bases/{knowledge_base_id}/documents"
        with CountedFile(path, on_progress) as file:
            sent = UploadBody(url, file, name, query)
            return self._read(DocumentRecord, await self._send_file(sent))

    async def upload_archive(
        self, knowledge_base_id: str, path: Path, name: str, query: Query
    ) -> list[ArchiveMemberRecord]:
        """Upload a zip file whose members become documents; idempotent. ``query``: its options."""
        url = f"/api/v1/knowledge-bases/{knowledge_base_id}/documents/archive"
        with path.open("rb") as file:
            sent = UploadBody(url, file, name, query, timeout=httpx.Timeout(_ARCHIVE_SECONDS))
            return self._read(ArchiveRecord, await self._send_file(sent)).items

    async def preview_split(self, knowledge_base_id: str, path: Path, query: Query) -> SplitPreviewRecord:
        """Preview how a file would be split; ``query`` overrides splitter, sizes and number of passages."""
        url = f"/api/v1/knowledge-bases/{knowledge_base_id}/split-preview"
        with path.open("rb") as file:
            sent = UploadBody(url, file, path.name, query)
            return self._read(SplitPreviewRecord, await self._send_file(sent))

    async def get_document(self, knowledge_base_id: str, document_id: str) -> DocumentRecord | None:
        """One document; None if it is gone."""
        path = f"/api/v1/knowledge-bases/{knowledge_base_id}/documents/{document_id}"
        try:
            return self._read(DocumentRecord, await self._call("GET", path))
        except ServerRefused as refusal:
            if exit_code(refusal.code) is not ExitCode.NOT_FOUND:
                raise
            return None

    async def delete_document(self, knowledge_base_id: str, document_id: str) -> None:
        """Delete a document; a missing one is no error."""
        try:
            await self._call("DELETE", f"/api/v1/knowledge-bases/{knowledge_base_id}/documents/{document_id}")
        except ServerRefused as refusal:
            if exit_code(refusal.code) is not ExitCode.NOT_FOUND:
                raise

    async def search(self, knowledge_base_ids: Sequence[str], body: JsonObject) -> SearchRecord:
        """Search these knowledge bases, or all visible ones if none is named."""
        ids = list(knowledge_base_ids)
        if len(ids) == 1:
            path = f"/api/v1/knowledge-bases/{ids[0]}/search"
        else:
            path = "/api/v1/search"
            body = {**body, "knowledge_base_ids": [*ids] or None}
        return self._read(SearchRecord, await self._call("POST", path, body=body, reads=True))

    async def why(self, knowledge_base_id: str, body: JsonObject) -> AbsenceRecord:
        """Explain why a passage is, or is not, in the results of a search."""
        path = f"/api/v1/knowledge-bases/{knowledge_base_id}/search/why"
        return self._read(AbsenceRecord, await self._call("POST", path, body=body, reads=True))

    @asynccontextmanager
    async def run_agent(self, body: JsonObject) -> AsyncGenerator[httpx.Response]:
        """Start a run and yield the response that streams its events."""
        async with self.stream("POST", "/api/v1/agent/run", body=body) as response:
            yield response

    @asynccontextmanager
    async def stream(self, method: str, path: str, *, body: JsonObject | None = None) -> AsyncGenerator[httpx.Response]:
        """Send a request and yield the streaming response."""

        def build(http: httpx.AsyncClient) -> httpx.Request:
            headers = {**self._headers(), "Accept": "text/event-stream"}
            return http.build_request(method, path, json=body, headers=headers, timeout=STREAM_TIMEOUT)

        used = await self._credentials()
        async with AsyncExitStack() as stack:
            try:
                response = await stack.enter_async_context(self.transport.stream(build))
            except ServerRefused as refusal:
                await self._renew_after(refusal, used)
                response = await stack.enter_async_context(self.transport.stream(build))
            yield response

    async def stop_run(self, run_id: str) -> bool:
        """Ask a run to stop; False while the server does not know it (yet)."""
        try:
            await self._call("POST", f"/api/v1/agent/run/{run_id}/stop", body={})
        except ServerRefused as refusal:
            if exit_code(refusal.code) is ExitCode.NOT_FOUND:
                return False
            raise
        return True

    async def send_file(self, path: str, file: CountedFile, name: str, fields: Mapping[str, str]) -> JsonValue:
        """POST a file as a form under this name, and return the response's data."""

        sent = UploadBody(path, file, name, fields=fields, timeout=STREAM_TIMEOUT)
        return await self._send_file(sent, repeatable=False)

    async def send_files(self, sent: BatchUploadBody) -> JsonValue:
        """POST files as one form; sending them twice does no harm."""
        return await self._send_file(sent)

    async def call(
        self, method: str, path: str, *, query: Query | None = None, body: JsonObject | None = None
    ) -> JsonValue:
        """Send a request that has no method of its own, and return the response's data."""
        return await self._call(method, path, query=query, body=body)

    def read(self, shape: type[R], value: JsonValue) -> R:
        return self._read(shape, value)

    async def pages(self, path: str, query: Query | None = None) -> AsyncIterator[list[JsonValue]]:
        """A list, a page at a time."""
        for number in count(1):
            parameters = {**(query or {}), "page": number, "page_size": _PAGE_SIZE}
            answer = await self._call("GET", path, query=parameters)
            items = answer.get("items") if isinstance(answer, dict) else None
            if not isinstance(items, list):
                return
            yield items
            if len(items) < _PAGE_SIZE:
                return

    async def _call(
        self, method: str, path: str, *, query: Query | None = None, body: JsonObject | None = None, reads: bool = False
    ) -> JsonValue:
        def build(http: httpx.AsyncClient) -> httpx.Request:
            return http.build_request(method, path, params=query, json=body, headers=self._headers())

        return await self._send(build, repeatable=reads or method == "GET")

    async def _send(self, build: BuildRequest, *, repeatable: bool) -> JsonValue:
        used = await self._credentials()
        try:
            return await self.transport.send(build, repeatable=repeatable)
        except ServerRefused as refusal:
            await self._renew_after(refusal, used)
        return await self.transport.send(build, repeatable=repeatable)

    async def _send_file(self, sent: UploadBody | BatchUploadBody, *, repeatable: bool = True) -> JsonValue:
        return await self._send(lambda http: sent.request(http, self._headers()), repeatable=repeatable)

    async def _credentials(self) -> Login:
        async with self._renewal:
            return self.sign_in.login or await self.sign_in.begin(self.transport)

    async def _renew_after(self, refusal: ServerRefused, used: Login) -> None:
        if refusal.code not in _EXPIRED:
            raise refusal
        async with self._renewal:
            # Another task of this command may have renewed it.
            if self.sign_in.login == used:
                await self.sign_in.renew(self.transport, used)

    def _read(self, shape: type[R], value: JsonValue) -> R:
        return self.transport.read(shape, value)

    def _headers(self) -> dict[str, str]:
        return self.sign_in.login.headers() if self.sign_in.login else {}


def new_id() -> str:
    """An id for a new thread, run or message."""
    return str(uuid.uuid4())


def _fold(name: str) -> str:
    return " ".join(name.split()).casefold()
