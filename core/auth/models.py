"""Tables of accounts and credentials."""

from datetime import datetime
from enum import StrEnum

from sqlalchemy import JSON, CheckConstraint, Index, Text, false
from sqlmodel import Field

from core.db.base import Table
from core.db.types import ID_LENGTH, UtcDateTime, new_id, utc_now
from core.time_zones import LONGEST_NAME


class UserStatus(StrEnum):
    """State of an account; a deleted one is a row that waits for the removal of its belongings."""

    ACTIVE = "active"
    DISABLED = "disabled"
    DELETED = "deleted"


class Role(Table, table=True):
    """A named set of permissions."""

    id: str = Field(default_factory=new_id, primary_key=True, max_length=ID_LENGTH)
    name: str = Field(max_length=50, unique=True)
    display_name: str = Field(max_length=100)
    permissions: list[str] = Field(sa_type=JSON)
    built_in: bool = False


class User(Table, table=True):
    """An account; the ``*_key`` columns hold the form that must be unique (``look_alikes``).

    ``time_zone`` is an IANA name. ``use_memories`` lets runs read and add memories of the owner;
    ``remember_after_runs`` lets finished runs be searched for things to remember.
    ``email_verified``: an administrator or the identity provider vouches that the address is theirs, so that what is
    for the address is for the account. ``granted`` and ``revoked`` are permissions added to and removed from the role's.
    ``model_access`` and ``mcp_access`` are the only models and MCP connections that it may use;
    None leaves that to the models and connections.
    """

    id: str = Field(default_factory=new_id, primary_key=True, max_length=ID_LENGTH)
    username: str = Field(max_length=64)
    username_key: str = Field(max_length=192, unique=True)
    email: str = Field(max_length=254)
    email_key: str = Field(max_length=254, unique=True)
    email_verified: bool = Field(default=False, sa_column_kwargs={"server_default": false()})
    password_hash: str = Field(max_length=255)
    avatar_url: str | None = Field(default=None, max_length=2000)
    role_id: str = Field(foreign_key="role.id", max_length=ID_LENGTH)
    status: str = Field(default=UserStatus.ACTIVE.value, max_length=20)
    granted: list[str] = Field(default_factory=list, sa_type=JSON, sa_column_kwargs={"server_default": "[]"})
    revoked: list[str] = Field(default_factory=list, sa_type=JSON, sa_column_kwargs={"server_default": "[]"})
    model_access: list[str] | None = Field(default=None, sa_type=JSON)
    mcp_access: list[str] | None = Field(default=None, sa_type=JSON)
    time_zone: str | None = Field(default=None, max_length=LONGEST_NAME)
    use_memories: bool = True
    remember_after_runs: bool = False
    created_at: datetime = Field(default_factory=utc_now, sa_type=UtcDateTime)
    last_login_at: datetime | None = Field(default=None, sa_type=UtcDateTime)


class TokenFamily(Table, table=True):
    """One login and all tokens that descend from it by refreshing."""

    id: str = Field(default_factory=new_id, primary_key=True, max_length=ID_LENGTH)
    user_id: str = Field(foreign_key="user.id", ondelete="CASCADE", max_length=ID_LENGTH, index=True)
    current_token_id: str = Field(max_length=ID_LENGTH)
    created_at: datetime = Field(default_factory=utc_now, sa_type=UtcDateTime)
    expires_at: datetime = Field(sa_type=UtcDateTime, index=True)
    revoked_at: datetime | None = Field(default=None, sa_type=UtcDateTime)


class ApiKey(Table, table=True):
    """A key for programs; only its hash is stored.

    ``scopes`` are the most permissions it has, NULL for all of its account. ``made_with`` is the
    key that it was created with, NULL for one created with a login.
    """

    id: str = Field(default_factory=new_id, primary_key=True, max_length=ID_LENGTH)
    user_id: str = Field(foreign_key="user.id", ondelete="CASCADE", max_length=ID_LENGTH, index=True)
    name: str = Field(max_length=100)
    key_hash: str = Field(max_length=64, unique=True)
    key_prefix: str = Field(max_length=20)
    # SQL's NULL for none: JSON would store the word.
    scopes: list[str] | None = Field(default=None, sa_type=JSON(none_as_null=True))
    created_at: datetime = Field(default_factory=utc_now, sa_type=UtcDateTime)
    expires_at: datetime | None = Field(default=None, sa_type=UtcDateTime)
    last_used_at: datetime | None = Field(default=None, sa_type=UtcDateTime)
    made_with: str | None = Field(default=None, max_length=ID_LENGTH, index=True)


class OidcIdentity(Table, table=True):
    """A person at an OpenID Connect provider, and their account."""

    id: str = Field(default_factory=new_id, primary_key=True, max_length=ID_LENGTH)
    user_id: str = Field(foreign_key="user.id", ondelete="CASCADE", max_length=ID_LENGTH, index=True)
    issuer: str = Field(max_length=500)
    subject: str = Field(max_length=255)
    created_at: datetime = Field(default_factory=utc_now, sa_type=UtcDateTime)

    __table_args__ = (Index("uq_oidc_identity", "issuer", "subject", unique=True),)


class OidcAttempt(Table, table=True):
    """A sign-in whose person is at the provider; ``*_digest`` are hashes of secrets that only they have."""

    state_digest: str = Field(primary_key=True, max_length=64)
    browser_digest: str = Field(max_length=64)
    nonce: str = Field(max_length=64)
    verifier: str = Field(max_length=64)
    path: str = Field(max_length=500)
    port: int | None = None
    challenge: str | None = Field(default=None, max_length=64)
    expires_at: datetime = Field(sa_type=UtcDateTime, index=True)


class OidcTicket(Table, table=True):
    """A sign-in that is authenticated but has no tokens yet; ``code_digest`` is the hash of its code."""

    code_digest: str = Field(primary_key=True, max_length=64)
    user_id: str = Field(foreign_key="user.id", ondelete="CASCADE", max_length=ID_LENGTH, index=True)
    proof_digest: str = Field(max_length=64)
    expires_at: datetime = Field(sa_type=UtcDateTime, index=True)


class Share(Table, table=True):
    """A share of an object with a user or a role; one of the two is set.

    ``kind`` is the object's ``SHARE_KIND``, ``access`` is ``read`` or ``write``.
    """

    id: str = Field(default_factory=new_id, primary_key=True, max_length=ID_LENGTH)
    kind: str = Field(max_length=50)
    resource_id: str = Field(max_length=ID_LENGTH)
    user_id: str | None = Field(
        default=None, foreign_key="user.id", ondelete="CASCADE", max_length=ID_LENGTH, index=True
    )
    role_id: str | None = Field(
        default=None, foreign_key="role.id", ondelete="CASCADE", max_length=ID_LENGTH, index=True
    )
    access: str = Field(max_length=10)
    created_at: datetime = Field(default_factory=utc_now, sa_type=UtcDateTime)

    __table_args__ = (
        CheckConstraint("(user_id IS NULL) <> (role_id IS NULL)", name="one_subject"),
        Index("uq_share_user", "kind", "resource_id", "user_id", unique=True),
        Index("uq_share_role", "kind", "resource_id", "role_id", unique=True),
    )


class StoredSigningKey(Table, table=True):
    """An RSA key pair that signs tokens; the private half is encrypted."""

    id: str = Field(primary_key=True, max_length=ID_LENGTH)
    sealed_private_pem: str = Field(sa_type=Text)
    public_pem: str = Field(sa_type=Text)
    created_at: datetime = Field(default_factory=utc_now, sa_type=UtcDateTime)
    retired_at: datetime | None = Field(default=None, sa_type=UtcDateTime)
