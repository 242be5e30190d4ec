"""Tokenizers of the built-in models, as their converted folders hold them."""

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from sentencepiece import SentencePieceProcessor
from tokenizers import Tokenizer


class IdTokenizer(Protocol):
    """Texts in, token ids out; thread-safe, neither cuts nor pads."""

    @property
    def first_id(self) -> int:
        """The special token that begins every input of the model."""
        ...

    @property
    def last_id(self) -> int:
        """The special token that ends it."""
        ...

    def ids(self, texts: Sequence[str]) -> list[list[int]]:
        """The ids of each text, without special tokens; the texts have no lone surrogates."""
        ...

    def save(self, folder: Path) -> None:
        """Write the file that ``load_tokenizer`` reads."""
        ...


class WordPieceTokenizer:
    """BERT's tokenizer."""

    file_name = "tokenizer.json"

    def __init__(self, file: Path) -> None:
        self._tokenizer: Tokenizer = Tokenizer.from_file(str(file))
        # The file may cut and pad to lengths of its own.
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        # An empty text is encoded as exactly the two special tokens.
        self.first_id, self.last_id = self._tokenizer.encode("", add_special_tokens=True).ids

    def ids(self, texts: Sequence[str]) -> list[list[int]]:
        encodings = self._tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)
        return [encoding.ids for encoding in encodings]

    def save(self, folder: Path) -> None:
        self._tokenizer.save(str(folder / self.file_name), pretty=False)


class UnigramTokenizer:
    """SentencePiece's tokenizer by a unigram model (Kudo, arXiv:1804.10959).

    The vocabulary of 250,000 pieces takes 57 MB here and 294 MB in ``tokenizers`` (docs/decisions/0080).
    """

    file_name = "sentencepiece.model"

    def __init__(self, model: bytes) -> None:
        self._processor = SentencePieceProcessor(model_proto=model)
        self._model = model
        self.first_id: int = self._processor.bos_id()
        self.last_id: int = self._processor.eos_id()

    def ids(self, texts: Sequence[str]) -> list[list[int]]:
        return self._processor.encode(list(texts), num_threads=1)

    def save(self, folder: Path) -> None:
        (folder / self.file_name).write_bytes(self._model)


def load_tokenizer(folder: Path) -> IdTokenizer:
    """The tokenizer of a converted model."""
    unigram = folder / UnigramTokenizer.file_name
    if unigram.exists():
        return UnigramTokenizer(unigram.read_bytes())
    return WordPieceTokenizer(folder / WordPieceTokenizer.file_name)
