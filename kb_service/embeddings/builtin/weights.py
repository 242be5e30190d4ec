"""Weights and tokenizer of a packaged model, as the conversion takes them."""

from dataclasses import dataclass

from transformers import BertModel

from kb_service.embeddings.builtin.tokenizers import IdTokenizer
from kb_service.embeddings.builtin.word_table import WordTable


@dataclass(frozen=True)
class PackagedWeights:
    """A BERT encoder; its own word embeddings are not used.

    Args:
        ordinary_ids: the ids of ordinary words.
    """

    bert: BertModel
    words: WordTable
    tokenizer: IdTokenizer
    ordinary_ids: range
