"""Templates in the parameters of actions."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rules.language.errors import InvalidTemplate, MissingValue, TemplateFailure
from rules.language.filters import LONGEST_OUTPUT
from rules.language.templates import LONGEST_SOURCE, MOST_TEMPLATES, Template, compile_template
from tests.fixtures.rules.rule_parts import JSON, context, name_case, nested

DATA = {
    "player": {"name": "Ada", "level": 7, "ratio": 2.675, "tags": ["x", 1], "nick": None, "online": True},
    "at": "2026-03-17T01:30:00Z",
    "hostile": "{{player.name}} {{'a'*10**9}} {% raw %}",
}


def render(source: Any, data: Any = DATA) -> Any:
    return compile_template(source).render(context(data, state={"count": 3}))


@pytest.mark.parametrize(
    ("source", "result"),
    [
        ("欢迎 {{player.name}} 进入游戏！", "欢迎 Ada 进入游戏！"),
        ("{{ player.name }}{{player.level}}", "Ada7"),
        ("{{player.level}}", 7),
        ("{{player.online}}", True),
        ("{{player.tags}}", ["x", 1]),
        (" {{player.level}}", " 7"),
        ("{{player.online}}!", "true!"),
        ("is {{player.nick}}", "is null"),
        ("tags {{player.tags}}", 'tags ["x", 1]'),
        ("{{state.count}}", 3),
        ("{{event.type}}", "player_join"),
        ('{{player["name"]}}', "Ada"),
        ("a }} b { c", "a }} b { c"),
        ('{{player.missing | default:"-"}}', "-"),
        ("{{player.missing | default:0}}", 0),
        ("{{player.missing|default:-1.5}}", -1.5),
        ("{{player.missing | default:none_given}}", "none_given"),
        ("{{player.missing | default:null}}", None),
        ("{{player.missing | upper | default:x}}", "x"),
        ('{{player.nick | default:"}}"}}', "}}"),
        (r'{{player.nick | default:"a\"b"}}', 'a"b'),
        ("{{player.name | default:x | upper}}", "ADA"),
        ("{{player.name | lower}}", "ada"),
        ("{{player.name | truncate:2}}", "A…"),
        ("{{player.name | truncate:3}}", "Ada"),
        ("{{player.ratio | round:2}}", 2.68),
        ("{{player.ratio | round}}", 3),
        ("{{player.level | round:2}}", 7),
        ('{{player.tags | join:" + "}}', "x + 1"),
        ("{{player.tags | join}}", "x, 1"),
        ("{{player.tags | json}}", '["x", 1]'),
        ('{{at | date:"%Y-%m-%d %H:%M":"Asia/Shanghai"}}', "2026-03-17 09:30"),
        ('{{at | date:"%H:%M"}}', "01:30"),
    ],
)
def test_a_template_is_rendered(source: str, result: Any):
    rendered = render(source)
    assert rendered == result
    assert type(rendered) is type(result)


def test_templates_are_rendered_at_any_depth():
    source = {"a": [{"b": "{{player.name}}"}, 1, None], "c": {"d": True, "e": "plain"}}
    assert render(source) == {"a": [{"b": "Ada"}, 1, None], "c": {"d": True, "e": "plain"}}


def test_what_an_event_holds_is_never_rendered():
    assert render("{{hostile}}") == DATA["hostile"]
    assert render("> {{hostile | trim}}") == f"> {DATA['hostile']}"
    assert render("{{player.none | default:'{{player.name}}'}}") == "{{player.name}}"


@given(JSON)
def test_rendering_gives_event_data_as_it_is(value: Any):
    template = compile_template({"whole": "{{x}}", "json": "{{x | json}}", "part": "<{{x}}>"})
    try:
        rendered = template.render(context({"x": value}))
    except TemplateFailure:
        return
    assert isinstance(rendered, dict)
    assert rendered["whole"] is value
    assert rendered["part"] == (f"<{value}>" if isinstance(value, str) else f"<{rendered['json']}>")


@given(st.text(st.sampled_from("{}|:. \"'\\ax[0]"), max_size=40))
def test_any_text_is_a_template_or_refused_with_a_position(text: str):
    position, template = _read(text)
    if template is None:
        assert position is not None
        assert 1 <= position <= len(text) + 1
    elif "{{" not in text:
        assert template.render(context({})) == text


def _read(text: str) -> tuple[int | None, Template | None]:
    try:
        return None, compile_template(text)
    except InvalidTemplate as error:
        return error.position, None


@pytest.mark.parametrize(
    ("source", "position"),
    [
        ("{{", 3),
        ("ab {{}}", 6),
        ("{{a", 4),
        ("{{a}", 4),
        ("{{a b}}", 5),
        ("{{7*7}}", 4),
        ("{{''.__class__}}", 3),
        ("{{'a'*10**9}}", 3),
        ("{{a | nope}}", 7),
        ("{{a | upper:1}}", 7),
        ("{{a | default}}", 7),
        ("{{a | default:}}", 15),
        ("{{a | truncate:0}}", 7),
        ("{{a | truncate:x}}", 7),
        ("{{a | round:11}}", 7),
        ('{{a | date:"%c"}}', 7),
        ('{{a | date:"%1000000d"}}', 7),
        ('{{a | date:"%Y":"Nowhere"}}', 7),
        ('{{a | default:"x}}', 15),
        ("{{a" + " | trim" * 11 + "}}", 75),
        ("{{a | default" + ":1" * 5 + "}}", 22),
    ],
    ids=name_case,
)
def test_what_is_no_template_is_refused_with_its_place(source: str, position: int):
    with pytest.raises(InvalidTemplate) as caught:
        compile_template({"message": [source]})
    assert caught.value.position == position
    assert caught.value.error.startswith("message[0]: At character")


@pytest.mark.parametrize(
    "source",
    [
        "{{a}}" * (MOST_TEMPLATES + 1),
        ["{{a}}"] * (MOST_TEMPLATES + 1),
        "{{a}}" + "x" * LONGEST_SOURCE,
        ["{{a}}" + "x" * 6_000] * 2,
        "{{" * 5_000,
        "{{a" + "|" * 5_000,
        "{{" + "a." * 4_000,
        "{{a | default:" + '"' * 4_999,
        "{{" + "[" * 9_000,
        [1] * 2_001,
        {"{{a}}": 1},
        nested(500),
    ],
    ids=name_case,
)
def test_bombs_of_templates_are_refused(source: Any):
    with pytest.raises(InvalidTemplate) as caught:
        compile_template(source)
    assert caught.value.error_zh


def test_a_missing_value_is_named():
    with pytest.raises(MissingValue) as caught:
        render("Hello {{player.friend.name}}")
    assert (caught.value.path, caught.value.absent) == ("player.friend.name", "player.friend")


@pytest.mark.parametrize(
    ("source", "data"),
    [
        ("{{x}}{{x}}", "a" * (LONGEST_OUTPUT // 2 + 1)),
        ("{{x}}", "a" * (LONGEST_OUTPUT + 1)),
        (["{{x}}"] * 2, ["a" * 1000] * 40),
        ("{{x | join}}", ["a" * 1000] * 100),
        ("{{x}}", 10**200_000),
        ("{{x}}!", 10**5_000),
        ("{{x}}!", float("nan")),
        ("{{x | json}}", nested(100_000)),
        ("{{x}}", nested(100_000)),
        ("{{x}}", "\ud800"),
        ("{{x | upper}}", 1),
        ("{{x | round}}", "1"),
        ("{{x | round}}", float("inf")),
        ("{{x | join}}", "abc"),
        ("{{x | date:'%Y'}}", "2026-03-17T09:00:00"),
        ("{{x | date:'%Y':'Asia/Shanghai'}}", "9999-12-31T23:00:00Z"),
    ],
    ids=name_case,
)
def test_what_can_not_be_rendered_is_an_error(source: Any, data: Any):
    with pytest.raises(TemplateFailure) as caught:
        render(source, {"x": data})
    assert caught.value.error_zh


def test_a_template_lists_its_paths():
    template = compile_template({"a": "{{player.name}} {{state.x | default:1}}", "b": "c"})
    assert [path.text for path in template.paths] == ["player.name", "state.x"]


def test_a_rendered_text_is_a_text():
    assert compile_template("{{player.level}}").render_text(context(DATA)) == "7"
