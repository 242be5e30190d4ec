"""The connector of readers of LlamaIndex."""

import asyncio
import json
import re
from collections import Counter
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from hashlib import sha256
from typing import Annotated, Any, ClassVar, Literal

from anyio import to_thread
from pydantic import Field, JsonValue, SecretStr, TypeAdapter, ValidationError, field_validator

from core.errors.requests import InvalidRequest
from core.types.errors import FieldValueError
from ingestion.connectors.base import (
    MOST_ITEMS,
    ConnectorCredentials,
    ConnectorEnvironment,
    ConnectorSettings,
    ItemGone,
    ReadFailure,
    SourceItem,
    SourceUnavailable,
)
from ingestion.connectors.item_spool import ItemSpool, SpoolFull
from ingestion.connectors.llama_index import failures
from ingestion.connectors.llama_index.permissions import readers_of
from ingestion.connectors.llama_index.reader_process import reader_process
from ingestion.connectors.llama_index.wire import DocumentHeader, ReaderRequest, ReadMode, ResourceFailure
from ingestion.connectors.permissions import PermissionSettings
from kb_service.document_names import document_name
from kb_service.documents.metadata import Attributes, validate_attributes

_MOST_TEXT_BYTES = 16 * 2**20
_LONGEST_KEY = 1000
_LONGEST_TITLE = 200
_MOST_ARGUMENT_BYTES = 64 * 1024
_MOST_CANDIDATES = 50
# uuid4, which LlamaIndex gives a document that has no id of its own.
_RANDOM_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")
_NAME_KEYS = ("file_name", "title", "name")
_ENDINGS: Mapping[str, str] = {"markdown": ".md", "text": ".txt"}
_OBJECT: TypeAdapter[dict[str, JsonValue]] = TypeAdapter(dict[str, JsonValue])
Arguments = dict[str, JsonValue]


class LlamaIndexSettings(PermissionSettings):
    """Settings of a reader of LlamaIndex: its class with the module, arguments of the class and of its loading call.

    ``id_key`` names the metadata that tells documents apart; without it their ids do, or their contents where the reader
    makes up new ids each time. ``read``: by itself a reader that lists resources is asked for each of them, if there
    are no ``load_arguments``. Permissions are known of readers that have them for each resource.
    """

    reader: str = Field(max_length=300, pattern=r"^[A-Za-z_]\w*(\.[A-Za-z_]\w*)+$")
    arguments: Arguments = Field(default_factory=dict[str, JsonValue], max_length=100)
    load_arguments: Arguments = Field(default_factory=dict[str, JsonValue], max_length=100)
    read: ReadMode = "auto"
    id_key: Annotated[str, Field(max_length=100)] = ""
    format: Literal["markdown", "text"] = "markdown"
    timeout_seconds: Annotated[int, Field(ge=1, le=3600)] = 600

    @property
    def place(self) -> str:
        return self.reader

    @property
    def credentials_target(self) -> str:
        return self.reader


class LlamaIndexCredentials(ConnectorCredentials):
    """Arguments of the reader's class that are secret, as a JSON object."""

    secret_arguments: Annotated[SecretStr, Field(max_length=_MOST_ARGUMENT_BYTES)]

    @field_validator("secret_arguments", mode="before")
    @classmethod
    def _as_text(cls, value: object) -> object:
        text = json.dumps(value) if isinstance(value, dict) else value
        try:
            _OBJECT.validate_json(text if isinstance(text, str) else "")
        except ValidationError:
            raise FieldValueError("Send a JSON object of arguments", "请提供由参数组成的 JSON 对象") from None
        return SecretStr(str(text))


class LlamaIndexConnector:
    """Runs a reader that the operator allows in a process of its own, and keeps what it gives on disk."""

    NAME: ClassVar[str] = "llama_index"
    SETTINGS: ClassVar[type[ConnectorSettings]] = LlamaIndexSettings
    CREDENTIALS: ClassVar[type[ConnectorCredentials] | None] = LlamaIndexCredentials
    ADMINISTRATORS_ONLY: ClassVar[bool] = True
    LISTS_EVERYTHING: ClassVar[bool] = True

    def __init__(self, settings: LlamaIndexSettings, environment: ConnectorEnvironment) -> None:
        self._settings = settings
        self._environment = environment
        self._limit = min(environment.max_bytes, _MOST_TEXT_BYTES)
        self._spool: ItemSpool | None = None
        self._failed: dict[str, SourceItem] = {}
        self._numbers: Counter[str] = Counter()
        self.is_cut = False
        self.notice: ReadFailure | None = None

    async def check(self) -> None:
        settings = self._settings
        if failure := self._refusal():
            raise InvalidRequest("settings.reader", failure.message, failure.message_zh)
        for name in ("arguments", "load_arguments"):
            if len(json.dumps(getattr(settings, name))) > _MOST_ARGUMENT_BYTES:
                en, zh = f"Use at most {_MOST_ARGUMENT_BYTES} bytes", f"最多 {_MOST_ARGUMENT_BYTES} 字节"
                raise InvalidRequest(f"settings.{name}", en, zh)

    async def items(self) -> AsyncGenerator[SourceItem]:
        if failure := self._refusal():
            raise SourceUnavailable(failure)
        environment = self._environment
        self._failed, self._numbers, self.notice = {}, Counter(), None
        try:
            self._spool = spool = await to_thread.run_sync(
                ItemSpool, environment.cache_folder, environment.max_cache_bytes
            )
            async with asyncio.timeout(self._settings.timeout_seconds):
                await self._load(spool)
        except SpoolFull as error:
            raise SourceUnavailable(failures.TOO_MUCH_DATA) from error
        except TimeoutError as error:
            raise SourceUnavailable(failures.TIMEOUT) from error
        for item in self._failed.values():
            yield item
            async for other in self._parts_of(item):
                if other.key not in spool:
                    yield other
        async with aclosing(spool.items()) as items:
            async for item in items:
                yield item

    async def read(self, item: SourceItem) -> AsyncGenerator[bytes]:
        if self._spool is None:
            raise ItemGone
        async with aclosing(self._spool.read(item.key)) as blocks:
            async for block in blocks:
                yield block

    def _refusal(self) -> ReadFailure | None:
        """Why the operator's list does not let the reader be run."""
        allowed, reader = self._environment.reader_modules, self._settings.reader
        if any(reader == name or reader.startswith(f"{name}.") for name in allowed):
            return None
        return failures.not_allowed_reader(allowed)

    async def _load(self, spool: ItemSpool) -> None:
        settings, credentials = self._settings, self._environment.credentials
        secrets: dict[str, object] = json.loads(credentials.values["secret_arguments"]) if credentials else {}
        request: ReaderRequest = {
            "reader": settings.reader,
            "arguments": {**settings.arguments, **secrets},
            "load_arguments": {**settings.load_arguments},
            "read": settings.read,
            "most_bytes": self._limit,
        }
        async with (
            reader_process(self._environment.max_memory_bytes) as process,
            aclosing(process.headers(request)) as headers,
        ):
            async for header, text in headers:
                if header["kind"] == "document":
                    await to_thread.run_sync(self._keep, header, text, spool)
                elif header["kind"] == "resource_failure":
                    self._note_failure(header)
                if len(spool) + len(self._failed) > MOST_ITEMS:
                    raise SourceUnavailable(failures.too_many_documents(MOST_ITEMS))

    def _note_failure(self, header: ResourceFailure) -> None:
        failure = failures.resource_failure(header["error"])
        if self._settings.id_key:
            # Nobody knows which documents are of it, and they must not count as gone.
            raise SourceUnavailable(failure)
        key = _short_key(header["resource"])
        name = document_name([_stem(header["resource"])])
        self._failed[key] = SourceItem(key, name, failure=failure, readers=readers_of(header["permissions"]))

    async def _parts_of(self, item: SourceItem) -> AsyncGenerator[SourceItem]:
        """The further documents that a resource had at the last sync, which fail with it."""
        number = 2
        while await self._environment.find_known(key := f"{item.key}#{number}"):
            yield SourceItem(key, item.name, failure=item.failure, readers=item.readers)
            number += 1

    def _keep(self, header: DocumentHeader, text: bytes, spool: ItemSpool) -> None:
        metadata = header["metadata"]
        digest = sha256(text + json.dumps([metadata, self._settings.format], sort_keys=True).encode()).hexdigest()
        key, number = self._key(header, digest)
        if key in spool:
            # The same contents twice: only those have such a key.
            return
        name = self._name(key, number, metadata)
        if header["is_too_large"]:
            self._failed[key] = SourceItem(
                key, name, failure=failures.too_large_document(self._limit), readers=readers_of(header["permissions"])
            )
            return
        readers = readers_of(header["permissions"])
        spool.add(SourceItem(key, name, digest, content=text, attributes=_attributes(metadata), readers=readers))

    def _key(self, header: DocumentHeader, digest: str) -> tuple[str, int]:
        """What tells a document from others: metadata, its resource, its id or, where that is made up, its contents.

        Several documents of the same one, such as the pages of a file, are numbered.
        """
        if id_key := self._settings.id_key:
            value = header["metadata"].get(id_key)
            if value is None or not str(value).strip():
                raise SourceUnavailable(failures.missing_id(id_key))
            key = str(value)
        elif header["resource"]:
            key = header["resource"]
        elif header["id"] and not _RANDOM_ID.fullmatch(header["id"]):
            key = header["id"]
        else:
            self.notice = failures.NO_IDS
            return f"sha256:{digest}", 1
        key = _short_key(key)
        self._numbers[key] += 1
        number = self._numbers[key]
        return key if number == 1 else f"{key}#{number}", number

    def _name(self, key: str, number: int, metadata: Mapping[str, object]) -> str:
        titles = (metadata.get(name) for name in _NAME_KEYS)
        title = next((title for title in titles if isinstance(title, str) and title.strip()), None)
        ending = _ENDINGS[self._settings.format]
        stem = _stem(title or key).removesuffix(ending)
        return document_name([f"{stem} #{number}{ending}" if title and number > 1 else stem + ending])


def _short_key(text: str) -> str:
    """A key; of what is too long for one its hash."""
    return text if len(text) <= _LONGEST_KEY else f"sha256:{sha256(text.encode(errors='replace')).hexdigest()}"


def _stem(text: str) -> str:
    """The last part of a path or address, as a document is named after it."""
    last = text.replace("\\", "/").rstrip("/").rpartition("/")[2]
    return " ".join(last.split())[:_LONGEST_TITLE].strip(" .") or "document"


def _attributes(metadata: Mapping[str, object]) -> Attributes:
    """The metadata that a document can have; what is too long, or too much, is left out."""
    attributes: Attributes = {}
    for key, value in list(metadata.items())[:_MOST_CANDIDATES]:
        candidate: dict[str, Any] = {**attributes, key: value}
        try:
            attributes = validate_attributes(candidate)
        except InvalidRequest:
            continue
    return attributes
