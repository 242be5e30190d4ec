"""Encoder of a built-in model."""

import math
from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from kb_service.embeddings.builtin.artifacts import prepare
from kb_service.embeddings.builtin.models import BUILT_IN_MODELS, BuiltInModel
from kb_service.embeddings.builtin.postprocessing import load_postprocessing
from kb_service.embeddings.builtin.runtime import Backend, Forward, load_forward
from kb_service.embeddings.builtin.tokenizers import load_tokenizer
from kb_service.embeddings.builtin.word_table import load_word_table
from kb_service.embeddings.protocol import Vectors
from kb_service.embeddings.stepwise import WorkUnit, encode_at_once, lane_count

# Bounds the work one absurd text can cause; splitters stay far below.
_MAX_WINDOWS = 16
_MAX_CHARACTERS = 100_000
# Kernels are built at the start for questions of up to so many tokens.
_WARM_UP_TOKENS = 64


@dataclass(frozen=True)
class _Window:
    text: int
    ids: list[int]


class BuiltInEncoder:
    """A built-in model on one backend; thread-safe, ``lane_count(threads)`` batches at a time.

    Args:
        folder: the converted model.
    """

    is_brisk = True

    def __init__(self, built_in: BuiltInModel, folder: Path, backend: Backend, threads: int = 1) -> None:
        model = built_in.model
        self.name, self.dimension, self.languages = model.name, model.dimension, model.languages
        self.backend = backend
        self._lanes = lane_count(threads)
        self._forward: Forward = load_forward(backend, folder, threads)
        self._words = load_word_table(folder)
        self._tokenizer = load_tokenizer(folder)
        # No token joins a prefix and a text: prefixes end with a blank.
        self._query_prefix, self._passage_prefix = self._tokenizer.ids([model.query_prefix, model.passage_prefix])
        self._window_tokens = model.window_tokens - 2
        path = built_in.postprocessing
        self._postprocessing = None if path is None else load_postprocessing(path)

    def warm_up(self) -> None:
        """Run one input per usual query length, so that no question waits for building kernels."""
        lengths = range(8, _WARM_UP_TOKENS + 1, 8)
        # Each stream of the runtime builds its own: calls in parallel reach all of them.
        inputs = [[_Window(0, [self._tokenizer.first_id] * length)] for length in lengths] * self._lanes
        with ThreadPoolExecutor(self._lanes) as pool:
            list(pool.map(self._pool, inputs))

    def encode(self, texts: Sequence[str], *, whole: bool = False, pool: Executor | None = None) -> Vectors:
        return encode_at_once(self, texts, whole=whole, pool=pool)

    def encode_in_steps(self, texts: Sequence[str], *, whole: bool) -> Generator[Sequence[WorkUnit], None, Vectors]:
        """Encode in units of one batch each, so that a question can go first.

        Args:
            texts: Any strings; lone surrogates become ``?``.
            whole: False cuts at the model's window. True encodes a longer text as the normalised mean of equal windows:
                on 330 SQuAD texts of 489 tokens (mean) dense R@1/R@5 of MiniLM was .487/.737 cut, .524/.827 with
                windows of 254 and a short rest, .556/.853 with equal windows.

        Returns:
            ``float32`` of shape (len(texts), dimension), rows of length 1 (generator's return value).
        """
        batches: list[list[_Window]] = []
        yield [lambda: batches.extend(self._batches(self._windows(texts, whole)))]
        pooled: dict[int, Vectors] = {}

        def pool(number: int) -> None:
            pooled[number] = self._pool(batches[number])

        yield [partial(pool, number) for number in range(len(batches))]
        sums = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for number, batch in enumerate(batches):
            np.add.at(sums, [window.text for window in batch], pooled[number])
        vectors = _of_length_one(sums)
        if self._postprocessing is None:
            return vectors
        return _of_length_one(self._postprocessing.apply(vectors, to_passages=whole))

    def _windows(self, texts: Sequence[str], whole: bool) -> list[_Window]:
        clean = [text[:_MAX_CHARACTERS].encode("utf-8", "replace").decode("utf-8") for text in texts]
        prefix = self._passage_prefix if whole else self._query_prefix
        room = self._window_tokens - len(prefix)
        windows: list[_Window] = []
        for position, ids in enumerate(self._tokenizer.ids(clean)):
            pieces = _equal_pieces(ids, room) if whole else [ids[:room]]
            begin = [self._tokenizer.first_id, *prefix]
            windows += [_Window(position, [*begin, *piece, self._tokenizer.last_id]) for piece in pieces]
        return windows

    def _batches(self, windows: list[_Window]) -> Iterator[list[_Window]]:
        """Batches of windows of similar length, small enough for one thread."""
        most = self.backend.batch_tokens
        batch: list[_Window] = []
        for window in sorted(windows, key=lambda window: len(window.ids)):
            if batch and (len(batch) + 1) * len(window.ids) > most:
                yield batch
                batch = []
            batch.append(window)
        if batch:
            yield batch

    def _pool(self, batch: Sequence[_Window]) -> Vectors:
        """Masked mean of the last hidden states, normalised; (len(batch), dimension)."""
        step = self.backend.length_step
        length = math.ceil(max(len(window.ids) for window in batch) / step) * step
        ids = np.zeros((len(batch), length), dtype=np.int64)
        mask = np.zeros((len(batch), length), dtype=np.int64)
        for row, window in enumerate(batch):
            ids[row, : len(window.ids)] = window.ids
            mask[row, : len(window.ids)] = 1
        # One (1 x length) by (length x dimension) product per row; its scale is normalised away.
        sums = (mask[:, None, :].astype(np.float32) @ self._forward(self._words.rows(ids), mask))[:, 0, :]
        return sums / np.linalg.norm(sums, axis=1, keepdims=True)


def open_encoder(name: str, cache_dir: Path, backend: Backend, threads: int = 1) -> BuiltInEncoder:
    """Prepare the files of a built-in model where needed and load its encoder."""
    model = BUILT_IN_MODELS[name]
    return BuiltInEncoder(model, prepare(model, cache_dir, backend), backend, threads)


def _equal_pieces(ids: list[int], room: int) -> list[list[int]]:
    ids = ids[: _MAX_WINDOWS * room]
    count = max(1, math.ceil(len(ids) / room))
    size = max(1, math.ceil(len(ids) / count))
    return [ids[start : start + size] for start in range(0, len(ids), size)] or [[]]


def _of_length_one(vectors: Vectors) -> Vectors:
    return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
