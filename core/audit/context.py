"""The current request and caller, for the audit log."""

from collections.abc import Generator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Actor:
    """The acting account; its name is stored too, because the log outlives accounts."""

    user_id: str
    username: str


@dataclass(frozen=True, slots=True)
class AuditOrigin:
    """Request and actor of an act; empty outside requests."""

    request_id: str = ""
    address: str = ""
    actor: Actor | None = None


_ORIGIN: ContextVar[AuditOrigin] = ContextVar("audit_origin", default=AuditOrigin())  # noqa: B039 - frozen


def current_origin() -> AuditOrigin:
    """The origin of what is done now."""
    return _ORIGIN.get()


@contextmanager
def use_origin(origin: AuditOrigin) -> Generator[None]:
    """Set the origin of everything done inside."""
    before = _ORIGIN.set(origin)
    try:
        yield
    finally:
        _ORIGIN.reset(before)


def acting_as(actor: Actor) -> AbstractContextManager[None]:
    """Attribute everything done inside to this account."""
    return use_origin(replace(_ORIGIN.get(), actor=actor))
