"""Searches of an imported knowledge base, equal to those of its original."""

import json
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from kb_service.models import SplitterName
from tests.e2e.knowledge_bases.test_transfers import export, send, wait
from tests.fixtures.http.client import TERMINAL, Api, check_success, eventually, unique
from tests.fixtures.product.server import Server

ANIMALS = ("zebra", "otter", "heron", "badger")
ANIMALS_ZH = ("斑马", "水獭", "苍鹭", "獾")
SENTENCES = st.one_of(
    st.builds(
        "The {} {} by the {} {}.".format,
        st.sampled_from(ANIMALS),
        st.sampled_from(("sleeps", "hunts", "has never been counted")),
        st.sampled_from(("river", "old mill", "desert road")),
        st.sampled_from(("at noon", "in 1998", "when the moon is up")),
    ),
    st.builds(
        "{}{}在{}{}。".format,
        st.sampled_from(("第3群", "年老的", "")),
        st.sampled_from(ANIMALS_ZH),
        st.sampled_from(("河边", "沙漠里", "旧磨坊旁")),
        st.sampled_from(("睡觉", "捕食小龙虾", "从来没有人数过")),
    ),
)
PARAGRAPHS = st.builds(
    lambda sentences, times: " ".join(sentences * times),
    st.lists(SENTENCES, min_size=1, max_size=5),
    st.integers(1, 4),
)
HEADINGS = st.builds("{} {}".format, st.sampled_from(("#", "##", "###")), st.sampled_from((*ANIMALS, *ANIMALS_ZH)))
BLOCKS = st.one_of(PARAGRAPHS, PARAGRAPHS, HEADINGS, st.sampled_from(("\u3000", "---", "- 獾", ".")))
TEXTS = st.lists(BLOCKS, min_size=1, max_size=16).map("\n\n".join)
QUERIES = (
    *("When does the otter hunt?", "zebra river", "badger 1998 desert"),
    *("谁在河边捕食小龙虾？", "斑马", "旧磨坊旁的苍鹭"),
)
LONGEST = 20


@dataclass(frozen=True)
class GeneratedBase:
    """A knowledge base with documents, and which of them, by number, are special.

    ``texts`` may hold the same one several times. A chunk that is edited or switched off is named
    by any number: the remainder says which.
    """

    texts: list[str]
    splitter: SplitterName
    chunk_size: int
    chunk_overlap: int
    restricted: set[int]
    edited: dict[int, str]
    off: set[int]


@st.composite
def generated_bases(draw: st.DrawFn, splitter: SplitterName) -> GeneratedBase:
    # A window per sentence: with more windows than a leg has hits, the index chooses among equal ones.
    is_few = splitter is SplitterName.LLAMA_INDEX_SENTENCE_WINDOWS
    texts = draw(st.lists(BLOCKS, min_size=2, max_size=2) if is_few else st.lists(TEXTS, min_size=2, max_size=4))
    size = draw(st.sampled_from((32, 40, 64, 150)))
    return GeneratedBase(
        # Somebody has each of these twice, under another name.
        texts=[*texts, *draw(st.lists(st.sampled_from(texts), max_size=2))],
        splitter=splitter,
        chunk_size=size,
        chunk_overlap=draw(st.integers(0, size // 2)),
        restricted=draw(st.sets(st.integers(0, 3), max_size=2)),
        edited=draw(st.dictionaries(st.integers(0, 99), SENTENCES, max_size=2)),
        off=draw(st.sets(st.integers(0, 99), max_size=3)),
    )


def build(user: Api, wanted: GeneratedBase) -> str:
    """Make it, wait for it, and change what is to be changed by hand."""
    kb_id = user.create_kb(
        splitter=wanted.splitter.value,
        chunk_size=wanted.chunk_size,
        chunk_overlap=wanted.chunk_overlap,
    )
    path = f"/knowledge-bases/{kb_id}"
    for number, text in enumerate(wanted.texts):
        facts = {"even": number % 2 == 0, "tags": [f"t{number}", "乙"]}
        user.put_file(kb_id, f"{number}.md", text, metadata=json.dumps(facts))
    rows = eventually(lambda: ended_documents(user, kb_id), what="all are done")
    for number in wanted.restricted & set(range(len(rows))):
        user.put(f"{path}/documents/{rows[number]['id']}/access", {"readers": []})
    chunks = [
        chunk for row in rows for chunk in user.get(f"{path}/documents/{row['id']}/chunks", page_size=100)["items"]
    ]
    for number in wanted.edited.keys() | wanted.off if chunks else ():
        place = number % len(chunks)
        change: dict[str, Any] = {"enabled": number not in wanted.off}
        if number in wanted.edited:
            change["content"] = wanted.edited[number]
        chunk_path = f"{path}/chunks/{chunks[place]['id']}"
        chunks[place] = user.put(chunk_path, {"version": chunks[place]["version"], **change})
    return kb_id


def ended_documents(user: Api, kb_id: str) -> list[dict[str, Any]] | None:
    """The documents by name, once all are completed or failed."""
    rows = user.get(f"/knowledge-bases/{kb_id}/documents", page_size=100)["items"]
    is_done = {row["status"] for row in rows} <= TERMINAL
    return sorted(rows, key=lambda row: row["name"]) if is_done else None


def shown_passages(user: Api, kb_id: str, query: str, **options: Any) -> list[tuple[Any, ...]]:
    """What a search shows, without the ids, which do not travel."""
    names = ("document_name", "char_start", "char_end", "content", "heading_path", "score")
    return [tuple(hit[name] for name in names) for hit in user.search(kb_id, query, **options)]


def check_alike(user: Api, kb_id: str, copy: str, **options: Any) -> None:
    """Each query has the same answer here and there, in the same order."""
    for query in QUERIES:
        before = shown_passages(user, kb_id, query, **options)
        after = shown_passages(user, copy, query, **options)
        assert [one[:-1] for one in after] == [one[:-1] for one in before], (query, options)
        scores = pytest.approx([one[-1] for one in before], abs=1e-6, rel=0)
        assert [one[-1] for one in after] == scores, (query, options)


# What is sent does not depend on the splitter: one shows the other shape.
@pytest.mark.parametrize(
    ("server", "splitter"),
    [("external", SplitterName.PARENT_CHILD), *(("embedded", splitter) for splitter in SplitterName)],
    indirect=["server"],
)
@settings(
    max_examples=2,
    # Making a smaller one of what failed would take minutes: each is uploaded.
    phases=(Phase.explicit, Phase.reuse, Phase.generate),
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(data=st.data())
def test_import_answers_every_search_as_the_exported_one_does(
    server: Server, splitter: SplitterName, data: st.DataObject
):
    user = server.person()
    wanted = data.draw(generated_bases(splitter))
    kb_id = build(user, wanted)
    transfer = wait(user, check_success(send(user, export(user, kb_id), name=unique("copy"))))
    assert transfer["status"] == "completed"
    copy = transfer["knowledge_base_id"]
    top_k = data.draw(st.integers(1, LONGEST), label="top_k")
    for options in (
        {"top_k": top_k},
        {"top_k": top_k, "rerank": False},
        {"top_k": LONGEST, "deduplicate": False},
        {"top_k": LONGEST, "rerank": False, "filters": {"metadata": {"even": True}}},
    ):
        check_alike(user, kb_id, copy, **options)
    kinds = [
        [(row["name"], row["status"], row["restricted"], row["chunk_count"]) for row in rows or ()]
        for rows in (ended_documents(user, kb_id), ended_documents(user, copy))
    ]
    assert kinds[0] == kinds[1]
