"""Splitters on long documents: ``python -m benchmarks.splitters SET [SPLITTER:SIZE ...]``.

A SET is one of ``benchmarks.retrieval_quality``, its questions with their ``answer``. The
paragraphs of one title become one long Markdown document, as nobody cuts books into paragraphs
before an upload. A passage is right if it holds the answer with the words around it. Larger
passages hold more answers: compare splitters at one size, and mind the tokens that the first
five passages bring to a model.
"""

import argparse
import asyncio
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from benchmarks.product import Product, SampleDocument, logged_in, running_product
from benchmarks.retrieval_quality import TOP_K, read_lines
from kb_service.evaluation.metrics import mean, quality
from kb_service.text.token_counter import token_counter

CHOICES = (
    "heading_recursive:500",
    "parent_child:500",
    "sentence:500",
    "fixed:500",
    "heading_recursive:1000",
    "parent_child:1000",
    "heading_recursive:200",
)
_AROUND = 30

Line = Mapping[str, object]


def as_articles(paragraphs: Iterable[Line]) -> Iterator[SampleDocument]:
    """One Markdown document per title."""
    texts: dict[str, list[str]] = {}
    for paragraph in paragraphs:
        texts.setdefault(str(paragraph["title"]), []).append(str(paragraph["text"]))
    for number, (title, parts) in enumerate(texts.items()):
        content = "\n\n".join([f"# {title}", *parts])
        yield SampleDocument(f"article {number}.md", content.encode())


def evidence(paragraphs: Iterable[Line], queries: Sequence[Line]) -> list[str]:
    """For each question the answer with the words around it, without blanks and signs."""
    texts = {str(paragraph["id"]): str(paragraph["text"]) for paragraph in paragraphs}
    found: list[str] = []
    for query in queries:
        relevant = query["rel"]
        text = texts[str(next(iter(relevant)))] if isinstance(relevant, Mapping) else ""
        answer = str(query["answer"])
        place = max(text.find(answer), 0)
        found.append(plain(text[max(0, place - _AROUND) : place + len(answer) + _AROUND]))
    return found


def plain(text: str) -> str:
    """Letters and digits only: parsers change blanks and drop signs of Markdown."""
    return "".join(character for character in text if character.isalnum())


async def run(product: Product, prefix: str, choice: str) -> None:
    """Ingest the articles with one splitter and size, ask all questions, print a line."""
    # Names of splitters may have a colon.
    splitter, _, size = choice.rpartition(":")
    corpus = read_lines(Path(f"{prefix}.corpus.jsonl"))
    queries = read_lines(Path(f"{prefix}.queries.jsonl"))
    wanted = evidence(corpus, queries)
    counter = token_counter()
    places: list[list[int | None]] = []
    tokens = 0
    async with logged_in(product) as session:
        name = f"{choice} {time.time_ns()}"
        kb_id = await session.create(name, splitter=splitter, chunk_size=int(size))
        done = await session.ingest(kb_id, as_articles(corpus))
        for query, answer in zip(queries, wanted, strict=True):
            found = await session.search(kb_id, str(query["text"]), top_k=TOP_K)
            texts = [passage.content for passage in found.results]
            ranks = (rank for rank, text in enumerate(texts, start=1) if answer in plain(text))
            places.append([next(ranks, None)])
            tokens += sum(counter.count(text) for text in texts[:5])
    values = "/".join(f"{value:.4f}" for value in vars(mean([quality(place) for place in places])).values())
    print(
        f"{choice:24} {done.chunks:5} passages  R@1/R@5/R@10/MRR/nDCG {values}"
        f"  {tokens / len(queries):.0f} tokens in five passages  ingest {done.seconds:.0f} s",
        flush=True,
    )


def main() -> None:
    """Read the command line and run each choice."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("set", metavar="SET")
    parser.add_argument("choices", nargs="*", metavar="SPLITTER:SIZE", default=list(CHOICES))
    options = parser.parse_args()
    with running_product(None) as product:
        for choice in options.choices:
            asyncio.run(run(product, options.set, choice))


if __name__ == "__main__":
    main()
