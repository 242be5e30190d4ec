"""Upload of files as documents of a knowledge base."""

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Iterator, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass
from typing import BinaryIO, TypeVar

from anyio import to_thread

from core.auth.principal import Action, Principal
from core.db.database import Database
from core.db.unit_of_work import AfterCommit, unit_of_work
from core.errors.auth import NotFound, ReadOnly
from core.errors.base import AgentexError
from core.errors.requests import EmptyFile, FileTooLarge, InvalidRequest
from core.runtime_config.live import LiveSettings
from core.settings import Settings
from core.types.document_parsers import AUTO_STRATEGY
from ingestion.parsers import has_preflight, run_preflight
from ingestion.parsers.choice import check_choice, format_support
from ingestion.parsers.file_type import HEAD_BYTES, detect_type
from ingestion.parsers.format_support import FormatSupport
from ingestion.parsers.limits import ParseLimits
from kb_service.document_names import clean_name
from kb_service.documents.metadata import Attributes, parse_attributes
from kb_service.documents.storage import FileType, StoredFile, store_batch, store_stream
from kb_service.documents.upload import OnConflict, Upload, UploadRefusal, UploadResult, apply_uploads
from kb_service.knowledge_bases import service as knowledge_bases
from kb_service.object_storage.protocol import ObjectStore

_WITHOUT_A_ROW = (NotFound, ReadOnly)
# Smaller files are read as a whole: a request has at most sixteen of them in memory.
_SMALL_BYTES = 256 * 1024
_T = TypeVar("_T")


@dataclass(frozen=True)
class UploadOptions:
    """A request's options for a file.

    ``attributes``: metadata, None keeps the present ones. ``parser`` and ``strategy``: None for the knowledge base's.
    """

    on_conflict: OnConflict
    attributes: Attributes | None = None
    parser: str | None = None
    strategy: str | None = None

    @classmethod
    def parse(
        cls,
        settings: Settings,
        on_conflict: str,
        metadata: str | None,
        *,
        parser: str | None = None,
        strategy: str | None = None,
    ) -> "UploadOptions":
        """Parse the options of a form; InvalidRequest or ParserNotEnabled for a bad value."""
        check_choice(settings, parser, strategy)
        if parser is not None:
            strategy = strategy or AUTO_STRATEGY
        try:
            choice = OnConflict(on_conflict)
        except ValueError as error:
            names = ", ".join(OnConflict)
            en, zh = f"Use one of {names}", f"可用的值：{names}"
            raise InvalidRequest("on_conflict", en, zh) from error
        attributes = None if metadata is None else parse_attributes(metadata)
        return cls(choice, attributes, parser, strategy)


@dataclass(frozen=True)
class UploadFile:
    """A received file that is not checked yet; ``metadata`` is JSON, ``file`` is seekable and read on a thread.

    ``is_cut``: bytes beyond the limit were dropped.
    """

    name: str
    size: int
    file: BinaryIO
    blocks: Callable[[], AsyncGenerator[bytes]]
    on_conflict: str
    metadata: str | None
    parser: str | None = None
    strategy: str | None = None
    is_cut: bool = False

    @property
    def is_small(self) -> bool:
        return self.size <= _SMALL_BYTES

    async def read(self) -> bytes:
        return b"".join([block async for block in self.blocks()])

    async def head(self) -> bytes:
        """The first bytes, by which its type is detected."""
        async with aclosing(self.blocks()) as blocks:
            return (await anext(blocks, b""))[:HEAD_BYTES]


@dataclass(frozen=True)
class UploadTarget:
    """A knowledge base that accepts the caller's uploads, and its current maximum file size."""

    principal: Principal
    knowledge_base_id: str
    max_bytes: int


@dataclass(frozen=True)
class _CheckedUpload:
    file: UploadFile
    name: str
    file_type: FileType
    options: UploadOptions

    def stored(self, file: StoredFile) -> Upload:
        return _upload(self.name, self.file_type, self.options, file)


class UploadService:
    """Stores uploaded files, then registers them; removes the stored bytes of refused ones."""

    def __init__(
        self, database: Database, store: ObjectStore, live: LiveSettings, limits: ParseLimits, after_commit: AfterCommit
    ) -> None:
        self._database = database
        self._store = store
        self._live = live
        self._limits = limits
        self._after_commit = after_commit

    @property
    def support(self) -> FormatSupport:
        """What this server reads beside the formats of our parsers."""
        return format_support(self._live.environment)

    def options(
        self, on_conflict: str, metadata: str | None, *, parser: str | None = None, strategy: str | None = None
    ) -> UploadOptions:
        """Options of a form as this server allows them; see ``UploadOptions.parse``."""
        return UploadOptions.parse(self._live.environment, on_conflict, metadata, parser=parser, strategy=strategy)

    async def open(self, principal: Principal, knowledge_base_id: str) -> UploadTarget:
        """Check the right to upload before any byte is read; KnowledgeBaseNotFound or ReadOnly."""
        async with self._database.reading() as session:
            await knowledge_bases.get(session, principal, knowledge_base_id, Action.WRITE)
            settings = await self._live.read(session)
        return UploadTarget(principal, knowledge_base_id, settings.max_upload_bytes)

    async def upload(self, target: UploadTarget, files: Sequence[UploadFile]) -> list[UploadResult | AgentexError]:
        """Make each file a document, or a revision of one, in one transaction; of a failed file nothing is kept."""
        checked = [await self._try_check(target, file) for file in files]
        passed = [item.file for item in checked if isinstance(item, _CheckedUpload)]
        stored = _continued(checked, await self._store_files(target, passed))
        uploads = [
            item.stored(file) if isinstance(item, _CheckedUpload) and isinstance(file, StoredFile) else file
            for item, file in zip(checked, stored, strict=True)
        ]
        complete = [upload for upload in uploads if isinstance(upload, Upload)]
        return _continued(uploads, await self._register(target, complete) if complete else ())

    async def upload_stream(
        self,
        target: UploadTarget,
        name: str,
        file_type: FileType,
        content: AsyncIterator[bytes],
        options: UploadOptions,
    ) -> UploadResult:
        """Make a document of bytes of known type, such as a member of an archive; the sweep deletes remains of
        failures.
        """
        name = clean_name(name)
        stored = await store_stream(self._store, content, max_bytes=target.max_bytes)
        (result,) = await self._register(target, [_upload(name, file_type, options, stored)])
        if isinstance(result, AgentexError):
            raise result
        return result

    async def _try_check(self, target: UploadTarget, file: UploadFile) -> _CheckedUpload | AgentexError:
        try:
            return await self._check(target, file)
        except AgentexError as error:
            return error

    async def _check(self, target: UploadTarget, file: UploadFile) -> _CheckedUpload:
        if file.is_cut:
            raise FileTooLarge(max_bytes=target.max_bytes)
        options = self.options(file.on_conflict, file.metadata, parser=file.parser, strategy=file.strategy)
        name = clean_name(file.name)
        detected = detect_type(name, await file.head(), file.size, self.support)
        if not file.size:
            raise EmptyFile(field="file")
        if has_preflight(detected.name):
            # Before any byte is stored; reading an e-book's directory takes a millisecond.
            await to_thread.run_sync(run_preflight, detected.name, file.file, self._limits)
        return _CheckedUpload(file, name, FileType(detected.name, detected.file_type), options)

    async def _store_files(self, target: UploadTarget, files: Sequence[UploadFile]) -> list[StoredFile | AgentexError]:
        small = [file for file in files if file.is_small] if len(files) > 1 else []
        together = iter(await self._try_store_batch([await file.read() for file in small]))
        stored: list[StoredFile | AgentexError] = []
        for file in files:
            if small and file.is_small:
                stored.append(next(together))
                continue
            try:
                stored.append(await store_stream(self._store, file.blocks(), max_bytes=target.max_bytes))
            except AgentexError as error:
                stored.append(error)
        return stored

    async def _try_store_batch(self, contents: Sequence[bytes]) -> Sequence[StoredFile | AgentexError]:
        try:
            return await store_batch(self._store, contents) if contents else []
        except AgentexError as error:
            return [error] * len(contents)

    async def _register(self, target: UploadTarget, uploads: Sequence[Upload]) -> Sequence[UploadResult | AgentexError]:
        try:
            async with unit_of_work(self._database, self._after_commit) as work:
                quota = (await self._live.read(work.session)).user_quota_bytes
                # Again: the knowledge base may have been deleted during the upload.
                knowledge_base = await knowledge_bases.get(
                    work.session, target.principal, target.knowledge_base_id, Action.WRITE
                )
                results = await apply_uploads(work, target.principal, knowledge_base, uploads, quota_bytes=quota)
        except AgentexError as error:
            if isinstance(error, _WITHOUT_A_ROW):
                # Here no row can have been written; after other failures one may have been, and the sweep removes
                # files without one.
                await self._delete_files(upload.file.storage_key for upload in uploads)
            return [error] * len(uploads)
        await self._delete_files(_spare_keys(uploads, results))
        return results

    async def _delete_files(self, keys: Iterable[str]) -> None:
        for key in keys:
            with suppress(AgentexError, OSError):
                await self._store.delete(key)


def _upload(name: str, file_type: FileType, options: UploadOptions, file: StoredFile) -> Upload:
    return Upload(
        name,
        file,
        file_type,
        options.on_conflict,
        options.attributes,
        parser=options.parser,
        strategy=options.strategy,
    )


def _continued(before: Iterable[object], after: Iterable[_T | AgentexError]) -> list[_T | AgentexError]:
    """Merge the results of a step into the input's order, keeping earlier failures."""
    following = iter(after)
    return [item if isinstance(item, AgentexError) else next(following) for item in before]


def _spare_keys(uploads: Sequence[Upload], results: Sequence[UploadResult | UploadRefusal]) -> Iterator[str]:
    for upload, result in zip(uploads, results, strict=True):
        if isinstance(result, UploadResult):
            yield from result.spare_keys
        else:
            yield upload.file.storage_key
