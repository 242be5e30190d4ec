"""Stand-ins for what unstructured would fetch, and for what is not installed; for its own process only."""

import sys
from importlib import import_module
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType
from typing import Never

SPACY_MODEL = "en_core_web_sm"
# ``unstructured`` imports these for every PDF, and calls them for pictures of pages alone.
_OF_PICTURES = ("cv2", "unstructured_inference.inference.layoutelement")
_LAYOUT = "unstructured_inference.inference.layout"
_RENDERER = "convert_pdf_to_image"


def stand_in_for_spacy_model() -> None:
    """Cut sentences by rules where the operator has not installed the model, which would be fetched from GitHub."""
    if find_spec(SPACY_MODEL) is not None:
        return
    # Agentex's own environment has neither.
    spacy, tokenize = import_module("spacy"), import_module("unstructured.nlp.tokenize")

    def blank_pipeline() -> object:
        pipeline = spacy.blank("en")
        pipeline.add_pipe("sentencizer")
        return pipeline

    # Called where it would fetch the model.
    vars(tokenize)["_load_spacy_model"] = blank_pipeline


def has_layout_models() -> bool:
    """Whether the libraries are installed with which pictures of pages are read."""
    return all(find_spec(name) is not None for name in ("torch", "onnxruntime", "cv2"))


def stand_in_for_layout_models() -> None:
    """Let the text of PDFs be read without the gigabytes of libraries for pictures of pages."""
    if has_layout_models():
        return
    for module in (*map(_Absent, _OF_PICTURES), _AbsentLayout(_LAYOUT)):
        module.__spec__ = ModuleSpec(module.__name__, None)
        sys.modules[module.__name__] = module


class _Absent(ModuleType):
    """A module that can be imported from and whose contents can't be used."""

    def __getattr__(self, name: str) -> object:
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (), {"__init__": _refuse, "__module__": self.__name__})


class _AbsentLayout(_Absent):
    """The module of layout models, which hands on how a page becomes a picture."""

    def __getattr__(self, name: str) -> object:
        if name == _RENDERER:
            return getattr(import_module("unstructured_inference.inference.pdf_image"), name)
        return super().__getattr__(name)


def _refuse(self: object, *_: object, **__: object) -> Never:
    raise ModuleNotFoundError(type(self).__module__)
