"""A LlamaIndex vector store whose texts, vectors and search are a knowledge base's."""

import asyncio
import hashlib
import re
import time
from collections.abc import Iterator, Sequence
from typing import Any

from llama_index.core import VectorStoreIndex
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.bridge.pydantic import PrivateAttr
from llama_index.core.schema import BaseNode, MetadataMode, NodeRelationship, RelatedNodeInfo, TextNode
from llama_index.core.vector_stores.types import (
    BasePydanticVectorStore,
    MetadataFilters,
    VectorStoreQuery,
    VectorStoreQueryMode,
    VectorStoreQueryResult,
)

from agentex.llama_index.client import MAX_CONDITION_VALUES, AgentexClient, JsonObject, TextFile
from agentex.llama_index.filters import metadata_conditions
from agentex.llama_index.retriever import RESERVED_PREFIX, passage_node

NODE_ID = f"{RESERVED_PREFIX}node_id"
REF_DOC_ID = f"{RESERVED_PREFIX}ref_doc_id"
CHARACTERS = f"{RESERVED_PREFIX}characters"
_OWN_KEYS = {NODE_ID, REF_DOC_ID, CHARACTERS}
_UPLOAD_SIZE = 500
_MAX_ID_CHARACTERS = 5000
_PLAIN = re.compile(r"[A-Za-z0-9_-]{1,200}")
_POLL_SECONDS = (0.1, 5.0)
_MAX_DENSE_WEIGHT = 2.0
_HYBRID = {VectorStoreQueryMode.DEFAULT, VectorStoreQueryMode.HYBRID, VectorStoreQueryMode.SEMANTIC_HYBRID}
_WORDS_ALONE = {VectorStoreQueryMode.SPARSE, VectorStoreQueryMode.TEXT_SEARCH}


class IndexingError(Exception):
    """Documents that were stored but can't be found: their processing failed, or takes longer than the time given."""


class ServerEmbedding(BaseEmbedding):
    """The embedding model of an index over an ``AgentexVectorStore``, where the server makes the vectors.

    LlamaIndex asks an index for a model even where nothing here is embedded; this one answers at once.
    """

    @classmethod
    def class_name(cls) -> str:
        return "ServerEmbedding"

    def _get_text_embedding(self, text: str) -> list[float]:
        return [0.0]

    def _get_query_embedding(self, query: str) -> list[float]:
        return [0.0]

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return [0.0]


class AgentexVectorStore(BasePydanticVectorStore):
    """A knowledge base as LlamaIndex's vector store; each node is a document of it.

    A node that is longer than the knowledge base's passages is found in parts, each a node of its own whose parent
    is the node that was added. A node's metadata is its document's (up to 17 keys with texts, numbers, truth values
    or lists of texts).

    Attributes:
        base_url: of the server, such as ``http://127.0.0.1:8000``.
        knowledge_base: its name or id.
        indexing_timeout: seconds that ``add`` waits until what it stored can be found; 0: it doesn't.
        timeout: seconds that one request may take.
    """

    stores_text: bool = True
    is_embedding_query: bool = False
    base_url: str
    knowledge_base: str
    indexing_timeout: float = 600.0
    timeout: float = 60.0

    # Private, so that a stored index doesn't hold the key.
    _client: AgentexClient = PrivateAttr()
    _found_id: str | None = PrivateAttr(default=None)

    def __init__(self, base_url: str, *, api_key: str, knowledge_base: str, **options: Any) -> None:
        fields: JsonObject = {"base_url": base_url, "knowledge_base": knowledge_base, **options}
        super().__init__(**fields)
        self._client = AgentexClient(base_url, api_key=api_key, timeout=self.timeout)

    @classmethod
    def class_name(cls) -> str:
        return "AgentexVectorStore"

    @property
    def client(self) -> AgentexClient:
        return self._client

    @property
    def _knowledge_base_id(self) -> str:
        if self._found_id is None:
            self._found_id = self._client.find_knowledge_base(self.knowledge_base)
        return self._found_id

    def close(self) -> None:
        """Close the connections to the server."""
        self._client.close()

    def as_index(self, **options: Any) -> VectorStoreIndex:
        """An index over what the knowledge base holds; ``options`` as of ``VectorStoreIndex.from_vector_store``."""
        return VectorStoreIndex.from_vector_store(  # pyright: ignore[reportUnknownMemberType]
            self, embed_model=ServerEmbedding(), **options
        )

    def add(self, nodes: Sequence[BaseNode], **_kwargs: Any) -> list[str]:
        """Store nodes and wait until they can be found; one whose id is known is replaced.

        Raises:
            AgentexRequestError: the server refused a node; those before it are stored.
            IndexingError: a stored node can't be found, or not yet.
        """
        files = [_file(node) for node in nodes]
        for start in range(0, len(files), _UPLOAD_SIZE):
            self._upload(files[start : start + _UPLOAD_SIZE])
        node_ids = [node.node_id for node in nodes]
        if self.indexing_timeout > 0:
            self._wait(node_ids)
        return node_ids

    async def async_add(self, nodes: Sequence[BaseNode], **kwargs: Any) -> list[str]:
        """As ``add``."""
        return await asyncio.to_thread(self.add, nodes, **kwargs)

    def delete(self, ref_doc_id: str, **_kwargs: Any) -> None:
        """Delete the nodes of a source document."""
        self._delete(self._client.list_documents(self._knowledge_base_id, {REF_DOC_ID: ref_doc_id}))

    async def adelete(self, ref_doc_id: str, **kwargs: Any) -> None:
        """As ``delete``."""
        await asyncio.to_thread(self.delete, ref_doc_id, **kwargs)

    def delete_nodes(
        self, node_ids: list[str] | None = None, filters: MetadataFilters | None = None, **_kwargs: Any
    ) -> None:
        """Delete the nodes that have one of the ids and match the filters; without either, none."""
        if node_ids is not None or filters is not None:
            self._delete(self._documents(node_ids, filters))

    async def adelete_nodes(
        self, node_ids: list[str] | None = None, filters: MetadataFilters | None = None, **kwargs: Any
    ) -> None:
        """As ``delete_nodes``."""
        await asyncio.to_thread(self.delete_nodes, node_ids, filters, **kwargs)

    def clear(self) -> None:
        """Delete every node; documents that were uploaded otherwise stay."""
        self._delete(self._documents())

    async def aclear(self) -> None:
        """As ``clear``."""
        await asyncio.to_thread(self.clear)

    def get_nodes(self, node_ids: list[str] | None = None, filters: MetadataFilters | None = None) -> list[BaseNode]:
        """The nodes that have one of the ids and match the filters, whole; without either, all."""
        return [
            TextNode(
                id_=document["metadata"][NODE_ID],
                text=self._client.read_content(self._knowledge_base_id, document["id"]),
                metadata=_user_metadata(document["metadata"]),
                relationships=_source(document["metadata"]),
            )
            for document in self._documents(node_ids, filters)
        ]

    async def aget_nodes(
        self, node_ids: list[str] | None = None, filters: MetadataFilters | None = None
    ) -> list[BaseNode]:
        """As ``get_nodes``."""
        return await asyncio.to_thread(self.get_nodes, node_ids, filters)

    def query(self, query: VectorStoreQuery, **kwargs: Any) -> VectorStoreQueryResult:
        """Search by meaning and words; ``kwargs`` are further choices of a search, such as ``rerank``.

        Raises ValueError for a mode, a filter or a query without words that the server can't serve.
        """
        if not query.query_str:
            raise ValueError("Agentex makes the vectors itself: ask with query_str instead of query_embedding")
        conditions = metadata_conditions(query.filters)
        if query.node_ids:
            conditions[NODE_ID] = query.node_ids
        if query.doc_ids:
            conditions[REF_DOC_ID] = query.doc_ids
        options = {"top_k": query.hybrid_top_k or query.similarity_top_k, **_weights(query), **kwargs}
        passages = self._client.search(
            query.query_str, [self._knowledge_base_id], filters={"metadata": conditions}, options=options
        )
        nodes = [_found_node(passage) for passage in passages]
        scores = [passage["score"] for passage in passages]
        return VectorStoreQueryResult(nodes=nodes, similarities=scores, ids=[node.node_id for node in nodes])

    async def aquery(self, query: VectorStoreQuery, **kwargs: Any) -> VectorStoreQueryResult:
        """As ``query``."""
        return await asyncio.to_thread(self.query, query, **kwargs)

    def _upload(self, files: Sequence[TextFile]) -> None:
        documents = self._client.upload(self._knowledge_base_id, files)
        for file, document in zip(files, documents, strict=True):
            # A text that was there already keeps the metadata that it had.
            if document["metadata"] != file.metadata:
                self._client.replace_metadata(self._knowledge_base_id, document["id"], file.metadata)

    def _documents(
        self, node_ids: Sequence[str] | None = None, filters: MetadataFilters | None = None
    ) -> Iterator[JsonObject]:
        conditions = metadata_conditions(filters)
        listings = [conditions] if node_ids is None else [{**conditions, NODE_ID: ids} for ids in _slices(node_ids)]
        for metadata in listings:
            documents = self._client.list_documents(self._knowledge_base_id, metadata)
            yield from (document for document in documents if NODE_ID in document["metadata"])

    def _delete(self, documents: Iterator[JsonObject]) -> None:
        # All pages are read before the first document goes, or the rest would move up unread.
        self._client.delete_documents(self._knowledge_base_id, [document["id"] for document in documents])

    def _wait(self, node_ids: Sequence[str]) -> None:
        deadline = time.monotonic() + self.indexing_timeout
        pause, longest = _POLL_SECONDS
        while waiting := [document for document in self._documents(node_ids) if not _is_current(document)]:
            node_ids = [document["metadata"][NODE_ID] for document in waiting]
            failed = [document for document in waiting if document["status"] in {"failed", "cancelled"}]
            if failed:
                failure = failed[0]["failure"]
                reason = "it was cancelled" if failure is None else failure["message"]
                raise IndexingError(f"{len(failed)} nodes can't be found; {failed[0]['name']}: {reason}")
            if time.monotonic() > deadline:
                raise IndexingError(
                    f"{len(waiting)} nodes are stored, but not yet indexed after {self.indexing_timeout} s; "
                    "they will be found later, without adding them again"
                )
            time.sleep(pause)
            pause = min(2 * pause, longest)


def _file(node: BaseNode) -> TextFile:
    metadata = {key: value for key, value in node.metadata.items() if value is not None}
    if reserved := _OWN_KEYS & metadata.keys():
        raise ValueError(f"The metadata key {min(reserved)!r} is the vector store's own: use another one")
    text = node.get_content(MetadataMode.NONE)
    own: JsonObject = {NODE_ID: node.node_id, CHARACTERS: len(text.strip())}
    if node.ref_doc_id is not None:
        own[REF_DOC_ID] = node.ref_doc_id
    return TextFile(_file_name(node.node_id), text, {**metadata, **own})


def _file_name(node_id: str) -> str:
    """The name of a node's document: its id, or what stands for an id that is no file's name."""
    stem = node_id if _PLAIN.fullmatch(node_id) else hashlib.sha256(node_id.encode()).hexdigest()
    return f"{stem}.txt"


def _is_current(document: JsonObject) -> bool:
    return document["status"] == "completed" and document["active_revision"] == document["revision"]


def _user_metadata(metadata: JsonObject) -> JsonObject:
    return {key: value for key, value in metadata.items() if key not in _OWN_KEYS}


def _source(metadata: JsonObject) -> dict[NodeRelationship, Any]:
    if REF_DOC_ID not in metadata:
        return {}
    return {NodeRelationship.SOURCE: RelatedNodeInfo(node_id=metadata[REF_DOC_ID])}


def _found_node(passage: JsonObject) -> TextNode:
    """A passage as the node that it is or is a part of; as itself where the document is no node."""
    metadata: JsonObject = passage["metadata"] or {}
    if NODE_ID not in metadata:
        return passage_node(passage)
    relationships = _source(metadata)
    is_whole = passage["char_end"] - passage["char_start"] >= metadata[CHARACTERS]
    if not is_whole:
        relationships[NodeRelationship.PARENT] = RelatedNodeInfo(node_id=metadata[NODE_ID])
    return TextNode(
        id_=metadata[NODE_ID] if is_whole else passage["chunk_id"],
        text=passage["content"],
        metadata=_user_metadata(metadata),
        start_char_idx=passage["char_start"],
        end_char_idx=passage["char_end"],
        relationships=relationships,
    )


def _weights(query: VectorStoreQuery) -> JsonObject:
    """How much meaning counts beside words; the server's own choice unless ``alpha`` says it."""
    if query.mode in _WORDS_ALONE:
        return {"dense_weight": 0.0}
    if query.mode not in _HYBRID:
        raise ValueError(f"Agentex has no query mode {query.mode.value!r}; use default, hybrid or sparse")
    if query.alpha is None or query.mode == VectorStoreQueryMode.DEFAULT:
        return {}
    share = min(max(query.alpha, 0.0), 1.0)
    # LlamaIndex splits 1 between meaning and words; the server weighs meaning against 1 for words.
    return {"dense_weight": _MAX_DENSE_WEIGHT if share >= 1 else min(_MAX_DENSE_WEIGHT, share / (1 - share))}


def _slices(node_ids: Sequence[str]) -> Iterator[list[str]]:
    """As many ids at a time as a filter takes, and as an address has room for."""
    ids: list[str] = []
    characters = 0
    for node_id in node_ids:
        if len(ids) == MAX_CONDITION_VALUES or (ids and characters + len(node_id) > _MAX_ID_CHARACTERS):
            yield ids
            ids, characters = [], 0
        ids.append(node_id)
        characters += len(node_id)
    if ids:
        yield ids
