"""The assembly of tool calls whose ids, indexes, names and arguments come in pieces and disagree."""

import itertools
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.llm import tool_call_accumulator
from agents.llm.base import ToolSpec
from agents.llm.tool_call_accumulator import OfferedNames, ToolCallAccumulator

scalars = st.none() | st.booleans() | st.integers(-9, 9) | st.text('{}[]"\\,: aü', max_size=8)
values = st.recursive(scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text('"\\{a'), inner))
objects = st.dictionaries(st.text('"\\}k', min_size=1, max_size=3), values, min_size=1, max_size=3)


def delta(arguments: str, **fields: Any) -> dict[str, Any]:
    return {"index": 0, **fields, "function": {"name": "search", "arguments": arguments}}


@given(st.lists(objects, min_size=1, max_size=3), st.data())
def test_calls_are_told_apart_by_their_whole_arguments(given_objects, data):
    # At one index, without ids, the name in every piece: only the arguments tell.
    calls = ToolCallAccumulator()
    put_together: dict[str, str] = {}
    for number, arguments in enumerate(given_objects):
        text = json.dumps({**arguments, "number": number})
        ends = data.draw(st.sets(st.integers(1, len(text) - 1), max_size=5))
        places = [0, *sorted(ends), len(text)]
        for start, end in itertools.pairwise(places):
            for event in calls.add(delta(text[start:end])):
                begun = put_together.setdefault(event.call_id, "")
                put_together[event.call_id] = begun + event.arguments_delta

    assert [json.loads(text) for text in put_together.values()] == [
        {**arguments, "number": number} for number, arguments in enumerate(given_objects)
    ]


def test_arguments_are_not_parsed_again_for_every_piece(monkeypatch: pytest.MonkeyPatch):
    parsed: list[str] = []

    def parse(text: str) -> None:
        parsed.append(text)
        raise ValueError

    monkeypatch.setattr(tool_call_accumulator, "parse", parse)
    calls = ToolCallAccumulator()
    for piece in ('{"text": "', *["{word} "] * 1000):
        calls.add(delta(piece))

    assert len(parsed) < 3


NAMES = ("search", "search_knowledge_base", "current_time", "wiki.read")
TOOLS = (*(ToolSpec(name, "") for name in NAMES), ToolSpec("place_block_1f3a", "", own_name="place/block"))


@dataclass(frozen=True)
class Dialect:
    """How an endpoint writes a call down: each field is one way to disagree with the protocol."""

    ids: str
    indexes: str
    names: str
    head: str
    is_repeated: bool

    def deltas(self, number: int, name: str, arguments: list[str], cuts: list[int]) -> Iterator[dict[str, Any]]:
        """The deltas of one call; those of a stream stand one after the other."""
        for place, (name_piece, piece) in enumerate(self._pieces(name, arguments, cuts)):
            fields: dict[str, Any] = {}
            if call_id := self._id(number, place):
                fields["id"] = call_id
            if self.indexes != "none":
                fields["index"] = {"own": number, "zero": 0, "shifting": number * 100 + place}[self.indexes]
            function: dict[str, Any] = {"arguments": piece}
            if name_piece:
                function["name"] = name_piece
            yield {**fields, "function": function}

    def _id(self, number: int, place: int) -> str:
        if self.ids == "first" and place:
            return ""
        return {"none": "", "first": f"id{number}", "all": f"id{number}", "new": f"id{number}.{place}"}[self.ids]

    def _pieces(self, name: str, arguments: list[str], cuts: list[int]) -> Iterator[tuple[str, str]]:
        places = [0, *sorted(cuts), len(name)]
        names = [name[start:end] for start, end in itertools.pairwise(places) if start < end]
        if self.names == "growing":
            names = list(itertools.accumulate(names))
        if self.names in ("pieces", "growing"):
            yield from ((piece, "") for piece in names)
            yield from (("", piece) for piece in arguments)
            return
        name = {"marked": f"{name}<|channel|>commentary", "spaced": f"functions.{name}:0"}.get(self.names, name)
        first = [] if self.head == "joined" else [""]
        whole = [*first, *arguments]
        if self.is_repeated:
            whole.append("".join(arguments))
        for place, piece in enumerate(whole):
            yield (name if not place or self.names == "all" else ""), piece


def is_decidable(dialect: Dialect) -> bool:
    """A name under a new id, or a whole name at a new index, is another call, and nothing says otherwise."""
    if dialect.ids == "new" and dialect.names in ("all", "pieces", "growing"):
        return False
    return dialect.names != "all" or dialect.indexes != "shifting"


dialects = st.builds(
    Dialect,
    ids=st.sampled_from(["none", "first", "all", "new"]),
    indexes=st.sampled_from(["own", "zero", "shifting", "none"]),
    names=st.sampled_from(["first", "all", "pieces", "growing", "marked", "spaced"]),
    head=st.sampled_from(["joined", "apart"]),
    is_repeated=st.booleans(),
).filter(is_decidable)


@given(st.lists(st.tuples(st.sampled_from(NAMES), objects), min_size=1, max_size=3), dialects, st.data())
def test_calls_are_assembled_however_ids_indexes_and_names_disagree(asked, dialect, data):
    accumulator = ToolCallAccumulator(TOOLS)
    events = []
    expected = []
    for number, (name, arguments) in enumerate(asked):
        whole = json.dumps({"number": number, **arguments})
        expected.append((name, json.loads(whole)))
        cuts = data.draw(st.sets(st.integers(1, len(whole) - 1), max_size=4))
        # A piece that begins an object could be a call of its own: nothing else than its name would tell.
        cuts = [place for place in sorted(cuts) if not whole[place:].lstrip().startswith("{")]
        pieces = [whole[start:end] for start, end in itertools.pairwise([0, *cuts, len(whole)])]
        name_cuts = data.draw(st.lists(st.integers(1, len(name) - 1), max_size=2))
        if dialect.indexes == "shifting":
            # A whole name at a new index is a call.
            name_cuts = [place for place in name_cuts if name[:place] not in NAMES]
        for piece in dialect.deltas(number, name, pieces, name_cuts):
            events += accumulator.add(piece)
    events += accumulator.close()

    calls: dict[str, tuple[str, str]] = {}
    for event in events:
        assert event.opens == (event.call_id not in calls)
        assert event.name == calls.get(event.call_id, (event.name,))[0]
        calls[event.call_id] = (event.name, calls.get(event.call_id, ("", ""))[1] + event.arguments_delta)
    assert [(name, json.loads(arguments)) for name, arguments in calls.values()] == expected


def test_call_is_opened_with_its_first_delta_when_its_name_is_whole():
    accumulator = ToolCallAccumulator(TOOLS)
    (event,) = accumulator.add({"index": 0, "id": "a", "function": {"name": "current_time", "arguments": ""}})

    assert (event.name, event.opens) == ("current_time", True)


@pytest.mark.parametrize(
    ("raw", "tool"),
    [
        ("search", "search"),
        ("wiki.read", "wiki.read"),
        ("default_api.search", "search"),
        ("functions.wiki.read:3", "wiki.read"),
        ("search<|channel|>commentary", "search"),
        ('"search"', "search"),
        ("place/block", "place_block_1f3a"),
        ("functions.place/block", "place_block_1f3a"),
        ("delete_everything<|end|>", "delete_everything"),
        ("default_api.delete", "default_api.delete"),
        ("<|call|>", "<|call|>"),
    ],
)
def test_name_is_read_as_the_offered_tool_that_it_stands_for(raw: str, tool: str):
    assert OfferedNames(TOOLS).clean(raw) == tool
