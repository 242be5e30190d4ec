"""``python -m kb_service.embeddings.prepare``: convert the built-in models now, at installation."""

import sys
import time
from pathlib import Path

from core.settings import get_settings
from kb_service.embeddings.builtin.artifacts import is_prepared, prepare, prepared_folder
from kb_service.embeddings.builtin.models import BUILT_IN_MODELS, BuiltInModel
from kb_service.embeddings.builtin.runtime import Backend, choose_backend
from kb_service.embeddings.catalog import BUILT_IN, MULTILINGUAL_E5
from kb_service.embeddings.cpu import detect_processor


def main() -> None:
    """Convert for this machine's CPU and print the result."""
    cache_dir, backend = get_settings().cache_dir, choose_backend(detect_processor())
    for model in BUILT_IN:
        _prepare(BUILT_IN_MODELS[model.name], cache_dir, backend)
    if MULTILINGUAL_E5 not in BUILT_IN:
        sys.stdout.write(
            f"{MULTILINGUAL_E5.name} is not installed (its package is for Linux x86-64): new knowledge bases use "
            f"{BUILT_IN[0].name}, which reads English. / 未安装 {MULTILINGUAL_E5.name}（其软件包仅支持 Linux x86-64）："
            f"新建知识库将使用只懂英文的 {BUILT_IN[0].name}。\n"
        )


def _prepare(model: BuiltInModel, cache_dir: Path, backend: Backend) -> None:
    folder = prepared_folder(model, cache_dir, backend)
    if is_prepared(folder):
        sys.stdout.write(f"{model.name} for {backend} is ready in {folder}\n")
        return
    sys.stdout.write(f"Converting {model.name} for {backend} into {folder} (once) ...\n")
    sys.stdout.flush()
    started = time.monotonic()
    prepare(model, cache_dir, backend)
    sys.stdout.write(f"Done in {time.monotonic() - started:.1f} s\n")


if __name__ == "__main__":
    main()
