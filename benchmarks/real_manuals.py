"""Two real manuals through the terminal client: ``python -m benchmarks.real_manuals``.

Needs the Debian packages that ``questions.json`` names. Each manual is ingested with ``agentex
ingest``, each question asked with ``agentex search`` and ``agentex chat`` (offline model); the
pages that hold the answer were written down before the first run. A question counts as found
when such a page, and the section where one is given, is among the first five passages, and as
cited when it is among the answer's citations.
"""

import argparse
import asyncio
import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel

from benchmarks.product import Product, logged_in, running_product
from benchmarks.table import percentile

QUESTIONS = Path(__file__).with_name("questions.json")
_SAMPLE_SECONDS = 0.5
_REPEATS = 10


class ManualQuestion(BaseModel):
    """A question and where its answer stands; ``section`` has beginnings of headings."""

    question: str
    pages: list[str]
    section: str = ""


class Manual(BaseModel):
    """A manual, the package it comes in, its files, and questions to it."""

    name: str
    package: str
    paths: list[str]
    questions: list[ManualQuestion]


class ManualPassage(BaseModel):
    """Where a passage or a citation stands."""

    document_name: str
    heading_path: list[str]
    quote: str = ""


@dataclass(frozen=True)
class ManualAnswer:
    """What came for one question; places of the passages and of the citations."""

    question: ManualQuestion
    text: str
    cited: Sequence[ManualPassage]
    found: Sequence[ManualPassage]
    search_ms: float
    chat_seconds: float

    @property
    def is_found(self) -> bool:
        """Whether a right page is among the first five passages."""
        return _has_right(self.question, self.found)

    @property
    def is_cited(self) -> bool:
        """Whether a right page is among the citations."""
        return _has_right(self.question, self.cited)


def _has_right(question: ManualQuestion, places: Iterable[ManualPassage]) -> bool:
    starts = tuple(question.section.split())
    return any(
        place.document_name.rpartition(" › ")[2] in question.pages
        and (not starts or any(heading.startswith(starts) for heading in place.heading_path))
        for place in places
    )


class Terminal:
    """The ``agentex`` command against one server."""

    def __init__(self, product: Product) -> None:
        self._environment = product.environment()
        self.run("login", "--username", product.username, "--password-stdin", given=product.password)

    def run(self, *arguments: str, given: str = "") -> str:
        """Run a command and give what it prints; a failure ends the benchmark."""
        done = subprocess.run(
            [sys.executable, "-m", "cli.main", *arguments],
            env=self._environment,
            input=given,
            capture_output=True,
            text=True,
        )
        if done.returncode not in (0, 1):
            raise SystemExit(f"agentex {arguments[0]}: {done.stdout}{done.stderr}")
        return done.stdout


class MemoryWatch(threading.Thread):
    """Samples the parts' memory; ``peak`` has the most of each, in bytes."""

    def __init__(self, product: Product) -> None:
        super().__init__(daemon=True)
        self._product = product
        self._ended = threading.Event()
        self.peak: dict[str, int] = {}

    def run(self) -> None:
        """Sample until told to end."""
        while not self._ended.wait(_SAMPLE_SECONDS):
            for part, size in self._product.memory().items():
                self.peak[part] = max(size, self.peak.get(part, 0))

    def end(self) -> None:
        """Stop sampling."""
        self._ended.set()
        self.join()


def ingest(product: Product, terminal: Terminal, manual: Manual) -> None:
    """Ingest a manual and print the figures."""
    watch = MemoryWatch(product)
    watch.start()
    started = time.perf_counter()
    arguments = ("ingest", *manual.paths, "--kb", manual.name, "--create", "--json")
    report = json.loads(terminal.run(*arguments))
    seconds = time.perf_counter() - started
    watch.end()
    documents = [file["document"] for file in report["files"] if file.get("document")]
    size = sum(document["file_size"] for document in documents)
    chunks = sum(document["chunk_count"] for document in documents)
    reasons = [file["reason"] for file in report["files"] if file["status"] == "failed"]
    print(f"## {manual.name}: {' '.join(manual.paths)}")
    print(f"outcome    {report['counts']}, {size / 1e6:.1f} MB, {chunks} chunks")
    print(f"time       {seconds:.1f} s, {len(documents) / seconds:.1f} documents/s,", end=" ")
    print(f"{chunks / seconds:.1f} chunks/s, {size / 1e6 / seconds:.2f} MB/s")
    print(f"failures   {sorted(set(reasons)) or 'none'}")
    print("peak RSS  ", {part: f"{value / 2**20:.0f} MiB" for part, value in watch.peak.items()})
    print(f"disk       {product.disk() / 2**20:.0f} MiB in the data folder")


def ask(terminal: Terminal, manual: Manual, question: ManualQuestion) -> ManualAnswer:
    """Search for a question, then ask it."""
    found = json.loads(terminal.run("search", question.question, "--kb", manual.name, "--json"))
    started = time.perf_counter()
    lines = terminal.run("chat", question.question, "--kb", manual.name, "--json").splitlines()
    seconds = time.perf_counter() - started
    events = [json.loads(line) for line in lines]
    text = "".join(e["delta"] for e in events if e["type"] == "TEXT_MESSAGE_CONTENT")
    finished = next(e for e in events if e["type"] == "RUN_FINISHED")
    return ManualAnswer(
        question=question,
        text=text,
        cited=[ManualPassage.model_validate(one) for one in finished["result"]["citations"]],
        found=[ManualPassage.model_validate(one) for one in found["results"]],
        search_ms=found["took_ms"],
        chat_seconds=seconds,
    )


async def time_searches(product: Product, manual: Manual) -> list[float]:
    """The server's own time of each search in milliseconds; every question ten times."""
    async with logged_in(product) as session:
        listing = await session.call("GET", "/api/v1/knowledge-bases?page_size=100")
        ids = {item["name"]: item["id"] for item in listing["items"]}
        return [
            (await session.search(ids[manual.name], question.question, top_k=5)).took_ms
            for _ in range(_REPEATS)
            for question in manual.questions
        ]


def show(answer: ManualAnswer) -> None:
    """Print a question, its answer and the sources."""
    marks = f"found {_yes(answer.is_found)}, cited {_yes(answer.is_cited)}"
    print(f"\n### {answer.question.question}\n[{marks}; search {answer.search_ms:.0f} ms,", end=" ")
    print(f"chat {answer.chat_seconds:.1f} s]\n{answer.text}")
    for place in answer.cited:
        print(f"  cites {place.document_name}: {' > '.join(place.heading_path)}")
    for place in answer.found:
        print(f"  found {place.document_name}: {' > '.join(place.heading_path)}")


def _yes(value: bool) -> str:
    return "yes" if value else "NO"


def main() -> None:
    """Ingest both manuals, ask all questions, print everything."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--data-dir", type=Path, help="keep the data; a second run only asks")
    parser.add_argument("--only", default="", help="part of a manual's name")
    options = parser.parse_args()
    manuals = [Manual.model_validate(one) for one in json.loads(QUESTIONS.read_text("utf-8"))]
    with running_product(options.data_dir) as product:
        terminal = Terminal(product)
        for manual in manuals:
            if options.only in manual.name:
                ingest(product, terminal, manual)
                answers = [ask(terminal, manual, question) for question in manual.questions]
                for answer in answers:
                    show(answer)
                times = asyncio.run(time_searches(product, manual))
                half, most = percentile(times, 0.5), percentile(times, 0.99)
                print(f"\nsearch     p50 {half:.1f} ms, p99 {most:.1f} ms on the server")
                found, cited = sum(a.is_found for a in answers), sum(a.is_cited for a in answers)
                print(f"{manual.name}: found {found}, cited {cited} of {len(answers)}\n")


if __name__ == "__main__":
    main()
