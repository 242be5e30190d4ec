"""Searches at full speed while a knowledge base is re-indexed and its workers are killed."""

import random
import time

import pytest

from tests.fixtures.http.client import Api, eventually
from tests.fixtures.knowledge.reindex_requests import ask, changes_of, searching
from tests.fixtures.product.server import Server

pytestmark = pytest.mark.timeout(300)
DEADLINE = 120
ANIMALS = ("zebra", "okapi", "quagga", "tapir", "dugong", "numbat", "quokka", "kiwi")


def text(animal: str) -> str:
    """A document of some ten passages that only it has."""
    parts = [f"## {animal} {n}\n\n" + f"The {animal} of herd {n} sleeps in house {n} at noon. " * 4 for n in range(9)]
    return f"# {animal}\n\n" + "\n\n".join(parts)


def reindexed(caller: Api, kb_id: str) -> bool:
    return caller.get(f"/knowledge-bases/{kb_id}/reindex")["state"] == "none"


def test_every_search_sees_one_whole_generation(server: Server):
    server.wait_ready()
    caller = server.person()
    kb_id = caller.create_kb(chunk_size=400, chunk_overlap=0)
    ids = [caller.upload(kb_id, f"{animal}.md", text(animal)) for animal in ANIMALS]
    for document_id in ids:
        assert caller.wait(kb_id, document_id)["status"] == "completed"
    old = ask(caller, kb_id)
    with searching(server, caller, kb_id) as answers:
        wishes = {"splitter": "sentence", "chunk_size": 64, "chunk_overlap": 0}
        assert caller.post(f"/knowledge-bases/{kb_id}/reindex", wishes)["outcome"] == "started"
        for _ in range(2):
            # Any moment will do: that is what is tested.
            time.sleep(random.uniform(0.2, 1.5))
            server.kill("worker")
            eventually(lambda: server.parts["worker"]["state"] == "ready", seconds=DEADLINE)
        eventually(lambda: reindexed(caller, kb_id), seconds=DEADLINE, what="the cut-over")
        seen = len(answers)
        eventually(lambda: len(answers) > seen + 2, what="searches after the cut-over")
        new = ask(caller, kb_id)
        caller.post(f"/knowledge-bases/{kb_id}/reindex/rollback")
        seen = len(answers)
        eventually(lambda: len(answers) > seen + 2, what="searches after the way back")
    assert len(new) > len(old) > len(ANIMALS)
    assert not new & old
    assert changes_of(answers) == [old, new, old]
    assert sum(caller.document(kb_id, id_)["chunk_count"] for id_ in ids) == len(old)
    settings = caller.get(f"/knowledge-bases/{kb_id}")
    assert (settings["chunk_size"], settings["splitter"]) == (400, "heading_recursive")
