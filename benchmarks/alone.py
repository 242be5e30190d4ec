"""Our own encoder in this process, on as many threads as the engine gives it."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from core.settings import get_settings
from kb_service.embeddings.builtin.encoder import open_encoder
from kb_service.embeddings.builtin.runtime import Backend, choose_backend
from kb_service.embeddings.catalog import DEFAULT
from kb_service.embeddings.cpu import detect_processor
from kb_service.embeddings.protocol import Vectors
from kb_service.embeddings.stepwise import lane_count


class Alone:
    """What the engine's encoder does when nothing else goes on: the bound of all that uses it.

    Args:
        backend: runs it; by default the one that suits this processor.
        model: a built-in one.
    """

    def __init__(self, backend: Backend | None = None, model: str = DEFAULT.name) -> None:
        settings = get_settings()
        threads = settings.effective_encoder_threads
        backend = backend or choose_backend(detect_processor())
        self._encoder = open_encoder(model, settings.cache_dir, backend, threads)
        self._encoder.warm_up()
        self._pool = ThreadPoolExecutor(lane_count(threads))
        self.backend = self._encoder.backend

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Passages, batches side by side."""
        return self._encoder.encode(texts, pool=self._pool)

    def encode_question(self, text: str) -> Vectors:
        """One question, on one thread as the engine does it."""
        return self._encoder.encode([text])
