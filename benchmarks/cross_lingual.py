"""Questions in one language on manuals in another: ``python -m benchmarks.cross_lingual MANUALS``.

MANUALS is a folder with the extracted files of the Debian packages that ``cross_lingual.json``
names (``dpkg -x PACKAGE MANUALS``), and in ``pgdoc-cn`` the Chinese PostgreSQL manual of the
named commit. The manuals keep their own licences, so only the questions are here; each names the
document, the section and a few words of the passage with its answer. Halves of a set alternate:
tune on ``dev``, judge on ``held``. ``--write`` makes files for ``benchmarks.retrieval_quality``.
"""

import argparse
import asyncio
import hashlib
import json
import random
import re
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from pydantic import BaseModel

from benchmarks.manual_passages import CorpusPassage, link_titles, passages_of, read_blocks
from benchmarks.product import running_product
from benchmarks.retrieval_quality import run_sets
from kb_service.knowledge_bases.service import DEFAULT_CHUNK_SIZE, DEFAULT_SPLITTER

QUESTIONS = Path(__file__).with_name("cross_lingual.json")
_CHINESE_CHARACTER = re.compile("[\u4e00-\u9fff]")
# Manuals are translated in part; with fewer Chinese characters a passage is still English.
_FEWEST_CHINESE_CHARACTERS = 60


class ManualFiles(BaseModel):
    """Files of a manual, below the folder into which its package was extracted."""

    manual: str
    package: str
    version: str
    folder: str
    files: list[str]


class PassageQuestion(BaseModel):
    """A question, and where its answer stands.

    ``quotes`` are words that only a right passage has; without them any passage of the section is
    right. The first right passage is in the document and section named; ``also`` has other
    sections with the answer, each as ``document#section``.
    """

    half: str
    question: str
    document: str
    section: str
    quotes: list[str] = []
    also: list[str] = []


class QuestionSet(BaseModel):
    """Questions in one language on a corpus in another, or in the same one."""

    corpus: str
    questions: list[PassageQuestion]


class CrossLingual(BaseModel):
    """Corpora by language and question sets by name."""

    corpora: dict[str, list[ManualFiles]]
    sets: dict[str, QuestionSet]


def read_corpus(root: Path, language: str, manuals: Iterable[ManualFiles]) -> list[CorpusPassage]:
    """All passages of the manuals, each text once."""
    passages: dict[str, CorpusPassage] = {}
    for manual in manuals:
        folder = root / manual.folder
        paths = sorted({path for pattern in manual.files for path in folder.glob(pattern)})
        if not paths:
            raise SystemExit(f"{folder}: extract {manual.package} {manual.version} to {root}")
        # Links of DocBook name their targets, which may be in any file of the manual.
        titles = link_titles(folder.rglob("*.sgml"))
        for path in paths:
            document = str(path.relative_to(root))
            for passage in passages_of(document, read_blocks(path, titles)):
                if language != "zh" or is_chinese(passage.text):
                    passages.setdefault(passage.text, passage)
    return list(passages.values())


def is_chinese(text: str) -> bool:
    """Whether a passage is translated."""
    return len(_CHINESE_CHARACTER.findall(text)) >= _FEWEST_CHINESE_CHARACTERS


def identify(passage: CorpusPassage) -> str:
    """The id of a passage, from its text."""
    return hashlib.md5(passage.text.encode(), usedforsecurity=False).hexdigest()[:10]


def right_passages(question: PassageQuestion, passages: Sequence[CorpusPassage]) -> list[CorpusPassage]:
    """The passages that answer a question; none or an ambiguous quote ends the benchmark."""
    if question.quotes:
        right = [passage for passage in passages if any(q in passage.text for q in question.quotes)]
    else:
        places = {f"{question.document}#{question.section}", *question.also}
        right = [passage for passage in passages if f"{passage.document}#{passage.anchor}" in places]
    if not right or 0 < len(question.quotes) < len(right):
        raise SystemExit(f"{len(right)} passages for {question.question!r}: is this another version?")
    return right


def write_set(folder: Path, name: str, passages: Sequence[CorpusPassage], questions: Iterable[PassageQuestion]) -> Path:
    """Write a corpus and questions as ``benchmarks.retrieval_quality`` reads them."""
    folder.mkdir(parents=True, exist_ok=True)
    corpus = [{"id": identify(p), "title": p.title, "text": p.text} for p in passages]
    queries = [
        {
            "id": f"{name}-{number}",
            "text": question.question,
            "rel": {identify(passage): 1 for passage in right_passages(question, passages)},
            # Passages of which each alone answers the question.
            "any": True,
            "answer": (question.quotes or [question.section])[0],
            "half": question.half,
            "document": question.document,
        }
        for number, question in enumerate(questions, start=1)
    ]
    _write_lines(folder / f"{name}.corpus.jsonl", corpus)
    _write_lines(folder / f"{name}.queries.jsonl", queries)
    return folder / name


def _write_lines(path: Path, values: Iterable[Mapping[str, object]]) -> None:
    lines = [json.dumps(value, ensure_ascii=False) + "\n" for value in values]
    path.write_text("".join(lines), encoding="utf-8")


def thinned(
    passages: Sequence[CorpusPassage], questions: Iterable[PassageQuestion], count: int
) -> Sequence[CorpusPassage]:
    """So many passages: those that answer a question, and others by chance, the same in each run."""
    right = {passage.text for question in questions for passage in right_passages(question, passages)}
    others = [passage.text for passage in passages if passage.text not in right]
    chosen = right | set(random.Random(0).sample(others, max(0, min(count - len(right), len(others)))))
    return [passage for passage in passages if passage.text in chosen]


def build(
    manuals: Path, folder: Path, given: CrossLingual, only: str, half: str, count: int | None = None
) -> list[Path]:
    """Write the sets whose names begin with ``only``, of ``count`` passages each or all; their paths without endings."""
    passages: dict[str, list[CorpusPassage]] = {}
    written: list[Path] = []
    for name, questions in given.sets.items():
        if not name.startswith(only):
            continue
        language = questions.corpus
        if language not in passages:
            passages[language] = read_corpus(manuals, language, given.corpora[language])
        for part in [half] if half else ["", "dev", "held"]:
            chosen = [question for question in questions.questions if part in ("", question.half)]
            part_name = f"{name}_{part}" if part else name
            corpus = thinned(passages[language], chosen, count) if count else passages[language]
            written.append(write_set(folder / name, part_name, corpus, chosen))
    return written


def main() -> None:
    """Build the sets, and unless they are only written, measure each."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("manuals", type=Path, help="the folder with the extracted manuals")
    parser.add_argument("--only", default="", help="beginning of a set's name")
    parser.add_argument("--half", default="dev", choices=["dev", "held"], help="questions to ask")
    parser.add_argument("--passages", type=int, metavar="COUNT", help="search among so many, not all")
    parser.add_argument("--write", type=Path, metavar="FOLDER", help="write all sets, ask nothing")
    options = parser.parse_args()
    given = CrossLingual.model_validate_json(QUESTIONS.read_text("utf-8"))
    if options.write:
        for path in build(options.manuals, options.write, given, options.only, "", options.passages):
            print(path)
        return
    settings = {"splitter": DEFAULT_SPLITTER, "chunk_size": DEFAULT_CHUNK_SIZE}
    with tempfile.TemporaryDirectory() as folder, running_product(None) as product:
        for path in build(options.manuals, Path(folder), given, options.only, options.half, options.passages):
            asyncio.run(run_sets(product, [str(path)], settings))


if __name__ == "__main__":
    main()
