"""Probe of the encoder's files: a child process that prints JSON.

A separate process, because it imports runtimes that may be missing or unfit on this machine.
"""

import json
import sys

from core.settings import get_settings
from kb_service.embeddings.builtin.artifacts import is_prepared, prepared_folder
from kb_service.embeddings.builtin.runtime import choose_backend
from kb_service.embeddings.cpu import detect_processor


def main() -> None:
    """Print ``{"backend": name, "prepared": bool}``."""
    backend = choose_backend(detect_processor())
    prepared = is_prepared(prepared_folder(get_settings().cache_dir, backend))
    json.dump({"backend": backend.value, "prepared": prepared}, sys.stdout)


if __name__ == "__main__":
    main()
