"""Patterns of secrets: keys and tokens of well-known services.

Services publish these forms, and scanners such as gitleaks and GitHub secret scanning collect them.
Only forms that name their service are used, so false alarms are rare.
"""

import math
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from skills.diagnostics.literal_prefilter import find_anchored, lower_keeping_length

_ALNUM = "[0-9A-Za-z]"
_WORD = r"[\w-]"


@dataclass(frozen=True, slots=True)
class _SecretForm:
    kind: str
    anchors: tuple[str, ...]
    pattern: re.Pattern[str]


def _form(kind: str, anchors: str, pattern: str, *, whole: bool = True) -> _SecretForm:
    """A form; ``whole``: no word character may stand before or behind it."""
    bounded = rf"(?<![\w-])(?:{pattern})(?![\w-])" if whole else pattern
    return _SecretForm(kind, tuple(anchors.split()), re.compile(bounded))


_FORMS = (
    _form("AWS access key", "AKIA ASIA ABIA ACCA", r"A[KSBC]\w\w[A-Z2-7]{16}"),
    _form("GitHub token", "ghp_ gho_ ghu_ ghs_ ghr_", rf"gh[pousr]_{_ALNUM}{{36,255}}"),
    _form("GitHub token", "github_pat_", r"github_pat_\w{82}"),
    _form("GitLab token", "glpat- gldt- glrt- glptt-", rf"gl(?:pat|dt|rt|ptt)-{_WORD}{{20,64}}"),
    _form("Slack token", "xox", r"xox[abeoprs]-[0-9A-Za-z-]{20,250}"),
    _form("Slack token", "xapp-", rf"xapp-\d-{_ALNUM}{{5,20}}-\d{{5,20}}-[a-f0-9]{{32,80}}"),
    _form("Stripe key", "sk_ rk_", rf"[sr]k_(?:live|prod)_{_ALNUM}{{16,99}}"),
    _form("Anthropic key", "sk-ant-", rf"sk-ant-(?:api|admin|oat|sid)\d\d-{_WORD}{{80,120}}"),
    _form("OpenAI key", "sk-", rf"sk-(?=[\w-]{{20,180}}T3BlbkFJ){_WORD}{{48,220}}"),
    _form("API key", "sk-", rf"sk-(?:[0-9a-f]{{32}}|{_ALNUM}{{48}}|or-v1-[0-9a-f]{{64}})"),
    _form("API key", "gsk_ xai-", rf"(?:gsk_{_ALNUM}{{52}}|xai-{_ALNUM}{{80}})"),
    _form("Google API key", "AIza", rf"AIza{_WORD}{{35}}"),
    _form("Google OAuth secret", "GOCSPX-", rf"GOCSPX-{_WORD}{{28}}"),
    _form("npm token", "npm_", rf"npm_{_ALNUM}{{36}}"),
    _form("PyPI token", "pypi-AgE", rf"pypi-AgE{_WORD}{{50,300}}"),
    _form("Hugging Face token", "hf_", r"hf_[A-Za-z]{34}"),
    _form("SendGrid key", "SG.", rf"SG\.{_WORD}{{20,24}}\.{_WORD}{{39,50}}"),
    _form("Twilio key", "SK", r"SK[0-9a-f]{32}"),
    _form("Telegram token", ":AA", rf"(?<=\d{{8}}):AA{_WORD}{{33}}(?![\w-])", whole=False),
    _form("DigitalOcean token", "dop_ doo_ dor_", r"do[opr]_v1_[0-9a-f]{64}"),
    _form("Databricks token", "dapi", r"dapi[0-9a-f]{32}"),
    _form("Shopify token", "shp", r"shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}"),
    _form("Linear key", "lin_api_", rf"lin_api_{_ALNUM}{{40}}"),
    _form("Notion token", "ntn_ secret_", rf"(?:ntn_\d{{11}}{_ALNUM}{{35}}|secret_{_ALNUM}{{43}})"),
    _form("Doppler token", "dp.", rf"dp\.(?:pt|st|ct|sa)\.{_ALNUM}{{40,44}}"),
    _form("Grafana token", "glsa_", rf"glsa_{_ALNUM}{{32}}_[0-9a-f]{{8}}"),
    _form("Alibaba Cloud key", "LTAI", rf"LTAI{_ALNUM}{{16,24}}"),
    _form("Tencent Cloud key", "AKID", rf"AKID{_ALNUM}{{32}}"),
    _form("JSON Web Token", "eyJ", rf"eyJ{_WORD}{{10,2000}}\.eyJ{_WORD}{{10,4000}}\.{_WORD}{{20,2000}}"),
    _form("Slack webhook", "hooks.slack.com/", r"hooks\.slack\.com/\w{5,20}/[\w/]{30,80}"),
    _form(
        "Discord webhook",
        "discord.com/api/webhooks/ discordapp.com/api/webhooks/",
        rf"discord(?:app)?\.com/api/webhooks/\d{{15,20}}/{_WORD}{{50,80}}",
    ),
    _form("Azure storage key", "AccountKey=", r"AccountKey=[0-9A-Za-z+/]{86}==", whole=False),
)
_PRIVATE_KEY = _form(
    "private key",
    "-----BEGIN",
    r"-----BEGIN (?:[A-Z]{2,10} ){0,3}PRIVATE KEY(?: BLOCK)?-----"
    r"(?=(?:[ \t]{0,12}(?:\n|\\n|[A-Za-z-]{1,20}: ?[^\n]{0,80}\n)){1,6}[ \t]{0,12}[0-9A-Za-z+/]{40})",
    whole=False,
)
_PASSWORD_IN_ADDRESS = re.compile(
    r"://[^\s:/@'\"`<>]{1,80}:(?P<secret>[^\s:/@'\"`<>{}$\[\]]{8,120})"
    r"@(?!localhost\b|127\.|example\.|host\b)[\w.-]{1,200}",
    re.IGNORECASE,
)
_ASSIGNED = re.compile(
    r"(?:api[_-]?key|secret(?:[_-]?(?:access)?[_-]?key)?|access[_-]?token|auth[_-]?token|password|passwd"
    r"|private[_-]?key|密码|密钥|口令)[\"'`*]{0,3} {0,4}(?:=|:|：|=>|is|为) {0,4}[\"'`]{0,2}"
    r"(?P<secret>(?:[0-9A-Za-z+/_=!@#%^&*.~-]|\$(?![{(])){16,200})",
    re.IGNORECASE,
)
_ASSIGNED_ANCHORS = (*("api", "secret", "access", "auth", "password", "passwd", "private", "密码", "密钥", "口令"),)
_PLACEHOLDER = re.compile(
    r"example|sample|placeholder|dummy|changeme|change[_-]me|redacted|your[_-]|[_-]here\b|fake|xxxx"
    r"|\.\.\.|\*\*\*|0000000|1234567890|eyJzdWIiOiIxMjM0NTY3ODkwIi",
    re.IGNORECASE,
)
_LEAST_ENTROPY = 3.0
_LEAST_ENTROPY_ASSIGNED = 3.6
_LEAST_ENTROPY_OF_PASSWORD = 2.6
_MOST_IN_ORDER = 0.5


@dataclass(frozen=True, slots=True)
class Secret:
    """The kind and the character span of a possible secret."""

    kind: str
    start: int
    end: int


def find_secrets(text: str) -> Iterator[Secret]:
    """The secrets in a text, in linear time, without placeholders (that say so, repeat one letter or count up)."""
    for form in _FORMS:
        for match in find_anchored(form.pattern, text, form.anchors, text):
            if not _is_placeholder(match[0], _LEAST_ENTROPY):
                yield Secret(form.kind, *match.span())
    for match in find_anchored(_PRIVATE_KEY.pattern, text, _PRIVATE_KEY.anchors, text):
        yield Secret(_PRIVATE_KEY.kind, *match.span())
    for match in find_anchored(_PASSWORD_IN_ADDRESS, text, ("://",), text):
        if not _is_placeholder(match["secret"], _LEAST_ENTROPY_OF_PASSWORD):
            yield Secret("password in an address", *match.span("secret"))
    for match in find_anchored(_ASSIGNED, text, _ASSIGNED_ANCHORS, lower_keeping_length(text)):
        if _is_random(match["secret"]):
            yield Secret("password or key", *match.span("secret"))


def hide_secrets(text: str) -> str:
    """A text with ``[…]`` in place of its secrets, for messages and logs."""
    place, parts = 0, list[str]()
    for secret in sorted(find_secrets(text), key=lambda secret: secret.start):
        if secret.start >= place:
            parts += text[place : secret.start], "[…]"
            place = secret.end
    return "".join([*parts, text[place:]])


def _is_placeholder(secret: str, least_entropy: float) -> bool:
    if _PLACEHOLDER.search(secret) or entropy(secret) < least_entropy:
        return True
    steps = [ord(after) - ord(before) for before, after in pairwise(secret)]
    return steps.count(1) > _MOST_IN_ORDER * len(steps)


def _is_random(secret: str) -> bool:
    kinds = (
        any(sign.islower() for sign in secret),
        any(sign.isupper() for sign in secret),
        any(sign.isdigit() for sign in secret),
    )
    if sum(kinds) < 3 and not re.fullmatch(r"(?=[^\n]*\d)[0-9a-f]{24,}", secret):
        return False
    if re.search(r"\w\.\w+\(|^[A-Z0-9_]+$|://|^[/~.]|--", secret):
        return False
    least = _LEAST_ENTROPY if re.fullmatch(r"[0-9a-f]+", secret) else _LEAST_ENTROPY_ASSIGNED
    return not _is_placeholder(secret, least)


def entropy(text: str) -> float:
    """Shannon entropy in bits per character; 0 for an empty text."""
    counts = Counter(text).values()
    return -sum(count / len(text) * math.log2(count / len(text)) for count in counts)
