"""Opens what the engine owns: the encoders that run in it, and a shard for each model."""

import gc
from contextlib import suppress
from importlib import import_module
from pathlib import Path

from core.errors import AgentexError, EmbeddingModelUnusable
from core.logging import get_logger
from core.settings import Settings
from kb_service.embeddings.catalog import DEFAULT, EmbeddingModel, served
from kb_service.embeddings.cpu import this_processor
from kb_service.embeddings.minilm.encoder import open_minilm
from kb_service.embeddings.minilm.runtime import choose_backend
from kb_service.embeddings.stepwise import LocalEncoder
from kb_service.engine.holdings import Holdings
from kb_service.vector_index.edge_shard import Shard
from kb_service.vector_index.shard_directory import ShardHome

_log = get_logger(__name__)


def load(settings: Settings) -> Holdings:
    """Open everything; synchronous, on the engine's thread.

    Models beside the default one are loaded now and not at their first use: importing torch
    freezes Python for seconds, which nobody's question should meet. One that can't be loaded or
    whose shard does not fit it is left out, with the reason for whoever asks for it.

    Raises:
        AgentexError: the default encoder or a shard can't be loaded.
    """
    holdings = Holdings(encoders={}, shards={}, homes={}, failures={})
    # First the shards: who can't have their lock need not load a model.
    if settings.qdrant_url is None:
        for model in served(settings):
            _open_shard(holdings, settings, model)
    backend = choose_backend(this_processor())
    encoder = open_minilm(settings.cache_dir, backend, settings.effective_encoder_threads)
    encoder.warm_up()
    holdings.encoders[DEFAULT.name] = encoder
    for model in served(settings):
        if model.source is not None and model.source.kind == "sentence_transformers":
            _load_encoder(holdings, settings, model)
    return holdings


def _open_shard(holdings: Holdings, settings: Settings, model: EmbeddingModel) -> None:
    try:
        home = ShardHome(settings.data_dir / "vectors", model.name, model.dimension)
        shard = Shard(home.folder, model.dimension)
    except AgentexError as error:
        # The default model's shard comes first: who can't have its lock does not come here.
        if model is DEFAULT:
            raise
        _leave_out(holdings, model, error)
        return
    holdings.shards[model.name], holdings.homes[model.name] = shard, home
    # Only now: whoever has the lock may be building what would be swept away.
    home.sweep()
    # A full disk must not keep an engine from starting that has all it needs to answer.
    with suppress(OSError):
        home.keep_record()


def _load_encoder(holdings: Holdings, settings: Settings, model: EmbeddingModel) -> None:
    try:
        holdings.encoders[model.name] = _torch_encoder(settings, model)
        # What torch leaves behind may hold weights, and nobody looks for it later.
        gc.collect()
    except AgentexError as error:
        _leave_out(holdings, model, error)


def _torch_encoder(settings: Settings, model: EmbeddingModel) -> LocalEncoder:
    folder = model.source.path if model.source is not None else None
    if folder is not None and not _holds_model(folder.expanduser()):
        reason = f"{model.name} can't be loaded from {folder}: no model lies there"
        raise EmbeddingModelUnusable(reason=reason)
    # Imported by name, only where a model needs it: torch takes seconds and 300 MB.
    module = import_module("kb_service.embeddings.sentence_transformer")
    return module.TorchEncoder(
        model,
        bf16=this_processor().is_fast_in_bf16,
        threads=settings.encoder_threads,
        downloads=settings.model_downloads,
    )


def _holds_model(folder: Path) -> bool:
    return any((folder / name).is_file() for name in ("modules.json", "config.json"))


def _leave_out(holdings: Holdings, model: EmbeddingModel, error: AgentexError) -> None:
    reason = str(error.details.get("reason"))
    _log.error("engine.model_left_out", model=model.name, reason=reason)
    holdings.failures.setdefault(model.name, reason)
