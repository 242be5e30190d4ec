"""Streaming reader of multipart uploads, with limits that apply before anything is stored."""

from collections.abc import (
    AsyncGenerator,
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
from math import inf
from tempfile import SpooledTemporaryFile
from typing import BinaryIO, cast

from fastapi import Request
from starlette.datastructures import Headers, UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser

from core.errors.requests import FileTooLarge, InvalidRequest, RequestTooLarge
from core.errors.server import StorageFull
from kb_service.object_storage.local import DISK_FULL

_BLOCK = 256 * 1024
# Boundaries, headers and small form fields around the file.
_OVERHEAD = 64 * 1024
HEAD_BYTES = 8192
MOST_FILES = 1000
_MOST_FIELDS = 20
MOST_BODY_BYTES = 4 * 1024**3
"""Of a form with many files: it is on disk as a whole for a while, as an import is."""
_IN_MEMORY_BYTES = 1024**2
_SHOWN = 100
MULTIPART = "multipart/form-data"
STREAMS_BODY = "streams_body"
"""Key in a request's state: its route reads the body as a stream and limits it itself."""


@dataclass(frozen=True)
class FileForm:
    """A multipart form with one file, and its other parts' text by name; the last one of a name counts."""

    file: UploadFile
    fields: Mapping[str, str]


@asynccontextmanager
async def single_file_form(
    request: Request, *, max_bytes: int, fields: Collection[str] = ()
) -> AsyncGenerator[FileForm]:
    """A multipart body with one part named ``file`` (of at most ``max_bytes``), spooled to disk while it arrives.

    Only ``fields`` may be other parts. Beyond the limit reading stops with ``FileTooLarge``.
    """
    _check_head(request, max_bytes)
    setattr(request.state, STREAMS_BODY, True)
    stream = _bounded(request, max_bytes + _OVERHEAD, max_bytes)
    with _translated_errors():
        form = await _LimitedParser(request.headers, stream, most_files=1).parse()
    try:
        _check_names(form.multi_items(), fields)
        file = form.get("file")
        if not isinstance(file, UploadFile):
            raise missing_file(many=False)
        yield FileForm(file, {k: text for k, text in form.multi_items() if isinstance(text, str)})
    finally:
        await form.close()


def _check_kind(request: Request) -> None:
    if not request.headers.get("content-type", "").lower().startswith(MULTIPART):
        error = "Send multipart/form-data with a part named file"
        raise InvalidRequest("file", error, "请用 multipart/form-data 发送名为 file 的部分")


def missing_file(*, many: bool) -> InvalidRequest:
    """The error for a form without a part named ``file``."""
    words = "at least one part" if many else "one part"
    zh = f"请发送{'至少' if many else ''}一个名为 file 且带文件名的部分"
    return InvalidRequest("file", f"Send {words} named file, with a file name", zh)


def _check_names(items: Iterable[tuple[str, UploadFile | str]], fields: Collection[str]) -> None:
    """Refuse unknown fields, which would be ignored silently."""
    allowed = sorted({"file", *fields})
    for name, _ in items:
        if name not in allowed:
            names = ", ".join(allowed)
            error = f"Unknown form field: use {names}"
            raise InvalidRequest(_printable(name), error, f"没有这个表单字段，可用的字段：{names}")


def _printable(name: str) -> str:
    # What a charset of the sender's makes of it may be no text at all.
    return name[:_SHOWN].encode(errors="replace").decode()


def _check_head(request: Request, max_bytes: int) -> None:
    _check_kind(request)
    if _declared_bytes(request) > max_bytes + _OVERHEAD:
        raise FileTooLarge(max_bytes=max_bytes)


def _declared_bytes(request: Request) -> int:
    declared = request.headers.get("content-length", "")
    return int(declared) if declared.isdigit() else 0


@dataclass(frozen=True)
class FormFile:
    """One file of a form with many, closed when the next one comes, and the text fields before it.

    ``is_too_large``: bytes beyond the limit were dropped.
    """

    file: UploadFile
    fields: Mapping[str, str]
    is_too_large: bool


class _LimitedParser(MultiPartParser):
    """A form with at most so many files."""

    def __init__(
        self,
        headers: Headers,
        stream: AsyncGenerator[bytes],
        *,
        most_files: int = MOST_FILES,
        most_fields: int = _MOST_FIELDS,
    ) -> None:
        super().__init__(headers, stream, max_files=inf, max_fields=most_fields, max_part_size=_OVERHEAD)
        self._most_files = most_files

    def on_headers_finished(self) -> None:
        super().on_headers_finished()
        if self._current_files > self._most_files:
            most = self._most_files
            words = "one file" if most == 1 else f"at most {most} files"
            zh = f"一个请求最多发送 {most} 个文件"
            raise InvalidRequest("file", f"Send {words} in a request", zh)


class _StreamingParser(_LimitedParser):
    """Keeps no more of a file than is allowed; the files are taken from it as they end."""

    def __init__(self, headers: Headers, stream: AsyncGenerator[bytes], *, max_bytes: int) -> None:
        # Each file may have fields of its own.
        super().__init__(headers, stream, most_fields=_MOST_FIELDS + 2 * MOST_FILES)
        self.max_bytes = max_bytes
        self._is_whole = False

    def on_part_data(self, data: bytes, start: int, end: int) -> None:
        file = self._current_part.file
        if file is None or (file.size or 0) <= self.max_bytes:
            super().on_part_data(data, start, end)

    def on_end(self) -> None:
        self._is_whole = True

    def check_end(self) -> None:
        if not self._is_whole:
            raise MultiPartException("The form has no end.")
        if self._current_files and self._current_part.file is None:
            name = _printable(self._current_part.field_name)
            error = "Send this field before the files that it is for"
            raise InvalidRequest(name, error, "请把该字段写在它所对应的文件之前")


async def read_files(request: Request, take: Callable[[FormFile], Awaitable[None]], *, max_bytes: int) -> None:
    """Yield the parts named ``file``, at most 1,000, of a multipart body one by one, as each has arrived.

    Files before an error were yielded.
    """
    _check_kind(request)
    setattr(request.state, STREAMS_BODY, True)

    async def take_one(few: Sequence[FormFile]) -> None:
        await take(few[0])

    with _translated_errors():
        files = _StreamingParser(request.headers, _blocks(request), max_bytes=max_bytes)
        await _hand_over(files, take_one, most=1)


async def read_file_batches(
    request: Request,
    take: Callable[[Sequence[FormFile]], Awaitable[None]],
    *,
    most: int,
    max_bytes: int,
    fields: Collection[str] = (),
) -> None:
    """Pass on the parts named ``file``, at most 1,000, of a multipart body in batches of ``most``, in their order.

    The body is read to its end first: nothing of a refused form is passed on, except if there is no room to spool a
    file.
    """
    _check_kind(request)
    limit = max(MOST_BODY_BYTES, max_bytes + _OVERHEAD)
    if _declared_bytes(request) > limit:
        raise RequestTooLarge(max_bytes=limit)
    setattr(request.state, STREAMS_BODY, True)
    with _translated_errors(), SpooledTemporaryFile(max_size=_IN_MEMORY_BYTES) as spool:
        body = UploadFile(cast(BinaryIO, spool), size=0)
        # First only the names count: of the files no more than a beginning is kept.
        names = _StreamingParser(request.headers, _spooled(request, body, limit), max_bytes=0)
        await _hand_over(names, _pass_over, most=MOST_FILES, fields=fields)
        files = _StreamingParser(request.headers, read_blocks(body), max_bytes=max_bytes)
        await _hand_over(files, take, most=most, fields=fields)


async def _spooled(request: Request, body: UploadFile, limit: int) -> AsyncGenerator[bytes]:
    async for block in request.stream():
        if (body.size or 0) + len(block) > limit:
            raise RequestTooLarge(max_bytes=limit)
        await body.write(block)
        yield block


async def _blocks(request: Request) -> AsyncGenerator[bytes]:
    async for block in request.stream():
        yield block


async def _pass_over(_few: Sequence[FormFile]) -> None:
    pass


async def _hand_over(
    form: _StreamingParser,
    take: Callable[[Sequence[FormFile]], Awaitable[None]],
    *,
    most: int,
    fields: Collection[str] = (),
) -> None:
    sent: dict[str, str] = {}

    async def take_arrived() -> None:
        # The parser has taken in all that was given to it: files among its items are whole.
        items, form.items = form.items, []
        files = [value for _, value in items if isinstance(value, UploadFile)]
        try:
            _check_names(items, fields)
            for few in _parted(_arrived(items, sent, form.max_bytes), most):
                await take(few)
        finally:
            for file in files:
                await file.close()

    async def watched(stream: AsyncGenerator[bytes]) -> AsyncGenerator[bytes]:
        async for block in stream:
            yield block
            await take_arrived()

    form.stream = watched(form.stream)
    await form.parse()
    await take_arrived()
    form.check_end()


def _arrived(
    items: Iterable[tuple[str, UploadFile | str]], fields: dict[str, str], max_bytes: int
) -> Iterator[FormFile]:
    for name, value in items:
        if isinstance(value, str):
            fields[name] = value
        elif name == "file":
            yield FormFile(value, dict(fields), (value.size or 0) > max_bytes)


def _parted(files: Iterator[FormFile], most: int) -> Iterator[list[FormFile]]:
    while few := list(islice(files, most)):
        yield few


@contextmanager
def _translated_errors() -> Generator[None]:
    try:
        yield
    except (MultiPartException, KeyError, UnicodeDecodeError) as error:
        zh = "multipart 请求体无法读取"
        raise InvalidRequest("file", "The multipart body can't be read", zh) from error
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


async def read_blocks(file: UploadFile) -> AsyncGenerator[bytes]:
    """The file from its start, in blocks of 256 KiB."""
    await file.seek(0)
    while block := await file.read(_BLOCK):
        yield block


async def read_head(file: UploadFile) -> bytes:
    """The first bytes, which tell the file's type."""
    await file.seek(0)
    return await file.read(HEAD_BYTES)
