"""The table of word embeddings, kept out of the graph so that only rows in use are in memory."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from kb_service.embeddings.protocol import Vectors

_VALUES, _SCALES = "words.npy", "word_scales.npy"


@dataclass(frozen=True)
class WordTable:
    """A row for each token of the vocabulary.

    Args:
        values: (vocabulary, width), ``float32``, or ``int8`` with scales.
        scales: (vocabulary, width / block), ``float16``: what the values of each block are multiplied by.
    """

    values: NDArray[np.float32] | NDArray[np.int8]
    scales: NDArray[np.float16] | None = None

    def rows(self, ids: NDArray[np.int64]) -> Vectors:
        """The rows of these tokens, (\\*ids.shape, width)."""
        values = self.values[ids]
        if self.scales is None:
            return values.astype(np.float32, copy=False)
        scales = self.scales[ids].astype(np.float32)
        blocks = values.reshape(*scales.shape, -1)
        return (blocks * scales[..., None]).reshape(values.shape)

    def save(self, folder: Path) -> None:
        """Write the files of a converted model."""
        np.save(folder / _VALUES, self.values)
        if self.scales is not None:
            np.save(folder / _SCALES, self.scales)


def load_word_table(folder: Path) -> WordTable:
    """Map the files that ``WordTable.save`` wrote."""
    scales = folder / _SCALES
    return WordTable(
        np.load(folder / _VALUES, mmap_mode="r"),
        np.load(scales, mmap_mode="r") if scales.exists() else None,
    )
