"""The selection of skills for a request, without a model."""

import asyncio
import os
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kb_service.embeddings.catalog import BUILT_IN, MULTILINGUAL_E5
from skills.selection.selector import RankedSkill, prepare_selector
from skills.store.summary import SkillCard
from tests.agents.memory.helpers import InProcessEncoder
from tests.fixtures.cpu_time import processor_seconds

_CARDS = (
    SkillCard(
        "code-review",
        "Code review",
        "Reviews a change of source code for errors and security.",
        ("review this code", "审查这段代码"),
        ("write new code from scratch",),
    ),
    SkillCard("daily-report", "日报生成", "根据当天的提交记录生成日报。", ("写日报",), ("周报",)),
    SkillCard("minutes", "Meeting minutes", "Turns a transcript of a meeting into minutes."),
)


def _ranked(query: str, cards: tuple[SkillCard, ...] = _CARDS) -> tuple[RankedSkill, ...]:
    async def rank() -> tuple[RankedSkill, ...]:
        return await (await prepare_selector(cards)).rank(query)

    return asyncio.run(rank())


def _chosen(query: str) -> list[str]:
    return [choice.card.slug for choice in _ranked(query) if choice.is_chosen]


@pytest.mark.parametrize(
    ("query", "slugs"),
    [
        ("please review this code", ["code-review"]),
        ("帮我审查这段代码", ["code-review"]),
        ("写日报", ["daily-report"]),
        ("根据今天的提交记录生成日报", ["daily-report"]),
        ("make minutes of the meeting transcript", ["minutes"]),
        ("what is the capital of France?", []),
        ("明天天气怎么样", []),
        ("write new code from scratch", []),
        ("写周报", []),
        ("", []),
        ("？！", []),
    ],
)
def test_a_skill_is_chosen_by_the_words_of_its_card(query: str, slugs: list[str]):
    assert _chosen(query) == slugs


def test_a_long_request_with_pasted_text_still_finds_its_skill():
    assert _ranked("review this code: " + "value = other + 1; " * 5000)[0].card is _CARDS[0]


@settings(max_examples=50)
@given(st.text(max_size=80), st.permutations(_CARDS))
def test_the_order_of_the_cards_changes_nothing(query: str, cards: list[SkillCard]):
    ranked = _ranked(query, tuple(cards))
    assert ranked == _ranked(query)
    assert all(0 <= choice.score <= 1 for choice in ranked)
    scores = [choice.score for choice in ranked]
    assert scores == sorted(scores, reverse=True)


def test_scores_are_the_same_in_every_process():
    script = (
        "import asyncio; from tests.skills.test_selection import _ranked;"
        "print([(c.card.slug, c.score) for c in _ranked('review the code of the meeting 日报')])"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", script],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
            text=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(outputs) == 1


def test_no_skills_give_no_choice():
    assert _ranked("anything", ()) == ()


def test_time_of_ranking_grows_with_the_skills_and_not_with_their_square():
    def seconds(number: int) -> float:
        cards = tuple(SkillCard(f"skill-{n}", f"Skill {n}", f"Handles case {n} of area x{n}.") for n in range(number))
        selector = asyncio.run(prepare_selector(cards))

        def rank() -> None:
            choices = asyncio.run(selector.rank("handle case 77 of area x77"))
            assert choices[0].card.slug == "skill-77"

        return processor_seconds(rank)

    # The square would take a hundred times as long.
    assert seconds(2000) < 40 * seconds(200)


@pytest.mark.anyio
async def test_other_words_for_the_same_thing_are_found_with_the_encoder():
    english = "look over my patch and tell me whether the programming is right"
    query = "このコードをレビューして" if MULTILINGUAL_E5 in BUILT_IN else english
    words = await (await prepare_selector(_CARDS)).rank(query)
    meant = await (await prepare_selector(_CARDS, InProcessEncoder())).rank(query)
    assert not any(choice.is_chosen for choice in words)
    assert [choice.card.slug for choice in meant if choice.is_chosen] == ["code-review"]
    assert meant[0].closeness is not None


@pytest.mark.anyio
async def test_an_encoder_is_not_asked_in_a_language_that_it_cannot_read():
    english = InProcessEncoder()
    english.languages = frozenset({"en"})
    choices = await (await prepare_selector(_CARDS, english)).rank("写日报")
    assert choices[0].card.slug == "daily-report"
    assert {choice.closeness for choice in choices} == {None}
