"""Knowledge bases that go over to the other built-in model under load while parts are killed."""

import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Event, Thread

import httpx
import pytest

from core.errors.server import EngineUnavailable, VectorIndexUnavailable
from kb_service.embeddings.catalog import BUILT_IN, MINILM, MULTILINGUAL_E5, EmbeddingModel
from tests.fixtures.http.client import Api, eventually
from tests.fixtures.knowledge.reindex_requests import await_state, state
from tests.fixtures.product.oracle import check_sound
from tests.fixtures.product.server import Server

pytestmark = [
    pytest.mark.timeout(400),
    pytest.mark.skipif(MULTILINGUAL_E5 not in BUILT_IN, reason="the multilingual model is not installed"),
]
DEADLINE = 150
UNAVAILABLE = {EngineUnavailable.code, VectorIndexUnavailable.code}
# All passages of the test together are fewer than a search gives.
MOST = 100
DOCUMENTS, UPLOADS = 16, 8
QUERY = "where does the animal sleep at noon"


def long_text(number: int) -> str:
    """A document of a few long passages, which are soon written and take long to encode."""
    parts = [
        f"## House {house}\n\n" + f"Animal {number} of herd {house} sleeps in house {house} at noon. " * 30
        for house in range(3)
    ]
    return f"# Animal {number}\n\n" + "\n\n".join(parts)


@dataclass
class BackgroundLoad:
    """What searches and uploads saw; times are of the monotonic clock."""

    server: Server
    caller: Api
    kb_id: str
    acknowledged: dict[str, str]
    down: list[tuple[float, float]] = field(default_factory=list)
    failures: list[tuple[float, int]] = field(default_factory=list)
    searches: int = 0
    lost: list[str] = field(default_factory=list)

    def kill(self, part: str) -> None:
        """``kill -9`` a part and wait until all are ready again."""
        began = time.monotonic()
        self.server.kill(part)
        eventually(lambda: self.server.parts[part]["state"] == "ready", seconds=DEADLINE, what=f"{part} is ready")
        self.server.wait_ready(DEADLINE)
        self.down.append((began, time.monotonic()))

    def search(self, caller: Api) -> None:
        """One search, which must find what was completed before it began."""
        rows = self.server.sql(
            "SELECT id FROM document WHERE knowledge_base_id = :kb AND active_revision IS NOT NULL", kb=self.kb_id
        )
        wishes = {"query": QUERY, "top_k": MOST, "deduplicate": False}
        began = time.monotonic()
        answer = caller.request("POST", f"/knowledge-bases/{self.kb_id}/search", json=wishes)
        body = answer.json()
        self.searches += 1
        if answer.status_code != 200:
            self.failures.append((began, body["code"]))
            return
        hits = body["data"]["results"]
        if missing := {row["id"] for row in rows} - {hit["document_id"] for hit in hits}:
            self.lost.append(f"{len(missing)} documents were not found: {missing}")
        if len(hits) != len({hit["chunk_id"] for hit in hits}):
            self.lost.append("a passage was found twice")

    def check(self) -> None:
        """Nothing was lost, and searches failed as documented and only while the engine was away."""
        assert self.lost == []
        assert self.searches > len(self.failures)
        assert {code for _, code in self.failures} <= UNAVAILABLE
        # A search that began just before the end of the engine fails, too.
        outside = [
            (at, code) for at, code in self.failures if not any(began - 15 <= at <= ended for began, ended in self.down)
        ]
        assert outside == []


@contextmanager
def load(server: Server, caller: Api, kb_id: str, acknowledged: dict[str, str], mark: str) -> Generator[BackgroundLoad]:
    """Searches one after the other and some uploads, from two threads."""
    seen = BackgroundLoad(server, caller, kb_id, acknowledged)
    over = Event()
    errors: list[BaseException] = []

    def search(mine: Api) -> None:
        while not over.is_set():
            seen.search(mine)

    def upload(mine: Api) -> None:
        for number in range(UPLOADS):
            name = f"{mark}-{number}.md"
            acknowledged[mine.upload(kb_id, name, f"# {mark}\n\nAnimal {mark} {number} sleeps at noon.")] = name
            # Most of them while a part is down or comes again.
            if over.wait(1):
                return

    def work(act: Callable[[Api], None]) -> None:
        with httpx.Client(base_url=caller.http.base_url, timeout=60, trust_env=False) as http:
            try:
                act(Api(http, caller.headers))
            # The thread's end must not hide what ended it.
            except BaseException as error:  # noqa: BLE001
                errors.append(error)

    threads = [Thread(target=work, args=(act,)) for act in (search, upload)]
    for thread in threads:
        thread.start()
    try:
        yield seen
        threads[1].join()
    finally:
        over.set()
        for thread in threads:
            thread.join()
    assert errors == []


def switch_under_fire(seen: BackgroundLoad, model: EmbeddingModel) -> None:
    """Re-index with a model; the engine and a worker are killed when a part of the documents is done."""
    caller, kb_id = seen.caller, seen.kb_id
    wishes = {"embedding_model": model.name}
    assert caller.post(f"/knowledge-bases/{kb_id}/reindex", wishes)["outcome"] == "started"
    for part, done in (("engine", 0), ("worker", 3)):
        eventually(lambda n=done: state(caller, kb_id)["documents"]["done"] > n, seconds=DEADLINE, pause=0.02)
        # In the middle, or the test shows nothing.
        assert state(caller, kb_id)["state"] == "running"
        seen.kill(part)
    eventually(
        lambda: state(caller, kb_id)["state"] == "none" and caller.get(f"/knowledge-bases/{kb_id}"),
        seconds=DEADLINE,
        what="the cut-over",
    )
    assert caller.get(f"/knowledge-bases/{kb_id}")["embedding_model"] == model.name


def check_whole(server: Server, caller: Api, kb_id: str, acknowledged: dict[str, str], model: EmbeddingModel) -> None:
    """Everything that was acknowledged is found, once, in the index of this model alone."""
    for document_id in acknowledged:
        assert caller.wait(kb_id, document_id, seconds=DEADLINE)["status"] == "completed"
    hits = caller.search(kb_id, QUERY, top_k=MOST, deduplicate=False)
    assert {hit["document_name"] for hit in hits} == set(acknowledged.values())
    (other,) = {MINILM, MULTILINGUAL_E5} - {model}
    counts = {id_: caller.document(kb_id, id_)["chunk_count"] for id_ in acknowledged}
    assert len(hits) == sum(counts.values())

    def in_one_index() -> bool:
        here = {id_: server.points(document_id=id_, model=model) for id_ in acknowledged}
        there = [server.points(document_id=id_, model=other) for id_ in acknowledged]
        return here == counts and not any(there)

    # The clearing is a job of its own.
    eventually(in_one_index, seconds=DEADLINE, what=f"all points only in the index of {model.name}", pause=0.5)


@pytest.fixture
def nothing_kept(installation: Server) -> Generator[None]:
    """Re-indexes that keep no old passages, so that one can see them go."""
    admin = installation.admin()
    path = "/admin/system/config/reindex_keep_hours"
    admin.put(path, {"value": 0})
    yield
    admin.delete(path)


@pytest.mark.usefixtures("nothing_kept")
@pytest.mark.parametrize(
    "models",
    [(MULTILINGUAL_E5,), pytest.param((MULTILINGUAL_E5, MINILM), marks=pytest.mark.soak)],
    ids=["there", "there and back"],
)
def test_switch_to_the_other_model_loses_nothing(installation: Server, models: tuple[EmbeddingModel, ...]):
    caller = installation.person()
    kb_id = caller.create_kb(embedding_model=MINILM.name)
    acknowledged = {}
    for number in range(DOCUMENTS):
        acknowledged[caller.upload(kb_id, f"{number}.md", long_text(number))] = f"{number}.md"
    for document_id in acknowledged:
        assert caller.wait(kb_id, document_id)["status"] == "completed"
    check_whole(installation, caller, kb_id, acknowledged, MINILM)
    for model in models:
        with load(installation, caller, kb_id, acknowledged, f"to {model.name}") as seen:
            switch_under_fire(seen, model)
        seen.check()
        assert len(acknowledged) >= DOCUMENTS + UPLOADS
        check_whole(installation, caller, kb_id, acknowledged, model)
    check_sound(installation)


# In a language that shares no word with the documents, and is not translated by dictionary.
QUESTIONS = {
    "Когда отправляется паром?": "ferry.md",
    "Сколько времени должно подходить тесто?": "bread.md",
    "Как часто делается резервная копия базы данных?": "database.md",
    "Что нужно помидорам летом?": "garden.md",
    "Кто чинит лифт?": "lift.md",
    "Где хранится багаж гостей?": "hotel.md",
}
MANUALS = {
    "ferry.md": "The ferry leaves the harbour at noon and arrives in the evening.",
    "bread.md": "The dough needs yeast and rests for two hours before it is baked.",
    "database.md": "A backup of the database is written every night.",
    "garden.md": "Tomatoes need much water in summer.",
    "lift.md": "A technician of the manufacturer repairs the elevator.",
    "hotel.md": "The luggage of the guests is kept in a room behind the reception.",
    "school.md": "Pupils bring their own pencils and paper to the examination.",
    "museum.md": "The museum shows paintings from the last two centuries.",
    "forest.md": "In dry weeks no fires may be lit in the forest.",
    "bank.md": "The interest on the loan is paid once a year.",
    "doctor.md": "The doctor measures blood pressure before the operation.",
    "football.md": "The match was stopped because of heavy snow.",
}


def passages(caller: Api, kb_id: str) -> dict[str, str]:
    hits = caller.search(kb_id, QUERY, top_k=MOST, deduplicate=False)
    return {hit["chunk_id"]: hit["document_name"] for hit in hits}


def in_index(server: Server, kb_id: str, model: EmbeddingModel) -> int:
    rows = server.sql("SELECT id FROM document WHERE knowledge_base_id = :kb", kb=kb_id)
    return sum(server.points(document_id=row["id"], model=model) for row in rows)


def test_gate_lets_the_better_model_in_and_holds_the_worse_one_until_somebody_decides(installation: Server):
    caller = installation.person()
    kb_id = caller.create_kb(embedding_model=MINILM.name)
    ids = [caller.upload(kb_id, name, text) for name, text in MANUALS.items()]
    for document_id in ids:
        assert caller.wait(kb_id, document_id)["status"] == "completed"
    english = passages(caller, kb_id)
    for question, name in QUESTIONS.items():
        caller.post(f"/knowledge-bases/{kb_id}/questions", {"question": question, "expected": [{"document": name}]})
    base, path = f"/knowledge-bases/{kb_id}", f"/knowledge-bases/{kb_id}/reindex"

    caller.post(path, {"embedding_model": MULTILINGUAL_E5.name})
    recall = await_state(caller, kb_id, "none")["recall"]
    assert (recall["questions"], recall["target"]["recall_5"]) == (len(QUESTIONS), 1)
    assert recall["present"]["recall_5"] < 0.9
    assert caller.get(base)["embedding_model"] == MULTILINGUAL_E5.name
    multilingual = passages(caller, kb_id)
    assert sorted(multilingual.values()) == sorted(english.values()) == sorted(MANUALS)

    # The worse model is made ready and then waits; whoever gives it up keeps what was.
    caller.post(path, {"embedding_model": MINILM.name})
    recall = await_state(caller, kb_id, "held")["recall"]
    assert recall["target"]["recall_5"] < recall["present"]["recall_5"] == 1
    assert (caller.get(base)["embedding_model"], passages(caller, kb_id)) == (MULTILINGUAL_E5.name, multilingual)
    installation.kill("worker")
    assert await_state(caller, kb_id, "held")["present"]["embedding_model"] == MULTILINGUAL_E5.name
    caller.post(f"{path}/cancel")
    assert (caller.get(base)["embedding_model"], passages(caller, kb_id)) == (MULTILINGUAL_E5.name, multilingual)
    eventually(lambda: in_index(installation, kb_id, MINILM) == 0, seconds=DEADLINE, what="nothing of MiniLM is left")

    # Whoever wants it all the same may have it, and go back at once.
    caller.post(path, {"embedding_model": MINILM.name})
    await_state(caller, kb_id, "held")
    caller.post(f"{path}/cutover")
    assert caller.get(base)["embedding_model"] == MINILM.name
    caller.post(f"{path}/rollback")
    assert (caller.get(base)["embedding_model"], passages(caller, kb_id)) == (MULTILINGUAL_E5.name, multilingual)
    check_sound(installation)
