"""Tables of skills: catalogue, immutable versions, their bytes, and usage."""

from datetime import datetime
from enum import StrEnum
from typing import Any, ClassVar

from sqlalchemy import JSON, Index, LargeBinary, Text
from sqlmodel import Field

from core.db.base import Table
from core.db.types import ID_LENGTH, UtcDateTime, new_id, utc_now

NAME_LENGTH = 200
NAME_KEY_LENGTH = 600
SLUG_LENGTH = 64
LABEL_LENGTH = 100
"""Characters of a category or a tag."""
LABEL_KEY_LENGTH = 300
TERM_LENGTH = 64
DIGEST_LENGTH = 64


class SkillOrigin(StrEnum):
    """Where a skill comes from."""

    WRITTEN = "written"
    IMPORTED = "imported"
    FORKED = "forked"


class ReviewState(StrEnum):
    """Whether a version waits for a review, or its outcome."""

    NONE = "none"
    PENDING = "pending"
    APPROVED = "approved"
    REJECTED = "rejected"


class Skill(Table, table=True):
    """A skill in the catalogue; its content is in its versions.

    ``name``, ``description``, ``category`` and ``tags`` are the catalogue's: ``own_fields`` lists those that a request
    set, the others follow the content. ``version`` is the newest, ``served_version`` the one for readers while it is
    public or shared. ``trusted``: the newest version was read by the owner, see ``SkillVersion``. ``loads``: it has no
    errors. ``revision`` counts changes of the row.
    """

    SHARE_KIND: ClassVar[str] = "skill"

    id: str = Field(default_factory=new_id, primary_key=True, max_length=ID_LENGTH)
    owner_id: str = Field(foreign_key="user.id", max_length=ID_LENGTH)
    slug: str = Field(max_length=SLUG_LENGTH)
    name: str = Field(max_length=NAME_LENGTH)
    name_key: str = Field(max_length=NAME_KEY_LENGTH)
    description: str = Field(default="", sa_type=Text)
    category: str = Field(default="", max_length=LABEL_LENGTH)
    category_key: str = Field(default="", max_length=LABEL_KEY_LENGTH, index=True)
    tags: list[str] = Field(default_factory=list, sa_type=JSON)
    own_fields: list[str] = Field(default_factory=list, sa_type=JSON)
    is_public: bool = Field(default=False, index=True)
    enabled: bool = True
    version: int = 0
    served_version: int | None = None
    revision: int = 0
    loads: bool = True
    origin: str = Field(default=SkillOrigin.WRITTEN.value, max_length=20)
    trusted: bool = True
    forked_from: str | None = Field(default=None, max_length=ID_LENGTH)
    forked_version: int | None = None
    created_at: datetime = Field(default_factory=utc_now, sa_type=UtcDateTime)
    updated_at: datetime = Field(default_factory=utc_now, sa_type=UtcDateTime)

    __table_args__ = (
        Index("uq_skill_owner_slug", "owner_id", "slug", unique=True),
        Index("ix_skill_owner_updated", "owner_id", "updated_at"),
    )


class SkillTag(Table, table=True):
    """A tag of a skill, normalised for comparison."""

    skill_id: str = Field(foreign_key="skill.id", ondelete="CASCADE", primary_key=True, max_length=ID_LENGTH)
    tag_key: str = Field(primary_key=True, max_length=LABEL_KEY_LENGTH)

    __table_args__ = (Index("ix_skill_tag_key", "tag_key", "skill_id"),)


class SkillTerm(Table, table=True):
    """A search term of a skill, from its catalogue fields and triggers."""

    skill_id: str = Field(foreign_key="skill.id", ondelete="CASCADE", primary_key=True, max_length=ID_LENGTH)
    term: str = Field(primary_key=True, max_length=TERM_LENGTH)

    __table_args__ = (Index("ix_skill_term_term", "term", "skill_id"),)


class SkillBlob(Table, table=True):
    """Bytes of a content or file by SHA-256, shared by all versions."""

    skill_id: str = Field(foreign_key="skill.id", ondelete="CASCADE", primary_key=True, max_length=ID_LENGTH)
    sha256: str = Field(primary_key=True, max_length=DIGEST_LENGTH)
    size: int
    content: bytes = Field(sa_type=LargeBinary)


class SkillVersion(Table, table=True):
    """An immutable version; only its review and the moments it was first served are added later.

    ``files`` lists ``{path, sha256, size}`` by path. The parser ``parser_version`` derived the rest from the content:
    ``name`` to ``tools`` for lists and the agents' index, ``parsed`` the whole model, ``findings`` the diagnostic
    codes, as
    often as each occurs. ``tools`` is NULL if none are declared. ``row_bytes`` is the approximate size of the row.

    ``unread`` is true from an import, and for versions based on it, until the owner approves: no agent gets it.
    ``review`` is the decision, or that one is pending; ``published_at`` is when it was first served to others,
    ``public_at`` when to everybody.
    """

    skill_id: str = Field(foreign_key="skill.id", ondelete="CASCADE", primary_key=True, max_length=ID_LENGTH)
    version: int = Field(primary_key=True)
    content_sha256: str = Field(max_length=DIGEST_LENGTH)
    size: int
    row_bytes: int = 0
    files: list[dict[str, Any]] = Field(default_factory=list, sa_type=JSON)
    name: str = Field(default="", sa_type=Text)
    description: str = Field(default="", sa_type=Text)
    category: str = Field(default="", max_length=LABEL_LENGTH)
    tags: list[str] = Field(default_factory=list, sa_type=JSON)
    triggers: list[str] = Field(default_factory=list, sa_type=JSON)
    not_for: list[str] = Field(default_factory=list, sa_type=JSON)
    tools: list[str] | None = Field(default=None, sa_type=JSON(none_as_null=True))
    parsed: dict[str, Any] = Field(default_factory=dict, sa_type=JSON)
    findings: list[str] = Field(default_factory=list, sa_type=JSON)
    valid: bool
    publishable: bool
    portable: bool
    parser_version: str = Field(max_length=20)
    change_note: str = Field(default="", sa_type=Text)
    author_id: str | None = Field(
        default=None, foreign_key="user.id", ondelete="SET NULL", max_length=ID_LENGTH, index=True
    )
    restored_from: int | None = None
    unread: bool = False
    review: str = Field(default=ReviewState.NONE.value, max_length=20, index=True)
    review_note: str = Field(default="", sa_type=Text)
    reviewed_by: str | None = Field(
        default=None, foreign_key="user.id", ondelete="SET NULL", max_length=ID_LENGTH, index=True
    )
    reviewed_at: datetime | None = Field(default=None, sa_type=UtcDateTime)
    published_at: datetime | None = Field(default=None, sa_type=UtcDateTime)
    public_at: datetime | None = Field(default=None, sa_type=UtcDateTime)
    created_at: datetime = Field(default_factory=utc_now, sa_type=UtcDateTime)

    # Added up at every change, without reading what stands in the rows.
    __table_args__ = (Index("ix_skill_version_row_bytes", "skill_id", "row_bytes"),)


class SkillUsage(Table, table=True):
    """How often agents used a version.

    ``offered``: in a run's index; ``loaded``: text given to a model; ``completed``: last step reported done;
    ``denied``: refused a tool that it does not allow.
    """

    skill_id: str = Field(foreign_key="skill.id", ondelete="CASCADE", primary_key=True, max_length=ID_LENGTH)
    version: int = Field(primary_key=True)
    offered: int = 0
    loaded: int = 0
    completed: int = 0
    denied: int = 0
    last_used_at: datetime | None = Field(default=None, sa_type=UtcDateTime)


class SkillTriggerTest(Table, table=True):
    """A stored trigger test of a version; ``report`` is complete.

    Visible to its author only, since its answers may name skills that others do not see. ``model`` is the name at the
    endpoint, empty for the offline selector.
    """

    id: str = Field(default_factory=new_id, primary_key=True, max_length=ID_LENGTH)
    skill_id: str = Field(foreign_key="skill.id", ondelete="CASCADE", max_length=ID_LENGTH, index=True)
    user_id: str = Field(foreign_key="user.id", ondelete="CASCADE", max_length=ID_LENGTH, index=True)
    version: int
    model: str = Field(default="", sa_type=Text)
    report: dict[str, Any] = Field(default_factory=dict, sa_type=JSON)
    created_at: datetime = Field(default_factory=utc_now, sa_type=UtcDateTime)
