"""The sentences that answers without a language model quote: ``python -m benchmarks.offline_answer``.

The documents and questions of ``tests/data/offline_answers``, in English and Chinese, were written before the selection of
sentences was tuned, and it was tuned on the half called development alone. All documents go into one knowledge base of a
running server with its own encoder, and each question is asked over HTTP as the terminal client asks it. An answer is
*right* when one of its quotes holds the sentence that answers, *first* when that is the first quote; a question that no
document answers is *honest* when nothing is quoted. ``--record`` also writes down which passages a search found, for the tests.
"""

import argparse
import asyncio
import json
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import httpx
from pydantic import BaseModel, TypeAdapter

from benchmarks.product import Product, SampleDocument, logged_in, running_product
from benchmarks.table import Row, percentile

DATA = Path(__file__).resolve().parents[1] / "tests" / "data" / "offline_answers"
_TOP_K = 8
# The selection before decision 83, measured with this module: right, first and honest of each half and language.
BEFORE = {
    ("development", "en"): (13, 8, 3),
    ("development", "zh"): (9, 6, 6),
    ("held", "en"): (16, 14, 3),
    ("held", "zh"): (14, 11, 5),
}


class OfflineCase(BaseModel):
    """A question, and the parts of sentences that answer it; none where no document does."""

    id: str
    half: str
    language: str
    kind: str
    document: str
    question: str
    spans: list[str]


@dataclass(frozen=True)
class OfflineAnswer:
    """What was quoted for a case, in order, and how long the answer took."""

    case: OfflineCase
    quotes: Sequence[str]
    milliseconds: float

    @property
    def is_right(self) -> bool:
        """Whether a quote holds an answer, or nothing is quoted where there is none."""
        return any(map(self._answers, self.quotes)) if self.case.spans else not self.quotes

    @property
    def is_first(self) -> bool:
        """Whether the first quote holds an answer."""
        return any(map(self._answers, self.quotes[:1]))

    @property
    def verdict(self) -> str:
        """One of right, honest, missed (there is an answer, nothing is quoted) and wrong."""
        if self.is_right:
            return "right" if self.case.spans else "honest"
        return "wrong" if self.quotes else "missed"

    def _answers(self, quote: str) -> bool:
        return any(span in quote for span in self.case.spans)


def read_cases() -> list[OfflineCase]:
    """All cases, in the order of their file."""
    return TypeAdapter(list[OfflineCase]).validate_json((DATA / "cases.json").read_bytes())


def quotes_of(text: str) -> list[str]:
    """The quotes of an answer: each block of lines that begin with ``>``."""
    blocks = (block.splitlines() for block in text.split("\n\n"))
    return [
        "\n".join(line.removeprefix(">").removeprefix(" ") for line in lines)
        for lines in blocks
        if lines and all(line.startswith(">") for line in lines)
    ]


async def _answer(http: httpx.AsyncClient, kb_id: str, question: str) -> str:
    body = {
        "thread_id": str(uuid4()),
        "run_id": str(uuid4()),
        "state": {},
        "messages": [{"id": str(uuid4()), "role": "user", "content": question}],
        "tools": [],
        "context": [],
        "forwarded_props": {"agent_type": "agentic_rag", "knowledge_base_ids": [kb_id]},
    }
    answer = await http.post("/api/v1/agent/run", json=body)
    answer.raise_for_status()
    events = (json.loads(line[5:]) for line in answer.text.splitlines() if line.startswith("data:"))
    return "".join(event["delta"] for event in events if event["type"] == "TEXT_MESSAGE_CONTENT")


async def ask_all(product: Product, cases: Sequence[OfflineCase], *, record: bool = False) -> list[OfflineAnswer]:
    """Ingest the documents and ask every question."""
    documents = [SampleDocument(path.name, path.read_bytes()) for path in sorted((DATA / "documents").iterdir())]
    answers: list[OfflineAnswer] = []
    rankings: dict[str, list[str]] = {}
    passages: dict[str, dict[str, object]] = {}
    async with logged_in(product) as session:
        kb_id = await session.create(f"offline answers {time.time_ns()}")
        await session.ingest(kb_id, documents, together=True)
        for case in cases:
            started = time.perf_counter()
            text = await _answer(session.http, kb_id, case.question)
            answers.append(OfflineAnswer(case, quotes_of(text), (time.perf_counter() - started) * 1000))
            if record:
                path = f"/api/v1/knowledge-bases/{kb_id}/search"
                hits = (await session.call("POST", path, {"query": case.question, "top_k": _TOP_K}))["results"]
                rankings[case.id] = [_key(hit, passages) for hit in hits]
    if record:
        text = json.dumps({"passages": passages, "rankings": rankings}, ensure_ascii=False, indent=1)
        (DATA / "passages.json").write_text(text + "\n", encoding="utf-8")
    return answers


def _key(hit: dict[str, object], passages: dict[str, dict[str, object]]) -> str:
    passage = {name: hit[name] for name in ("document_name", "heading_path", "content")}
    for key, known in passages.items():
        if known == passage:
            return key
    key = f"{hit['document_name']}#{sum(known['document_name'] == hit['document_name'] for known in passages.values())}"
    passages[key] = passage
    return key


def show(answers: Iterable[OfflineAnswer]) -> None:
    """Print the table: one row for each half and language, with the figures of before."""
    answers = list(answers)
    print(
        "| half | language | right | before | first | before | honest | before | wrong | missed | quotes | characters |"
    )
    print("|---|---|---|---|---|---|---|---|---|---|---|---|")
    for half, language in dict.fromkeys((a.case.half, a.case.language) for a in answers):
        some = [a for a in answers if (a.case.half, a.case.language) == (half, language)]
        answerable = [a for a in some if a.case.spans]
        right, first = sum(a.is_right for a in answerable), sum(a.is_first for a in answerable)
        honest = sum(a.is_right for a in some if not a.case.spans)
        before = BEFORE[half, language]
        many, few = len(answerable), len(some) - len(answerable)
        counts = [sum(a.verdict == verdict for a in some) for verdict in ("wrong", "missed")]
        quotes = [quote for a in some for quote in a.quotes]
        lengths = f"{len(quotes) / len(some):.1f} | {sum(map(len, quotes)) / len(some):.0f}"
        print(
            f"| {half} | {language} | {right} of {many} | {before[0]} | {first} of {many} | {before[1]} |"
            f" {honest} of {few} | {before[2]} | {counts[0]} | {counts[1]} | {lengths} |"
        )
    times = [a.milliseconds for a in answers]
    print(f"\nanswer over HTTP: p50 {percentile(times, 0.5):.0f} ms, p99 {percentile(times, 0.99):.0f} ms")


def run() -> list[Row]:
    """The held questions, beside the selection before decision 83."""
    with running_product() as product:
        answers = asyncio.run(ask_all(product, [case for case in read_cases() if case.half == "held"]))
    rows: list[Row] = []
    for language in ("en", "zh"):
        some = [answer for answer in answers if answer.case.language == language]
        right, honest = (
            sum(a.is_right for a in some if bool(a.case.spans) == has_spans) for has_spans in (True, False)
        )
        before = BEFORE["held", language]
        rows.append(
            Row(
                f"offline answer, {language}: quoted or honest, of {len(some)}",
                f"{right + honest}",
                f"{before[0] + before[2]} before decision 83",
                (right + honest) / (before[0] + before[2]),
            )
        )
    return rows


def main() -> None:
    """Read the command line, ask everything, print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--data-dir", type=Path, help="keep the server's data here")
    parser.add_argument("--verbose", action="store_true", help="print every answer that is not right")
    parser.add_argument("--half", choices=["development", "held"], help="ask these questions only")
    parser.add_argument("--record", action="store_true", help="write the found passages down, for the tests")
    options = parser.parse_args()
    cases = [case for case in read_cases() if options.half in (None, case.half)]
    with running_product(options.data_dir) as product:
        answers = asyncio.run(ask_all(product, cases, record=options.record))
    for answer in answers if options.verbose else ():
        if not answer.is_right or (answer.case.spans and not answer.is_first):
            print(f"{answer.verdict}: {answer.case.id}: {answer.case.question} {answer.case.spans}")
            for quote in answer.quotes:
                print("    " + quote.replace("\n", "\n    "))
    show(answers)


if __name__ == "__main__":
    main()
