"""The arithmetic of the 8-bit encoder on processors that add in 16 bits."""

import numpy as np
import onnx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from onnx import numpy_helper

from core.settings import get_settings
from kb_service.embeddings.builtin.artifacts import prepare
from kb_service.embeddings.builtin.encoder import open_encoder
from kb_service.embeddings.builtin.int8_graph import quantise
from kb_service.embeddings.builtin.models import BUILT_IN_MODELS
from kb_service.embeddings.builtin.runtime import Backend
from kb_service.embeddings.catalog import MINILM

_INT16 = np.iinfo(np.int16)


def highest_sums(integers: np.ndarray) -> tuple[int, int]:
    """Largest and least sum of a pair of products; (outputs, inputs), inputs up to 255."""
    pairs = integers.astype(np.int64).reshape(len(integers), -1, 2)
    above, below = np.maximum(pairs, 0).sum(axis=2), np.minimum(pairs, 0).sum(axis=2)
    return int(above.max() * 255), int(below.min() * 255)


weights = arrays(
    np.float32,
    st.tuples(st.integers(1, 4), st.integers(1, 8).map(lambda half: 2 * half)),
    elements=st.floats(-8, 8, width=32),
)


@given(weights)
def test_no_pair_of_products_overflows_16_bits(rows):
    integers, steps = quantise(rows)
    most, least = highest_sums(integers)
    assert most <= _INT16.max
    assert least >= _INT16.min
    # Half a step, and what float32 itself can't tell apart.
    assert (np.abs(integers * steps[:, None] - rows) <= steps[:, None] * 0.501).all()


def test_weights_of_the_model_use_most_of_the_8_bits():
    folder = prepare(BUILT_IN_MODELS[MINILM.name], get_settings().cache_dir, Backend.ONNXRUNTIME_INT8)
    model = onnx.load(folder / Backend.ONNXRUNTIME_INT8.model_file)
    tables = [numpy_helper.to_array(each) for each in model.graph.initializer]
    tables = [each.T for each in tables if each.dtype == np.int8]
    assert len(tables) == 6 * 6
    for integers in tables:
        most, least = highest_sums(integers)
        assert most <= _INT16.max
        assert least >= _INT16.min
        assert np.median(np.abs(integers).max(axis=1)) > 64


def test_text_has_one_vector_whatever_is_encoded_with_it():
    """Rounding that differs makes a step of 8 bits now and then: .9992 between two of one text."""
    encoder = open_encoder(MINILM.name, get_settings().cache_dir, Backend.ONNXRUNTIME_INT8)
    texts = ["A zebra sleeps at noon, and seven lions do not. " * count for count in range(1, 26)]
    texts += [f"{text} So it is." for text in texts]
    alone = np.concatenate([encoder.encode([text]) for text in texts])
    assert np.allclose(encoder.encode(texts), alone, atol=1e-6)


def test_all_files_of_the_model_are_read_by_whom_one_is(tmp_path):
    """An image is prepared by root and run by somebody else."""
    made = prepare(BUILT_IN_MODELS[MINILM.name], tmp_path, Backend.ONNXRUNTIME_INT8)
    modes = {path.name: path.stat().st_mode & 0o777 for path in made.iterdir()}
    assert {"model.onnx", "model.bin", "words.npy", "tokenizer.json", "manifest.json"} == modes.keys()
    assert len(set(modes.values())) == 1


@pytest.mark.parametrize("rows", [np.zeros((2, 4), np.float32), np.full((1, 2), 1e-30, np.float32)])
def test_weights_of_nothing_stay_nothing(rows):
    integers, steps = quantise(rows)
    assert not integers.any()
    assert np.isfinite(steps).all()
