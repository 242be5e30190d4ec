"""What a worker and the child that runs a reader send to each other: JSON headers, and texts as they are."""

from typing import Literal, TypedDict

ReadMode = Literal["auto", "load_data", "resources"]


class ReaderRequest(TypedDict):
    """What to run; ``most_bytes`` bounds one text."""

    reader: str
    arguments: dict[str, object]
    load_arguments: dict[str, object]
    read: ReadMode
    most_bytes: int


class DocumentHeader(TypedDict):
    """A document of a reader; a text of ``size`` bytes follows, or none where that is too large.

    ``resource`` is empty for what comes from no resource. ``permissions`` is what the reader says of who may read it, None
    where it knows nothing of permissions at all.
    """

    kind: Literal["document"]
    id: str
    resource: str
    metadata: dict[str, object]
    permissions: dict[str, list[str]] | None
    size: int
    is_too_large: bool


class ResourceFailure(TypedDict):
    """A resource that the reader could not load; ``error`` is the kind of the exception, empty for no documents."""

    kind: Literal["resource_failure"]
    resource: str
    permissions: dict[str, list[str]] | None
    error: str


class ReaderFailure(TypedDict):
    """Why the reader does not work; ``detail`` is no text of an exception of its own, which could hold anything."""

    kind: Literal["failure"]
    reason: Literal["missing", "no_reader", "no_resources", "wrong_arguments", "failed"]
    detail: str


class ReaderEnd(TypedDict):
    """All documents have come."""

    kind: Literal["end"]


Header = DocumentHeader | ResourceFailure | ReaderFailure | ReaderEnd
