"""Reads multipart uploads as streams, with limits that hold before anything is stored."""

from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Awaitable,
    Callable,
    Collection,
    Generator,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from itertools import islice

from fastapi import Request
from starlette.datastructures import Headers, UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser

from core.errors import FileTooLarge, InvalidRequest, StorageFull
from kb_service.object_storage.local import DISK_FULL

_BLOCK = 256 * 1024
# Boundaries, headers and small form fields around the file.
_OVERHEAD = 64 * 1024
HEAD_BYTES = 8192
MOST_FILES = 1000
_SHOWN = 100
MULTIPART = "multipart/form-data"
STREAMS_BODY = "streams_body"
"""Key in a request's state: its route reads the body as a stream and limits it itself."""


@dataclass(frozen=True)
class SentForm:
    """A multipart form with one file.

    Args:
        file: the part named ``file``.
        fields: the other parts' text by name; the last one of a name counts.
    """

    file: UploadFile
    fields: Mapping[str, str]


@asynccontextmanager
async def one_file(
    request: Request, *, max_bytes: int, fields: Collection[str] = ()
) -> AsyncGenerator[SentForm]:
    """A multipart body with one part named ``file``, spooled to disk while it arrives.

    Args:
        request: has the body.
        max_bytes: of the file.
        fields: the names that other parts may have.

    Raises:
        InvalidRequest: not multipart, no file, more than one, or a part of another name.
        FileTooLarge: more bytes than allowed; reading stops there.
    """
    _check_head(request, max_bytes)
    setattr(request.state, STREAMS_BODY, True)
    stream = _bounded(request, max_bytes + _OVERHEAD, max_bytes)
    with _told_to_callers():
        form = await MultiPartParser(
            request.headers, stream, max_files=1, max_fields=20, max_part_size=_OVERHEAD
        ).parse()
    try:
        _check_names(form.multi_items(), fields)
        file = form.get("file")
        if not isinstance(file, UploadFile):
            raise InvalidRequest("file", "Send one part named file, with a file name")
        yield SentForm(file, {k: text for k, text in form.multi_items() if isinstance(text, str)})
    finally:
        await form.close()


def _check_kind(request: Request) -> None:
    if not request.headers.get("content-type", "").lower().startswith(MULTIPART):
        raise InvalidRequest("file", "Send multipart/form-data with one part named file")


def _check_names(items: Iterable[tuple[str, UploadFile | str]], fields: Collection[str]) -> None:
    """Refuse a misspelt field, which would be passed over without a word."""
    known = sorted({"file", *fields})
    for name, _ in items:
        if name not in known:
            # What a charset of the sender's makes of it may be no text at all.
            shown = name[:_SHOWN].encode(errors="replace").decode()
            raise InvalidRequest(shown, f"Unknown form field: use {', '.join(known)}")


def _check_head(request: Request, max_bytes: int) -> None:
    _check_kind(request)
    declared = request.headers.get("content-length", "")
    if declared.isdigit() and int(declared) > max_bytes + _OVERHEAD:
        raise FileTooLarge(max_bytes=max_bytes)


@dataclass(frozen=True)
class SentFile:
    """One file of a form with many.

    Args:
        file: spooled to disk, closed when the next one comes.
        fields: the form's text fields that came before it.
        is_too_large: it has more bytes than allowed, and those were not kept.
    """

    file: UploadFile
    fields: Mapping[str, str]
    is_too_large: bool


class _OneByOne(MultiPartParser):
    """Keeps no more of a file than is allowed; the files are taken from it as they end."""

    def __init__(self, headers: Headers, stream: AsyncGenerator[bytes], *, max_bytes: int) -> None:
        super().__init__(
            headers, stream, max_files=MOST_FILES, max_fields=20, max_part_size=_OVERHEAD
        )
        self._max_bytes = max_bytes

    def on_part_data(self, data: bytes, start: int, end: int) -> None:
        """Pass over what is beyond the limit."""
        file = self._current_part.file
        if file is None or (file.size or 0) <= self._max_bytes:
            super().on_part_data(data, start, end)


async def each_file(
    request: Request, take: Callable[[SentFile], Awaitable[None]], *, max_bytes: int
) -> None:
    """Hand over the parts named ``file`` of a multipart body one by one, as each has arrived.

    Raises:
        InvalidRequest: not multipart, more than 1,000 files, or a part of another name; what had
            arrived before was handed over.
        StorageFull: no room to spool a file; what came before was handed over.
    """

    async def take_one(few: Sequence[SentFile]) -> None:
        await take(few[0])

    await few_files(request, take_one, most=1, max_bytes=max_bytes)


async def few_files(
    request: Request,
    take: Callable[[Sequence[SentFile]], Awaitable[None]],
    *,
    most: int,
    max_bytes: int,
    fields: Collection[str] = (),
) -> None:
    """Hand over the parts named ``file`` of a multipart body a few at a time.

    Args:
        request: has the body.
        take: is given those that have arrived, in their order, at least one.
        most: how many of them at the most.
        max_bytes: of a file.
        fields: the names that other parts may have.

    Raises:
        InvalidRequest: as ``each_file`` does.
        StorageFull: likewise.
    """
    _check_kind(request)
    setattr(request.state, STREAMS_BODY, True)
    sent: dict[str, str] = {}

    async def hand_over() -> None:
        # The parser has taken in all that was given to it: files among its items are whole.
        items, parser.items = parser.items, []
        files = [value for _, value in items if isinstance(value, UploadFile)]
        try:
            _check_names(items, fields)
            for few in _parted(_arrived(items, sent, max_bytes), most):
                await take(few)
        finally:
            for file in files:
                await file.close()

    async def blocks() -> AsyncGenerator[bytes]:
        async for block in request.stream():
            yield block
            await hand_over()

    parser = _OneByOne(request.headers, blocks(), max_bytes=max_bytes)
    with _told_to_callers():
        await parser.parse()
        await hand_over()


def _arrived(
    items: Iterable[tuple[str, UploadFile | str]], fields: dict[str, str], max_bytes: int
) -> Iterator[SentFile]:
    for name, value in items:
        if isinstance(value, str):
            fields[name] = value
        elif name == "file":
            yield SentFile(value, dict(fields), (value.size or 0) > max_bytes)


def _parted(files: Iterator[SentFile], most: int) -> Iterator[list[SentFile]]:
    while few := list(islice(files, most)):
        yield few


@contextmanager
def _told_to_callers() -> Generator[None]:
    try:
        yield
    except (MultiPartException, KeyError, UnicodeDecodeError) as error:
        raise InvalidRequest("file", "The multipart body can't be read") from error
    except OSError as error:
        if error.errno in DISK_FULL:
            raise StorageFull from error
        raise


async def _bounded(request: Request, limit: int, max_bytes: int) -> AsyncGenerator[bytes]:
    size = 0
    async for block in request.stream():
        size += len(block)
        if size > limit:
            raise FileTooLarge(max_bytes=max_bytes)
        yield block


async def read_blocks(file: UploadFile) -> AsyncIterator[bytes]:
    """The file from its start, in blocks of 256 KiB."""
    await file.seek(0)
    while block := await file.read(_BLOCK):
        yield block


async def read_whole(file: UploadFile) -> bytes:
    """All of a small file."""
    await file.seek(0)
    return await file.read()


async def read_head(file: UploadFile) -> bytes:
    """The first bytes, by which its type is told."""
    await file.seek(0)
    return await file.read(HEAD_BYTES)
