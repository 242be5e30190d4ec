"""Probe of the default encoder's files: a child process that prints JSON.

A separate process, because it imports runtimes that may be missing or unfit on this machine.
"""

import json
import sys

from core.settings import get_settings
from kb_service.embeddings.builtin.artifacts import is_prepared, prepared_folder
from kb_service.embeddings.builtin.models import BUILT_IN_MODELS
from kb_service.embeddings.builtin.runtime import choose_backend
from kb_service.embeddings.catalog import DEFAULT
from kb_service.embeddings.cpu import detect_processor


def main() -> None:
    """Print ``{"model": name, "multilingual": bool, "backend": name, "prepared": bool}``."""
    backend = choose_backend(detect_processor())
    folder = prepared_folder(BUILT_IN_MODELS[DEFAULT.name], get_settings().cache_dir, backend)
    report = {
        "model": DEFAULT.name,
        "multilingual": len(DEFAULT.languages) > 1,
        "backend": backend.value,
        "prepared": is_prepared(folder),
    }
    json.dump(report, sys.stdout)


if __name__ == "__main__":
    main()
