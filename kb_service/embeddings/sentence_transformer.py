"""Encoder for any sentence-transformers model, run by torch in the engine."""

# sentence_transformers and torch are untyped where they are called here.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from collections.abc import Generator, Iterator, Sequence

import numpy as np
import torch
from sentence_transformers import SentenceTransformer
from tokenizers import Tokenizer

from core.errors.server import EmbeddingModelUnusable
from kb_service.embeddings.catalog import EmbeddingModel
from kb_service.embeddings.protocol import Vectors

# Per step: a question for any model waits for the running step. Long passages take as long one by one as together; a
# model of usual size encodes two of them in a third of a second.
_BATCH = 8
_BATCH_CHARACTERS = 4_000
_MAX_PIECES = 16
_MAX_CHARACTERS = 100_000
_SPECIAL_TOKENS = 2


class TorchEncoder:
    """A ``LocalEncoder`` around a loaded model, without units; for the engine's thread.

    Args:
        bf16: compute in bfloat16, on a processor that has it (2.5 times as fast as float32).
        threads: torch's threads; 0 means all cores.
        downloads: whether a model given by name, not as a folder, may be downloaded.

    Raises:
        EmbeddingModelUnusable: it can't be loaded, or its vectors have another length.
    """

    # Nobody knows how large the model is.
    is_brisk = False

    def __init__(self, model: EmbeddingModel, *, bf16: bool, threads: int, downloads: bool) -> None:
        self.backend = "torch-bf16" if bf16 else "torch-fp32"
        self._model = model
        if threads:
            torch.set_num_threads(threads)
        self._transformer = _load(model, bf16=bf16, downloads=downloads)
        dimension = self._transformer.get_embedding_dimension()
        if dimension != model.dimension:
            raise EmbeddingModelUnusable(
                reason=f"{model.name} makes {dimension} numbers, the settings say {model.dimension}"
            )
        self._tokenizer = _unbounded(self._transformer)
        own = self._transformer.max_seq_length or model.window_tokens
        self._window = min(own, model.window_tokens) - _SPECIAL_TOKENS

    def encode_in_steps(self, texts: Sequence[str], *, whole: bool) -> Generator[None, None, Vectors]:
        """See ``LocalEncoder.encode_in_steps``; a long passage is the mean of equal pieces."""
        prefix = self._model.passage_prefix if whole else self._model.query_prefix
        pieces: list[tuple[int, str]] = []
        for position, text in enumerate(texts):
            clean = text[:_MAX_CHARACTERS].encode("utf-8", "replace").decode("utf-8")
            parts = self._pieces(clean, prefix) if whole else [clean]
            pieces += [(position, prefix + part) for part in parts]
        pieces.sort(key=lambda piece: len(piece[1]))
        sums = np.zeros((len(texts), self._model.dimension), dtype=np.float32)
        for batch in _batches(pieces):
            yield
            np.add.at(sums, [position for position, _ in batch], self._encode(batch))
        return sums / np.maximum(np.linalg.norm(sums, axis=1, keepdims=True), 1e-12)

    def _encode(self, batch: Sequence[tuple[int, str]]) -> Vectors:
        vectors = self._transformer.encode(
            [text for _, text in batch],
            batch_size=_BATCH,
            normalize_embeddings=True,
            convert_to_tensor=True,
            show_progress_bar=False,
        )
        return vectors.to(torch.float32).cpu().numpy()

    def _pieces(self, text: str, prefix: str) -> list[str]:
        if self._tokenizer is None:
            return [text]
        spans = self._tokens(text)
        room = max(8, self._window - len(self._tokens(prefix)))
        if len(spans) <= room:
            return [text]
        spans = spans[: room * _MAX_PIECES]
        count = -(-len(spans) // room)
        size = -(-len(spans) // count)
        return [
            text[spans[start][0] : spans[min(start + size, len(spans)) - 1][1]] for start in range(0, len(spans), size)
        ]

    def _tokens(self, text: str) -> list[tuple[int, int]]:
        if self._tokenizer is None:
            return []
        return self._tokenizer.encode(text, add_special_tokens=False).offsets


def _batches(pieces: Sequence[tuple[int, str]]) -> Iterator[Sequence[tuple[int, str]]]:
    start = 0
    for end, (_, text) in enumerate(pieces):
        count = end - start
        if count == _BATCH or (count and (count + 1) * len(text) > _BATCH_CHARACTERS):
            yield pieces[start:end]
            start = end
    if start < len(pieces):
        yield pieces[start:]


def _unbounded(transformer: SentenceTransformer) -> Tokenizer | None:
    """A copy of the model's tokenizer that neither cuts nor pads; None without a fast tokenizer."""
    own = getattr(transformer.tokenizer, "backend_tokenizer", None)
    if own is None:
        return None
    copy = Tokenizer.from_str(own.to_str())
    copy.no_truncation()
    copy.no_padding()
    return copy


def _load(model: EmbeddingModel, *, bf16: bool, downloads: bool) -> SentenceTransformer:
    source = model.source
    place = model.name
    if source is not None:
        place = str(source.path.expanduser()) if source.path else source.model or source.name
    try:
        transformer = SentenceTransformer(
            place, device="cpu", local_files_only=not downloads, model_kwargs={"dtype": torch.bfloat16} if bf16 else {}
        )
    # A broken model must not end the engine that runs others.
    except Exception as error:
        reason = f"{model.name} can't be loaded from {place}"
        raise EmbeddingModelUnusable(reason=reason) from error
    return transformer.eval()
