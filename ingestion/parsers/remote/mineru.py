"""The parser ``mineru``: mineru-api, or mineru-router before several.

Sources: opendatalab/MinerU 3.4.4, mineru/cli/fast_api.py (``parse_pdf``, ``health_check``, ``build_sync_file_parse_response``),
mineru/cli/api_request.py (form fields), mineru/cli/common.py (formats). ``POST /file_parse`` also answers so in 2.x and in the
3.x of all backends.
"""

from pathlib import Path

from core.json_access import as_object
from core.settings import Settings
from ingestion.parsers import MEDIA_TYPE_OF
from ingestion.parsers.limits import ParseLimits
from ingestion.parsers.remote.parser import RemoteParser
from ingestion.parsers.remote.service_client import SentFile, ServiceClient, ServiceFinding, read_short, save, state_of

_READ = frozenset(MEDIA_TYPE_OF[name] for name in ("pdf", "docx", "pptx", "xlsx", "png", "jpeg", "tiff", "webp", "bmp"))


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
    return RemoteParser(MineruApi(settings), settings)


def open_service(settings: Settings) -> "MineruApi":
    """The service that the settings name."""
    return MineruApi(settings)


class MineruApi:
    """mineru-api: one request, whose answer comes when the file was read."""

    answer_type = "application/vnd.mineru.content+json"

    def __init__(self, settings: Settings) -> None:
        key = settings.mineru_api_key
        headers = {"Authorization": f"Bearer {key.get_secret_value()}"} if key is not None else {}
        self._client = ServiceClient("mineru", settings.mineru_url or "", headers)
        self._backend = {"backend": settings.mineru_backend} if settings.mineru_backend else {}

    async def convert(self, document: SentFile, strategy: str, answer: Path, limits: ParseLimits) -> None:
        form = {
            "parse_method": strategy,
            "return_md": "false",
            "return_content_list": "true",
            "return_images": "false",
            "response_format_zip": "false",
            **self._backend,
        }
        async with self._client.post_file("/file_parse", form, document) as response:
            await save(response, answer, limits.archive_bytes)

    async def check(self) -> ServiceFinding:
        """Ask for its health."""
        return await state_of(self._ask())

    async def _ask(self) -> bool:
        async with self._client.get("/health") as response:
            return as_object(await read_short(response)).get("status") == "healthy"

    async def close(self) -> None:
        await self._client.close()
