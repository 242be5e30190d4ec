"""SEC904, SEC905 and SEC907: data sent out, and code fetched and run unseen."""

import re
from bisect import bisect_left
from collections.abc import Iterator
from operator import itemgetter

from skills.diagnostics import Finding
from skills.diagnostics.literal_prefilter import find_anchored
from skills.lint.scanner import ScannedText, Span

_ADDRESS = re.compile(r"https?://[^\s)\"'>]{1,2000}", re.IGNORECASE)
_ADDRESSES = ("http://", "https://")
# What stands before the address of a link, an image, a definition of a link, or in a tag.
_BEFORE = re.compile(
    r"(?P<link>\]\([ \t]{0,8}<?)$|(?P<defined>\]:[ \t]{1,8}<?)$"
    r"|<(?P<tag>img|a|iframe|script|link|video|audio|source|form|embed)[ \t\n][^<>]{0,300}"
    r"(?:src|href|action|data)[ ]{0,4}=[ ]{0,4}[\"']?$",
    re.IGNORECASE,
)
_LOOK_BACK = 330
_LONGEST_LABEL = 300
_TEMPLATE = re.compile(r"\{\{[^{}]{1,200}\}\}|\$\{[^{}]{1,200}\}|\$\([^()]{1,200}\)|<%[^%]{1,200}%>")
_PLACE = re.compile(r"\{[^{}/]{1,80}\}|%s|\[[A-Z][A-Z_ -]{2,60}\]|%7B[^%]{1,80}%7D|\$[A-Z_]{2,60}", re.IGNORECASE)
_FETCHERS = ("curl", "wget", "fetch", "iwr", "irm", "invoke-webrequest", "invoke-restmethod", "aria2c")
_FETCH = re.compile(r"\b(?:curl|wget|fetch|iwr|irm|Invoke-WebRequest|Invoke-RestMethod|aria2c)\b", re.IGNORECASE)
# Interpreters run what they are piped only where they get neither a script nor a command.
_SHELL = (
    r"(?:sudo(?: +-\w{1,20}){0,4} +)?(?:/usr)?(?:/bin/)?(?:env +)?"
    r"(?:(?:ba|z|da|k|fi|c)?sh\b(?!\.)|(?:python[\d.]{0,4}|node|perl|ruby|php)(?= *-? *(?:$|[;&|)\"'`]))"
    r"|iex\b|Invoke-Expression\b|pwsh\b|powershell\b)"
)
_PIPED = re.compile(rf"(?<!\|)\|(?!\|) {{0,8}}{_SHELL}", re.IGNORECASE)
_AROUND = re.compile(
    rf"(?:{_SHELL}|\b(?:eval|source)\b|(?:^|[;&\s])\.)(?: +-\w{{1,20}}){{0,4}} {{0,4}}"
    r"(?:<\(|[\"']?\$\(|[\"']?`|[\"']?\(+) {0,4}(?:sudo +)?$",
    re.IGNORECASE,
)
_LONGEST_AROUND = 80
_LONGEST_COMMAND = 2000
_RUN_FETCHED = re.compile(
    r"\b(?:exec|eval) {0,4}\( {0,4}(?:requests\.get|urllib\.request\.urlopen|urlopen) {0,4}\("
    r"|\b(?:iex|Invoke-Expression) {0,4}[\"']?\(+ {0,4}New-Object",
    re.IGNORECASE,
)
_CONTINUED = re.compile(r"\\\n")
_CREDENTIALS = re.compile(
    r"\.ssh[/\\](?:id_\w{1,20}|\*|authorized_keys|config)?|\.aws[/\\](?:credentials|config)"
    r"|\.docker[/\\]config\.json|\.kube[/\\]config|\.config[/\\](?:gcloud|gh[/\\]hosts\.yml)"
    r"|\.gnupg\b|\.netrc\b|\.npmrc\b|\.pypirc\b|\.git-credentials\b|\.azure[/\\]"
    r"|id_(?:rsa|ed25519|ecdsa)\b(?!\.pub)|/etc/shadow\b|/proc/self/environ\b"
    r"|security find-(?:generic|internet)-password\b",
    re.IGNORECASE,
)
_CREDENTIAL_ANCHORS = (
    *(".ssh", ".aws", ".docker", ".kube", ".config", ".gnupg", ".netrc", ".npmrc", ".pypirc"),
    *(".git-credentials", ".azure", "id_", "/etc/shadow", "/proc/self/environ", "security find-"),
)
_DOTENV = re.compile(r"\.env(?:\.local|\.production)?\b(?!\.(?:example|sample|template))")
_NETWORK = re.compile(
    r"\b(?:curl|wget|ncat|netcat|scp|sftp|rsync|ftp|aria2c|Invoke-WebRequest|Invoke-RestMethod"
    r"|requests\.(?:post|put|get|request)|httpx\.|urlopen|urllib|aiohttp|axios|socket\.)|\bnc -"
    r"|\bfetch\(|\b(?:upload|POST|send|transmit)(?:s|ed|ing)?\b|上传|发送到|发到|外传",
    re.IGNORECASE,
)
# Programs read .env files for good reasons; only what sends a body along is told of them.
_SENDING = re.compile(
    r"\bcurl\b[^\n]{0,300}(?: -[a-zA-Z]{0,8}[dFT]\b| --(?:data[\w-]{0,12}|form|upload-file)\b)"
    r"|\bwget\b[^\n]{0,300}--post|\b(?:nc|ncat|scp|sftp)\b +-?\S|requests\.(?:post|put)",
    re.IGNORECASE,
)

_TO = re.compile(
    r"(?:\b(?:to|into|at|via|with|fetch|download|request|call|submit|forward|transfer|share)[ \t]{1,8}"
    r"|[到至给向往用][ \t]{0,8})[\"'<(]?$",
    re.IGNORECASE,
)
_LONGEST_TO = 24


def check(scan: ScannedText) -> Iterator[Finding]:
    """SEC904 in prose, SEC905 anywhere, SEC907 in each step and code block."""
    yield from _addresses(scan)
    yield from _fetched(scan)
    yield from _credentials(scan)


def _addresses(scan: ScannedText) -> Iterator[Finding]:
    """External addresses filled with data; rendered images are fetched without asking."""
    prose = scan.prose
    for match in find_anchored(_ADDRESS, prose, _ADDRESSES, scan.lower):
        start, address = match.start(), match[0]
        if "{" not in address and "$" not in address and not _PLACE.search(address):
            continue
        before = _BEFORE.search(prose, max(0, start - _LOOK_BACK), start)
        if before is None:
            continue
        tag = (before["tag"] or "").lower()
        is_loaded = tag not in ("", "a") or (before["link"] and _is_image(prose, before.start()))
        rest = address.partition("://")[2].partition("/")[2]
        # A link's path is often a template that authors fill; its query carries data.
        where = rest if is_loaded else rest.partition("?")[2]
        if carried := _TEMPLATE.search(address) or _PLACE.search(where):
            yield scan.finding("SEC904", match.span(), {"text": carried[0]})


def _is_image(prose: str, bracket: int) -> bool:
    label = prose.rfind("[", max(0, bracket - _LONGEST_LABEL), bracket)
    return label > 0 and prose[label - 1] == "!"


def _fetched(scan: ScannedText) -> Iterator[Finding]:
    # Of the same length, so that places stay right.
    text = _CONTINUED.sub("  ", scan.text)
    reported = 0
    for match in find_anchored(_FETCH, text, _FETCHERS, scan.lower):
        if match.start() < reported:
            continue
        end = text.find("\n", match.end(), match.end() + _LONGEST_COMMAND)
        end = min(match.end() + _LONGEST_COMMAND, len(text)) if end < 0 else end
        around = _AROUND.search(text, max(0, match.start() - _LONGEST_AROUND), match.start())
        # What follows is looked at once, whatever else of it could begin such a command.
        reported = end
        if around or _PIPED.search(text, match.end(), end):
            yield scan.finding("SEC905", (around.start() if around else match.start(), end))
    for match in find_anchored(_RUN_FETCHED, text, ("exec", "eval", "iex", "invoke-"), scan.lower):
        yield scan.finding("SEC905", match.span())


def _credentials(scan: ScannedText) -> Iterator[Finding]:
    secret = find_anchored(_CREDENTIALS, scan.text, _CREDENTIAL_ANCHORS, scan.lower)
    files = find_anchored(_DOTENV, scan.text, (".env",), scan.text)
    # Each with the kind of use that makes it dangerous.
    secrets = [(match.span(), _NETWORK) for match in secret]
    secrets += [(match.span(), _SENDING) for match in files]
    secrets.sort(key=itemgetter(0))
    starts = [span[0] for span, _ in secrets]
    reported: set[Span] = set()
    for start, end in _steps(scan) if secrets else ():
        first, behind = bisect_left(starts, start), bisect_left(starts, end)
        inside = [(span, use) for span, use in secrets[first:behind] if span not in reported]
        for use in dict.fromkeys(use for _, use in inside):
            spans = [span for span, span_use in inside if span_use is use]
            reported.update(spans)
            if _goes_out(scan, use, (start, end)):
                yield scan.finding("SEC907", spans[0], {"path": scan.text[slice(*spans[0])]})


def _goes_out(scan: ScannedText, use: re.Pattern[str], step: Span) -> bool:
    for match in use.finditer(scan.text, *step):
        if not stays_here(scan, match.start()):
            return True
    return use is _NETWORK and any(
        not is_local(match["host"]) and _is_used(scan, match.start()) for match in HOST.finditer(scan.text, *step)
    )


def _is_used(scan: ScannedText, address: int) -> bool:
    """Whether an address is opened, as in code, rather than mentioned to a reader."""
    if scan.prose[address] == " ":
        return True
    return bool(_TO.search(scan.text, max(0, address - _LONGEST_TO), address))


def _steps(scan: ScannedText) -> Iterator[Span]:
    for step in scan.draft.model.steps:
        yield scan.lines(step.line, step.end_line)
    yield from scan.fences


HOST = re.compile(r"\b(?:https?|ftp)://(?P<host>[^\s\"'`<>]{1,300})", re.IGNORECASE)
_LOCAL = re.compile(
    r"(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d{1,5})?(?=[/?#]|[).,;。，；]{0,4}$)", re.IGNORECASE
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
    """Whether an address, from its host on, is this machine's own."""
    return _LOCAL.match(host) is not None


def stays_here(scan: ScannedText, place: int) -> bool:
    """Whether all addresses of the command at a place are this machine's own."""
    command = _COMMAND.match(scan.text, place)
    text = command[0] if command else ""
    addresses = list(HOST.finditer(text))
    if not addresses or not all(is_local(address["host"]) for address in addresses):
        return False
    program = text[:4].lower()
    # In a sentence words stand around the address.
    if program not in _VALUED or scan.prose[place] != " ":
        return True
    return all(is_local(argument.partition("://")[2] or argument) for argument in _arguments(program, text[4:]))


def _arguments(program: str, text: str) -> Iterator[str]:
    is_value = False
    for match in _WORD.finditer(text):
        word = match[0]
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
