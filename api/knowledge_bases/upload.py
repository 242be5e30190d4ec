"""Takes an uploaded file into a knowledge base: stored first, then written down."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from anyio import to_thread
from starlette.datastructures import UploadFile

from api.container import AppContext
from api.http.multipart import FormFile, read_blocks, read_head, read_whole
from api.knowledge_bases.schemas import UploadAnswer, document_answer
from core.auth.principal import Action, Principal
from core.db.unit_of_work import unit_of_work
from core.errors.auth import NotFound, ReadOnly
from core.errors.base import AgentexError
from core.errors.requests import EmptyFile, FileTooLarge, InvalidRequest
from ingestion.parsers import PARSERS, run_preflight
from ingestion.parsers.file_type import detect_type
from ingestion.parsers.sandbox.client import parse_limits
from kb_service import document_names
from kb_service.documents import (
    metadata as document_metadata,
)
from kb_service.documents import (
    storage as document_storage,
)
from kb_service.documents import (
    upload as document_upload,
)
from kb_service.documents.metadata import Attributes
from kb_service.documents.storage import FileType, StoredFile
from kb_service.documents.upload import OnConflict, Upload, UploadRefusal, UploadResult
from kb_service.knowledge_bases import service as knowledge_bases
from kb_service.models import KnowledgeBase
from kb_service.object_storage.protocol import ObjectStore

_WITHOUT_A_ROW = (NotFound, ReadOnly)
# Files of up to this are read as a whole: a request has sixteen of them in hand at the most.
_SMALL_BYTES = 256 * 1024
_T = TypeVar("_T")
_FILE: dict[str, object] = {"type": "string", "format": "binary"}


FORM_FIELDS: dict[str, Any] = {
    "on_conflict": {
        "type": "string",
        "enum": [choice.value for choice in OnConflict],
        "description": "Wins over the query parameter of this name.",
    },
    "metadata": {
        "type": "string",
        "description": "A JSON object: up to 20 keys with texts, numbers, truth values or "
        "lists of texts, which searches can filter by.",
    },
}
"""What an upload's form may hold beside files, as OpenAPI describes it."""


def files_body(*, many: bool) -> dict[str, Any]:
    """The OpenAPI description of an upload's form, with one file or with many."""
    fields = {**FORM_FIELDS, "file": {"type": "array", "items": _FILE} if many else _FILE}
    schema = {
        "type": "object",
        "required": ["file"],
        "properties": fields,
        "additionalProperties": False,
    }
    content = {"multipart/form-data": {"schema": schema}}
    return {"requestBody": {"required": True, "content": content}}


@dataclass(frozen=True)
class Intake:
    """Takes in the files of one request.

    Args:
        context: the process's.
        principal: who sends them.
        kb_id: where they go.
        on_conflict: what to do with a taken name, where the form does not say.
        max_bytes: of one file, as ``checked`` found it.
    """

    context: AppContext
    principal: Principal
    kb_id: str
    on_conflict: OnConflict
    max_bytes: int = 0

    async def checked(self) -> "Intake":
        """Refuse before anything is read what can't be taken in anyway.

        Returns:
            The same, with the size that a file may have at this moment.

        Raises:
            KnowledgeBaseNotFound: there is none for the caller.
            ReadOnly: it is not the caller's to change.
        """
        async with self.context.database.reading() as session:
            await knowledge_bases.get(session, self.principal, self.kb_id, Action.WRITE)
            settings = await self.context.live.read(session)
        return replace(self, max_bytes=settings.max_upload_bytes)

    async def take(self, file: UploadFile, fields: Mapping[str, str]) -> UploadAnswer:
        """Make a file a document, or a revision of one.

        Raises:
            AgentexError: it can't be; nothing is kept of it.
        """
        head = await self._read_head(file, fields)
        stored = await document_storage.store_stream(
            self.context.knowledge.store, read_blocks(file), max_bytes=self.max_bytes
        )
        return await self.write_down(head.upload(stored))

    async def take_all(self, few: Sequence[FormFile]) -> list[UploadAnswer | AgentexError]:
        """Make each of a few files a document, or a revision of one, in one transaction.

        Returns:
            For each file what ``take`` would return or raise.
        """
        heads = [await self._tried_head(sent) for sent in few]
        sound = [one.file for one, head in zip(few, heads, strict=True) if isinstance(head, _Head)]
        stored = _gone_on(heads, await self._stored(sound))
        uploads = [
            head.upload(file) if isinstance(head, _Head) and isinstance(file, StoredFile) else file
            for head, file in zip(heads, stored, strict=True)
        ]
        whole = [one for one in uploads if isinstance(one, Upload)]
        return _gone_on(uploads, await self._write_all_down(whole) if whole else ())

    async def write_down(self, upload: Upload) -> UploadAnswer:
        """Make a stored upload a document, or a revision of one.

        Raises:
            AgentexError: it can't be; then its bytes are gone, or the sweep will find them.
        """
        (told,) = await self._write_all_down([upload])
        if isinstance(told, AgentexError):
            raise told
        return told

    async def _read_head(self, file: UploadFile, fields: Mapping[str, str]) -> "_Head":
        choice = chosen(fields, self.on_conflict)
        sent = fields.get("metadata")
        attributes = None if sent is None else document_metadata.parse_attributes(sent)
        name = document_names.clean_name(file.filename or "")
        found = detect_type(name, await read_head(file), file.size or 0)
        if not file.size:
            raise EmptyFile(field="file")
        if PARSERS[found.name].preflight is not None:
            # Before a byte of it is kept; an e-book's directory is a millisecond to read.
            limits = parse_limits(self.context.settings)
            await to_thread.run_sync(run_preflight, found.name, file.file, limits)
        return _Head(name, FileType(found.name, found.file_type), choice, attributes)

    async def _tried_head(self, sent: FormFile) -> "_Head | AgentexError":
        if sent.is_too_large:
            return FileTooLarge(max_bytes=self.max_bytes)
        try:
            return await self._read_head(sent.file, sent.fields)
        except AgentexError as error:
            return error

    async def _stored(self, files: Sequence[UploadFile]) -> list[StoredFile | AgentexError]:
        """Small ones together, large ones as they are read."""
        store = self.context.knowledge.store
        contents = [await read_whole(file) for file in files if _is_small(file)]
        together = iter(await _stored_together(store, contents))
        stored: list[StoredFile | AgentexError] = []
        for file in files:
            if _is_small(file):
                stored.append(next(together))
                continue
            try:
                stored.append(
                    await document_storage.store_stream(
                        store, read_blocks(file), max_bytes=self.max_bytes
                    )
                )
            except AgentexError as error:
                stored.append(error)
        return stored

    async def _write_all_down(
        self, uploads: Sequence[Upload]
    ) -> Sequence[UploadAnswer | AgentexError]:
        context = self.context
        try:
            async with unit_of_work(context.database, context.queue.push) as work:
                quota = (await context.live.read(work.session)).user_quota_bytes
                # Once more: the knowledge base may have gone while the bytes came in.
                row = await knowledge_bases.get(
                    work.session, self.principal, self.kb_id, Action.WRITE
                )
                taken = await document_upload.apply_uploads(
                    work, self.principal, row, uploads, quota_bytes=quota
                )
        except AgentexError as error:
            if isinstance(error, _WITHOUT_A_ROW):
                # Here no row can have been written; after any other failure one may have been, and
                # a file that has none is the sweeper's.
                await self._forget(upload.file.storage_key for upload in uploads)
            return [error] * len(uploads)
        await self._forget(_spare(uploads, taken))
        return [_told(one, row) for one in taken]

    async def _forget(self, keys: Iterable[str]) -> None:
        for key in keys:
            with suppress(AgentexError, OSError):
                await self.context.knowledge.store.delete(key)


@dataclass(frozen=True)
class _Head:
    """What is known of a file before it is stored."""

    name: str
    kind: FileType
    choice: OnConflict
    attributes: Attributes | None

    def upload(self, stored: StoredFile) -> Upload:
        return Upload(self.name, stored, self.kind, self.choice, self.attributes)


def _gone_on(
    before: Iterable[object], after: Iterable[_T | AgentexError]
) -> list[_T | AgentexError]:
    """For each what became of it: those that had failed before are not among what went on."""
    following = iter(after)
    return [one if isinstance(one, AgentexError) else next(following) for one in before]


def _is_small(file: UploadFile) -> bool:
    return (file.size or 0) <= _SMALL_BYTES


async def _stored_together(
    store: ObjectStore, contents: Sequence[bytes]
) -> Sequence[StoredFile | AgentexError]:
    try:
        return await document_storage.store_batch(store, contents) if contents else []
    except AgentexError as error:
        return [error] * len(contents)


def _spare(
    uploads: Sequence[Upload], taken: Sequence[UploadResult | UploadRefusal]
) -> Iterator[str]:
    """The stored files that nothing needs any more."""
    for upload, one in zip(uploads, taken, strict=True):
        if isinstance(one, UploadResult):
            yield from one.spare_keys
        else:
            yield upload.file.storage_key


def _told(taken: UploadResult | UploadRefusal, row: KnowledgeBase) -> UploadAnswer | AgentexError:
    if isinstance(taken, UploadResult):
        told = document_answer(taken.document, row).model_dump()
        return UploadAnswer(**told, outcome=taken.outcome)
    return taken


def chosen(fields: Mapping[str, str], default: OnConflict) -> OnConflict:
    """What to do with a taken name: as the form says, else as the query did.

    Raises:
        InvalidRequest: the form says something unknown.
    """
    try:
        return OnConflict(fields.get("on_conflict", default))
    except ValueError as error:
        names = ", ".join(OnConflict)
        raise InvalidRequest("on_conflict", f"Use one of {names}", f"可用的值：{names}") from error
