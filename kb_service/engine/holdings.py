"""What the engine's one thread owns: encoders and shards, by model."""

from dataclasses import dataclass, field

from core.errors import AgentexError, EmbeddingModelUnusable, InvalidRequest, VectorIndexUnavailable
from kb_service.embeddings.stepwise import LocalEncoder
from kb_service.vector_index.edge_shard import Shard
from kb_service.vector_index.shard_directory import ShardHome

# All of them are compared with a question in five milliseconds.
_POINTS_SCANNED_AT_ONCE = 50_000
_REMEDY = {
    "next_action": "Ask your operator to mend the model or its entry in AGENTEX_EMBEDDING_MODELS "
    "and to restart the server, or re-index the knowledge base with another model",
    "next_action_zh": "请联系管理员修复该模型或其在 AGENTEX_EMBEDDING_MODELS 中的配置并重启服务器，"
    "或换用其他模型为知识库重建索引",
}


@dataclass(frozen=True)
class Holdings:
    """Encoders and shards that could be opened, and why the others could not.

    Args:
        encoders: by model; models behind an endpoint have none here.
        shards: by model; empty in server mode.
        homes: where each shard lies; empty in a process that only serves what it was given.
        failures: by model, what keeps its encoder or shard from being opened.
    """

    encoders: dict[str, LocalEncoder]
    shards: dict[str, Shard]
    homes: dict[str, ShardHome] = field(default_factory=dict[str, ShardHome])
    failures: dict[str, str] = field(default_factory=dict[str, str])

    def encoder(self, model: str) -> LocalEncoder:
        """The encoder of a model.

        Raises:
            EmbeddingModelUnusable: it could not be loaded.
            InvalidRequest: the engine runs none of this name.
        """
        encoder = self.encoders.get(model)
        if encoder is None:
            raise self._failure(model) or InvalidRequest("model", "the engine runs another model")
        return encoder

    def shard(self, model: str) -> Shard:
        """The shard of a model.

        Raises:
            EmbeddingModelUnusable: it could not be opened.
            VectorIndexUnavailable: the engine keeps none of this name.
        """
        shard = self.shards.get(model)
        if shard is None:
            reason = "the engine keeps no vectors of this model"
            raise self._failure(model) or VectorIndexUnavailable(reason=reason)
        return shard

    def answers_soon(self, model: str) -> bool:
        """Whether an ordinary question takes some milliseconds: the event loop may wait for it."""
        shard, encoder = self.shards.get(model), self.encoders.get(model)
        if shard is None or encoder is None:
            return False
        return encoder.is_brisk and shard.points <= _POINTS_SCANNED_AT_ONCE

    def close(self) -> None:
        """Flush and close every shard."""
        for shard in self.shards.values():
            shard.close()

    def _failure(self, model: str) -> AgentexError | None:
        """What who asks for a model that was left out is told; the others can be used."""
        reason = self.failures.get(model)
        if reason is None:
            return None
        return EmbeddingModelUnusable(model=model, reason=reason, **_REMEDY)
