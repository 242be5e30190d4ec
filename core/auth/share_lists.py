"""The list of those with whom one object is shared: read, told from a later one, replaced."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pydantic import JsonValue

from core.audit import AuditAction, Target, note
from core.auth.principal import Shareable
from core.auth.sharing import Shared, Wanted, list_shares, replace_shares
from core.db.unit_of_work import UnitOfWork
from core.errors import Conflict

_VERSION_DIGITS = 16
_CHANGED = "The shares were changed since they were read: read them again"


@dataclass(frozen=True)
class SharingActs:
    """How the audit log calls that an object is shared, and that it is not any more."""

    shared: AuditAction
    unshared: AuditAction


def version_of(shares: Sequence[Shared]) -> str:
    """What a list of shares is told from another one by."""
    said = sorted(f"{who} {access}" for who, access in named(shares).items())
    return hashlib.sha256("\n".join(said).encode()).hexdigest()[:_VERSION_DIGITS]


async def replace_list(
    work: UnitOfWork,
    resource: Shareable,
    wanted: Sequence[Wanted],
    version: str | None,
    acts: SharingActs,
) -> list[Shared]:
    """Share an object with exactly these people and roles, from now on.

    Args:
        work: the transaction, in which the object's row is locked and the caller was let through.
        resource: the object.
        wanted: people and roles.
        version: of the list that the caller read; None for whatever it is now.
        acts: for the audit log.

    Raises:
        Conflict: the list is not that of this version any more.
        InvalidRequest: too many, the same one twice, the owner, or nobody of this name.
    """
    session = work.session
    present = await list_shares(session, resource)
    if version not in (None, found := version_of(present)):
        raise Conflict(field="version", error=_CHANGED, version=found)
    before = named(present)
    await replace_shares(work, resource, wanted)
    shares = await list_shares(session, resource)
    after = named(shares)
    target = Target(resource.SHARE_KIND, resource.id)
    gained = {who: access for who, access in after.items() if before.get(who) != access}
    if gained:
        note(session, acts.shared, target, details=_told(gained))
    lost = {who: access for who, access in before.items() if who not in after}
    if lost:
        note(session, acts.unshared, target, details=_told(lost))
    return shares


def note_public(work: UnitOfWork, resource: Shareable, acts: SharingActs) -> None:
    """Note that an object was opened to all, or is not any more, as ``is_public`` says now."""
    act = acts.shared if resource.is_public else acts.unshared
    target = Target(resource.SHARE_KIND, resource.id)
    note(work.session, act, target, details={"public": "read"})


def _told(shares: Mapping[str, str]) -> dict[str, JsonValue]:
    # As a list: a name that is a key would be redacted where it looks like a secret's.
    return {"shares": [{"who": who, "access": access} for who, access in shares.items()]}


def named(shares: Sequence[Shared]) -> dict[str, str]:
    """How far, by who: user or role, and the name; for the audit log."""
    return {
        f"user {one.user.username}" if one.user else f"role {one.role.name if one.role else ''}": (
            one.access.value
        )
        for one in shares
    }
