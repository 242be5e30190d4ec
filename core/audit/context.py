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
class AuditOrigin:
    """What is known of an act besides the act; empty for what no request asked for.

    Args:
        request_id: the answer's ``X-Request-ID``.
        actor: who is authenticated, None for nobody.
    """

    request_id: str = ""
    address: str = ""
    actor: Actor | None = None


_ORIGIN: ContextVar[AuditOrigin] = ContextVar("audit_origin", default=AuditOrigin())  # noqa: B039 - frozen


def current_origin() -> AuditOrigin:
    """The origin of what is done at this moment."""
    return _ORIGIN.get()


@contextmanager
def use_origin(origin: AuditOrigin) -> Generator[None]:
    """What is done inside comes from here."""
    before = _ORIGIN.set(origin)
    try:
        yield
    finally:
        _ORIGIN.reset(before)


def acting_as(actor: Actor) -> AbstractContextManager[None]:
    """What is done inside is done by this account."""
    return use_origin(replace(_ORIGIN.get(), actor=actor))
