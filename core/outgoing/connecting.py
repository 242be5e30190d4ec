"""What guarded transports of all HTTP libraries share: trying the addresses one after another."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

from core.outgoing.guard import NameNotResolved, OutgoingGuard

StreamT = TypeVar("StreamT")


async def connect_guarded(
    guard: OutgoingGuard,
    where: tuple[str, int],
    connect: Callable[[str, float | None], Awaitable[StreamT]],
    failures: tuple[type[Exception], type[Exception]],
    seconds: float | None,
) -> StreamT:
    """A connection to the first address that takes one.

    Args:
        guard: says which addresses there are.
        where: host and port.
        connect: to one address, in so many seconds.
        failures: the library's errors for no connection and for none in time.
        seconds: for all tries together; None for no limit.

    Raises:
        UrlNotAllowed: the guard refuses.
        Exception: the first of ``failures`` where the name has no address, else the last try's.
    """
    try:
        addresses = await guard.resolve(*where)
    except NameNotResolved as error:
        raise failures[0]("the name has no address") from error
    each = None if seconds is None else seconds / len(addresses)
    for address in addresses[:-1]:
        try:
            return await connect(address, each)
        except failures:
            continue
    return await connect(addresses[-1], each)
