"""The time of the security rules on texts built to be slow."""

import pytest

from skills.lint.context import LintContext
from skills.lint.rules import portability, quality, references, security
from skills.parser.draft import SkillDraft
from skills.parser.parse import parse
from tests.fixtures.cpu_time import processor_seconds

_HEAD = "# SKILL: x\n\n## Description\n\nReads files when asked to do so.\n\n## Steps\n\n"
_HOSTILE = {
    "backticks": "` ``" * 70_000,
    "ignore": "ignore all previous " * 14_000,
    "keep": "keep this " * 26_000,
    "忽略": "忽略所有的" * 18_000,
    "curl": "curl https://x | " * 15_000,
    "comments": "<!-- run " * 28_000,
    "one comment": "<!-- run " + "-" * 250_000,
    "images": "![" * 130_000,
    "addresses": "[a](https://" * 21_000,
    "open address": "[a](https://" + "{" * 250_000,
    "tags": "<img " * 52_000,
    "base64": "aB3/" * 65_000,
    "tokens": "eyJaaaaaaaaaaa." * 17_000,
    "keys": "sk-" * 87_000,
    "passwords": "a://b:" * 43_000,
    "assigned": "secret=" * 37_000,
    "private keys": "-----BEGIN PRIVATE KEY-----\n" * 9_000,
    "hidden": "\U0001f3f4\U000e0067" * 32_000,
    "zero width": "\u200b" * 87_000,
    "credentials": "- ~/.ssh/id_rsa\n" * 16_000,
    "steps": "1. ~/.ssh/id_rsa https://x\n" * 9_600,
    "links": "[a](b/c/d/e)\n" * 20_000,
    "links on one line": "[a](../b)" * 29_000,
    "brackets": "[" * 260_000,
    "blanks": " " * 260_000,
    "letters": "a" * 260_000,
    "words": "don't tell the " * 17_000,
}
_FILES = tuple(f"references/file-{number}.md" for number in range(500))
_CONTEXT = LintContext(folder="x", files=_FILES)
_CHECKS = (references.check, quality.check, portability.check)


def _draft(text: str) -> SkillDraft:
    content = (_HEAD + text).encode()[: 256 * 1024].decode("utf-8", "ignore").encode()
    draft = parse(content)
    assert isinstance(draft, SkillDraft)
    return draft


def _seconds(text: str) -> float:
    draft = _draft(text)
    return processor_seconds(lambda: [[*security.check(draft)], *([*check(draft, _CONTEXT)] for check in _CHECKS)])


@pytest.mark.parametrize("text", _HOSTILE.values(), ids=_HOSTILE)
def test_checks_stay_linear_when_a_text_is_built_to_be_slow(text: str):
    small, large = _seconds(text[: len(text) // 64]), _seconds(text[: len(text) // 16])
    # Four times the text; the square would take sixteen times as long.
    assert large < 10 * small


def test_deep_folders_of_files_take_no_longer_than_flat_ones():
    def seconds(folder: str) -> float:
        files = tuple(f"{folder}{number}.md" for number in range(500))
        content = (_HEAD + "a " * 120_000).encode()
        context = LintContext(folder="x", files=files)
        draft = parse(content)
        assert isinstance(draft, SkillDraft)
        assert len(list(references.check(draft, context))) == 500
        return processor_seconds(lambda: [*references.check(draft, context)])

    # Names of 380 characters in 190 folders, where one look at each folder would take 190 times.
    assert seconds("a/" * 190) < 20 * seconds(f"{'a' * 378}-")
