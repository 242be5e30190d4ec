"""The all-MiniLM-L6-v2 encoder."""

import math
from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from tokenizers import Tokenizer

from kb_service.embeddings.catalog import DEFAULT
from kb_service.embeddings.minilm.artifacts import TOKENIZER, prepare
from kb_service.embeddings.minilm.runtime import Backend, Forward, load_forward
from kb_service.embeddings.protocol import Vectors
from kb_service.embeddings.stepwise import WorkUnit, encode_at_once, lane_count

# The model's window without [CLS] and [SEP].
_WINDOW_TOKENS = DEFAULT.window_tokens - 2
# Bounds the work one absurd text can cause; splitters stay far below.
_MAX_WINDOWS = 16
_MAX_CHARACTERS = 100_000
# Kernels are built at the start for questions of up to so many tokens.
_WARM_UP_TOKENS = 64


@dataclass(frozen=True)
class _Window:
    text: int
    ids: list[int]


class MiniLmEncoder:
    """all-MiniLM-L6-v2 on one backend; thread-safe, ``lane_count(threads)`` batches at a time."""

    name = DEFAULT.name
    dimension = DEFAULT.dimension
    languages = DEFAULT.languages
    is_brisk = True

    def __init__(self, folder: Path, backend: Backend, threads: int = 1) -> None:
        self.backend = backend
        self._lanes = lane_count(threads)
        self._forward: Forward = load_forward(backend, folder, threads)
        self._tokenizer: Tokenizer = Tokenizer.from_file(str(TOKENIZER))
        # tokenizer.json cuts at 128 and pads; both are done here, for the model's 256.
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        self._first, self._last = (
            # An empty text is encoded as exactly the two special tokens.
            self._tokenizer.encode("", add_special_tokens=True).ids
        )

    def warm_up(self) -> None:
        """Run one input per usual query length, so that no question waits for building kernels."""
        lengths = range(8, _WARM_UP_TOKENS + 1, 8)
        # Each stream of the runtime builds its own: calls in parallel reach all of them.
        inputs = [[_Window(0, [self._first] * length)] for length in lengths] * self._lanes
        with ThreadPoolExecutor(self._lanes) as pool:
            list(pool.map(self._pool, inputs))

    def encode(self, texts: Sequence[str], *, whole: bool = False, pool: Executor | None = None) -> Vectors:
        return encode_at_once(self, texts, whole=whole, pool=pool)

    def encode_in_steps(self, texts: Sequence[str], *, whole: bool) -> Generator[Sequence[WorkUnit], None, Vectors]:
        """Encode in units of one batch each, so that a question can go first.

        Args:
            texts: Any strings; lone surrogates become ``?``.
            whole: False cuts at 256 tokens as the model does. True encodes a longer text as the normalised mean of
                equal windows: on 330 SQuAD texts of 489 tokens (mean) dense R@1/R@5 was .487/.737 cut, .524/.827 with
                windows of 254 and a short rest, .556/.853 with equal windows.

        Returns:
            ``float32`` of shape (len(texts), 384), rows of length 1 (generator's return value).
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
        return sums / np.maximum(np.linalg.norm(sums, axis=1, keepdims=True), 1e-12)

    def _windows(self, texts: Sequence[str], whole: bool) -> list[_Window]:
        clean = [text[:_MAX_CHARACTERS].encode("utf-8", "replace").decode("utf-8") for text in texts]
        windows: list[_Window] = []
        encoded = self._tokenizer.encode_batch_fast(clean, add_special_tokens=False)
        for position, ids in enumerate(encoding.ids for encoding in encoded):
            pieces = _equal_pieces(ids) if whole else [ids[:_WINDOW_TOKENS]]
            windows += [_Window(position, [self._first, *ids, self._last]) for ids in pieces]
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
        """Masked mean of the last hidden states, normalised; (len(batch), 384)."""
        step = self.backend.length_step
        length = math.ceil(max(len(window.ids) for window in batch) / step) * step
        ids = np.zeros((len(batch), length), dtype=np.int64)
        mask = np.zeros((len(batch), length), dtype=np.int64)
        for row, window in enumerate(batch):
            ids[row, : len(window.ids)] = window.ids
            mask[row, : len(window.ids)] = 1
        # One (1 x length) by (length x dimension) product per row; its scale is normalised away.
        sums = (mask[:, None, :].astype(np.float32) @ self._forward(ids, mask))[:, 0, :]
        return sums / np.linalg.norm(sums, axis=1, keepdims=True)


def open_encoder(cache_dir: Path, backend: Backend, threads: int = 1) -> MiniLmEncoder:
    """Prepare the files where needed and load the encoder."""
    return MiniLmEncoder(prepare(cache_dir, backend), backend, threads)


def _equal_pieces(ids: list[int]) -> list[list[int]]:
    ids = ids[: _MAX_WINDOWS * _WINDOW_TOKENS]
    count = max(1, math.ceil(len(ids) / _WINDOW_TOKENS))
    size = max(1, math.ceil(len(ids) / count))
    return [ids[start : start + size] for start in range(0, len(ids), size)] or [[]]
