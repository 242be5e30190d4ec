"""Addresses of Git repositories over SSH, as ``git clone`` takes them."""

import re
from dataclasses import dataclass
from urllib.parse import unquote

from core.errors.requests import InvalidRequest
from core.outbound.guard import read_url

SSH_PORTS = (22,)
_SCHEMES = ("ssh://", "git+ssh://", "ssh+git://")
# user@host:path; the user is asked for, so that nothing else looks like it.
_SHORT = re.compile(r"(?P<user>[^\s/:@]+)@(?P<host>\[[0-9A-Fa-f:.]+\]|[^\s/:@\[\]]+):(?P<path>[^\s].*)")
_LONG = re.compile(r"[a-z+]+://(?:(?P<user>[^/@]*)@)?(?P<host>[^/@]*?)(?P<port>:\d*)?(?P<path>/.*)?", re.DOTALL)
_USER = re.compile(r"[A-Za-z0-9_][\w.+-]{0,63}", re.ASCII)
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f]")
_FORM = (
    "Use the form ssh://git@host/team/manuals.git or git@host:team/manuals.git",
    "请使用 ssh://git@host/team/manuals.git 或 git@host:team/manuals.git 的形式",
)


@dataclass(frozen=True)
class SshAddress:
    """Where a repository is: ``host`` is a name or an address without brackets, ``path`` is as the server takes it."""

    user: str
    host: str
    port: int
    path: str

    @property
    def known_name(self) -> str:
        """How lines of ``known_hosts`` call the server."""
        return self.host if self.port in SSH_PORTS else f"[{self.host}]:{self.port}"

    @property
    def origin(self) -> str:
        """What a key is given for."""
        return f"ssh://{self.host}:{self.port}"


def is_ssh(url: str) -> bool:
    """Whether an address is one over SSH."""
    return url.startswith(_SCHEMES) or ("://" not in url and _SHORT.fullmatch(url) is not None)


def read_ssh_address(url: str) -> SshAddress:
    """The parts of an address over SSH; raises ``InvalidRequest`` or ``UrlNotAllowed``."""
    match = _LONG.fullmatch(url) if url.startswith(_SCHEMES) else _SHORT.fullmatch(url)
    if match is None or _UNPRINTABLE.search(unquote(url)):
        raise InvalidRequest("settings.url", *_FORM)
    parts = match.groupdict()
    user, path = unquote(parts["user"] or "git"), unquote(parts["path"] or "")
    if ":" in user:
        raise InvalidRequest(
            "settings.url",
            "Leave the password out of the address; over SSH a private key is given as credentials",
            "请勿在地址中填写密码；通过 SSH 访问时请在 credentials 中填写私钥",
        )
    # A path below a home; what begins with a minus would be an option of the program there.
    path = path[1:] if path.startswith("/~") else path
    if not _USER.fullmatch(user) or not path.strip("/") or path.startswith("-"):
        raise InvalidRequest("settings.url", *_FORM)
    target = read_url(f"ssh://{parts['host']}{parts.get('port') or ''}/", ("ssh",))
    return SshAddress(user, target.host.strip("[]").lower(), target.port, path)
