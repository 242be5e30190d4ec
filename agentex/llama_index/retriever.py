"""A LlamaIndex retriever that searches knowledge bases."""

import asyncio
from collections.abc import Sequence
from functools import cached_property
from typing import Any

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.callbacks.base import CallbackManager
from llama_index.core.schema import NodeRelationship, NodeWithScore, QueryBundle, RelatedNodeInfo, TextNode
from llama_index.core.vector_stores.types import MetadataFilters

from agentex.llama_index.client import AgentexClient, JsonObject
from agentex.llama_index.filters import metadata_conditions

RESERVED_PREFIX = "llama_index_"
"""Of the keys by which the vector store knows its nodes; nobody who searches has a use for them."""
_IDENTIFIERS = ["document_id", "knowledge_base_id"]


class AgentexRetriever(BaseRetriever):
    """Searches knowledge bases by meaning and by words, as the server's own agents do.

    Args:
        base_url: of the server, such as ``http://127.0.0.1:8000``.
        api_key: whose permissions decide what is found.
        knowledge_bases: a name or an id, or several; None searches all that the key sees.
        top_k: most passages; None leaves it to the knowledge base.
        filters: on the documents' metadata, joined with ``and``.
        options: further choices of a search, such as ``rerank``, ``neighbours``, ``expand`` or ``score_threshold``.
        timeout: seconds that a search may take.
        callback_manager: LlamaIndex's.
    """

    def __init__(  # noqa: PLR0913
        self,
        base_url: str,
        *,
        api_key: str,
        knowledge_bases: str | Sequence[str] | None = None,
        top_k: int | None = None,
        filters: MetadataFilters | None = None,
        options: JsonObject | None = None,
        timeout: float = 60.0,
        callback_manager: CallbackManager | None = None,
    ) -> None:
        self._client = AgentexClient(base_url, api_key=api_key, timeout=timeout)
        self._names = [knowledge_bases] if isinstance(knowledge_bases, str) else knowledge_bases
        self._filters: JsonObject = {"metadata": metadata_conditions(filters)}
        self._options = dict(options or {})
        if top_k is not None:
            self._options["top_k"] = top_k
        super().__init__(callback_manager=callback_manager)  # pyright: ignore[reportUnknownMemberType]

    def close(self) -> None:
        """Close the connections to the server."""
        self._client.close()

    @cached_property
    def _knowledge_base_ids(self) -> list[str] | None:
        return None if self._names is None else [self._client.find_knowledge_base(name) for name in self._names]

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        passages = self._client.search(
            query_bundle.query_str, self._knowledge_base_ids, filters=self._filters, options=self._options
        )
        return [NodeWithScore(node=passage_node(passage), score=passage["score"]) for passage in passages]

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return await asyncio.to_thread(self._retrieve, query_bundle)


def passage_node(passage: JsonObject) -> TextNode:
    """A passage of a search as a node: where it stands in its metadata, its document as its source.

    The text has what a search shows around the passage, where it was asked for that (``neighbours``, ``expand``).
    """
    around = [*passage["before"], passage, *passage["after"]]
    own: JsonObject = passage["metadata"] or {}
    metadata: dict[str, Any] = {"file_name": passage["document_name"]}
    metadata |= {key: value for key, value in own.items() if not key.startswith(RESERVED_PREFIX)}
    if passage["page"] is not None:
        metadata["page_label"] = str(passage["page"])
    if passage["heading_path"]:
        metadata["heading"] = " > ".join(passage["heading_path"])
    metadata |= {name: passage[name] for name in _IDENTIFIERS}
    return TextNode(
        id_=passage["chunk_id"],
        text="\n\n".join(part["content"] for part in around),
        start_char_idx=around[0]["char_start"],
        end_char_idx=around[-1]["char_end"],
        metadata=metadata,
        # A language model has no use for them.
        excluded_llm_metadata_keys=_IDENTIFIERS,
        excluded_embed_metadata_keys=_IDENTIFIERS,
        relationships={NodeRelationship.SOURCE: RelatedNodeInfo(node_id=passage["document_id"])},
    )
