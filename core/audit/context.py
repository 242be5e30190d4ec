"""Where an act comes from: the request and the caller at this moment, for the audit log."""

from collections.abc import Generator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Actor:
    """Who acts; the name is kept beside the id because accounts go and the log stays."""

    user_id: str
    username: str


@dataclass(frozen=True, slots=True)
class Origin:
    """What is known of an act besides the act; empty for what no request asked for.

    Args:
        request_id: the answer's ``X-Request-ID``.
        address: the caller's network address.
        actor: who is authenticated, None for nobody.
    """

    request_id: str = ""
    address: str = ""
    actor: Actor | None = None


_ORIGIN: ContextVar[Origin] = ContextVar("audit_origin", default=Origin())  # noqa: B039 - frozen


def present_origin() -> Origin:
    """The origin of what is done at this moment."""
    return _ORIGIN.get()


@contextmanager
def coming_from(origin: Origin) -> Generator[None]:
    """What is done inside comes from here."""
    before = _ORIGIN.set(origin)
    try:
        yield
    finally:
        _ORIGIN.reset(before)


def acting(actor: Actor) -> AbstractContextManager[None]:
    """What is done inside is done by this account."""
    return coming_from(replace(_ORIGIN.get(), actor=actor))
