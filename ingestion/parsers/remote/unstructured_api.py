"""The parser ``unstructured_api``: Unstructured's API server.

Sources: Unstructured-IO/unstructured-api 0.1.2, prepline_general/api/general.py (``general_partition``: path, header
``unstructured-api-key``, answers), prepline_general/api/models/form_params.py (form fields), prepline_general/api/app.py
(``/healthcheck``) and README.md; formats: Unstructured-IO/unstructured 0.27.1, unstructured/file_utils/model.py (``FileType``).
"""

import tempfile
from pathlib import Path

from core.settings import Settings
from ingestion.parsers import MEDIA_TYPE_OF
from ingestion.parsers.limits import ParseLimits
from ingestion.parsers.remote.parser import RemoteParser
from ingestion.parsers.remote.service_client import SentFile, ServiceClient, ServiceFinding, read_short, save, state_of

_PATH = "/general/v0/general"
# Plain texts gain nothing: the service takes them for UTF-8 and splits them by guesses.
_READ = frozenset(
    {
        *(MEDIA_TYPE_OF[name] for name in ("pdf", "docx", "pptx", "xlsx", "odt", "rtf", "epub", "html", "eml", "msg")),
        *(MEDIA_TYPE_OF[name] for name in ("png", "jpeg", "tiff", "bmp", "heic")),
        "application/msword",
        "application/vnd.ms-excel",
        "application/vnd.ms-powerpoint",
    }
)


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
    return RemoteParser(UnstructuredApi(settings), settings)


def open_service(settings: Settings) -> "UnstructuredApi":
    """The service that the settings name."""
    return UnstructuredApi(settings)


def _strategy_for(media_type: str, strategy: str) -> str:
    """The strategy that is sent: the service refuses pictures with ``fast``, which means without a layout model."""
    return "ocr_only" if strategy == "fast" and media_type.startswith("image/") else strategy


class UnstructuredApi:
    """Unstructured's API: one request, whose answer comes when the file was read."""

    answer_type = "application/vnd.unstructured.elements+json"

    def __init__(self, settings: Settings) -> None:
        key = settings.unstructured_api_key
        headers = {"unstructured-api-key": key.get_secret_value()} if key is not None else {}
        self._client = ServiceClient("unstructured_api", settings.unstructured_api_url or "", headers)
        self._languages = settings.ocr_languages.split("+")

    async def convert(self, document: SentFile, strategy: str, answer: Path, limits: ParseLimits) -> None:
        form = {
            "strategy": _strategy_for(document.media_type, strategy),
            "output_format": "application/json",
            "coordinates": "true",
            "languages": self._languages,
        }
        async with self._client.post_file(_PATH, form, document) as response:
            await save(response, answer, limits.archive_bytes)

    async def check(self) -> ServiceFinding:
        """Have one word read: nothing less says whether the key is right."""
        with tempfile.NamedTemporaryFile(suffix=".txt") as file:
            file.write(b"Agentex")
            file.flush()
            document = SentFile(Path(file.name), "check.txt", "text/plain")
            return await state_of(self._ask(document))

    async def _ask(self, document: SentFile) -> bool:
        async with self._client.post_file(_PATH, {"strategy": "fast"}, document) as response:
            return isinstance(await read_short(response), list)

    async def close(self) -> None:
        await self._client.close()
