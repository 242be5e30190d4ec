"""Storms: parts killed at random while documents are uploaded; nothing acknowledged is lost.

A storm prints its seed; ``AGENTEX_TEST_SEED`` repeats its choices, though not its timing.
"""

import contextlib
import hashlib
import itertools
import os
import random
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from threading import Event, Thread

import httpx
import psutil
import pytest

from tests.fixtures.http.client import Api, eventually
from tests.fixtures.product.oracle import Allowed, check_sound
from tests.fixtures.product.server import Server

SENDERS = 4
# One round of a storm, in random order.
VICTIMS = ("worker", "worker", "worker", "engine", "engine", "api", "redis", "supervisor")


def new_seed() -> int:
    seed = int(os.environ.get("AGENTEX_TEST_SEED") or random.randrange(2**32))
    say(f"AGENTEX_TEST_SEED={seed}")
    return seed


def say(text: str) -> None:
    """For the captured output that pytest shows when a test fails."""
    sys.stdout.write(f"{text}\n")


def content_of(number: int) -> bytes:
    """A document of a few passages, with a word that only it has."""
    parts = [f"## Part {n}\n\n" + f"Animal {number} sleeps in its house. " * 6 for n in range(3)]
    return f"# Document {number}\n\nwordof{number}x\n\n{''.join(parts)}".encode()


@dataclass
class Uploads:
    """Uploads of one person into one knowledge base, each repeated until it is acknowledged."""

    caller: Api
    kb_id: str
    sent: dict[str, bytes] = field(default_factory=dict[str, bytes])
    cut: int = 0

    def send(self, number: int, *, pause: float = 0.0, seconds: float = 120) -> None:
        """Upload one document and note the id that the answer gave."""
        content, deadline = content_of(number), time.monotonic() + seconds
        while time.monotonic() < deadline:
            try:
                answer = self.caller.send_file(self.kb_id, f"{number}.md", content)
            except httpx.TransportError as error:
                self.cut += not isinstance(error, httpx.ConnectError)
            else:
                assert answer.status_code == 200 or answer.status_code >= 500, answer.text
                if answer.status_code == 200:
                    self.sent[answer.json()["data"]["id"]] = content
                    time.sleep(pause)
                    return
            time.sleep(0.1)
        raise AssertionError(f"document {number} was not taken within {seconds} s")

    def send_all(self, numbers: Sequence[int], *, pause: float) -> None:
        """Upload documents, several at a time."""
        with ThreadPoolExecutor(SENDERS) as pool:
            sending = [pool.submit(self.send, number, pause=pause) for number in numbers]
            try:
                for done in sending:
                    done.result()
            except BaseException:
                pool.shutdown(cancel_futures=True)
                raise

    def wait_worked_off(self, server: Server, *, seconds: float) -> None:
        """Wait until no document of the backlog is left; how long that takes the machine says."""
        query = (
            "SELECT count(*) AS n FROM document WHERE knowledge_base_id = :kb AND status IN ('pending', 'processing')"
        )
        eventually(
            lambda: server.sql(query, kb=self.kb_id)[0]["n"] == 0,
            seconds=seconds,
            what="the backlog is worked off",
            pause=0.5,
        )

    def check_kept(self, server: Server, total: int) -> None:
        """Every acknowledged document is there once, with its bytes, and can be found."""
        check_sound(server, allowed=Allowed(cut_uploads=self.cut))
        rows = server.sql(
            "SELECT id, status, storage_key, failure FROM document WHERE knowledge_base_id = :kb",
            kb=self.kb_id,
        )
        assert [row for row in rows if row["status"] != "completed"] == []
        assert {row["id"] for row in rows} == set(self.sent)
        assert len(rows) == total
        folder = server.settings.data_dir / "files"
        for row in rows:
            stored = (folder / row["storage_key"][:2] / row["storage_key"]).read_bytes()
            expected = self.sent[row["id"]]
            assert hashlib.sha256(stored).digest() == hashlib.sha256(expected).digest()


def new_uploads(server: Server) -> Uploads:
    caller = server.person()
    return Uploads(caller, caller.create_kb(chunk_size=64, chunk_overlap=0))


def kill(server: Server, victim: str) -> None:
    """``kill -9``; a part that is down at the moment is left alone."""
    if victim == "supervisor":
        server.kill_supervisor()
        return
    part = server.parts.get(victim, {})
    if not part.get("pid"):
        return
    with contextlib.suppress(psutil.Error):
        process = psutil.Process(part["pid"])
        # The state file of a killed supervisor names processes whose numbers others may have now.
        if abs(process.create_time() - part["started"]) < 2:
            process.kill()


@contextmanager
def killing(server: Server, uploads: Uploads, source: random.Random) -> Iterator[list[str]]:
    """Kill one part after the other, each a random moment after a few more uploads were taken."""
    end, killed = Event(), list[str]()

    def run() -> None:
        rounds = (source.sample(VICTIMS, len(VICTIMS)) for _ in count())
        for victim in itertools.chain.from_iterable(rounds):
            enough = len(uploads.sent) + source.randint(6, 14)
            while len(uploads.sent) < enough and not end.is_set():
                time.sleep(0.02)
            if end.wait(source.uniform(0, 0.5)):
                return
            kill(server, victim)
            killed.append(victim)

    storm = Thread(target=run)
    storm.start()
    try:
        yield killed
    finally:
        end.set()
        storm.join()


def weather_storm(server: Server, *, documents: int) -> None:
    """Upload documents while parts are killed, then look at everything."""
    uploads = new_uploads(server)
    with killing(server, uploads, random.Random(new_seed())) as killed:
        uploads.send_all(range(documents), pause=0.2)
    say(f"killed: {' '.join(killed)}; requests cut: {uploads.cut}")
    server.wait_ready(120)
    uploads.wait_worked_off(server, seconds=60 + documents)
    uploads.check_kept(server, documents)
    for number in random.sample(range(documents), 5):
        found = uploads.caller.search(uploads.kb_id, f"wordof{number}x", top_k=3)
        assert found[0]["document_name"] == f"{number}.md"


@pytest.mark.soak
@pytest.mark.timeout(900)
def test_random_kills_during_200_uploads_lose_and_double_nothing(installation: Server):
    weather_storm(installation, documents=200)


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_random_kills_during_3000_uploads_lose_and_double_nothing(installation: Server):
    weather_storm(installation, documents=3000)


def kill_api_while_sending(server: Server, *, kills: int) -> None:
    """What was acknowledged before each kill is there; what was not has left no half of it."""
    uploads, source, numbers = new_uploads(server), random.Random(new_seed()), count()
    for _ in range(kills):
        server.wait_ready(120)
        with ThreadPoolExecutor(SENDERS) as pool:
            sending = [pool.submit(_send_until_cut, uploads, numbers) for _ in range(SENDERS)]
            time.sleep(source.uniform(0.1, 0.8))
            kill(server, "api")
            for done in sending:
                done.result()
    server.wait_ready(120)
    uploads.wait_worked_off(server, seconds=60 + len(uploads.sent))
    check_sound(server, allowed=Allowed(cut_uploads=uploads.cut))
    rows = server.sql("SELECT id, sha256 FROM document WHERE knowledge_base_id = :kb", kb=uploads.kb_id)
    expected = {id_: hashlib.sha256(data).hexdigest() for id_, data in uploads.sent.items()}
    stored = {row["id"]: row["sha256"] for row in rows}
    assert expected.items() <= stored.items()
    # One whose answer was cut off may have been committed.
    assert len(stored) <= len(expected) + uploads.cut


def _send_until_cut(uploads: Uploads, numbers: Iterator[int]) -> None:
    while True:
        number = next(numbers)
        try:
            answer = uploads.caller.send_file(uploads.kb_id, f"{number}.md", content_of(number))
        except httpx.TransportError:
            uploads.cut += 1
            return
        assert answer.status_code == 200, answer.text
        uploads.sent[answer.json()["data"]["id"]] = content_of(number)


@pytest.mark.timeout(900)
def test_api_killed_while_it_takes_uploads_keeps_what_it_acknowledged(installation: Server):
    kill_api_while_sending(installation, kills=3)


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_api_killed_fifty_times_keeps_what_it_acknowledged(installation: Server):
    kill_api_while_sending(installation, kills=50)
