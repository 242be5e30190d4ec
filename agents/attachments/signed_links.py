"""Signed links to attached images."""

import re
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from urllib.parse import SplitResult, parse_qs, urlsplit

from core.errors.auth import InvalidLink
from core.security.signed_urls import UrlSigner

PREFIX = "/api/v1/agent/attachments/"
_PATH = re.compile(rf"{PREFIX}([0-9a-f-]{{36}})/content")
_EXPIRES = re.compile(r"[0-9]{1,12}", re.ASCII)
_SIGNATURE = re.compile(r"[0-9a-f]{64}")
_LONGEST = 2000


@dataclass(frozen=True)
class SignedLink:
    """A link relative to this server, and its end."""

    url: str
    expires_at: datetime


@dataclass(frozen=True)
class LinkClaim:
    """What a link claims, true only if its signature is valid; ``expires`` is in seconds since 1970."""

    attachment_id: str
    expires: int
    signature: str


class LinkSigner:
    """Makes and checks links, which are bound to image, owner and expiry."""

    def __init__(self, signer: UrlSigner, *, seconds: int) -> None:
        self._signer = signer
        self._seconds = seconds

    def make(self, attachment_id: str, owner_id: str, *, now: datetime) -> SignedLink:
        expires = int(now.timestamp()) + self._seconds
        signature = self._signer.sign("GET", attachment_id, owner_id, str(expires))
        return SignedLink(
            f"{PREFIX}{attachment_id}/content?expires={expires}&signature={signature}",
            now.replace(microsecond=0) + timedelta(seconds=self._seconds),
        )

    def is_valid(self, claim: LinkClaim, owner_id: str) -> bool:
        facts = ("GET", claim.attachment_id, owner_id, str(claim.expires))
        return self._signer.is_valid(claim.signature, *facts)


def parse_link(url: str, *, hosts: Collection[str] = ()) -> LinkClaim:
    """Parse a link: a path of this server, or an http(s) URL at one of its hosts (name, with port if any).

    The ``reason`` of ``InvalidLink`` is ``other_host`` or ``no_attachment_link``.
    """
    try:
        parts = urlsplit(url[: _LONGEST + 1])
        if (parts.scheme or parts.netloc) and not _is_at(parts, hosts):
            raise InvalidLink(reason="other_host")
        query = parse_qs(parts.query, strict_parsing=True, max_num_fields=4)
    except ValueError as error:
        raise InvalidLink(reason="no_attachment_link") from error
    path = _PATH.fullmatch(parts.path)
    expires, signature = (query.get(name, [""]) for name in ("expires", "signature"))
    if (
        len(url) > _LONGEST
        or path is None
        or query.keys() != {"expires", "signature"}
        or len(expires) + len(signature) > 2
        or not _EXPIRES.fullmatch(expires[0])
        or not _SIGNATURE.fullmatch(signature[0])
    ):
        raise InvalidLink(reason="no_attachment_link")
    return LinkClaim(path[1], int(expires[0]), signature[0])


def _is_at(parts: SplitResult, hosts: Collection[str]) -> bool:
    is_web = parts.scheme in {"http", "https"}
    return is_web and parts.netloc.lower() in {host.lower() for host in hosts}
