"""Knowledge bases of an Agentex server in LlamaIndex programmes: a retriever, a vector store, and tools."""

from agentex.llama_index.client import AgentexRequestError
from agentex.llama_index.retriever import AgentexRetriever
from agentex.llama_index.tool_spec import AgentexToolSpec
from agentex.llama_index.vector_store import AgentexVectorStore, IndexingError, ServerEmbedding

__all__ = [
    "AgentexRequestError",
    "AgentexRetriever",
    "AgentexToolSpec",
    "AgentexVectorStore",
    "IndexingError",
    "ServerEmbedding",
]
