"""The child that runs a reader, started by ``reader_process`` as a file: the packages around it take long to load."""

from __future__ import annotations

import asyncio
import ctypes
import inspect
import json
import os
import resource
import signal
import struct
import sys
from collections.abc import AsyncIterable, Iterable, Iterator
from importlib import import_module
from typing import TYPE_CHECKING, Any, BinaryIO, cast

if TYPE_CHECKING:
    from ingestion.connectors.llama_index.wire import (
        DocumentHeader,
        Header,
        ReaderFailure,
        ReaderRequest,
        ResourceFailure,
    )

LENGTH = struct.Struct(">I")
"""The length of the header that follows it."""
MOST_HEADER_BYTES = 2**20
_PR_SET_PDEATHSIG = 1
_LONGEST_TEXT = 8192
_MOST_KEYS = 200
_MOST_PERMISSION_TEXT = 100_000


class ReaderUnusable(Exception):
    """The reader does not work."""

    def __init__(self, failure: ReaderFailure) -> None:
        super().__init__(failure["reason"], failure["detail"])
        self.failure = failure


def main() -> None:
    """Run one reader and send what it gives."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    request, replies = _private_pipes()
    try:
        _run(request, replies)
        _send(replies, {"kind": "end"})
    except ReaderUnusable as error:
        _send(replies, error.failure)
    # The edge of a process: its words could hold secrets or texts, its kind does not.
    except Exception as error:  # noqa: BLE001
        _send(replies, _failure("failed", type(error).__name__).failure)


def _private_pipes() -> tuple[ReaderRequest, BinaryIO]:
    """What to do, and the pipe to the worker, moved away from where a reader might print."""
    request = json.loads(sys.stdin.buffer.read())
    replies = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    nowhere = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(nowhere, standard)
    return request, replies


def _run(request: ReaderRequest, replies: BinaryIO) -> None:
    reader = make_reader(request["reader"], request["arguments"])
    last_resource, permissions = "", permissions_of(reader, "")
    for resource_id, document in load_documents(reader, request, replies):
        if resource_id != last_resource:
            last_resource, permissions = resource_id, permissions_of(reader, resource_id)
        text = str(getattr(document, "text", "") or "").encode(errors="replace")
        is_too_large = len(text) > request["most_bytes"]
        header: DocumentHeader = {
            "kind": "document",
            "id": str(getattr(document, "id_", ""))[:_LONGEST_TEXT],
            "resource": resource_id[:_LONGEST_TEXT],
            "metadata": _plain(getattr(document, "metadata", None)),
            "permissions": permissions,
            "size": 0 if is_too_large else len(text),
            "is_too_large": is_too_large,
        }
        _send(replies, header, b"" if is_too_large else text)


def make_reader(path: str, arguments: dict[str, object]) -> Any:  # noqa: ANN401
    """The reader of a dotted path; raises ``ReaderUnusable``."""
    module, _, name = path.rpartition(".")
    try:
        reader_class = getattr(import_module(module), name, None)
    except ImportError as error:
        raise _failure("missing", error.name or module) from error
    # Slow to load, and only a child needs it.
    from llama_index.core.readers.base import BaseReader  # noqa: PLC0415

    if not (inspect.isclass(reader_class) and issubclass(reader_class, BaseReader)):
        raise _failure("no_reader", path)
    _check_arguments(reader_class, arguments)
    return reader_class(**arguments)


def _check_arguments(call: Any, arguments: dict[str, object]) -> None:  # noqa: ANN401
    try:
        signature = inspect.signature(call)
    except (TypeError, ValueError):
        return
    try:
        signature.bind(**arguments)
    except TypeError as error:
        # It names arguments, and no values.
        raise _failure("wrong_arguments", str(error)) from error


def load_documents(reader: Any, request: ReaderRequest, replies: BinaryIO) -> Iterator[tuple[str, Any]]:  # noqa: ANN401
    """Resources and documents, as lazily as the reader can; raises ``ReaderUnusable``."""
    from llama_index.core.readers.base import ResourcesReaderMixin  # noqa: PLC0415

    has_resources = isinstance(reader, ResourcesReaderMixin)
    if request["read"] == "resources" and not has_resources:
        raise _failure("no_resources", request["reader"])
    arguments = request["load_arguments"]
    if has_resources and (request["read"] == "resources" or (request["read"] == "auto" and not arguments)):
        yield from _load_resources(reader, arguments, replies)
    else:
        yield from (("", document) for document in _load(reader, arguments))


def _load_resources(reader: Any, arguments: dict[str, object], replies: BinaryIO) -> Iterator[tuple[str, Any]]:  # noqa: ANN401
    for resource_id in map(str, reader.list_resources()):
        documents: list[Any] = []
        error = ""
        try:
            documents = list(reader.load_resource(resource_id, **arguments))
        except Exception as caught:  # noqa: BLE001 - a resource fails alone, whatever it is
            error = type(caught).__name__
        if not documents:
            failure: ResourceFailure = {
                "kind": "resource_failure",
                "resource": resource_id[:_LONGEST_TEXT],
                "permissions": permissions_of(reader, resource_id),
                "error": error,
            }
            _send(replies, failure)
        yield from ((resource_id, document) for document in documents)


def permissions_of(reader: Any, resource_id: str) -> dict[str, list[str]] | None:  # noqa: ANN401
    """What a reader says of who may read a resource; None for a reader that knows nothing of permissions.

    Empty where it fails, for what is no resource, and for more than a header may hold.
    """
    from llama_index.core.readers.base import ResourcesReaderMixin  # noqa: PLC0415

    calls = ("get_permission_info", "aget_permission_info")
    reader_class = cast("type[Any]", type(reader))
    own = [name for name in calls if getattr(reader_class, name, None) is not getattr(ResourcesReaderMixin, name)]
    if not (isinstance(reader, ResourcesReaderMixin) and own):
        return None
    if not resource_id:
        return {}
    try:
        answer: Any = getattr(reader, own[0])(resource_id)
        info = asyncio.run(_awaited(answer)) if inspect.isawaitable(answer) else answer
        return _names_by_key(info)
    except Exception:  # noqa: BLE001 - what it can't say, nobody may read
        return {}


def _names_by_key(info: object) -> dict[str, list[str]]:
    if not isinstance(info, dict):
        return {}
    names: dict[str, list[str]] = {}
    size = 0
    for key, value in cast("dict[object, object]", info).items():
        items = cast("Iterable[object]", value) if isinstance(value, list | tuple | set | frozenset) else [value]
        names[str(key)] = [str(item) for item in items if item is not None]
        size += sum(map(len, names[str(key)]))
    return names if size < _MOST_PERMISSION_TEXT else {}


def _load(reader: Any, arguments: dict[str, object]) -> Iterable[Any]:  # noqa: ANN401
    """The documents by the first of LlamaIndex's four calls that the reader has of its own."""
    from llama_index.core.readers.base import BaseReader  # noqa: PLC0415

    for name in ("lazy_load_data", "alazy_load_data", "load_data", "aload_data"):
        if getattr(cast("type[Any]", type(reader)), name) is not getattr(BaseReader, name):
            break
    else:
        raise _failure("no_reader", type(reader).__name__)
    load = getattr(reader, name)
    _check_arguments(load, arguments)
    result = load(**arguments)
    if isinstance(result, AsyncIterable):
        return _synchronous(cast("AsyncIterable[Any]", result))
    if inspect.isawaitable(result):
        result = asyncio.run(_awaited(result))
    return cast("Iterable[Any]", result)


async def _awaited(result: Any) -> Any:  # noqa: ANN401
    value = await result
    return [item async for item in cast("AsyncIterable[Any]", value)] if isinstance(value, AsyncIterable) else value


def _synchronous(result: AsyncIterable[Any]) -> Iterator[Any]:
    with asyncio.Runner() as runner:
        iterator = aiter(result)
        while True:
            try:
                yield runner.run(anext(iterator))  # type: ignore[arg-type]
            except StopAsyncIteration:
                return


def _plain(metadata: object) -> dict[str, object]:
    """Metadata as JSON can have it: texts, numbers, booleans and lists of texts."""
    if not isinstance(metadata, dict):
        return {}
    values: dict[str, object] = {}
    for key, value in list(cast("dict[object, object]", metadata).items())[:_MOST_KEYS]:
        if value is not None:
            values[str(key)[:_LONGEST_TEXT]] = _plain_value(value)
    return values


def _plain_value(value: object) -> object:
    if isinstance(value, bool | int | float):
        return value
    if isinstance(value, list | tuple):
        items = list(cast("Iterable[object]", value))
        if all(isinstance(item, str) for item in items):
            return [str(item)[:_LONGEST_TEXT] for item in items[:_MOST_KEYS]]
    return str(cast("object", value))[:_LONGEST_TEXT]


def _failure(reason: Any, detail: str) -> ReaderUnusable:  # noqa: ANN401
    return ReaderUnusable({"kind": "failure", "reason": reason, "detail": detail[:300]})


def _send(replies: BinaryIO, header: Header, text: bytes = b"") -> None:
    body = json.dumps(header).encode()
    if len(body) > MOST_HEADER_BYTES:
        body = json.dumps({**header, "metadata": {}}).encode()
    replies.write(LENGTH.pack(len(body)) + body + text)
    replies.flush()


if __name__ == "__main__":
    main()
