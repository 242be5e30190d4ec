"""Paths into an event."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rules.language.conditions.paths import LONGEST_PATH, MOST_STEPS, Missing, parse_path
from rules.language.errors import InvalidPath
from tests.fixtures.rules.rule_parts import JSON, SOURCE, context

DATA = {
    "player": {"name": "Ada", "first name": "A", "items": [{"id": 7}, {"id": 8}]},
    "玩家": {"名字": "小明"},
    "event": {"id": "inner"},
    "state": "of the data",
    'a"b': 1,
    "": {"x.y": 2},
}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("player.name", "Ada"),
        ("player.items[1].id", 8),
        ('player["first name"]', "A"),
        ("player['first name']", "A"),
        ("玩家.名字", "小明"),
        ('["event"].id', "inner"),
        ('["state"]', "of the data"),
        (r'["a\"b"]', 1),
        ('[""]["x.y"]', 2),
        ("event.id", "e-1"),
        ("event.type", "player_join"),
        ("event.source", str(SOURCE)),
        ("event.time", "2026-03-17T09:00:00+00:00"),
        ("state.level", 3),
        ("state", {"level": 3}),
        ("previous.player.name", "Bob"),
    ],
)
def test_a_path_reads_what_it_names(text: str, value: object):
    assert parse_path(text).read(context(DATA, state={"level": 3}, previous={"player": {"name": "Bob"}})) == value


@pytest.mark.parametrize(
    ("text", "absent"),
    [
        ("player.nick.short", "player.nick"),
        ("player.items[2].id", "player.items[2]"),
        ("player.name.x", "player.name.x"),
        ("player[0]", "player[0]"),
        ('player["last name"]', 'player["last name"]'),
        ("state.level", "state.level"),
        ("previous.player", "previous"),
        ('["previous"].x', '["previous"]'),
    ],
)
def test_a_path_that_leads_nowhere_says_where_it_ends(text: str, absent: str):
    assert parse_path(text).read(context(DATA)) == Missing(absent)


@pytest.mark.parametrize(
    ("text", "position"),
    [
        ("", None),
        ("a..b", 3),
        ("a.", 3),
        (".a", 1),
        ("a b", 2),
        ("a[x]", 2),
        ("a[-1]", 2),
        ('a["b', 2),
        ("a.[0]", 2),
        ("event", 1),
        ("event.owner", 1),
        ("event.id.x", 1),
        ("a" * (LONGEST_PATH + 1), None),
        (".".join("a" * (MOST_STEPS + 1)), 2 * MOST_STEPS + 1),
    ],
)
def test_what_is_no_path_is_refused_with_its_place(text: str, position: int | None):
    with pytest.raises(InvalidPath) as caught:
        parse_path(text)
    assert caught.value.position == position


@given(JSON, st.lists(st.text(min_size=1, max_size=5) | st.integers(0, 9), min_size=1, max_size=5))
def test_a_path_in_quotes_leads_to_any_key(leaf: object, steps: list[str | int]):
    data = leaf
    for step in reversed(steps):
        data = {step: data} if isinstance(step, str) else [None] * step + [data]
    written = ""
    for step in steps:
        quoted = str(step).replace("\\", "\\\\").replace('"', '\\"')
        written += f"[{step}]" if isinstance(step, int) else f'["{quoted}"]'
    assert parse_path(written).read(context(data)) is leaf
