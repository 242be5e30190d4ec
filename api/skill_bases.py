"""What a change of a skill was made from, as requests say it."""

import re
from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Header

from core.errors import InvalidRequest
from skills.writing import Base

_VERSION = re.compile(r"[0-9]{1,9}")
_DIGEST = re.compile(r"[0-9a-f]{64}")
_HOW = 'Send the ETag of a read, such as "3", or *'


@dataclass(frozen=True)
class GivenBase:
    """The header's word; a number in the body adds to it."""

    base: Base

    def with_version(self, version: int | None) -> Base:
        """The base with what the body says.

        Raises:
            InvalidRequest: the body says another version than the header.
        """
        if version is None:
            return self.base
        if self.base.version not in {None, version}:
            raise InvalidRequest("base_version", "The header If-Match names another version")
        return Base(version, self.base.sha256)


async def _base_given(
    if_match: Annotated[
        str, Header(description="The `ETag` of a read: the version, or the content's SHA-256.")
    ] = "",
) -> GivenBase:
    tag = if_match.strip()
    if tag in {"", "*"}:
        return GivenBase(Base())
    value = tag[1:-1] if len(tag) > 1 and tag[0] == tag[-1] == '"' else ""
    if _VERSION.fullmatch(value):
        return GivenBase(Base(version=int(value)))
    if _DIGEST.fullmatch(value):
        return GivenBase(Base(sha256=value))
    raise InvalidRequest("If-Match", _HOW)


BaseGiven = Annotated[GivenBase, Depends(_base_given)]
"""What the header ``If-Match`` says."""
