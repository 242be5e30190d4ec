"""HTTP client of an Agentex server (docs/api.md)."""

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import httpx

JsonObject = dict[str, Any]

MAX_CONDITION_VALUES = 100
"""Most values that one key of a metadata filter may be compared with."""
_PAGE_SIZE = 100
_BULK_SIZE = 1000
_RETRIES = 4
_LONGEST_WAIT_SECONDS = 60.0
# Of a batch: the server answers once each file is stored.
_UPLOAD_SECONDS = 600.0


class AgentexRequestError(Exception):
    """A request that the server refused, or did not answer.

    Attributes:
        code: of the server's error (docs/api.md, "Errors"); 0 if it gave no answer of its own.
        details: which field was wrong, and why.
        request_id: under which the operator finds the request in the log.
    """

    def __init__(self, message: str, *, code: int = 0, details: JsonObject | None = None, request_id: str = "") -> None:
        self.code = code
        self.details = details or {}
        self.request_id = request_id
        reason = f": {self.details['error']}" if "error" in self.details else ""
        place = f" (request {request_id})" if request_id else ""
        super().__init__(f"{message}{reason}{place}")


@dataclass(frozen=True)
class TextFile:
    """A text to be uploaded as a document."""

    name: str
    text: str
    metadata: JsonObject


class AgentexClient:
    """A server and one person's access to it; may be shared by threads.

    Args:
        base_url: of the server, such as ``http://127.0.0.1:8000``.
        api_key: made in the console under Profile, or with ``agentex login`` and ``POST /users/me/api-keys``.
        timeout: seconds that one request may take.
    """

    def __init__(self, base_url: str, *, api_key: str, timeout: float = 60.0) -> None:
        self._http = httpx.Client(
            base_url=f"{base_url.rstrip('/')}/api/v1", headers={"X-API-Key": api_key}, timeout=timeout
        )

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def list_knowledge_bases(self) -> list[JsonObject]:
        """All knowledge bases that the person sees."""
        return list(self._pages("/knowledge-bases", {}))

    def find_knowledge_base(self, name: str) -> str:
        """The id of the knowledge base with this id or name; LookupError if it isn't exactly one."""
        bases = self.list_knowledge_bases()
        exact = [base for base in bases if base["id"] == name]
        namesakes = [base for base in bases if base["name"].casefold() == name.casefold()]
        # As in the terminal: the caller's own comes before another person's of the same name.
        matches = exact or [base for base in namesakes if base["access"] == "owner"] or namesakes
        if not matches:
            names = ", ".join(base["name"] for base in bases) or "none"
            raise LookupError(f"There is no knowledge base {name!r}; visible to this API key: {names}")
        if len(matches) > 1:
            raise LookupError(f"Several knowledge bases are named {name!r}: use an id instead of the name")
        return matches[0]["id"]

    def search(
        self, query: str, knowledge_base_ids: Sequence[str] | None, *, filters: JsonObject, options: JsonObject
    ) -> list[JsonObject]:
        """Passages, best first, each with its document's metadata; of all knowledge bases if none is named.

        Args:
            filters: as in docs/guide/en/search.md.
            options: ``top_k``, ``rerank``, ``neighbours`` and so on.
        """
        body = {**options, "query": query, "filters": filters, "include_metadata": True}
        if knowledge_base_ids is not None:
            body["knowledge_base_ids"] = list(knowledge_base_ids)
        return self._call("POST", "/search", json=body)["results"]

    def read_passage(self, knowledge_base_id: str, passage_id: str) -> JsonObject:
        """One passage."""
        return self._call("GET", f"/knowledge-bases/{knowledge_base_id}/chunks/{passage_id}")

    def upload(self, knowledge_base_id: str, files: Sequence[TextFile]) -> list[JsonObject]:
        """Store texts as documents, at most 1,000 at a time; one of a present name becomes its next revision.

        Raises AgentexRequestError for the first text that was refused; those before it are stored.
        """
        # A form's fields hold for the files behind them, so the order of the parts counts.
        parts: list[tuple[str, tuple[str | None, bytes]]] = []
        for file in files:
            parts.append(("metadata", (None, json.dumps(file.metadata).encode())))
            parts.append(("file", (file.name, file.text.encode())))
        path = f"/knowledge-bases/{knowledge_base_id}/documents/batch"
        items = self._call("POST", path, files=parts, timeout=_UPLOAD_SECONDS)["items"]
        for item in items:
            if item["error"] is not None:
                error = item["error"]
                message = f"{item['name']} was refused: {error['message']}"
                raise AgentexRequestError(message, code=error["code"], details=error["details"])
        return [item["document"] for item in items]

    def list_documents(self, knowledge_base_id: str, metadata: JsonObject | None = None) -> Iterator[JsonObject]:
        """The documents of a knowledge base, or those with this metadata, in no promised order."""
        query = {"metadata": json.dumps(metadata)} if metadata else {}
        return self._pages(f"/knowledge-bases/{knowledge_base_id}/documents", query)

    def read_content(self, knowledge_base_id: str, document_id: str) -> str:
        """The text of a document as it was uploaded."""
        path = f"/knowledge-bases/{knowledge_base_id}/documents/{document_id}/content"
        return self._send("GET", path).content.decode()

    def replace_metadata(self, knowledge_base_id: str, document_id: str, metadata: JsonObject) -> None:
        """Give a document other metadata, which doesn't process it again."""
        self._call("PUT", f"/knowledge-bases/{knowledge_base_id}/documents/{document_id}", json={"metadata": metadata})

    def delete_documents(self, knowledge_base_id: str, document_ids: Sequence[str]) -> None:
        """Delete documents; missing ones are no error."""
        for start in range(0, len(document_ids), _BULK_SIZE):
            body = {"action": "delete", "document_ids": list(document_ids[start : start + _BULK_SIZE])}
            self._call("POST", f"/knowledge-bases/{knowledge_base_id}/documents/bulk", json=body)

    def _pages(self, path: str, query: Mapping[str, str]) -> Iterator[JsonObject]:
        page, count = 1, 0
        while True:
            listing = self._call("GET", path, params={**query, "page": page, "page_size": _PAGE_SIZE})
            yield from listing["items"]
            count += len(listing["items"])
            if not listing["items"] or count >= listing["total"]:
                return
            page += 1

    def _call(self, method: str, path: str, **request: Any) -> JsonObject:
        return cast(JsonObject, self._send(method, path, **request).json()["data"])

    def _send(self, method: str, path: str, **request: Any) -> httpx.Response:
        response = self._send_once(method, path, **request)
        for _ in range(_RETRIES):
            wait = _retry_after(response)
            if wait is None:
                break
            time.sleep(wait)
            response = self._send_once(method, path, **request)
        if not response.is_success:
            raise _refusal(response)
        return response

    def _send_once(self, method: str, path: str, **request: Any) -> httpx.Response:
        try:
            return self._http.request(method, path, **request)
        except httpx.HTTPError as error:
            address = self._http.base_url.copy_with(raw_path=b"/")
            raise AgentexRequestError(f"{address} gave no answer: {error or type(error).__name__}") from error


def _retry_after(response: httpx.Response) -> float | None:
    """Seconds after which the server will take the request; None if repeating it is of no use."""
    if response.status_code not in {429, 503}:
        return None
    try:
        seconds = float(response.headers.get("Retry-After", ""))
    except ValueError:
        return None
    return seconds if 0 <= seconds <= _LONGEST_WAIT_SECONDS else None


def _refusal(response: httpx.Response) -> AgentexRequestError:
    request_id = response.headers.get("X-Request-ID", "")
    try:
        body = response.json()
        return AgentexRequestError(
            body["message"], code=body["code"], details=body.get("details"), request_id=request_id
        )
    except (ValueError, KeyError, TypeError):
        # A proxy in front of the server answers in its own words.
        return AgentexRequestError(f"The server answered with status {response.status_code}", request_id=request_id)
