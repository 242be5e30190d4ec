"""The converted model on disk."""

import hashlib
import multiprocessing
import os
import tempfile
from contextlib import suppress
from importlib import import_module
from pathlib import Path

from pydantic import BaseModel, Field, ValidationError

from core.errors.server import EngineUnavailable
from kb_service.embeddings.builtin.models import BUILT_IN_MODELS, BuiltInModel
from kb_service.embeddings.builtin.runtime import Backend

# Raise it when convert.py's output changes, or the texts that an int8 batch may hold: the graph knows which come alone
# (GraphShape.alone_from).
_RECIPE = "4"
_MANIFEST = "manifest.json"


class _Manifest(BaseModel):
    """Sizes of the converted files, which detect an incomplete copy."""

    sizes: dict[str, int]


def prepared_folder(model: BuiltInModel, cache_dir: Path, backend: Backend) -> Path:
    """The folder of a model for a backend; its name is a hash of all inputs."""
    digest = model.sha256 or _saved_digest(model, cache_dir) or _digest(model.weights)
    key = hashlib.sha256(f"{_RECIPE}:{backend}:{digest}".encode())
    return cache_dir / "encoders" / f"{model.name}-{key.hexdigest()[:16]}"


class _WeightsDigest(BaseModel):
    """Cached digest of the weights with their file's state: reading 90 MB is a tenth of a start."""

    size: int
    changed: int
    digest: str = Field(pattern="^[0-9a-f]{64}$")


def _note(model: BuiltInModel, cache_dir: Path) -> Path:
    return cache_dir / f"weights-{model.name}.json"


def _saved_digest(model: BuiltInModel, cache_dir: Path) -> str | None:
    """The cached digest; None if missing or about other weights."""
    now = model.weights.stat()
    try:
        note = _WeightsDigest.model_validate_json(_note(model, cache_dir).read_bytes())
    except (OSError, ValidationError):
        return None
    is_same = (note.size, note.changed) == (now.st_size, now.st_mtime_ns)
    return note.digest if is_same else None


def _save_digest(model: BuiltInModel, cache_dir: Path) -> None:
    """Cache the digest; without it the next start reads the weights again."""
    if model.sha256 is not None or _saved_digest(model, cache_dir) is not None:
        return
    now = model.weights.stat()
    note = _WeightsDigest(size=now.st_size, changed=now.st_mtime_ns, digest=_digest(model.weights))
    target = _note(model, cache_dir)
    with suppress(OSError), tempfile.TemporaryDirectory(prefix=".note-", dir=cache_dir) as scratch:
        fresh = Path(scratch) / target.name
        fresh.write_text(note.model_dump_json(), encoding="utf-8")
        fresh.replace(target)


def _digest(weights: Path) -> str:
    with weights.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def is_prepared(folder: Path) -> bool:
    """Whether the folder has every file at its recorded size."""
    try:
        manifest = _Manifest.model_validate_json((folder / _MANIFEST).read_bytes())
        return all((folder / name).stat().st_size == size for name, size in manifest.sizes.items())
    except (OSError, ValidationError):
        return False


def prepare(model: BuiltInModel, cache_dir: Path, backend: Backend) -> Path:
    """Return the folder with the converted model, converting first where it is missing.

    The conversion runs in a child process, so that torch (half a gigabyte) never enters this one, and into a folder of
    its own that is renamed when complete: of processes that race, all but the first discard theirs.

    Raises:
        EngineUnavailable: The weights are not what they should be, or the conversion failed; its traceback is on
            stderr.
    """
    folder = prepared_folder(model, cache_dir, backend)
    if is_prepared(folder):
        _save_digest(model, cache_dir)
        return folder
    _verify(model)
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".making-", dir=folder.parent) as scratch:
        made = Path(scratch) / "model"
        made.mkdir()
        _convert_in_child(model, made, backend)
        _seal(made)
        _publish(made, folder, Path(scratch) / "damaged")
    return folder


def _verify(model: BuiltInModel) -> None:
    if model.sha256 is not None and _digest(model.weights) != model.sha256:
        raise EngineUnavailable(
            reason=f"{model.weights} does not hold the weights of {model.name} that it should; install its package again"
        )


def _convert_in_child(model: BuiltInModel, target: Path, backend: Backend) -> None:
    context = multiprocessing.get_context("spawn")
    child = context.Process(target=_convert, args=(model.name, str(target), backend.value), daemon=True)
    child.start()
    child.join()
    if child.exitcode != 0:
        raise EngineUnavailable(reason="the encoder could not be converted")


def _convert(name: str, folder: str, backend: str) -> None:
    # Imported in the child only: they load torch and transformers.
    model = BUILT_IN_MODELS[name]
    weights = import_module(model.reader).load(model.weights)
    import_module("kb_service.embeddings.builtin.convert").convert(weights, Path(folder), Backend(backend))


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
