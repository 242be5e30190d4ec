"""The built-in encoder compared with sentence-transformers, its preparation and the catalogue."""

import json
import multiprocessing
import shutil
import subprocess
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.synchronize import Barrier
from pathlib import Path

import numpy as np
import pytest
from pydantic import ValidationError

from core.errors.requests import UnknownEmbeddingModel
from core.errors.server import UnusableSetting
from core.settings import Settings, get_settings
from kb_service.embeddings.catalog import DEFAULT, resolve, served_models
from kb_service.embeddings.cpu import detect_processor
from kb_service.embeddings.minilm import artifacts
from kb_service.embeddings.minilm.artifacts import WEIGHTS, is_prepared, prepare, prepared_folder
from kb_service.embeddings.minilm.encoder import open_encoder
from kb_service.embeddings.minilm.runtime import Backend, choose_backend
from tests.fixtures.paths import ROOT

SENTENCES = [
    "The river floods every spring, and the town moves its market to the hill.",
    "Vectors of equal length are compared by their cosine.",
    "What is the boiling point of water at sea level?",
    "我们在图书馆学习计算机科学。",
    "a",
    "Café naïve Ångström, e-mail: someone@example.org; 3.14159!",
]
TEXTS = SENTENCES + [" ".join(SENTENCES[i % 3] for i in range(k)) for k in (2, 5, 9, 14)]


@pytest.fixture(scope="module")
def minilm():
    return open_encoder(get_settings().cache_dir, choose_backend(detect_processor()))


@pytest.fixture(scope="module")
def reference():
    with warnings.catch_warnings():
        # transformers warns about its own renamed arguments while it is imported.
        warnings.simplefilter("ignore")
        from sentence_transformers import SentenceTransformer

        return SentenceTransformer(str(WEIGHTS), device="cpu", local_files_only=True)


def least_cosine(ours, theirs) -> float:
    return float((ours * theirs).sum(1).min())


def test_vectors_equal_sentence_transformers_when_texts_fit_the_window(minilm, reference):
    theirs = reference.encode(TEXTS, normalize_embeddings=True)
    floor = 0.99 if minilm.backend is Backend.ONNXRUNTIME_INT8 else 0.999
    assert least_cosine(minilm.encode(TEXTS, whole=True), theirs) >= floor


def test_text_is_cut_at_the_models_window_when_not_encoded_whole(minilm, reference):
    long = " ".join(SENTENCES[:3] * 20)
    theirs = reference.encode([long], normalize_embeddings=True)
    assert least_cosine(minilm.encode([long]), theirs) >= 0.98
    assert np.array_equal(minilm.encode([long]), minilm.encode([long + " tail" * 50]))


def test_end_of_a_long_text_counts_when_encoded_whole(minilm):
    filler = SENTENCES[1] + " "
    end = "The volcano erupted and buried the harbour under ash and stones. "
    (question,) = minilm.encode(["When did the volcano erupt?"])
    with_end, without = minilm.encode([filler * 40 + end * 10, filler * 40], whole=True)
    assert question @ with_end > question @ without + 0.1
    assert np.linalg.norm(with_end) == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize("backend", list(Backend))
def test_every_backend_agrees_with_sentence_transformers(backend, reference, made_again):
    is_made_again = backend is Backend.ONNXRUNTIME_FP32
    encoder = open_encoder(made_again if is_made_again else get_settings().cache_dir, backend)
    theirs = reference.encode(TEXTS, normalize_embeddings=True)
    floors = {Backend.ONNXRUNTIME_INT8: 0.99, Backend.OPENVINO_BF16: 0.999}
    assert least_cosine(encoder.encode(TEXTS), theirs) >= floors.get(backend, 0.9999)
    alone = np.concatenate([encoder.encode([text]) for text in TEXTS])
    assert least_cosine(encoder.encode(TEXTS), alone) >= 0.999


def test_order_is_kept_when_texts_are_batched_by_length(minilm):
    texts = [SENTENCES[i % 6] * (1 + (i * 7) % 11) for i in range(40)]
    together = minilm.encode(texts)
    alone = np.concatenate([minilm.encode([text]) for text in texts])
    assert least_cosine(together, alone) >= 0.999


def test_awkward_texts_are_encoded_when_given(minilm):
    texts = ["", " ", "\x00", "\ud800", "🙂" * 400, "x" * 200_000, "字" * 150_000]
    vectors = minilm.encode(texts, whole=True)
    assert vectors.shape == (len(texts), 384)
    assert np.isfinite(vectors).all()
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    assert minilm.encode([]).shape == (0, 384)


def test_steps_stay_short_when_many_passages_are_encoded(minilm):
    steps = minilm.encode_in_steps([SENTENCES[0] * 8] * 40, whole=True)
    (windows,) = next(steps)
    windows()
    assert len(next(steps)) >= 10


def test_threads_side_by_side_encode_as_one_does(minilm):
    texts = [SENTENCES[i % 6] * (1 + (i * 7) % 11) for i in range(200)]
    with ThreadPoolExecutor(4) as pool:
        assert np.array_equal(minilm.encode(texts, pool=pool), minilm.encode(texts))


def test_first_calls_may_come_from_many_threads_at_once(minilm):
    code = (
        "from core.settings import get_settings;"
        "from kb_service.embeddings.minilm.encoder import open_encoder;"
        "from kb_service.embeddings.minilm.runtime import Backend;"
        f"m = open_encoder(get_settings().cache_dir, Backend({minilm.backend.value!r}), 4);"
        "m.warm_up(); print('warm')"
    )
    for _ in range(5):
        done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=120)
        assert done.stdout.strip() == "warm", done.stderr


def test_torch_is_not_imported_when_the_files_are_there(minilm):
    code = (
        "import sys; from core.settings import get_settings;"
        "from kb_service.embeddings.minilm.encoder import open_encoder;"
        "from kb_service.embeddings.minilm.runtime import Backend;"
        f"m = open_encoder(get_settings().cache_dir, Backend({minilm.backend.value!r}));"
        "m.encode(['a']); print(sorted({'torch', 'transformers'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def damaged(cache: Path) -> Path:
    """The folder of a model that a crash cut short."""
    folder = prepared_folder(cache, Backend.ONNXRUNTIME_FP32)
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
    assert prepare(cache, Backend.ONNXRUNTIME_FP32) == folder
    return cache


def test_damaged_files_are_made_again_once(made_again):
    folder = prepared_folder(made_again, Backend.ONNXRUNTIME_FP32)
    assert is_prepared(folder)
    assert [path.name for path in folder.parent.iterdir()] == [folder.name]

    written = (folder / "model.onnx").stat().st_mtime_ns
    assert prepare(made_again, Backend.ONNXRUNTIME_FP32) == folder
    assert (folder / "model.onnx").stat().st_mtime_ns == written


def prepare_at_once(cache: Path, made: Path, both: Barrier) -> None:
    """Prepare in one of two processes, which both have converted before either publishes."""

    def convert(target: Path, _: Backend) -> None:
        shutil.copy(made / "model.onnx", target)
        both.wait(60)

    artifacts._convert_in_child = convert
    prepare(cache, Backend.ONNXRUNTIME_FP32)


def test_damaged_files_are_replaced_once_when_processes_race(tmp_path, made_again):
    folder = damaged(tmp_path)
    made = prepared_folder(made_again, Backend.ONNXRUNTIME_FP32)
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
    folder = prepared_folder(tmp_path, backend)
    folder.mkdir(parents=True)
    (folder / "manifest.json").write_text('{"sizes": {}}')
    assert prepare(tmp_path, backend) == folder
    assert {path.name for path in tmp_path.iterdir()} == {"encoders", "weights.json"}

    reads = []
    monkeypatch.setattr(artifacts, "_digest", lambda: reads.append(1) or "00" * 32)
    assert prepare(tmp_path, backend) == folder
    assert reads == []
    other = tmp_path / "weights"
    other.mkdir()
    (other / "config.json").write_bytes((WEIGHTS / "config.json").read_bytes())
    (other / "model.safetensors").write_bytes(b"other weights")
    monkeypatch.setattr(artifacts, "WEIGHTS", other)
    assert prepared_folder(tmp_path, backend) != folder
    assert reads == [1]

    monkeypatch.undo()
    (tmp_path / "weights.json").write_text("cut sh")
    assert prepared_folder(tmp_path, backend) == folder


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


def test_catalogue_knows_foreign_models_without_serving_them():
    assert served_models() == [DEFAULT]
    for name, dimension in [
        ("text-embedding-3-small", 1536),
        ("text-embedding-3-large", 3072),
        ("text-embedding-ada-002", 1536),
        ("BAAI/bge-m3", 1024),
    ]:
        model = resolve(name)
        assert (model.served, model.dimension) == (False, dimension)
    assert resolve("sentence-transformers/all-minilm-l6-v2") is DEFAULT


def configured(*entries: dict) -> Settings:
    return Settings(_env_file=None, embedding_models=json.dumps(entries))


ENDPOINT = {"kind": "endpoint", "base_url": "http://127.0.0.1:9/v1"}


def test_configured_model_is_served_with_what_is_known_of_it():
    small = {**ENDPOINT, "name": "text-embedding-3-small", "dimension": 512}
    e5 = {**ENDPOINT, "name": "ours", "model": "intfloat/multilingual-e5-large"}
    new = {**ENDPOINT, "name": "new", "dimension": 8, "languages": ["zh"], "window_tokens": 99}
    default, first, second, third = served_models(configured(small, e5, new))
    assert default is DEFAULT
    assert (first.dimension, first.shortened, first.window_tokens) == (512, True, 8191)
    assert (second.name, second.dimension, second.query_prefix) == ("ours", 1024, "query: ")
    assert (third.dimension, third.window_tokens, third.languages) == (8, 99, frozenset({"zh"}))
    assert all(model.served for model in (first, second, third))


@pytest.mark.parametrize(
    ("entry", "what"),
    [
        ({**ENDPOINT, "name": "new", "dimension": 8}, "give its dimension and languages"),
        ({**ENDPOINT, "name": "all-minilm-L6-v2"}, "is built in"),
    ],
)
def test_model_that_nobody_can_serve_is_refused_by_name(entry, what):
    with pytest.raises(UnusableSetting) as caught:
        served_models(configured(entry))
    assert what in str(caught.value.details["error"])


@pytest.mark.parametrize(
    "entry",
    [
        {"name": "x", "kind": "endpoint", "api_key": "sk-secret"},
        {**ENDPOINT, "name": "../x", "api_key": "sk-secret"},
        {**ENDPOINT, "name": "x", "api_key": "$AGENTEX_TEST_NOT_SET"},
        {**ENDPOINT, "name": "x", "api_key": "sk-secret", "dimensions": 3},
        {**ENDPOINT, "name": "x", "base_url": "file:///etc/passwd"},
        {"name": "x", "kind": "sentence_transformers", "path": "/no/such/folder"},
    ],
)
def test_entry_that_makes_no_sense_is_refused_without_showing_a_key(entry):
    with pytest.raises(ValidationError) as caught:
        configured(entry)
    assert "sk-secret" not in str(caught.value)


def test_key_of_an_endpoint_may_lie_in_a_variable_of_its_own(monkeypatch):
    monkeypatch.setenv("SOME_KEY", "sk-from-variable")
    (entry,) = configured({**ENDPOINT, "name": "bge-m3", "api_key": "$SOME_KEY"}).embedding_models
    assert entry.api_key.get_secret_value() == "sk-from-variable"
    assert "sk-from-variable" not in repr(entry)


def test_unknown_model_is_refused_with_the_served_names():
    for name in ("no-such-model", "", "/"):
        with pytest.raises(UnknownEmbeddingModel) as caught:
            resolve(name)
        assert caught.value.details["served"] == ["all-MiniLM-L6-v2"]
