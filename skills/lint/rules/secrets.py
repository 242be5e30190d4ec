"""SEC906 and SEC908: secrets, and encoded data that nobody can review."""

import re
from collections.abc import Iterator
from itertools import groupby

from skills.diagnostics import Finding
from skills.diagnostics.secret_patterns import entropy, find_secrets
from skills.lint.scanner import ScannedText, Span

LONGEST_ENCODED = 255
"""Characters of base64 or hexadecimal digits that are no key, hash or name any more."""

_RUN = re.compile(r"(?<![0-9A-Za-z+/_-])[0-9A-Za-z+/_-]{256,}={0,2}")
_WRAPPED_LINE = re.compile(r"[ \t>]{0,12}(?P<code>[0-9A-Za-z+/]{32,128}={0,2})[ \t]{0,8}")
_HEX = re.compile(r"[0-9a-f]+|[0-9A-F]+")
_LEAST_ENTROPY_BASE64 = 4.2
_LEAST_ENTROPY_HEX = 2.5


def check(scan: ScannedText) -> Iterator[Finding]:
    """SEC906 and SEC908 anywhere; messages never contain the match."""
    reported: set[int] = set()
    for secret in find_secrets(scan.text):
        if secret.start not in reported:
            reported.add(secret.start)
            yield scan.finding("SEC906", (secret.start, secret.end), {"kind": secret.kind})
    for span, length in (*_runs(scan.text), *_wrapped(scan)):
        yield scan.finding("SEC908", span, {"length": length})


def _runs(text: str) -> Iterator[tuple[Span, int]]:
    for match in _RUN.finditer(text):
        if _is_encoded(match[0]):
            yield match.span(), len(match[0])


def _wrapped(scan: ScannedText) -> Iterator[tuple[Span, int]]:
    lines = scan.draft.source.lines
    codes = [match["code"] if (match := _WRAPPED_LINE.fullmatch(line)) else "" for line in lines]
    for is_code, group in groupby(range(len(lines)), key=lambda at: bool(codes[at])):
        at = list(group)
        code = "".join(codes[line] for line in at) if is_code else ""
        if len(code) > LONGEST_ENCODED and _is_encoded(code):
            yield scan.lines(at[0] + 1, at[-1] + 1), len(code)


def _is_encoded(text: str) -> bool:
    """Whether a run of characters is encoded data rather than a path or a ruler."""
    text = text.rstrip("=")
    if _HEX.fullmatch(text):
        return entropy(text) >= _LEAST_ENTROPY_HEX and any(sign.isdigit() for sign in text)
    kinds = (str.islower, str.isupper, str.isdigit)
    if not all(any(map(kind, text)) for kind in kinds):
        return False
    return entropy(text) >= _LEAST_ENTROPY_BASE64
