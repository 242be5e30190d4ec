"""Refuses vectors that would poison an index: Edge takes NaN without a word."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from core.errors.server import InvalidVector
from kb_service.vector_index.protocol import ChunkPoint, SparseVector

_LARGEST = float(np.finfo(np.float32).max)


def check_points(points: Sequence[ChunkPoint], dimension: int) -> None:
    """Check all points before the first is written.

    Raises:
        InvalidVector: Names the first bad point and its fault.
    """
    for point in points:
        fault = _dense_fault(point.dense, dimension) or _sparse_fault(point.sparse)
        if fault:
            raise InvalidVector(point=point.id, error=fault)


def check_query(
    dense: NDArray[np.float32] | None, sparse: SparseVector | None, dimension: int
) -> None:
    """Check a query's vectors.

    Raises:
        InvalidVector: Names the fault.
    """
    fault = _dense_fault(dense, dimension) or (_sparse_fault(sparse) if sparse else None)
    if fault:
        raise InvalidVector(error=fault)


def _dense_fault(dense: NDArray[np.float32] | None, dimension: int) -> str | None:
    if dense is None:
        return None
    if dense.shape != (dimension,):
        return f"the dense vector has shape {dense.shape}, the index ({dimension},)"
    if not np.isfinite(dense).all():
        return "the dense vector has a value that is not finite"
    return None


def _sparse_fault(sparse: SparseVector) -> str | None:
    if len(sparse.indices) != len(sparse.values):
        return "the sparse vector has not as many values as indices"
    if len(set(sparse.indices)) != len(sparse.indices):
        return "the sparse vector has an index twice"
    if any(not 0 <= index < 2**32 for index in sparse.indices):
        return "the sparse vector has an index that is not an unsigned 32-bit number"
    # False for what is no number, too.
    if not all(-_LARGEST <= value <= _LARGEST for value in sparse.values):
        return "the sparse vector has a value that is not finite"
    return None
