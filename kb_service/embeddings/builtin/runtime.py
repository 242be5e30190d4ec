"""The runtimes of the converted model, and the choice of one by the processor."""

# OpenVINO and ONNX Runtime ship stubs with untyped parameters; this module is their fence.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

import ctypes
import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from kb_service.embeddings.cpu import Processor
from kb_service.embeddings.protocol import Vectors
from kb_service.embeddings.stepwise import lane_count

# Word embeddings (n, length, dimension), float32, and attention mask (n, length), int64, to last hidden states.
Forward = Callable[[Vectors, NDArray[np.int64]], Vectors]


class Backend(StrEnum):
    """A runtime and its number format."""

    OPENVINO_BF16 = "openvino-bf16"
    ONNXRUNTIME_INT8 = "onnxruntime-int8"
    ONNXRUNTIME_FP32 = "onnxruntime-fp32"

    @property
    def is_openvino(self) -> bool:
        return self.value.startswith("openvino-")

    @property
    def model_file(self) -> str:
        return "model.xml" if self.is_openvino else "model.onnx"

    @property
    def length_step(self) -> int:
        """Lengths are padded to multiples of this.

        OpenVINO builds its kernels per shape: with steps of 8 a query nearly always finds them built (p50 2.5 to 1.7
        ms). ONNX Runtime has no such cost, there padding only adds work.
        """
        return 8 if self.is_openvino else 1

    @property
    def batch_tokens(self) -> int:
        """Padded tokens of a batch, which runs on one thread and for which a question waits.

        ONNX Runtime: the cost per token is flat down to 192; with 1,024 the layers' outputs exceed a core's cache: 132
        and 118 passages a second. AMX multiplies sixteen rows at a time: in calls of 64 passages 256 tokens give 232
        passages a second, 512 give 254 and 768, at half as long a wait again, 264.
        """
        return 512 if self.is_openvino else 256


def choose_backend(processor: Processor) -> Backend:
    """The fastest backend whose numbers were verified on such a processor, else fp32 (docs/decisions/0060 to 0062,
    0067).
    """
    if processor.has_amx:
        return Backend.OPENVINO_BF16
    if processor.is_fast_in_int8:
        return Backend.ONNXRUNTIME_INT8
    return Backend.ONNXRUNTIME_FP32


def load_forward(backend: Backend, folder: Path, threads: int) -> Forward:
    """Load the converted model; it computes ``lane_count(threads)`` calls at a time."""
    path = folder / backend.model_file
    if backend.is_openvino:
        return _load_openvino(path, threads)
    return _load_onnxruntime(path, threads, is_fused=backend is Backend.ONNXRUNTIME_INT8)


def _load_openvino(path: Path, threads: int) -> Forward:
    # Only the runtime that is used is imported: each takes 20 to 40 MB.
    import openvino  # noqa: PLC0415

    options: dict[str, object] = {
        "INFERENCE_PRECISION_HINT": "bf16",
        "NUM_STREAMS": lane_count(threads),
        "INFERENCE_NUM_THREADS": threads,
    }
    compiled = openvino.Core().compile_model(path, "CPU", options)
    release_mapped_pages(path.with_suffix(".bin"))
    own = threading.local()

    def forward(words: Vectors, mask: NDArray[np.int64]) -> Vectors:
        if not hasattr(own, "request"):
            own.request = compiled.create_infer_request()
        own.request.infer({"word_embeddings": words, "attention_mask": mask}, share_inputs=True)
        # A view into the request's own memory: read before this thread's next call.
        return own.request.get_output_tensor(0).data

    # OpenVINO's binding builds tables at its first call; two threads doing so deadlock: one has Python's lock, the
    # other the tables'.
    width = compiled.input("word_embeddings").get_partial_shape()[2].get_length()
    forward(np.ones((1, 8, width), dtype=np.float32), np.ones((1, 8), dtype=np.int64))
    return forward


def _load_onnxruntime(path: Path, threads: int, *, is_fused: bool) -> Forward:
    import onnxruntime  # noqa: PLC0415

    options = onnxruntime.SessionOptions()
    if is_fused:
        # The graph has the fast fused operators already; the optimiser would add SkipLayerNormalization, which takes
        # 3.6 times as long as the three operators that it replaces.
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    options.intra_op_num_threads = max(1, threads // lane_count(threads))
    # Each further one takes 87 MiB with float32, 12 with 8-bit integers (docs/decisions/0076).
    count = lane_count(threads) if is_fused else 1
    sessions = PerThreadPool(
        [
            onnxruntime.InferenceSession(path.as_posix(), options, providers=["CPUExecutionProvider"])
            for _ in range(count)
        ]
    )

    def forward(words: Vectors, mask: NDArray[np.int64]) -> Vectors:
        with sessions.borrow() as session:
            outputs = session.run(None, {"word_embeddings": words, "attention_mask": mask})
        return np.asarray(outputs[0], dtype=np.float32)

    return forward


_Item = TypeVar("_Item")


class PerThreadPool(Generic[_Item]):
    """Gives each thread an item of its own, as long as there are enough.

    Two threads in one session of ONNX Runtime are each given memory that the other's core still has in its cache: 120
    passages a second instead of 158, in about every second process (docs/decisions/0076). A thread that finds its item
    in use changes to the least used one, and keeps it.
    """

    def __init__(self, items: Sequence[_Item]) -> None:
        self._items = items
        self._users = [0] * len(items)
        self._lock = threading.Lock()
        self._own = threading.local()

    @contextmanager
    def borrow(self) -> Generator[_Item]:
        """The calling thread's item, shared only when all are in use."""
        with self._lock:
            number: int = getattr(self._own, "number", 0)
            if self._users[number]:
                number = self._users.index(min(self._users))
            self._own.number = number
            self._users[number] += 1
        try:
            yield self._items[number]
        finally:
            with self._lock:
                self._users[number] -= 1


_MADV_DONTNEED = 4
_READ_ONLY = "r--"


def release_mapped_pages(file: Path) -> None:
    """Drop this process's pages of a file that is mapped read-only (on Linux).

    OpenVINO reads the float32 weights once, to convert them, and keeps the file mapped: 85 MB of resident memory. A
    page that is needed again is read from the file.
    """
    listing = Path("/proc/self/maps")
    if not listing.exists():
        return
    libc = ctypes.CDLL(None)
    for line in listing.read_text(encoding="utf-8", errors="replace").splitlines():
        addresses, rights, *_, name = line.split(maxsplit=5)
        if rights.startswith(_READ_ONLY) and name == str(file):
            start, end = (int(address, 16) for address in addresses.split("-"))
            libc.madvise(ctypes.c_void_p(start), ctypes.c_size_t(end - start), _MADV_DONTNEED)
