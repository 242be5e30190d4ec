"""``agentex kb reindex`` and waiting for paused work, against the running product."""

from pathlib import Path

import pytest

from core.settings import get_settings
from kb_service.embeddings.catalog import DEFAULT
from tests.cli.conftest import Agentex, run_here
from tests.fixtures.http.client import Api, eventually
from tests.fixtures.knowledge.reindex_requests import state
from tests.fixtures.product.server import Server
from tests.fixtures.servers.embedding_server import EmbeddingServer

TEXT = "# Zebras\n\n" + "\n\n".join(
    f"## House {n}\n\n" + f"Zebra {n} sleeps in house {n} at noon. " * 5 for n in range(8)
)


@pytest.fixture
def owner(embedded: Server) -> Api:
    return embedded.person()


@pytest.fixture
def at_product(embedded: Server, owner: Api, person: Path, monkeypatch: pytest.MonkeyPatch) -> Agentex:
    """Runs a command against the running product as its person."""
    monkeypatch.setenv("AGENTEX_URL", str(embedded.http.base_url))
    monkeypatch.setenv("AGENTEX_API_KEY", owner.access_token)
    get_settings.cache_clear()
    return run_here


def test_re_index_is_awaited_undone_and_told(at_product: Agentex, owner: Api):
    kb_id = owner.create_kb()
    owner.ingest(kb_id, "a.md", TEXT)
    said = at_product("kb", "reindex", kb_id, "status")
    assert "is not being re-indexed" in said.out
    wish = ("kb", "reindex", kb_id, "--splitter", "sentence", "--chunk-size", "64")
    said = at_product(*wish, "--chunk-overlap", "0", "--wait")
    assert said.code == 0, said.err
    assert "Making 1 documents" in said.out
    assert f"sentence, 64 / 0, {DEFAULT.name}" in said.out
    assert "rollback" in said.out
    assert owner.get(f"/knowledge-bases/{kb_id}")["splitter"] == "sentence"
    assert "已是这些设置" in at_product(*wish, "--lang", "zh").out
    said = at_product("kb", "reindex", kb_id, "rollback")
    assert "heading_recursive, 500 / 50" in said.out
    assert owner.get(f"/knowledge-bases/{kb_id}")["chunk_size"] == 500


def test_manual_cut_over_and_cancel(at_product: Agentex, owner: Api):
    kb_id = owner.create_kb()
    owner.ingest(kb_id, "a.md", TEXT)
    wish = ("kb", "reindex", kb_id, "--chunk-size", "64", "--chunk-overlap", "0", "--manual")
    said = at_product(*wish, "--wait", "--json")
    assert (said.code, said.json["state"], said.err) == (0, "ready", "")
    assert "cutover" in at_product("kb", "reindex", kb_id, "status").out
    assert "was given up" in at_product("kb", "reindex", kb_id, "cancel").out
    said = at_product("kb", "reindex", kb_id, "cutover")
    assert said.code != 0
    assert "no re-index under way, and none to go back to" in said.err
    at_product(*wish, "--wait")
    assert "64 / 0" in at_product("kb", "reindex", kb_id, "cutover").out
    for action in ("cutover", "cancel"):
        said = at_product("kb", "reindex", kb_id, action)
        assert said.code != 0
        assert "the last one took effect, and can be rolled back" in said.err
        assert "可以回退" in at_product("kb", "reindex", kb_id, action, "--lang", "zh").err
    assert "500 / 50" in at_product("kb", "reindex", kb_id, "rollback").out


@pytest.mark.timeout(120)
def test_nobody_waits_for_what_is_paused(at_product: Agentex, owner: Api, tmp_path: Path):
    kb_id = owner.create_kb()
    owner.ingest(kb_id, "a.md", TEXT)
    owner.post(f"/knowledge-bases/{kb_id}/pause")
    wish = ("kb", "reindex", kb_id, "--chunk-size", "64", "--chunk-overlap", "0")
    said = at_product(*wish, "--wait")
    assert said.code == 0
    assert "Processing is paused" in said.out
    (tmp_path / "b.md").write_text("# B\n\ntext")
    said = at_product("ingest", str(tmp_path / "b.md"), "--kb", kb_id)
    assert said.code == 0
    assert "still being processed" in said.out
    why = "The processing of the knowledge base is paused. Resume the knowledge base when it"
    assert f"Not being worked on (1): {why}" in said.out
    # Nor does it look done where it is there already.
    said = at_product("ingest", str(tmp_path / "b.md"), "--kb", kb_id, "--lang", "zh")
    assert "未在处理（1）：该知识库已暂停处理。" in said.out
    owner.post(f"/knowledge-bases/{kb_id}/resume")
    said = at_product("ingest", str(tmp_path / "b.md"), "--kb", kb_id)
    assert "worked on" not in said.out


@pytest.mark.usefixtures("person")
def test_what_a_re_index_waits_for_and_could_not_compare_is_said(
    llm_product: Server, embedding_endpoint: EmbeddingServer, monkeypatch: pytest.MonkeyPatch
):
    owner = llm_product.person()
    monkeypatch.setenv("AGENTEX_URL", str(llm_product.http.base_url))
    monkeypatch.setenv("AGENTEX_API_KEY", owner.access_token)
    get_settings.cache_clear()
    kb_id = owner.create_kb(embedding_model="words")
    owner.ingest(kb_id, "a.md", TEXT)
    asked = {"question": "Where is zebra 1?", "expected": [{"document": "a.md"}]}
    owner.post(f"/knowledge-bases/{kb_id}/questions", asked)
    monkeypatch.setattr(embedding_endpoint, "is_down", True)
    said = run_here("kb", "reindex", kb_id, "--model", "all-MiniLM-L6-v2", "--wait", "--lang", "zh")
    assert said.code == 0, said.err
    assert "未能对比已保存的问题" in said.out
    run_here("kb", "reindex", kb_id, "--model", "words")
    eventually(lambda: state(owner, kb_id)["waiting"], seconds=90, what="the status says why")
    said = run_here("kb", "reindex", kb_id, "status")
    assert "The endpoint of the embedding model words gave no usable answer" in said.out
    owner.post(f"/knowledge-bases/{kb_id}/reindex/cancel")
