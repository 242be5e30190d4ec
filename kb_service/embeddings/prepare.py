"""``python -m kb_service.embeddings.prepare``: convert the encoder now, at installation."""

import sys
import time

from core.settings import get_settings
from kb_service.embeddings.catalog import DEFAULT
from kb_service.embeddings.cpu import detect_processor
from kb_service.embeddings.minilm.artifacts import is_prepared, prepare, prepared_folder
from kb_service.embeddings.minilm.runtime import choose_backend


def main() -> None:
    """Convert for this machine's CPU and print the result."""
    cache_dir = get_settings().cache_dir
    backend = choose_backend(detect_processor())
    folder = prepared_folder(cache_dir, backend)
    if is_prepared(folder):
        sys.stdout.write(f"{DEFAULT.name} for {backend} is ready in {folder}\n")
        return
    sys.stdout.write(f"Converting {DEFAULT.name} for {backend} into {folder} (once) ...\n")
    sys.stdout.flush()
    started = time.monotonic()
    prepare(cache_dir, backend)
    sys.stdout.write(f"Done in {time.monotonic() - started:.1f} s\n")


if __name__ == "__main__":
    main()
