"""Small files of ``agentex ingest`` go together: a request costs more than what is in them."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeVar

from cli.client.api import ApiClient
from cli.client.schemas import BatchFileRecord, BatchRecord, BatchRefusal, DocumentRecord
from cli.client.uploads import SentFiles
from cli.commands.ingest.local_files import CountedFile
from cli.errors import ServerRefused
from core.errors import ErrorCode

# So many are answered for in a moment, and their progress is still to be seen.
_MOST_FILES = 32
_SMALL_BYTES = 64 * 1024
_MOST_BYTES = 512 * 1024


class _Sized(Protocol):
    @property
    def size(self) -> int | None:
        """In bytes; None where it can't be told."""
        ...


_T = TypeVar("_T", bound=_Sized)


@dataclass(frozen=True)
class Outgoing:
    """A file to upload.

    Args:
        path: where it is.
        name: of its document.
        told: called with the bytes sent so far.
    """

    path: Path
    name: str
    told: Callable[[int], None]


def grouped(items: Sequence[_T], senders: int) -> Iterator[list[_T]]:
    """Items that go together, in their order; a large one goes alone.

    Args:
        items: all of them.
        senders: how many send at a time: with few items, each of them has something to do.
    """
    most = min(_MOST_FILES, max(1, len(items) // senders))
    group, weight = list[_T](), 0
    for item in items:
        size = item.size
        if size is None or size > _SMALL_BYTES:
            yield [item]
            continue
        if len(group) == most or weight + size > _MOST_BYTES:
            yield group
            group, weight = [], 0
        group.append(item)
        weight += size
    if group:
        yield group


async def upload_together(
    client: ApiClient, knowledge_base_id: str, files: Sequence[Outgoing], *, on_conflict: str
) -> list[DocumentRecord | ServerRefused]:
    """Upload files in one request; doing it twice has one effect.

    Args:
        client: of the server.
        knowledge_base_id: into which.
        files: at most 1,000.
        on_conflict: what the server does when other bytes have a name.

    Returns:
        For each file its document, or why there is none.

    Raises:
        OSError: one of them can't be read.
        ServerRefused: none was taken in, or not all were looked at.
        CommandFailed: the server went away and did not come back.
    """
    path = f"/api/v1/knowledge-bases/{knowledge_base_id}/documents/batch"
    with ExitStack() as stack:
        opened = [(one.name, stack.enter_context(CountedFile(one.path, one.told))) for one in files]
        answer = await client.send_files(SentFiles(path, opened, {"on_conflict": on_conflict}))
    return [_document_of(item) for item in client.read(BatchRecord, answer).items]


def _document_of(item: BatchFileRecord) -> DocumentRecord | ServerRefused:
    if item.document is not None:
        return item.document
    error = item.error or BatchRefusal(code=int(ErrorCode.INTERNAL))
    return ServerRefused(error.code, error.message, error.details or {})
