"""Postprocessing of a built-in model's vectors: what most of them have in common is taken away."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from kb_service.embeddings.protocol import Vectors

# All of it finds hardly more across languages, and puts passages of another language before those of the question's own.
_LANGUAGE_SHARE = 0.6


@dataclass(frozen=True)
class VectorPostprocessing:
    """Means and language directions of a model's vectors.

    The vectors of multilingual-e5-small lie close together, long passages of code or tables closer to all questions
    than their answers do, and texts of one language closer than texts of one meaning. So the mean is subtracted (Mu and
    Viswanath, arXiv:1702.01417), and the directions in which the means of languages differ are projected out (after
    Yang et al., arXiv:2109.04727) in part. Figures: docs/decisions/0080.

    Args:
        query_mean: of questions' vectors, (dimension,).
        passage_mean: of passages' vectors, (dimension,).
        language_directions: orthonormal rows, (count, dimension).
    """

    query_mean: Vectors
    passage_mean: Vectors
    language_directions: Vectors

    def apply(self, vectors: Vectors, *, to_passages: bool) -> Vectors:
        """Vectors of length 1, (count, dimension), without what these say; not of length 1."""
        mean = self.passage_mean if to_passages else self.query_mean
        centred = np.subtract(vectors, mean, dtype=np.float32)
        shares = np.multiply(_LANGUAGE_SHARE, centred @ self.language_directions.T, dtype=np.float32)
        return np.subtract(centred, np.matmul(shares, self.language_directions, dtype=np.float32), dtype=np.float32)

    def save(self, path: Path) -> None:
        np.savez(path, allow_pickle=False, **vars(self))


def load_postprocessing(path: Path) -> VectorPostprocessing:
    """The arrays of a file that ``VectorPostprocessing.save`` wrote; OSError or TypeError for another file."""
    with np.load(path) as arrays:
        return VectorPostprocessing(**arrays)
