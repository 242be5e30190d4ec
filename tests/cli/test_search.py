"""``agentex kb search``."""

from tests.cli.conftest import Agentex
from tests.fixtures.servers.contract_server import Contract


def test_search_shows_where_each_passage_stands(agentex: Agentex, server: Contract):
    server.add_base("Docs")
    said = agentex("search", "mirror?", "--kb", "Docs")
    assert said.code == 0
    assert "1. guide.pdf · p. 3 · Repairs > Tools  0.920" in said.out
    assert "dense" not in said.out


def test_search_writes_no_control_characters_of_a_document(agentex: Agentex):
    assert "\x1b" not in agentex("search", "mirror?").out


def test_search_explains_each_leg_when_asked(agentex: Agentex):
    said = agentex("search", "mirror?", "--explain")
    assert "dense: rank 1, score 0.5" in said.out
    assert "sparse: not found" in said.out
    assert "fused: 0.25" in said.out
    assert "relevance" not in said.out, "no reranker judged it"


def test_search_asks_one_knowledge_base_several_or_all(agentex: Agentex, server: Contract):
    ids = [server.add_base(name) for name in ("A", "B")]
    one = agentex("search", "q", "--kb", "A", "--json").json["asked"]
    both = agentex("search", "q", "--kb", "A", "--kb", "B", "--top-k", "9", "--json").json["asked"]
    everywhere = agentex("search", "q", "--json").json["asked"]
    assert one == {"query": "q"}, "what is not said is the server's choice"
    assert both == {"query": "q", "top_k": 9, "knowledge_base_ids": ids}
    assert everywhere["knowledge_base_ids"] is None
    assert ("POST", f"/api/v1/knowledge-bases/{ids[0]}/search") in server.requests


def test_search_passes_the_servers_objection_on(agentex: Agentex):
    assert agentex("search", " ").code == 2
    assert agentex("search", " ", "--json").json["code"] == 40015


def test_search_passes_choices_and_filters_on(agentex: Agentex):
    filters = ("team=ops", "team=dev", "year>=2020", "year<2024", 'n="7"', "ok=true", "type:pdf")
    asked = agentex(
        *("search", "q", "--threshold", "0.5", "--neighbours", "2", "--section", "--json"),
        *(part for one in (*filters, "name:guide*") for part in ("--filter", one)),
    ).json["asked"]
    assert (asked["score_threshold"], asked["neighbours"], asked["expand"]) == (0.5, 2, "section")
    assert asked["filters"] == {
        "metadata": {
            "team": ["ops", "dev"],
            "year": {"gte": 2020, "lt": 2024},
            "n": "7",
            "ok": True,
        },
        "file_types": ["pdf"],
        "name": "guide*",
    }
    said = agentex("search", "q", "--filter", "nonsense")
    assert said.code == 2
    assert "team=ops" in said.err


def test_words_that_only_look_like_numbers_are_filtered_by_as_words(agentex: Agentex):
    filters = ("zip=00123", "who=inf", "part=1_000", "size=1.5", "least>=-2")
    asked = agentex(*("search", "q", "--json"), *(part for one in filters for part in ("--filter", one))).json["asked"]
    assert asked["filters"]["metadata"] == {
        "zip": "00123",
        "who": "inf",
        "part": "1_000",
        "size": 1.5,
        "least": {"gte": -2},
    }


def test_search_tells_why_a_passage_is_not_found(agentex: Agentex, server: Contract):
    server.add_base("Docs")
    said = agentex("search", "q", "--kb", "Docs", "--why", "c9")
    assert said.code == 0
    assert "Enough are better" in said.out
    assert "place 7" in said.out
    assert "dense: behind the first 10,000" in said.out
    assert "sparse: not found" in said.out
    words = agentex("search", "q", "--kb", "Docs", "--why", "a b", "--document", "d1", "--json")
    assert words.json["asked"] == {"query": "q", "document_id": "d1", "text": "a b"}
    assert agentex("search", "q", "--why", "c9").code == 2


def test_search_in_an_unknown_knowledge_base_gives_exit_code_5(agentex: Agentex):
    assert agentex("search", "q", "--kb", "nowhere").code == 5
