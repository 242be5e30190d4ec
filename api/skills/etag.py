"""``If-Match``: the state that a change was made from."""

import re
from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Header

from core.errors.requests import InvalidRequest
from skills.store.versions import BaseState

_TAG = re.compile(r"([0-9]{1,9})\.([0-9]{1,9})")
_DIGEST = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class IfMatch:
    """The state named by the header; the body may name a version too."""

    base: BaseState

    def with_version(self, version: int | None) -> BaseState:
        """The base, with the body's version, which must not contradict the header."""
        if version is None:
            return self.base
        if self.base.version not in {None, version}:
            raise InvalidRequest(
                "base_version", "The header If-Match names another version", "请求头 If-Match 指明的是另一个版本"
            )
        return BaseState(version, self.base.revision, self.base.file_sha256)


async def _skill_if_match(
    if_match: Annotated[str, Header(description="The `ETag` of a read of the skill.")] = "",
) -> IfMatch:
    tag = _tag(if_match)
    if tag is None:
        return IfMatch(BaseState())
    if match := _TAG.fullmatch(tag):
        return IfMatch(BaseState(version=int(match[1]), revision=int(match[2])))
    raise InvalidRequest(
        "If-Match",
        'Send the ETag of a read of the skill, such as "3.7", or *',
        '请发送读取技能时得到的 ETag，例如 "3.7"，或 *',
    )


async def _file_if_match(
    if_match: Annotated[str, Header(description="The `ETag` of a read of the file, or of the skill.")] = "",
) -> IfMatch:
    tag = _tag(if_match)
    if tag is not None and _DIGEST.fullmatch(tag):
        return IfMatch(BaseState(file_sha256=tag))
    return await _skill_if_match(if_match)


def _tag(if_match: str) -> str | None:
    """The quoted tag; empty if malformed, None for any state."""
    tag = if_match.strip()
    if tag in {"", "*"}:
        return None
    return tag[1:-1] if len(tag) > 1 and tag[0] == tag[-1] == '"' else ""


SkillIfMatch = Annotated[IfMatch, Depends(_skill_if_match)]
"""What the header ``If-Match`` says."""

FileIfMatch = Annotated[IfMatch, Depends(_file_if_match)]
"""The same where one file of a skill is changed."""
