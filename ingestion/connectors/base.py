"""The protocol of connectors, which read knowledge sources item by item."""

from abc import abstractmethod
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Protocol, TypeVar, runtime_checkable

from pydantic import BaseModel, ConfigDict, JsonValue, SecretStr

from core.errors.requests import UrlNotAllowed
from core.outbound.guard import OutboundGuard
from ingestion.parsers.format_support import OURS_ONLY, FormatSupport

_ResultT = TypeVar("_ResultT")
MOST_ITEMS = 20_000
"""Items of one source; a listing ends with ``SourceUnavailable`` beyond it."""


class ConnectorSettings(BaseModel):
    """Base of a connector's settings: unknown fields are refused, and nothing is coerced."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    @property
    @abstractmethod
    def place(self) -> str:
        """Where the source is, as lists of sources show it: an address or a path."""

    @property
    def credentials_target(self) -> str:
        """The address (scheme, host and port) that credentials are sent to; empty where there are none."""
        return ""


class ConnectorCredentials(BaseModel):
    """Base of a connector's credentials, all of them optional text; no representation or error shows a value."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, hide_input_in_errors=True)

    @property
    def values(self) -> dict[str, str]:
        """What is set, in plain text, by name."""
        fields = {name: getattr(self, name) for name in type(self).model_fields}
        return {
            name: value.get_secret_value() if isinstance(value, SecretStr) else str(value)
            for name, value in fields.items()
            if value is not None
        }


@dataclass(frozen=True)
class ReadFailure:
    """Why something could not be read, and what to do about it."""

    reason: str
    message: str
    message_zh: str
    next_action: str = ""
    next_action_zh: str = ""

    @property
    def words(self) -> dict[str, str]:
        """The JSON form for rows and responses."""
        return dict(vars(self))


class SourceUnavailable(Exception):
    """The source as a whole could not be read: its listing is incomplete, and nothing may be deleted by it."""

    def __init__(self, failure: ReadFailure) -> None:
        super().__init__(failure.reason)
        self.failure = failure


class ItemUnreadable(Exception):
    """One item could not be read; its document stays as it is."""

    def __init__(self, failure: ReadFailure) -> None:
        super().__init__(failure.reason)
        self.failure = failure


class ItemGone(Exception):
    """The item disappeared between its listing and its reading."""


@dataclass(frozen=True)
class KnownItem:
    """What the last sync knew of an item: the fingerprint of its document, and what the connector kept."""

    fingerprint: str
    state: Mapping[str, Any]


Readers = tuple[tuple[str, ...], ...]
"""Who may read an item: lists of identities (``email:``, ``person:`` or ``group:`` and a name), in each of which a reader
must be; no list: everybody in the source."""


@dataclass(frozen=True)
class SourceItem:
    """One file or page of a source.

    Args:
        key: stable in the source: a path, an address.
        name: of its document, with the ending by which it is parsed.
        fingerprint: changes with the contents.
        state: what the connector wants to know at the next sync, as JSON.
        content: the bytes, where the listing had to read them.
        failure: the item is there, and could not be read.
        attributes: metadata of its document; an empty one is taken away.
        readers: who may read it; None where the connector does not know.
    """

    key: str
    name: str
    fingerprint: str = ""
    state: Mapping[str, Any] = field(default_factory=dict[str, Any])
    content: bytes | None = None
    failure: ReadFailure | None = None
    attributes: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    readers: Readers | None = None


class SecretRotation(Protocol):
    """Credentials that their service may replace whenever they are used."""

    async def use(self, name: str, exchange: Callable[[str], Awaitable[tuple[_ResultT, str]]]) -> _ResultT:
        """The result of ``exchange``, which takes the credential and gives the one that is good from now on beside it.

        No other sync uses it meanwhile, and the next one is stored before this returns; raises LookupError where there
        is no such credential any more.
        """
        ...


@dataclass(frozen=True)
class ConnectorEnvironment:
    """What a connector may use.

    Args:
        guard: decides on every address that is connected to.
        folders: that the operator allows to be read.
        hidden_folder: never read, even inside an allowed one.
        max_bytes: of one item.
        find_known: an item as the last sync left it; None for a new one.
        credentials: of the source, as its connector's ``CREDENTIALS`` say.
        cache_folder: of this source alone, for what is worth keeping between syncs; it may be gone at any time.
        max_cache_bytes: what may be put there at once.
        reader_modules: of readers of LlamaIndex that the operator allows to be run.
        max_memory_bytes: that such a reader may hold.
        support: what the server reads beside the formats of our parsers.
        rotation: of credentials that are replaced when they are used; None where nothing is read.
    """

    guard: OutboundGuard
    folders: tuple[Path, ...]
    hidden_folder: Path
    max_bytes: int
    find_known: Callable[[str], Awaitable[KnownItem | None]]
    credentials: ConnectorCredentials | None = field(default=None, repr=False)
    cache_folder: Path | None = None
    max_cache_bytes: int = 2**30
    reader_modules: tuple[str, ...] = ()
    max_memory_bytes: int = 2**30
    support: FormatSupport = OURS_ONLY
    rotation: SecretRotation | None = field(default=None, repr=False)


class SourceConnector(Protocol):
    """Reads one source.

    ``NAME`` identifies it in rows and requests, ``SETTINGS`` is the schema of its settings, ``CREDENTIALS`` that of the
    secrets that it takes. A connector that is ``ADMINISTRATORS_ONLY`` reads what belongs to the server. What is missing
    from a listing is gone only where the connector ``LISTS_EVERYTHING``: a feed leaves out old entries that are as good
    as ever. ``is_cut`` says after a listing that a limit of the settings ended it.
    """

    NAME: ClassVar[str]
    SETTINGS: ClassVar[type[ConnectorSettings]]
    CREDENTIALS: ClassVar[type[ConnectorCredentials] | None]
    ADMINISTRATORS_ONLY: ClassVar[bool]
    LISTS_EVERYTHING: ClassVar[bool]
    is_cut: bool

    def __init__(self, settings: Any, environment: ConnectorEnvironment) -> None: ...  # noqa: ANN401

    async def check(self) -> None:
        """Refuse settings that can never be read, before they are stored: ``InvalidRequest`` or ``UrlNotAllowed``."""
        ...

    def items(self) -> AsyncGenerator[SourceItem]:
        """All items of the source; raises ``SourceUnavailable`` where the listing can't be complete."""
        ...

    def read(self, item: SourceItem) -> AsyncGenerator[bytes]:
        """An item's contents, at most ``max_bytes`` long; raises ``ItemUnreadable`` or ``ItemGone``."""
        ...


@runtime_checkable
class ConnectorWithNotice(Protocol):
    """A connector that has something to say of a listing that came to its end; None for nothing."""

    notice: ReadFailure | None


def too_large(size_limit: int) -> ReadFailure:
    """The failure of an item beyond the size of an upload."""
    return ReadFailure(
        "too_large",
        f"It is larger than {size_limit} bytes, the limit of an upload",
        f"超过单个上传的上限（{size_limit} 字节）",
        "Ask your operator for a larger AGENTEX_MAX_UPLOAD_BYTES, or exclude it",
        "请联系管理员提高 AGENTEX_MAX_UPLOAD_BYTES，或将其排除",
    )


def too_many_items() -> SourceUnavailable:
    """The refusal of a source beyond ``MOST_ITEMS``."""
    return SourceUnavailable(
        ReadFailure(
            "too_many_items",
            f"The source has more than {MOST_ITEMS} items",
            f"来源包含的条目超过 {MOST_ITEMS} 个",
            "Narrow it with include and exclude patterns, or divide it into several sources",
            "请用包含和排除模式缩小范围，或拆分为多个来源",
        )
    )


def not_allowed(error: UrlNotAllowed) -> ReadFailure:
    """The failure of an address that the outbound guard refuses."""
    return ReadFailure(
        "not_allowed",
        str(error.details.get("error", "")),
        str(error.details.get("error_zh", "")),
        "Ask your operator to list host:port of a private site in AGENTEX_ALLOWED_PRIVATE_TARGETS",
        "若为内网站点，请联系管理员将 host:port 加入 AGENTEX_ALLOWED_PRIVATE_TARGETS",
    )
