"""Signatures of events, as the Standard Webhooks specification has them."""

import hmac
from base64 import b64decode, b64encode
from binascii import Error as NotBase64
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256

from core.errors.auth import EventRefused
from rules.event_sources import SECRET_PREFIX

TOLERANCE_SECONDS = 300
"""How far the time of a signature may be from now, in both directions."""
_SCHEME = "v1"
_MOST_SIGNATURES = 10
_LONGEST_TIMESTAMP = 12


@dataclass(frozen=True)
class SignedMessage:
    """A request as it came; ``id`` is empty where the sender gave none."""

    id: str
    timestamp: str
    signatures: str
    body: bytes


def verify(message: SignedMessage, secret: str, now: float) -> str:
    """Check a message; returns its id as far as it is signed.

    A sender that names its message signs ``id.timestamp.body``. One that signs ``timestamp.body`` alone gets an id
    made from its signature, so that the same bytes sent again are the same message, whatever id stands beside them.

    Raises:
        EventRefused: it is too old, too new, or not signed with this secret.
    """
    _check_time(message.timestamp, now)
    key = _key(secret)
    content = f"{message.timestamp}.".encode() + message.body
    with_id, without_id = _sign(key, f"{message.id}.".encode() + content), _sign(key, content)
    signatures = [value.encode() for value in _signatures(message.signatures)]
    # Each is compared, so that the time taken says nothing.
    is_named = sum(hmac.compare_digest(value, with_id) for value in signatures) > 0
    is_unnamed = sum(hmac.compare_digest(value, without_id) for value in signatures) > 0
    if is_named and message.id:
        return message.id
    if is_unnamed:
        return sha256(without_id).hexdigest()
    raise EventRefused


def _check_time(timestamp: str, now: float) -> None:
    is_number = timestamp.isascii() and timestamp.isdecimal() and len(timestamp) <= _LONGEST_TIMESTAMP
    if not is_number or abs(now - int(timestamp)) > TOLERANCE_SECONDS:
        raise EventRefused


def _key(secret: str) -> bytes:
    try:
        return b64decode(secret.removeprefix(SECRET_PREFIX), validate=True)
    except NotBase64 as error:
        raise EventRefused from error


def _signatures(header: str) -> Iterator[str]:
    for entry in header.split(" ")[:_MOST_SIGNATURES]:
        scheme, _, value = entry.partition(",")
        if scheme == _SCHEME and value:
            yield value


def _sign(key: bytes, content: bytes) -> bytes:
    return b64encode(hmac.digest(key, content, sha256))
