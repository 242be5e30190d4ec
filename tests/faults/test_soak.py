"""Soak: the memory of a long run."""

import statistics

import pytest

from tests.fixtures.http.client import eventually
from tests.fixtures.product.oracle import check_sound, memory
from tests.fixtures.product.server import Server

DOCUMENTS = 10_000
# Fills pools and caches, and deletes enough for the index to get a process of its own (decision 18).
WARM_UP = 6_000
BATCH = 500
MOST_GROWTH = 60 * 2**20


@pytest.mark.soak
@pytest.mark.timeout(3 * 3600)
def test_ten_thousand_documents_leave_the_memory_as_it_was(installation: Server):
    """Documents come and go, so that the index holds few: what grows is a leak."""
    caller = installation.person()
    sizes: list[int] = []
    for start in range(0, WARM_UP + DOCUMENTS, BATCH):
        kb_id = caller.create_kb()
        for number in range(start, start + BATCH):
            caller.upload(kb_id, f"{number}.md", f"# Note {number}\n\nAnimal {number} sleeps.")
        eventually(
            lambda kb=kb_id: installation.count("document", knowledge_base_id=kb, status="completed") == BATCH,
            seconds=600,
            pause=0.5,
        )
        caller.search(kb_id, "animal")
        caller.delete(f"/knowledge-bases/{kb_id}")
        sizes.append(memory(installation))
    check_sound(installation)
    sizes = sizes[WARM_UP // BATCH :]
    quarter = len(sizes) // 4
    growth = statistics.median(sizes[-quarter:]) - statistics.median(sizes[:quarter])
    assert growth < MOST_GROWTH, sizes
