"""``agentex kb``: creating, listing, showing and deleting knowledge bases."""

import pytest

from tests.cli.conftest import Agentex
from tests.fixtures.servers.contract_server import Contract


def test_create_sends_what_was_given_and_shows_the_notices(agentex: Agentex, server: Contract):
    said = agentex("kb", "create", "产品文档", "--chunk-size", "300", "--public")
    assert said.code == 0
    (base,) = server.bases.values()
    assert (base["name"], base["chunk_size"], base["is_public"]) == ("产品文档", 300, True)
    assert "Another model is used." in said.out
    assert "agentex ingest PATH --kb '产品文档'" in said.out or "--kb 产品文档" in said.out


def test_create_gives_the_record_as_json(agentex: Agentex):
    said = agentex("kb", "create", "Docs", "--json")
    assert said.json["name"] == "Docs"
    assert said.json["notices"][0]["code"] == "embedding_model_replaced"
    assert said.err == ""


def test_create_passes_the_servers_objection_on(agentex: Agentex):
    said = agentex("kb", "create", "Docs", "--chunk-size", "9000")
    assert said.code == 2
    assert "chunk_size: Use 32 to 2000" in said.err


def test_list_reads_every_page(agentex: Agentex, server: Contract):
    for number in range(230):
        server.add_base(f"kb {number}")
    said = agentex("kb", "list", "--json")
    assert said.json["total"] == len(said.json["items"]) == 230


def test_list_is_tab_separated_where_no_terminal_is(agentex: Agentex, server: Contract):
    base_id = server.add_base("Docs\t1\x1b[2J", document_count=7)
    lines = agentex("kb", "list").out.splitlines()
    assert lines == ["Name\tDocuments\tPublic\tId", f"Docs 1[2J\t7\tno\t{base_id}"]


def test_show_takes_a_name_in_any_case_or_an_id(agentex: Agentex, server: Contract):
    base_id = server.add_base("Straße  Docs")
    for wanted in ("STRASSE docs", base_id):
        assert agentex("kb", "show", wanted, "--json").json["id"] == base_id


def test_show_names_the_documents_that_failed_and_why(agentex: Agentex, server: Contract):
    base_id = server.add_base("Docs")
    failure = {"message": "No text.", "next_action": "Run OCR.", "message_zh": "没有文本。"}
    server.add_document(base_id, "scan.pdf", b"1", status="failed", failure=failure)
    server.add_document(base_id, "good.md", b"2", status="completed")
    said = agentex("kb", "show", "docs")
    assert "scan.pdf: No text. Run OCR." in said.out
    assert "good.md" not in said.out
    assert "没有文本。" in agentex("kb", "show", "docs", "--lang", "zh").out
    assert len(agentex("kb", "show", "docs", "--json").json["failed_documents"]) == 1


def test_an_unknown_name_gives_exit_code_5_and_names_those_there(agentex: Agentex, server: Contract):
    server.add_base("Docs")
    said = agentex("kb", "show", "Dogs")
    assert said.code == 5
    assert "Docs" in said.err
    assert agentex("kb", "show", "Dogs", "--json").json["code"] == 40404


def test_ones_own_goes_before_another_persons_of_the_same_name(agentex: Agentex, server: Contract):
    server.add_base("Docs", access="read", can_write=False, is_public=True)
    mine = server.add_base("Docs")
    assert agentex("kb", "show", "Docs", "--json").json["id"] == mine


def test_a_name_that_fits_several_is_refused(agentex: Agentex, server: Contract):
    ids = [server.add_base("Docs", can_write=False) for _ in range(2)]
    said = agentex("kb", "show", "Docs")
    assert said.code == 1
    assert all(base_id in said.err for base_id in ids)


def test_delete_asks_first_and_needs_yes_where_nobody_can_answer(agentex: Agentex, server: Contract):
    server.add_base("Docs")
    assert agentex("kb", "delete", "Docs").code == 2
    assert agentex("kb", "delete", "Docs", "--json").code == 2
    assert len(server.bases) == 1
    assert agentex("kb", "delete", "Docs", "--yes").code == 0
    assert server.bases == {}


def test_copy_that_waits_says_once_for_what(agentex: Agentex, server: Contract, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("cli.commands.kb.transfer._POLL_SECONDS", 0.01)
    server.add_base("Docs")
    failure = {
        "reason": "object_store_unavailable",
        "message": "The storage of the files does not answer",
        "next_action": "Nothing: it is tried again by itself",
        "message_zh": "文件存储没有响应",
        "next_action_zh": "无需操作：系统会自动重试",
    }
    waiting = {"status": "pending", "failure": failure}
    for words, languages in ((failure["message"], ()), (failure["message_zh"], ("--lang", "zh"))):
        server.transfers = [{"status": "pending"}, waiting, waiting, {"status": "completed"}]
        said = agentex("kb", "copy", "Docs", *languages)
        assert said.code == 0
        assert said.err.count(words) == 1


def test_show_says_what_the_server_offers_in_either_language(agentex: Agentex, server: Contract):
    notice = {"code": "reindex_offered", "message": "It reads English only", "message_zh": "只能理解英文"}
    notice |= {"next_action": "To switch, re-index it", "next_action_zh": "请重建索引"}
    server.add_base("Docs", notices=[notice])
    assert "It reads English only. To switch, re-index it." in agentex("kb", "show", "docs").out
    assert "只能理解英文。请重建索引。" in agentex("kb", "show", "docs", "--lang", "zh").out
    assert agentex("kb", "show", "docs", "--json").json["notices"] == [notice]
