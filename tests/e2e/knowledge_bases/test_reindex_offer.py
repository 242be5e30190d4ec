"""The re-index that is offered to knowledge bases of the English built-in model."""

from pathlib import Path

import pytest

from kb_service.embeddings.catalog import BUILT_IN, DEFAULT, MINILM, MULTILINGUAL_E5
from tests.fixtures.http.client import Api
from tests.fixtures.knowledge.reindex_requests import await_state
from tests.fixtures.product.cli_commands import commands_of
from tests.fixtures.product.server import Server

pytestmark = pytest.mark.skipif(MULTILINGUAL_E5 not in BUILT_IN, reason="the multilingual model is not installed")
ZEBRA = "# Zebras\n\nA zebra sleeps standing up at noon."


def test_english_knowledge_base_is_offered_the_multilingual_model_until_it_has_it(user: Api, server: Server):
    created = user.post("/knowledge-bases", {"name": "Manuals", "embedding_model": MINILM.name})
    # Whoever has just chosen is not told to choose again.
    assert created["notices"] == []
    kb_id = created["id"]
    user.ingest(kb_id, "zebra.md", ZEBRA)
    shown = user.get(f"/knowledge-bases/{kb_id}")
    (notice,) = shown["notices"]
    assert notice["code"] == "reindex_offered"
    assert [row["notices"] for row in user.get("/knowledge-bases")["items"] if row["id"] == kb_id] == [[notice]]
    for message in (notice["message"], notice["message_zh"]):
        assert MINILM.name in message
        assert MULTILINGUAL_E5.name in message
    call = f"/knowledge-bases/{kb_id}/reindex"
    wish = {"embedding_model": DEFAULT.name}
    for action in (notice["next_action"], notice["next_action_zh"]):
        assert f"POST /api/v1{call}" in action
        assert f'{{"embedding_model": "{DEFAULT.name}"}}' in action
        assert f"agentex kb reindex {kb_id} --model {DEFAULT.name}" in action
    # What it says to send does it.
    user.post(call, {**wish, "cutover": "manual"})
    assert user.get(f"/knowledge-bases/{kb_id}")["notices"] == []
    await_state(user, kb_id, "ready")
    user.post(f"{call}/cutover")
    shown = user.get(f"/knowledge-bases/{kb_id}")
    assert (shown["embedding_model"], shown["notices"]) == (DEFAULT.name, [])


def test_only_who_may_start_it_is_offered_a_re_index(user: Api, server: Server):
    kb_id = user.create_kb(embedding_model=MINILM.name, is_public=True)
    assert server.person().get(f"/knowledge-bases/{kb_id}")["notices"] == []
    other = user.create_kb()
    assert user.get(f"/knowledge-bases/{other}")["notices"] == []


def test_terminal_shows_the_offer_in_the_language_of_the_person(
    embedded: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    person = embedded.person()
    kb_id = person.create_kb(name="Manuals", embedding_model=MINILM.name)
    with commands_of("kb", embedded, person, tmp_path, monkeypatch) as agentex:
        said = " ".join(agentex("show", "Manuals").stdout.split())
        assert f"{MINILM.name} reads English only" in said
        assert f"agentex kb reindex {kb_id} --model {DEFAULT.name}" in said
        assert "只能理解英文" in agentex("show", "Manuals", "--lang", "zh").stdout
        assert agentex("reindex", kb_id, "--model", DEFAULT.name).exit_code == 0
        assert "English only" not in agentex("show", "Manuals").stdout
