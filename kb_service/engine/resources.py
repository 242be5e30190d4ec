"""The engine's encoders and shards."""

import gc
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from pathlib import Path

from core.errors.base import AgentexError
from core.errors.requests import InvalidRequest
from core.errors.server import EmbeddingModelUnusable, VectorIndexUnavailable
from core.logging import get_logger
from core.settings import Settings
from kb_service.embeddings.builtin.encoder import open_encoder
from kb_service.embeddings.builtin.runtime import choose_backend
from kb_service.embeddings.catalog import BUILT_IN, DEFAULT, EmbeddingModel, served_models
from kb_service.embeddings.cpu import detect_processor
from kb_service.embeddings.stepwise import LocalEncoder
from kb_service.vector_index.edge_shard import Shard
from kb_service.vector_index.shard_directory import ShardDirectory

# All of them are compared with a question in five milliseconds.
_POINTS_SCANNED_AT_ONCE = 50_000
_REMEDY = {
    "next_action": "Ask your operator to mend the model or its entry in AGENTEX_EMBEDDING_MODELS "
    "and to restart the server, or re-index the knowledge base with another model",
    "next_action_zh": "请联系管理员修复该模型或其在 AGENTEX_EMBEDDING_MODELS 中的配置并重启服务器，"
    "或换用其他模型为知识库重建索引",
}


@dataclass(frozen=True)
class Resources:
    """Encoders and shards that could be opened, and why the others could not.

    Args:
        encoders: by model; models behind an endpoint have none here.
        shards: by model; empty in server mode.
        directories: by model; empty in a process that serves a single shard.
        failures: by model, why its encoder or shard could not be opened.
        openers: by model, how to open an encoder that nobody has needed yet.
    """

    encoders: dict[str, LocalEncoder]
    shards: dict[str, Shard]
    directories: dict[str, ShardDirectory] = field(default_factory=dict[str, ShardDirectory])
    failures: dict[str, str] = field(default_factory=dict[str, str])
    openers: dict[str, Callable[[], LocalEncoder]] = field(default_factory=dict[str, Callable[[], LocalEncoder]])

    def encoder(self, model: str) -> LocalEncoder:
        """The model's encoder, opened now if this is its first use; only on the engine's thread."""
        if model in self.openers and model not in self.encoders:
            self.encoders[model] = self.openers[model]()
        encoder = self.encoders.get(model)
        if encoder is None:
            raise self._failure(model) or InvalidRequest("model", "the engine runs another model")
        return encoder

    def shard(self, model: str) -> Shard:
        shard = self.shards.get(model)
        if shard is None:
            reason = "the engine keeps no vectors of this model"
            raise self._failure(model) or VectorIndexUnavailable(reason=reason)
        return shard

    def answers_soon(self, model: str) -> bool:
        """Whether an ordinary question takes milliseconds, so that it may run on the event loop."""
        shard, encoder = self.shards.get(model), self.encoders.get(model)
        if shard is None or encoder is None:
            return False
        return encoder.is_brisk and shard.points <= _POINTS_SCANNED_AT_ONCE

    def close(self) -> None:
        for shard in self.shards.values():
            shard.close()

    def _failure(self, model: str) -> AgentexError | None:
        reason = self.failures.get(model)
        if reason is None:
            return None
        return EmbeddingModelUnusable(model=model, reason=reason, **_REMEDY)


_log = get_logger(__name__)


def load_resources(settings: Settings) -> Resources:
    """Open everything; synchronous, on the engine's thread.

    Built-in models without vectors are loaded at their first use. Configured ones are loaded now: importing torch
    freezes Python for seconds. A failed model other than the default is left out, with the reason for its callers.

    Raises:
        AgentexError: the default encoder or a shard can't be loaded.
    """
    resources = Resources(encoders={}, shards={}, directories={}, failures={})
    # Shards first: a process that can't get their lock need not load a model.
    if settings.qdrant_url is None:
        for model in served_models(settings):
            _open_shard(resources, settings, model)
    for model in BUILT_IN:
        resources.openers[model.name] = partial(_open_built_in, settings, model)
    resources.encoder(DEFAULT.name)
    for model in BUILT_IN[1:]:
        # The first question must not wait for a model that is in use.
        if model.name in resources.shards and resources.shards[model.name].points:
            with suppress(AgentexError):  # it is tried again at its first use, whose caller gets the reason
                resources.encoder(model.name)
    for model in served_models(settings):
        if model.source is not None and model.source.kind == "sentence_transformers":
            _load_encoder(resources, settings, model)
    return resources


def _open_shard(resources: Resources, settings: Settings, model: EmbeddingModel) -> None:
    try:
        directory = ShardDirectory(settings.data_dir / "vectors", model.name, model.dimension)
        shard = Shard(directory.folder, model.dimension)
    except AgentexError as error:
        # The default model's shard comes first: without its lock nothing else is needed.
        if model is DEFAULT:
            raise
        _leave_out(resources, model, error)
        return
    resources.shards[model.name], resources.directories[model.name] = shard, directory
    # Only with the lock: its holder may be building what would be swept away.
    directory.sweep()
    # A full disk must not stop an engine that can still answer.
    with suppress(OSError):
        directory.ensure_record()


def _open_built_in(settings: Settings, model: EmbeddingModel) -> LocalEncoder:
    backend = choose_backend(detect_processor())
    encoder = open_encoder(model.name, settings.cache_dir, backend, settings.effective_encoder_threads)
    encoder.warm_up()
    return encoder


def _load_encoder(resources: Resources, settings: Settings, model: EmbeddingModel) -> None:
    try:
        resources.encoders[model.name] = _torch_encoder(settings, model)
        # torch's garbage may contain weights, and no later collection looks at it.
        gc.collect()
    except AgentexError as error:
        _leave_out(resources, model, error)


def _torch_encoder(settings: Settings, model: EmbeddingModel) -> LocalEncoder:
    folder = model.source.path if model.source is not None else None
    if folder is not None and not _holds_model(folder.expanduser()):
        reason = f"{model.name} can't be loaded from {folder}: no model lies there"
        raise EmbeddingModelUnusable(reason=reason)
    # Imported only for models that need it: torch takes seconds and 300 MB.
    module = import_module("kb_service.embeddings.sentence_transformer")
    return module.TorchEncoder(
        model,
        bf16=detect_processor().is_fast_in_bf16,
        threads=settings.encoder_threads,
        downloads=settings.model_downloads,
    )


def _holds_model(folder: Path) -> bool:
    return any((folder / name).is_file() for name in ("modules.json", "config.json"))


def _leave_out(resources: Resources, model: EmbeddingModel, error: AgentexError) -> None:
    reason = str(error.details.get("reason"))
    _log.error("engine.model_left_out", model=model.name, reason=reason)
    resources.failures.setdefault(model.name, reason)
