"""Shares that are revoked while a run goes on."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.fixtures.http.client import Api
from tests.fixtures.llm.model_server import ModelServer
from tests.fixtures.product.server import Server
from tests.fixtures.runs.agent_runs import ask, text_of

ZEBRA = "# Zebra\n\nThe secret zebra sleeps at noon."
LION = "# Lion\n\nThe lion, no zebra, sleeps at night."


def share(owner: Api, kb_id: str, *people: Api) -> None:
    shares = [{"username": person.name} for person in people]
    owner.put(f"/knowledge-bases/{kb_id}/shares", {"shares": shares})


@pytest.mark.parametrize("has_own", [False, True])
@pytest.mark.parametrize("script", ["searches-after-a-while", "reads-after-a-while"])
def test_share_that_is_taken_back_ends_in_runs_under_way(
    llm_product: Server, scripted_llm: ModelServer, script: str, has_own: bool
):
    owner, reader = llm_product.person(), llm_product.person()
    kb_id = owner.create_kb()
    owner.ingest(kb_id, "zebra.md", ZEBRA)
    share(owner, kb_id, reader)
    ids = [kb_id]
    if has_own:
        ids.append(reader.create_kb())
        reader.ingest(ids[-1], "lion.md", LION)
    props = {"agent_type": "react", "knowledge_base_ids": ids}
    with ThreadPoolExecutor() as pool:
        running = pool.submit(ask, reader, f"Go on #{script}", forwarded_props=props)
        assert scripted_llm.waiting.wait(30)
        share(owner, kb_id)
        scripted_llm.release.set()
        said = text_of(running.result(60))
    assert "The tool said: " in said
    assert "noon" not in said
    if script.startswith("searches"):
        assert ("night" in said) is has_own


def test_run_finds_and_reads_what_stays_shared(llm_product: Server, scripted_llm: ModelServer):
    owner, reader = llm_product.person(), llm_product.person()
    kb_id = owner.create_kb()
    owner.ingest(kb_id, "zebra.md", ZEBRA)
    share(owner, kb_id, reader)
    scripted_llm.release.set()
    props = {"agent_type": "react", "knowledge_base_ids": [kb_id]}
    for script in ("searches-after-a-while", "reads-after-a-while"):
        said = text_of(ask(reader, f"Go on #{script}", forwarded_props=props))
        assert "noon" in said
