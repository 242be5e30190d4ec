"""The parser ``docling``: docling-serve.

A conversion is a task that is asked after: requests that wait for their answer end after two minutes on the server. Sources:
docling-project/docling-serve 1.31.0, docling_serve/app.py (``process_file_async``, ``task_status_poll``, ``task_result``,
``health``), docling_serve/auth.py (header ``X-Api-Key``) and docs/usage.md (form fields); docling-project/docling 2.121.0,
docling/datamodel/service/responses.py (``TaskStatusResponse``), docling/datamodel/base_models.py (``ConversionStatus``,
``FormatToExtensions``).
"""

import asyncio
import re
from pathlib import Path

from pydantic import JsonValue

from core.errors.server import ParserServiceUnavailable
from core.json_access import as_object
from core.settings import Settings
from ingestion.parsers import MEDIA_TYPE_OF
from ingestion.parsers.errors import FailureReason, ParseFailure
from ingestion.parsers.limits import ParseLimits
from ingestion.parsers.remote.answers import unexpected_answer
from ingestion.parsers.remote.parser import RemoteParser
from ingestion.parsers.remote.service_client import (
    AddressMissing,
    FormFields,
    SentFile,
    ServiceClient,
    ServiceFinding,
    read_short,
    save,
    state_of,
)

_READ = frozenset(
    MEDIA_TYPE_OF[name]
    for name in (
        *("pdf", "docx", "pptx", "xlsx", "odt", "ods", "odp", "epub", "html"),
        *("png", "jpeg", "tiff", "webp", "bmp"),
    )
)
_TASK = re.compile(r"[A-Za-z0-9_-]{1,100}")
_WAITING = frozenset({"pending", "started"})
_READY = frozenset({"success", "partial_success"})
# How long a question after a task waits on the server; older ones may answer at once.
_WAIT_SECONDS = 5
_PAUSE_SECONDS = 0.5
_MOST_LOST_QUESTIONS = 5


def reads(media_type: str, settings: Settings) -> bool:
    """Whether files of a format are sent there."""
    del settings
    return media_type in _READ


def missing_parts(strategy: str, settings: Settings) -> tuple[str, ...]:
    """Nothing: what a service lacks, it says itself."""
    del strategy, settings
    return ()


def open_parser(settings: Settings) -> RemoteParser:
    """The parser; connects at its first document."""
    return RemoteParser(DoclingServe(settings), settings)


def open_service(settings: Settings) -> "DoclingServe":
    """The service that the settings name."""
    return DoclingServe(settings)


class DoclingServe:
    """docling-serve: a task is begun, asked after and its result fetched."""

    answer_type = "application/vnd.docling.document+json"

    def __init__(self, settings: Settings) -> None:
        key = settings.docling_api_key
        headers = {"X-Api-Key": key.get_secret_value()} if key is not None else {}
        self._client = ServiceClient("docling", settings.docling_url or "", headers)
        self._seconds = settings.parser_service_seconds

    async def convert(self, document: SentFile, strategy: str, answer: Path, limits: ParseLimits) -> None:
        form = self._form(is_ocr_forced=strategy == "force_ocr")
        async with self._client.post_file("/v1/convert/file/async", form, document) as response:
            task = as_object(await read_short(response))
        name = task.get("task_id")
        if not isinstance(name, str) or not _TASK.fullmatch(name):
            raise unexpected_answer()
        try:
            await self._wait_for(name, task.get("task_status"))
            async with self._client.get(f"/v1/result/{name}") as response:
                await save(response, answer, limits.archive_bytes)
        except AddressMissing:
            # The service was started anew, or another one behind the same address was asked.
            raise ParserServiceUnavailable(service="docling") from None

    def _form(self, *, is_ocr_forced: bool) -> FormFields:
        return {
            "to_formats": "json",
            "target_type": "inbody",
            "image_export_mode": "placeholder",
            "include_images": "false",
            "force_ocr": "true" if is_ocr_forced else "false",
            # Otherwise all sections of a PDF are of level 1; versions before this option ignore it.
            "do_pdf_heading_hierarchy": "true",
            "document_timeout": str(self._seconds),
        }

    async def _wait_for(self, name: str, status: JsonValue) -> None:
        lost = 0
        while status in _WAITING:
            try:
                status = await self._status(name)
                lost = 0
            except ParserServiceUnavailable:
                # The task goes on without us: sending the file again would cost all of it.
                lost += 1
                if lost == _MOST_LOST_QUESTIONS:
                    raise
            if status in _WAITING:
                await asyncio.sleep(_PAUSE_SECONDS * 2**lost)
        if status not in _READY:
            raise ParseFailure(FailureReason.PARSER_SERVICE_FAILED)

    async def _status(self, name: str) -> JsonValue:
        async with self._client.get(f"/v1/status/poll/{name}", {"wait": str(_WAIT_SECONDS)}) as response:
            status = as_object(await read_short(response)).get("task_status")
        if not isinstance(status, str):
            raise unexpected_answer()
        return status

    async def check(self) -> ServiceFinding:
        """Ask after a task that does not exist, which only the right key may."""
        return await state_of(self._ask())

    async def _ask(self) -> bool:
        async with self._client.get("/health") as response:
            is_well = as_object(await read_short(response)).get("status") == "ok"
        try:
            async with self._client.get("/v1/status/poll/agentex-doctor"):
                return False
        except AddressMissing:
            return is_well

    async def close(self) -> None:
        await self._client.close()
