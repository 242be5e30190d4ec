"""Retrieval quality through the HTTP API: ``python -m benchmarks.retrieval_quality SET...``.

A SET is a path without its endings: ``SET.corpus.jsonl`` holds one paragraph a line (``id``,
``title``, ``text``), ``SET.queries.jsonl`` one question (``id``, ``text``, ``rel``: paragraph ids
with their relevance; with ``any``, one of them is enough). Each paragraph becomes one Markdown document with its title as heading, as
a person would keep it. All questions are asked with ``top_k`` 10; a document counts once, at its
best passage. ``--mixed`` puts all sets into one knowledge base and asks all questions there, ``--words`` asks the
lexical leg alone, in this process.
"""

import argparse
import asyncio
import json
import math
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from benchmarks.product import Product, SampleDocument, Session, logged_in, running_product
from benchmarks.table import percentile
from kb_service.evaluation.metrics import CUT_OFF, Quality, mean, quality
from kb_service.knowledge_bases.service import DEFAULT_CHUNK_SIZE, DEFAULT_SPLITTER
from kb_service.models import SplitterName
from kb_service.vector_index.bm25 import encode_document, encode_query

TOP_K = CUT_OFF


def read_lines(path: Path) -> list[dict[str, object]]:
    """The objects of a file with one JSON object a line."""
    with path.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines if line.strip()]


def as_documents(paragraphs: Iterable[Mapping[str, object]]) -> Iterator[SampleDocument]:
    """One Markdown document per paragraph."""
    for paragraph in paragraphs:
        text = f"# {paragraph['title']}\n\n{paragraph['text']}\n"
        yield SampleDocument(f"{paragraph['id']}.md", text.encode())


def measure(rankings: Sequence[tuple[Sequence[str], set[str], bool]]) -> Quality:
    """Quality of rankings, each with the ids that would be right and whether one is enough."""
    return mean([quality(_places(*ranking)) for ranking in rankings])


def _places(ranking: Sequence[str], relevant: set[str], one_is_enough: bool) -> list[int | None]:
    ranks = {id_: rank for rank, id_ in enumerate(ranking, start=1)}
    places = [ranks.get(id_) for id_ in relevant]
    return [min(filter(None, places), default=None)] if one_is_enough else places


async def ask_all(
    session: Session, kb_id: str, queries: Sequence[Mapping[str, object]]
) -> tuple[list[list[str]], list[float], list[float]]:
    """Document names by rank for each question, with server and wall times in milliseconds."""
    rankings: list[list[str]] = []
    server: list[float] = []
    wall: list[float] = []
    for query in queries:
        started = time.perf_counter()
        found = await session.search(kb_id, str(query["text"]), top_k=TOP_K)
        wall.append((time.perf_counter() - started) * 1000)
        server.append(found.took_ms)
        names = (passage.document_name.rpartition(".")[0] for passage in found.results)
        rankings.append(list(dict.fromkeys(names)))
    return rankings, server, wall


def read_set(prefix: str) -> tuple[list[dict[str, object]], list[dict[str, object]]]:
    """The paragraphs and the questions of a set, whose ids get its name."""
    name = Path(prefix).name
    corpus = read_lines(Path(f"{prefix}.corpus.jsonl"))
    queries = read_lines(Path(f"{prefix}.queries.jsonl"))
    for paragraph in corpus:
        paragraph["id"] = f"{name}-{paragraph['id']}"
    for query in queries:
        query["rel"] = {f"{name}-{id_}": 1 for id_ in _keys(query["rel"])}
    return corpus, queries


async def run_sets(product: Product, prefixes: Sequence[str], settings: Mapping[str, str | int]) -> None:
    """Ingest sets into one knowledge base with some settings, ask all questions, print figures."""
    sets = [read_set(prefix) for prefix in prefixes]
    corpus = [paragraph for paragraphs, _ in sets for paragraph in paragraphs]
    queries = [query for _, questions in sets for query in questions]
    name = " + ".join(Path(prefix).name for prefix in prefixes)
    async with logged_in(product) as session:
        kb_id = await session.create(f"{name} {time.time_ns()}", **settings)
        done = await session.ingest(kb_id, list(as_documents(corpus)))
        # The first pass also shows a cold cache; the second one is what a running server does.
        rankings, cold, _ = await ask_all(session, kb_id, queries)
        _, server, wall = await ask_all(session, kb_id, queries)
    relevant = [set(map(str, _keys(query["rel"]))) for query in queries]
    enough = [bool(query.get("any")) for query in queries]
    quality = measure(list(zip(rankings, relevant, enough, strict=True)))
    rate = len(done.documents) / done.seconds
    print(f"{name}: {len(corpus)} paragraphs, {len(queries)} questions, {settings}")
    print(f"  ingest     {done.seconds:.1f} s, {rate:.1f} documents/s, {done.chunks} pieces")
    print(f"  failures   {done.failures or 'none'}")
    print("  R@1/R@5/R@10/MRR@10/nDCG@10 ", "/".join(f"{v:.4f}" for v in vars(quality).values()))
    for name, values in (("server, first pass", cold), ("server", server), ("wall", wall)):
        low, high = percentile(values, 0.5), percentile(values, 0.99)
        print(f"  search {name}: p50 {low:.1f} ms, p99 {high:.1f} ms, max {max(values):.1f} ms")


def run_words(prefix: str) -> None:
    """Rank the paragraphs of a set for each question by the lexical leg alone, print figures."""
    corpus, queries = read_set(prefix)
    started = time.process_time()
    vectors = [encode_document(f"{paragraph['title']}\n{paragraph['text']}") for paragraph in corpus]
    indexed = (time.process_time() - started) / len(corpus)
    postings: dict[int, list[tuple[int, float]]] = {}
    for place, vector in enumerate(vectors):
        for term, value in zip(vector.indices, vector.values, strict=True):
            postings.setdefault(term, []).append((place, value))
    rankings: list[tuple[list[str], set[str], bool]] = []
    for query in queries:
        scores: dict[int, float] = {}
        vector = encode_query(str(query["text"]))
        for term, weight in zip(vector.indices, vector.values, strict=True):
            held = postings.get(term, [])
            # As the index weights terms.
            rarity = math.log1p((len(corpus) - len(held) + 0.5) / (len(held) + 0.5))
            for place, value in held:
                scores[place] = scores.get(place, 0.0) + weight * rarity * value
        best = sorted(scores, key=lambda place: -scores[place])[:TOP_K]
        ranking = [str(corpus[place]["id"]) for place in best]
        rankings.append((ranking, set(map(str, _keys(query["rel"]))), bool(query.get("any"))))
    terms = sum(len(vector.indices) for vector in vectors) / len(vectors)
    print(
        f"{Path(prefix).name}: {terms:.0f} terms and {indexed * 1000:.2f} ms a paragraph, R@1/R@5/R@10/MRR@10/nDCG@10 ",
        end="",
    )
    print("/".join(f"{value:.3f}" for value in vars(measure(rankings)).values()))


def _keys(value: object) -> Iterable[object]:
    return value if isinstance(value, Mapping) else ()


def main() -> None:
    """Read the command line and run each set."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("sets", nargs="+", metavar="SET")
    parser.add_argument("--splitter", default=DEFAULT_SPLITTER, choices=list(SplitterName))
    parser.add_argument("--chunk-size", type=int, default=DEFAULT_CHUNK_SIZE, help="in tokens")
    parser.add_argument("--mixed", action="store_true", help="all sets in one knowledge base")
    parser.add_argument("--words", action="store_true", help="the lexical leg alone, without a server")
    parser.add_argument("--data-dir", type=Path, help="keep the server's data here")
    options = parser.parse_args()
    settings = {"splitter": options.splitter, "chunk_size": options.chunk_size}
    if options.words:
        for prefix in options.sets:
            run_words(prefix)
        return
    with running_product(options.data_dir) as product:
        for prefixes in [options.sets] if options.mixed else [[one] for one in options.sets]:
            asyncio.run(run_sets(product, prefixes, settings))


if __name__ == "__main__":
    main()
