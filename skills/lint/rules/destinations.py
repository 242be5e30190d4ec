"""Where commands go: to this machine alone, or elsewhere."""

import re
from collections.abc import Iterator

from skills.lint.scanner import Scan

HOST = re.compile(r"\b(?:https?|ftp)://(?P<host>[^\s\"'`<>]{1,300})", re.IGNORECASE)
_LOCAL = re.compile(
    r"(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d{1,5})?(?=[/?#]|[).,;。，；]{0,4}$)",
    re.IGNORECASE,
)
_COMMAND = re.compile(r"[^\n;|&`]{0,600}")
_WORD = re.compile(r"(?:\"[^\"\n]{0,300}\"|'[^'\n]{0,300}'|[^\s\"'])+")
_CURL_FLAGS = r"[0-9afgijklnpqsvBGIJLMNORSVZ#]{0,20}"
_WGET_FLAGS = r"[cdFhklLmNpqrSvVx46]{0,20}"
# Programs whose arguments are addresses, with or without ``http://``: the options that a value follows.
_VALUED = {
    "curl": re.compile(
        rf"-{_CURL_FLAGS}[dFTHXouAebcmEryYzwCUtPQD]"
        r"|--(?:data(?:-\w+)?|form(?:-\w+)?|json|header|request|output|user|user-agent|upload-file"
        r"|cookie|cookie-jar|max-time|connect-timeout|retry|retry-delay|write-out|referer|cert|key"
        r"|cacert|url-query)"
    ),
    "wget": re.compile(
        rf"-{_WGET_FLAGS}[OoPaetTUw]"
        r"|--(?:post-(?:data|file)|body-(?:data|file)|method|header|user|password|user-agent"
        r"|output-document|output-file|directory-prefix|tries|timeout)"
    ),
}
# Options that lead elsewhere whatever the address is.
_DIVERTED = re.compile(
    rf"-{_CURL_FLAGS}[xK].{{0,300}}"
    r"|--(?:proxy|preproxy|socks[\w.]+|connect-to|resolve|config)(?:=.{0,300})?"
)
_REDIRECTED = re.compile(r"(?P<bare>\d?[<>]{1,2})|\d?[<>&]\S{0,300}|\\")


def is_local(host: str) -> bool:
    """Whether an address is this machine's own, from its host on."""
    return _LOCAL.match(host) is not None


def stays_here(scan: Scan, place: int) -> bool:
    """Whether the command at a place names addresses, all of them this machine's own."""
    command = _COMMAND.match(scan.text, place)
    text = command[0] if command else ""
    addresses = list(HOST.finditer(text))
    if not addresses or not all(is_local(one["host"]) for one in addresses):
        return False
    program = text[:4].lower()
    # In a sentence words stand around the address.
    if program not in _VALUED or scan.prose[place] != " ":
        return True
    return all(is_local(one.partition("://")[2] or one) for one in _arguments(program, text[4:]))


def _arguments(program: str, text: str) -> Iterator[str]:
    """The arguments of a command that name addresses, without options and what belongs to them."""
    is_value = False
    for found in _WORD.finditer(text):
        word = found[0]
        if word.startswith("#"):
            return
        if is_value:
            is_value = False
        elif redirected := _REDIRECTED.fullmatch(word):
            is_value = redirected["bare"] is not None
        elif program == "curl" and _DIVERTED.fullmatch(word):
            yield word
        elif word.startswith("-"):
            is_value = _VALUED[program].fullmatch(word) is not None
        else:
            yield word.strip("\"'")
