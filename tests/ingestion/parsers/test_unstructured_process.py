"""The process of unstructured: its limits, held against documents that have taken the library over.

The library here is a scripted one that runs the document as a program; ``tests/e2e/knowledge_bases/test_unstructured.py`` has the real one.
"""

import asyncio
import sys
import venv
from collections.abc import AsyncIterator
from pathlib import Path

import psutil
import pytest

from ingestion.parsers.errors import FailureReason, ParseFailure
from ingestion.parsers.external import ProgressListener
from ingestion.parsers.image.ocr import OcrSettings
from ingestion.parsers.limits import ParseLimits
from ingestion.parsers.model import ParsedDocument
from ingestion.parsers.sandbox.client import ignore_progress
from ingestion.parsers.sandbox.protocol import ParseRequest
from ingestion.parsers.unstructured import installation
from ingestion.parsers.unstructured.parser import UnstructuredParser

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(sys.platform != "linux", reason="the limits are Linux's"),
]
LIMITS = ParseLimits(seconds=10, memory_bytes=2**28, output_characters=10_000)
LISTENER: ProgressListener = ignore_progress
_LIBRARY = {
    "en_core_web_sm/__init__.py": "",
    "unstructured/__init__.py": "",
    "unstructured/partition/__init__.py": "",
    # What a fork is asked for is what it says.
    "unstructured/partition/pdf.py": """
from unstructured.partition.text import Element


def partition_pdf(filename, strategy, languages, **others):
    return [Element(f"{strategy} {languages} {others}")]
""",
    "unstructured/partition/image.py": """
from unstructured.partition.pdf import partition_pdf as partition_image
""",
    "pypdf.py": """
class PdfReader:
    is_encrypted = False

    def __init__(self, file):
        pass
""",
    "unstructured/partition/text.py": """
class Element:
    def __init__(self, text):
        self.text = text

    def to_dict(self):
        return {"type": "NarrativeText", "text": self.text, "metadata": {}}


def partition_text(filename=None, text="", encoding=None):
    if filename is None:
        return [Element(text)]
    names = {}
    exec(open(filename).read(), names)
    return [Element(str(names["said"]))]
""",
}
# What a document may try; each says what came of it.
_TRIES = """
import os, socket
def outcome(act):
    try:
        act()
    except BaseException as error:
        return type(error).__name__
    return "done"
said = " ".join([
    outcome(lambda: socket.socket(socket.AF_INET)),
    outcome(lambda: socket.socket(socket.AF_UNIX)),
    outcome(lambda: open("/etc/passwd")),
    outcome(lambda: open(OTHER)),
    outcome(lambda: open(OTHER + ".new", "w")),
    outcome(lambda: open("mine", "w")),
])
"""


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("scripted") / "unstructured"
    venv.create(folder, with_pip=False)
    (packages,) = folder.glob("lib/python3.*/site-packages")
    for name, text in _LIBRARY.items():
        path = packages / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


@pytest.fixture
async def parser(environment: Path) -> AsyncIterator[UnstructuredParser]:
    opened = UnstructuredParser(environment)
    yield opened
    await opened.close()


async def read(parser: UnstructuredParser, folder: Path, program: str, limits: ParseLimits = LIMITS) -> ParsedDocument:
    path = folder / "document"
    path.write_text(program, encoding="utf-8")
    return await parser.parse(ParseRequest(path, "text/plain", limits), LISTENER)


async def reason_of(
    parser: UnstructuredParser, folder: Path, program: str, limits: ParseLimits = LIMITS
) -> FailureReason:
    with pytest.raises(ParseFailure) as failed:
        await read(parser, folder, program, limits)
    return failed.value.reason


async def test_document_reaches_neither_the_network_nor_files_of_others(parser: UnstructuredParser, tmp_path: Path):
    other = tmp_path / "other"
    other.write_text("secret", encoding="utf-8")
    document = await read(parser, tmp_path, _TRIES.replace("OTHER", repr(str(other))))
    refused = "PermissionError"
    assert document.text.split() == [*[refused] * 5, "done"]


async def test_a_document_leaves_nothing_to_the_next(parser: UnstructuredParser, tmp_path: Path):
    await read(parser, tmp_path, "import builtins, os; builtins.spy = 1; open('left', 'w'); said = os.getcwd()")
    first = parser.pid
    document = await read(
        parser, tmp_path, "import builtins, os; said = [hasattr(builtins, 'spy'), os.listdir(), os.getppid()]"
    )
    assert document.text == f"[False, ['document.txt'], {first}]"
    assert parser.pid == first


@pytest.mark.parametrize(
    ("program", "reason"),
    [
        ("import time; time.sleep(60)", FailureReason.PARSE_TIMEOUT),
        ("while True: pass", FailureReason.PARSE_TIMEOUT),
        ("held = []\nwhile True: held.append(bytes(range(256)) * 40_000)", FailureReason.PARSE_MEMORY),
        ("said = 'x' * 20_000", FailureReason.OUTPUT_TOO_LARGE),
        ("import os; os._exit(7)", FailureReason.PARSER_CRASHED),
        ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", FailureReason.PARSER_CRASHED),
        ("import os, signal; os.kill(os.getppid(), signal.SIGKILL)", FailureReason.PARSER_CRASHED),
        ("raise ModuleNotFoundError('pdf2image')", FailureReason.PARSER_MISSING),
        # A model that would be fetched.
        ("exec('raise PermissionError', {'__name__': 'huggingface_hub.file_download'})", FailureReason.PARSER_MISSING),
        ("import zipfile; raise zipfile.BadZipFile", FailureReason.CORRUPT_FILE),
        ("raise ValueError('words of the document')", FailureReason.PARSER_CRASHED),
        ("import os; os.symlink('/etc/hostname', 'result.json'); said = 'x'", FailureReason.PARSER_CRASHED),
    ],
)
async def test_what_breaks_a_limit_fails_and_the_next_document_is_read(
    parser: UnstructuredParser, tmp_path: Path, program: str, reason: FailureReason
):
    limits = ParseLimits(seconds=2, memory_bytes=2**28, output_characters=10_000)
    assert await reason_of(parser, tmp_path, program, limits) is reason
    assert (await read(parser, tmp_path, "said = 'well'")).text == "well"


async def has_ended(process: psutil.Process) -> bool:
    """Whether a process ends within some seconds; nobody may be there who reaps it."""
    for _ in range(100):
        try:
            if process.status() == psutil.STATUS_ZOMBIE:
                return True
        except psutil.NoSuchProcess:
            return True
        await asyncio.sleep(0.1)
    return False


async def test_cancellation_and_idleness_end_the_process(environment: Path, tmp_path: Path):
    parser = UnstructuredParser(environment, idle_seconds=0.2)
    await read(parser, tmp_path, "said = 'well'")
    pid = parser.pid
    assert pid is not None
    loaded = psutil.Process(pid)
    assert await has_ended(loaded)
    assert parser.pid is None
    task = asyncio.create_task(read(parser, tmp_path, "import time; time.sleep(60)"))
    while parser.pid is None or not psutil.Process(parser.pid).children():  # noqa: ASYNC110 - another process
        await asyncio.sleep(0.05)
    (fork,) = psutil.Process(parser.pid).children()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await parser.close()
    assert await has_ended(fork)


async def test_where_it_is_not_installed_the_document_says_so(tmp_path: Path):
    assert await reason_of(UnstructuredParser(tmp_path / "none"), tmp_path, "said = 1") is FailureReason.PARSER_MISSING


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> OcrSettings:
    """Programs and language data of text recognition, and nowhere else to look for them."""
    folder = tmp_path / "programs"
    folder.mkdir()
    monkeypatch.setattr(installation, "PROGRAM_FOLDERS", str(folder))
    for name in ("tesseract", "pdfinfo", "eng.traineddata"):
        (folder / name).touch(mode=0o755)
    return OcrSettings("chi_sim+eng", str(folder))


async def test_a_strategy_is_done_where_all_that_it_needs_is_there(
    environment: Path, programs: OcrSettings, tmp_path: Path
):
    parser = UnstructuredParser(environment, recognition=programs)
    no_models = "unstructured[local-inference], models"

    async def outcome(media_type: str, strategy: str) -> str:
        request = ParseRequest(tmp_path / "document", media_type, LIMITS, strategy=strategy)
        request.path.touch()
        try:
            return (await parser.parse(request, LISTENER)).text
        except ParseFailure as failure:
            return f"{failure.reason}: {failure.detail}"

    recognised = "ocr_only ['eng'] {}"
    try:
        assert await outcome("application/pdf", "auto") == "auto ['eng'] {}"
        assert await outcome("application/pdf", "ocr_only") == recognised
        assert await outcome("application/pdf", "hi_res") == f"parser_missing: {no_models}"
        assert [await outcome("image/png", name) for name in ("auto", "fast", "ocr_only")] == [recognised] * 3
        (Path(programs.data_dir) / "tesseract").unlink()
        assert await outcome("application/pdf", "auto") == "fast ['eng'] {}"
        assert await outcome("application/pdf", "ocr_only") == "parser_missing: tesseract"
        assert await outcome("image/png", "auto") == "parser_missing: tesseract"
        (Path(programs.data_dir) / "eng.traineddata").unlink()
        assert await outcome("image/png", "hi_res") == f"parser_missing: tesseract, tessdata chi_sim+eng, {no_models}"
        assert await outcome("application/pdf", "fast") == "fast None {}"
    finally:
        await parser.close()
