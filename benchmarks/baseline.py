"""The baseline encoder: sentence-transformers with its defaults, on the same weights."""

from functools import lru_cache

import numpy as np
from sentence_transformers import SentenceTransformer
from transformers.utils import logging as transformers_logging

from kb_service.embeddings.minilm.artifacts import WEIGHTS
from kb_service.embeddings.protocol import Vectors


@lru_cache
def _model() -> SentenceTransformer:
    transformers_logging.disable_progress_bar()
    return SentenceTransformer(str(WEIGHTS), device="cpu")


def encode(texts: list[str]) -> Vectors:
    """Encode as ``SentenceTransformer.encode`` does, in batches of 32; rows of length 1."""
    vectors = _model().encode(texts, normalize_embeddings=True, show_progress_bar=False)
    return np.asarray(vectors, dtype=np.float32)
