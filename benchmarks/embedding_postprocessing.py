"""The postprocessing of multilingual-e5-small's vectors: ``python -m benchmarks.embedding_postprocessing HELP SET...``.

HELP holds GNOME's help in many languages: ``usr/share/help`` of Debian's package ``gnome-user-docs`` 43.0-2. A SET is as
``benchmarks.retrieval_quality`` reads it. Half of each mean is that over the languages of HELP, titles as questions, half
that over the sets; the directions of languages are the principal components of the means of HELP's languages. Compares
it with the product's; ``--save`` writes it in its place (docs/decisions/0080).
"""

import argparse
import random
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.retrieval_quality import read_set
from core.settings import get_settings
from kb_service.embeddings.builtin.artifacts import prepare
from kb_service.embeddings.builtin.encoder import BuiltInEncoder
from kb_service.embeddings.builtin.models import BUILT_IN_MODELS
from kb_service.embeddings.builtin.postprocessing import VectorPostprocessing, load_postprocessing
from kb_service.embeddings.builtin.runtime import choose_backend
from kb_service.embeddings.catalog import MULTILINGUAL_E5
from kb_service.embeddings.cpu import detect_processor
from kb_service.embeddings.protocol import Vectors

_MODEL = BUILT_IN_MODELS[MULTILINGUAL_E5.name]
_MALLARD = "{http://projectmallard.org/1.0/}"
# A language whose help is hardly translated says little about it.
_PAGES, _FEWEST_PAGES = 50, 30
_CHARACTERS, _FEWEST_CHARACTERS = 900, 200
# Fewer keep part of the preference for the own language, 24 and more lose other things.
_DIRECTIONS = 16


class TextSample(NamedTuple):
    """Questions and passages of one language or set."""

    questions: list[str]
    passages: list[str]


def read_help(folder: Path) -> Iterator[TextSample]:
    """A sample of each language that has enough pages of its own."""
    for language in sorted(path for path in folder.iterdir() if path.is_dir()):
        pages = [page for path in _shuffled(language) if (page := _read_page(path, folder)) is not None][:_PAGES]
        if len(pages) >= _FEWEST_PAGES:
            yield TextSample([title for title, _ in pages], [f"{title}\n\n{text}" for title, text in pages])


def _shuffled(language: Path) -> list[Path]:
    paths = sorted((language / "gnome-help").glob("*.page"))
    random.Random(0).shuffle(paths)
    return paths


def _read_page(path: Path, folder: Path) -> tuple[str, str] | None:
    """Title and text of a page; None where it is untranslated or too short."""
    title, text = _page_texts(path)
    original = folder / "C" / "gnome-help" / path.name
    if path != original and original.exists() and _page_texts(original)[0] == title:
        return None
    return (title, text) if len(text) >= _FEWEST_CHARACTERS else None


def _page_texts(path: Path) -> tuple[str, str]:
    root = ET.parse(path).getroot()
    tags = (f"{_MALLARD}title", f"{_MALLARD}p")
    title, *others = [" ".join("".join(element.itertext()).split()) for element in root.iter() if element.tag in tags]
    return title, "\n\n".join(others)[:_CHARACTERS]


def sample_of_set(prefix: str) -> TextSample:
    """All questions and paragraphs of a retrieval set."""
    corpus, queries = read_set(prefix)
    passages = [f"{paragraph['title']}\n\n{paragraph['text']}" for paragraph in corpus]
    return TextSample([str(query["text"]) for query in queries], passages)


def mean_vectors(encoder: BuiltInEncoder, samples: Sequence[TextSample]) -> Vectors:
    """The mean of each sample's questions and passages, (samples, 2, dimension)."""
    with ThreadPoolExecutor() as pool:
        means = [
            [
                encoder.encode(sample.questions, pool=pool).mean(axis=0),
                encoder.encode(sample.passages, whole=True, pool=pool).mean(axis=0),
            ]
            for sample in samples
        ]
    return np.asarray(means, dtype=np.float32)


def fit(languages: Vectors, sets: Vectors, directions: int) -> VectorPostprocessing:
    """The postprocessing that follows from the means of languages and of sets, each (samples, 2, dimension)."""
    query_mean, passage_mean = (languages.mean(axis=0) + sets.mean(axis=0)) / 2
    deviations = np.concatenate([*(languages - languages.mean(axis=0)).swapaxes(0, 1)])
    _, _, components = np.linalg.svd(deviations, full_matrices=False)
    return VectorPostprocessing(query_mean, passage_mean, components[:directions])


def _shared(these: Vectors, those: Vectors) -> float:
    """The share of a subspace that lies in another one; both as orthonormal rows."""
    return float(np.linalg.norm(these @ those.T) ** 2 / len(these))


def main() -> None:
    """Read the command line, fit, compare with the product's file, and save if asked to."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("help", type=Path, metavar="HELP")
    parser.add_argument("sets", nargs="+", metavar="SET")
    parser.add_argument("--directions", type=int, default=_DIRECTIONS, help="of languages, projected out")
    parser.add_argument("--save", action="store_true")
    options = parser.parse_args()
    backend = choose_backend(detect_processor())
    folder = prepare(_MODEL, get_settings().cache_dir, backend)
    plain = replace(_MODEL, postprocessing=None)
    encoder = BuiltInEncoder(plain, folder, backend, get_settings().effective_encoder_threads)
    samples = list(read_help(options.help))
    languages = mean_vectors(encoder, samples)
    made = fit(languages, mean_vectors(encoder, [sample_of_set(name) for name in options.sets]), options.directions)
    print(f"{len(samples)} languages, {len(options.sets)} sets, {backend}")
    assert _MODEL.postprocessing is not None
    if _MODEL.postprocessing.exists():
        former = load_postprocessing(_MODEL.postprocessing)
        shared = _shared(made.language_directions, former.language_directions)
        print(
            f"cosine to the product's means: questions {_cosine(made.query_mean, former.query_mean):.5f}, "
            f"passages {_cosine(made.passage_mean, former.passage_mean):.5f}; shared directions {shared:.3f}"
        )
    if options.save:
        made.save(_MODEL.postprocessing)


def _cosine(this: Vectors, that: Vectors) -> float:
    return float(this @ that / (np.linalg.norm(this) * np.linalg.norm(that)))


if __name__ == "__main__":
    main()
