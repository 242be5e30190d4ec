"""Points as number arrays in NumPy's file format, read without trusting their headers."""

import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from core.errors.requests import InvalidArchive
from kb_service.transfer.archive_format import MAX_TERMS, MAX_WINDOWS, PointEntry
from kb_service.vector_index.protocol import SparseVector

ROWS, DENSE, INDICES, VALUES = "points", "dense", "sparse_indices", "sparse_values"
NAMES = (ROWS, DENSE, INDICES, VALUES)

# Columns of a row: document, chunk, window (-1: the chunk itself), has a dense vector, terms.
_COLUMNS = 5
_TYPES = {ROWS: "<i4", DENSE: "<f4", INDICES: "<u4", VALUES: "<f4"}
_MAX_HEADER_BYTES = 4096


@dataclass(frozen=True)
class NumberedPoint:
    """A point and the number of its document."""

    document: int
    point: PointEntry


def pack(points: Sequence[NumberedPoint], dimension: int) -> dict[str, bytes]:
    """File contents of the points' arrays, by array name."""
    rows = [
        (
            item.document,
            item.point.chunk,
            -1 if item.point.window is None else item.point.window,
            item.point.dense is not None,
            len(item.point.sparse.indices),
        )
        for item in points
    ]
    dense = [item.point.dense for item in points if item.point.dense is not None]
    sparse = [item.point.sparse for item in points]
    arrays = {
        ROWS: np.array(rows, dtype=_TYPES[ROWS]).reshape(-1, _COLUMNS),
        DENSE: np.array(dense, dtype=_TYPES[DENSE]).reshape(-1, dimension),
        INDICES: np.array([i for item in sparse for i in item.indices], dtype=_TYPES[INDICES]),
        VALUES: np.array([v for item in sparse for v in item.values], dtype=_TYPES[VALUES]),
    }
    return {name: _to_bytes(array) for name, array in arrays.items()}


def _to_bytes(array: NDArray[Any]) -> bytes:
    file = io.BytesIO()
    npy.write_array(file, array, version=(1, 0), allow_pickle=False)
    return file.getvalue()


def unpack(contents: dict[str, bytes], dimension: int) -> list[NumberedPoint]:
    """The points of a shard.

    Raises:
        InvalidArchive: an array has the wrong type or shape, arrays do not match, or a number is not finite.
    """
    rows = _read(contents[ROWS], ROWS, (None, _COLUMNS))
    dense = _read(contents[DENSE], DENSE, (None, dimension))
    indices = _read(contents[INDICES], INDICES, (None,))
    values = _read(contents[VALUES], VALUES, (None,))
    _check(rows, dense, indices, values)
    ends = np.cumsum(rows[:, 4])
    vectors = iter(dense)
    return [
        NumberedPoint(
            document,
            PointEntry(
                chunk=chunk,
                window=None if window < 0 else window,
                dense=next(vectors) if has_dense else None,
                sparse=SparseVector(
                    tuple(indices[end - terms : end].tolist()), tuple(values[end - terms : end].tolist())
                ),
            ),
        )
        for (document, chunk, window, has_dense, terms), end in zip(rows.tolist(), ends.tolist(), strict=True)
    ]


def _read(content: bytes, name: str, shape: tuple[int | None, ...]) -> NDArray[Any]:
    """Parse an array with the expected header; its size is measured, not believed."""
    file = io.BytesIO(content)
    try:
        version = npy.read_magic(file)
        if version != (1, 0):
            raise InvalidArchive(f"{name}: not version 1.0 of the array format")
        dimensions, is_fortran, kind = npy.read_array_header_1_0(file, _MAX_HEADER_BYTES)
    # A header is a Python literal; its reader's exceptions on invalid input are not documented.
    except (ValueError, SyntaxError, TypeError, KeyError, MemoryError, RecursionError) as error:
        raise InvalidArchive(f"{name}: not an array") from error
    dtype = np.dtype(_TYPES[name])
    fits = len(dimensions) == len(shape) and all(
        size in (None, length) for size, length in zip(shape, dimensions, strict=True)
    )
    if kind != dtype or is_fortran or not fits:
        raise InvalidArchive(f"{name}: not of the right type and shape")
    data = memoryview(content)[file.tell() :]
    cells = 1
    for length in dimensions:
        cells *= length
    if min(dimensions) < 0 or cells * dtype.itemsize != len(data):
        raise InvalidArchive(f"{name}: the size is not what its header says")
    return np.frombuffer(data, dtype=dtype).reshape(dimensions)


def _check(rows: NDArray[Any], dense: NDArray[Any], indices: NDArray[Any], values: NDArray[Any]) -> None:
    windows, has_dense, terms = rows[:, 2], rows[:, 3], rows[:, 4]
    if np.any((terms < 0) | (terms > MAX_TERMS)) or np.any((has_dense < 0) | (has_dense > 1)):
        raise InvalidArchive("points: a row is out of range")
    if np.any((windows < -1) | (windows >= MAX_WINDOWS)) or np.any(rows[:, :2] < 0):
        raise InvalidArchive("points: a row is out of range")
    if int(terms.sum(dtype=np.int64)) != len(indices) or len(indices) != len(values):
        raise InvalidArchive("points: the sparse vectors do not fit together")
    if int(has_dense.sum(dtype=np.int64)) != len(dense):
        raise InvalidArchive("points: the dense vectors do not fit together")
    if not (np.isfinite(dense).all() and np.isfinite(values).all()):
        raise InvalidArchive("points: a vector is not finite")
    if len({tuple(row) for row in rows[:, :3].tolist()}) != len(rows):
        raise InvalidArchive("points: a point is there twice")
    owner = np.repeat(np.arange(len(rows)), terms)
    pairs = np.stack([owner, indices.astype(np.int64)])
    if np.unique(pairs, axis=1).shape[1] != len(indices):
        raise InvalidArchive("points: a term is there twice")
