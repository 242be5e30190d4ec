"""Knowledge bases as tools of a LlamaIndex agent."""

import asyncio
import json
from collections.abc import Sequence
from typing import Any

from llama_index.core.tools.tool_spec.base import SPEC_FUNCTION_TYPE, BaseToolSpec

from agentex.llama_index.client import AgentexClient, JsonObject

_SHOWN = ("knowledge_base_id", "document_name", "heading_path", "page", "content", "score")


class AgentexToolSpec(BaseToolSpec):
    """Tools that list knowledge bases, search them and read on around a passage.

    Args:
        base_url: of the server, such as ``http://127.0.0.1:8000``.
        api_key: whose permissions decide what the tools see.
        timeout: seconds that a call may take.
    """

    spec_functions: list[SPEC_FUNCTION_TYPE] = [  # noqa: RUF012 - as the base class declares it
        ("list_knowledge_bases", "alist_knowledge_bases"),
        ("search_knowledge_bases", "asearch_knowledge_bases"),
        ("read_passage", "aread_passage"),
    ]

    def __init__(self, base_url: str, *, api_key: str, timeout: float = 60.0) -> None:
        self._client = AgentexClient(base_url, api_key=api_key, timeout=timeout)

    def close(self) -> None:
        """Close the connections to the server."""
        self._client.close()

    def list_knowledge_bases(self) -> str:
        """List the knowledge bases that can be searched, with what they are about."""
        bases = self._client.list_knowledge_bases()
        return _json([{name: base[name] for name in ("id", "name", "description")} for base in bases])

    def search_knowledge_bases(
        self, query: str, knowledge_base_ids: Sequence[str] | None = None, top_k: int = 5
    ) -> str:
        """Find passages of documents by a question or keywords, in Chinese or English.

        Args:
            query: the question or the keywords.
            knowledge_base_ids: where to search; everywhere if left out.
            top_k: most passages, from 1 to 100.
        """
        passages = self._client.search(query, knowledge_base_ids, filters={}, options={"top_k": top_k})
        return _json([{"passage_id": passage["chunk_id"], **_passage_fields(passage)} for passage in passages])

    def read_passage(self, knowledge_base_id: str, passage_id: str) -> str:
        """Read one passage of a document in full.

        Args:
            knowledge_base_id: as a search says.
            passage_id: as a search says.
        """
        return _json(_passage_fields(self._client.read_passage(knowledge_base_id, passage_id)))

    async def alist_knowledge_bases(self) -> str:
        """List the knowledge bases that can be searched, with what they are about."""
        return await asyncio.to_thread(self.list_knowledge_bases)

    async def asearch_knowledge_bases(
        self, query: str, knowledge_base_ids: Sequence[str] | None = None, top_k: int = 5
    ) -> str:
        """Find passages of documents by a question or keywords, in Chinese or English."""
        return await asyncio.to_thread(self.search_knowledge_bases, query, knowledge_base_ids, top_k)

    async def aread_passage(self, knowledge_base_id: str, passage_id: str) -> str:
        """Read one passage of a document in full."""
        return await asyncio.to_thread(self.read_passage, knowledge_base_id, passage_id)


def _passage_fields(passage: JsonObject) -> JsonObject:
    return {name: passage[name] for name in _SHOWN if name in passage}


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
