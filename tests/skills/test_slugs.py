"""Slugs: what machines call a skill."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skills.slugs import (
    choose_slug,
    has_reserved_word,
    is_placeholder,
    is_slug,
    numbered_slug,
    placeholder_slug,
    slugify,
)


@pytest.mark.parametrize(
    ("name", "slug"),
    [
        ("Code Review", "code-review"),
        ("Résumé Review", "resume-review"),
        ("Straße & Ærø", "strasse-aero"),
        ("代码审查 Code Review 2", "code-review-2"),
        ("ＡＰＩ　文档", "api"),
        ("Claude Code helper", "code-helper"),
        ("Anthropic", ""),
        ("代码审查", ""),
        ("don't panic", "dont-panic"),
        ("--a__b..c--", "a-b-c"),
        ("İstanbul", "istanbul"),
    ],
)
def test_a_slug_is_the_ascii_fold_of_a_name_when_the_name_has_ascii(name: str, slug: str):
    assert slugify(name) == slug


def test_whole_words_are_kept_when_a_name_is_too_long():
    assert slugify("word " * 30) == "-".join(["word"] * 13)
    assert slugify("x" * 100) == "x" * 64


@given(st.text())
def test_a_slug_always_has_the_form_of_the_standard_when_there_is_one(name: str):
    slug = slugify(name)
    assert slug == "" or (is_slug(slug) and not has_reserved_word(slug))
    assert slugify(slug) == slug


@given(st.text(), st.uuids(), st.none() | st.text())
def test_every_skill_gets_a_slug(name: str, identity: object, wanted: str | None):
    assert is_slug(choose_slug(name, str(identity), wanted))


def test_a_name_without_ascii_gets_a_placeholder_that_is_known_as_such():
    slug = choose_slug("代码审查", "3F2504E0-4f89-41d3-9a0c-0305e82c3301")
    assert slug == placeholder_slug("3f2504e0") == "skill-3f2504"
    assert is_placeholder(slug)
    assert not is_placeholder("skill-review")


def test_what_the_owner_wants_goes_before_the_name():
    assert choose_slug("代码审查", "abcdef", "Review!") == "review"


def test_a_number_never_makes_a_slug_too_long():
    assert numbered_slug("code-review", 2) == "code-review-2"
    assert is_slug(numbered_slug("x" * 62 + "-y", 12))
