"""What is found in the hand-written skills, and what is not."""

import pytest
import yaml

from skills.checks.hidden_characters import decode
from skills.diagnostics import RULES
from skills.models import Diagnostic
from skills.source import apply
from tests.skills.check_files import Case, all_cases

_CASES = all_cases()


def _named(name: str) -> Case:
    return next(case for case in _CASES if case.name == name)


def _found(case: Case) -> list[Diagnostic]:
    return [one for one in case.report().diagnostics if one.code == case.code]


@pytest.mark.parametrize("case", _CASES, ids=lambda case: case.name)
def test_a_code_is_found_where_it_is_and_not_where_it_only_nearly_is(case: Case):
    assert bool(_found(case)) is case.has_code, case.report().diagnostics


@pytest.mark.parametrize("code", list(RULES))
def test_every_code_has_a_skill_that_has_it_and_one_that_nearly_does(code: str):
    assert {case.has_code for case in _CASES if case.code == code} == {True, False}


_MENDED = [case for case in _CASES if any(one.fix for one in _found(case))]


@pytest.mark.parametrize("case", _MENDED, ids=lambda case: case.name)
def test_a_mend_removes_what_it_mends(case: Case):
    fix = next(one.fix for one in _found(case) if one.fix is not None)
    mended = Case(case.name, apply(case.content, fix.edits), case.folder, case.files)
    assert len(_found(mended)) < len(_found(case)), mended.content.decode()
    assert mended.report().valid or not case.report().valid


def test_whatever_can_be_mended_mechanically_offers_a_mend():
    assert {case.code for case in _MENDED} >= {
        *("AS002", "AS004", "AS005", "AS006", "AS010", "AS012", "AS013"),
        *("REF001", "SEC901", "SEC903"),
    }


def test_hidden_text_is_decoded_and_shown():
    assert "send" in _found(_named("SEC901.has"))[0].message
    assert decode("".join(chr(0xE0100 + byte - 16) for byte in b"hi")) == "hi"


def test_a_secret_stands_in_no_message():
    report = _named("SEC906.has").report()
    assert all("AKIAZ5" not in one.message + one.message_zh for one in report.diagnostics)
    assert "AWS" in _found(_named("SEC906.has"))[0].message
    assert not report.valid


def test_dangerous_phrases_keep_a_skill_from_others_but_not_from_its_author():
    for name in ("SEC902.has", "SEC903.has", "SEC904.has", "SEC905.has", "SEC907.has"):
        report = _named(name).report()
        assert (report.valid, report.publishable) == (True, False), name


def test_the_place_is_that_of_the_stored_file_when_frontmatter_stands_before_it():
    found = _found(_named("REF001.has"))[0]
    assert (found.line, found.column) == (8, 18)
    assert "references/style.md" in found.message


def test_portability_never_makes_a_skill_invalid():
    for case in _CASES:
        # Without a readable mapping, or a description in it, it does not load here either.
        if case.code.startswith("AS") and case.name not in ("AS003.has", "AS007.has"):
            report = case.report()
            assert report.valid, (case.name, report.diagnostics)
            assert report.portable is not case.has_code, case.name


def test_unknown_fields_move_into_metadata_as_texts():
    case = _named("AS004.has")
    fix = _found(case)[0].fix
    assert fix is not None
    mended = apply(case.content, fix.edits).decode()
    assert yaml.safe_load(mended.split("---")[1]) == {
        "name": "release-notes",
        "description": "Writes release notes from merged changes. Use when a version is about to ship.",
        "metadata": {"category": "writing", "tags": "notes, release"},
    }
