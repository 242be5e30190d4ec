"""Limits on what sources list and send."""

from collections.abc import AsyncGenerator
from contextlib import aclosing

import httpx

from ingestion.connectors.base import MOST_ITEMS, ItemUnreadable, SourceItem, too_large, too_many_items


async def limited_items(items: AsyncGenerator[SourceItem]) -> AsyncGenerator[SourceItem]:
    """The items of a listing; raises ``SourceUnavailable`` beyond ``MOST_ITEMS``."""
    number = 0
    async with aclosing(items):
        async for item in items:
            number += 1
            if number > MOST_ITEMS:
                raise too_many_items()
            yield item


async def limited_contents(response: httpx.Response, limit: int) -> AsyncGenerator[bytes]:
    """The contents of an answer, whose size is in bytes.

    Raises:
        ItemUnreadable: they are longer than ``limit``; nothing is read of those whose size is declared.
    """
    declared = response.headers.get("Content-Length", "")
    size = int(declared) if declared.isascii() and declared.isdecimal() else 0
    if size > limit:
        raise ItemUnreadable(too_large(limit))
    size = 0
    async for block in response.aiter_bytes():
        size += len(block)
        if size > limit:
            raise ItemUnreadable(too_large(limit))
        yield block
