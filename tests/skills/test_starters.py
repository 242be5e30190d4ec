"""The skills that come with Agentex: clean, publishable, portable, and found when they should be."""

import pytest

from skills.lint.context import LintContext
from skills.lint.linter import lint
from skills.packages.reader import read_package
from skills.packages.writer import ExportedPackage, ExportSource, export_package
from skills.schema import ParsedSkill, Severity
from skills.selection.selector import prepare_selector
from skills.slugs import is_slug
from skills.starters import LANGUAGES, Starter, starters
from skills.store.summary import make_card
from tests.agents.memory.helpers import InProcessEncoder
from tests.skills.test_portability import refusals

_ALL = [starter for language in LANGUAGES for starter in starters(language)]
_KEYS = {
    *("code-review", "daily-report", "document-answers"),
    *("incident-summary", "meeting-minutes", "translation-review"),
}
_TOOLS = {"search_knowledge_base", "read_document"}


def _parsed(starter: Starter) -> ParsedSkill:
    parsed = lint(starter.content).parsed
    assert parsed is not None
    return parsed


def test_every_starter_is_there_in_both_languages():
    assert {(starter.key, starter.language) for starter in _ALL} == {
        (key, language) for key in _KEYS for language in LANGUAGES
    }
    assert len({_parsed(starter).slug for starter in _ALL}) == len(_ALL)


@pytest.mark.parametrize("starter", _ALL, ids=lambda starter: f"{starter.key}.{starter.language}")
def test_a_starter_is_publishable_and_has_nothing_to_mend(starter: Starter):
    report = lint(starter.content, LintContext(known_tools=_TOOLS, files=[]))
    told = [diagnostic for diagnostic in report.diagnostics if diagnostic.severity is not Severity.INFO]
    assert (told, report.publishable) == ([], True)
    parsed = _parsed(starter)
    assert is_slug(parsed.slug)
    assert len(parsed.steps) >= 4
    assert parsed.input_params
    assert parsed.not_for


@pytest.mark.parametrize("starter", _ALL, ids=lambda starter: f"{starter.key}.{starter.language}")
def test_a_starter_is_portable_and_comes_back_from_its_package(starter: Starter):
    package = export_package(ExportSource(starter.content, _parsed(starter).slug))
    assert isinstance(package, ExportedPackage)
    (skill,) = read_package(package.content, "x.zip").skills
    assert skill.content == starter.content
    exported = package.content
    start = exported.index(b"---\n")
    head = exported[start : exported.index(b"\n---\n", start) + 5]
    assert refusals(head + starter.content, package.slug) == []


@pytest.mark.parametrize("starter", _ALL, ids=lambda starter: f"{starter.key}.{starter.language}")
def test_a_starter_has_requests_to_try_it_on(starter: Starter):
    assert sum(case.should_trigger for case in starter.triggers) >= 5
    assert sum(not case.should_trigger for case in starter.triggers) >= 5


@pytest.mark.anyio
@pytest.mark.parametrize(("language", "encoder"), [("en", False), ("en", True), ("zh", False)])
async def test_starters_are_chosen_for_their_requests_and_seldom_for_others(language: str, encoder: bool):
    chosen = starters(language)
    cards = [make_card(_parsed(starter)) for starter in chosen]
    selector = await prepare_selector(cards, InProcessEncoder() if encoder else None)
    hits, wrong, wanted = 0, 0, 0
    for starter, card in zip(chosen, cards, strict=True):
        for case in starter.triggers:
            ranked = await selector.rank(case.query)
            is_chosen = any(choice.is_chosen and choice.card is card for choice in ranked)
            wanted += case.should_trigger
            hits += is_chosen and case.should_trigger
            wrong += is_chosen and not case.should_trigger
    assert hits >= 0.9 * wanted
    assert wrong <= 0.1 * hits
