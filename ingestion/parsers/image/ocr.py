"""Text recognition (OCR) by Tesseract in this process; part of the extra ``agentex[ocr]``."""

# tesserocr is a compiled module without types, and may not be installed.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportMissingImports=false
# pyright: reportAttributeAccessIssue=false, reportUnknownParameterType=false

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from types import ModuleType, TracebackType
from typing import Any, NamedTuple, Self

from core.types.text_boxes import TextBox
from ingestion.parsers.boxes import PageRectangle, text_box
from ingestion.parsers.errors import FailureReason, ParseFailure
from ingestion.parsers.limits import ParseLimits
from ingestion.parsers.text_cleanup import flow

RECOGNISED = "recognised"
"""Warning: text was read from pictures and may hold errors."""

UNCERTAIN = "recognition_uncertain"
"""Warning: parts of the pictures could hardly be read, or were left out as no text."""

_DATA_FOLDERS = (
    "/usr/share/tesseract-ocr/*/tessdata",
    "/usr/share/tesseract-ocr/tessdata",
    "/usr/share/tessdata",
    "/usr/local/share/tessdata",
    "/opt/homebrew/share/tessdata",
)
_CJK = "\u2e80-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff00-\uffef"
_VISIBLE = re.compile(r"\S")
_CJK_GAP = re.compile(f"(?<=[{_CJK}]) +(?=[{_CJK}])")
MAX_SIDE = 32_767
"""Pixels; Tesseract reads nothing that is higher or wider."""
SURE_CONFIDENCE = 60.0
"""Percent; a reading below it likely has errors, or is of no text at all."""
# Percent; below, a "text" is grain, a drawing or a photograph.
_MIN_CONFIDENCE = 30.0
_MIN_DPI, _MAX_DPI = 70, 1200


@dataclass(frozen=True, slots=True)
class OcrSettings:
    """Configuration of text recognition.

    Attributes:
        languages: Tesseract's language names, joined by ``+``; missing ones are skipped.
        data_dir: Folder of the ``.traineddata`` files; empty for the system's.
    """

    languages: str = "chi_sim+eng"
    data_dir: str = ""


@dataclass(frozen=True, slots=True)
class GreyImage:
    """A picture in shades of grey.

    Attributes:
        pixels: One byte each, 0 is black.
        stride: Bytes from one row to the next.
        dpi: 0 if unknown.
    """

    pixels: bytes
    width: int
    height: int
    stride: int
    dpi: int = 0


class OcrLine(NamedTuple):
    """Where characters of a paragraph stand; several of a line that is tilted.

    Attributes:
        paragraph: Its place in ``OcrResult.paragraphs``.
        start, end: In the paragraph's text.
        sides: In shares of the picture that was read.
    """

    paragraph: int
    start: int
    end: int
    sides: PageRectangle


@dataclass(frozen=True, slots=True)
class OcrResult:
    """The text of a picture.

    Attributes:
        lines: By paragraph and in its order.
        confidence: Mean, 0 to 100.
        is_uncertain: Whether some text is likely wrong or was left out.
        line_height: Median, in pixels; 0 without text.
    """

    paragraphs: tuple[str, ...] = ()
    confidence: float = 0.0
    is_uncertain: bool = False
    line_height: float = 0.0
    lines: tuple[OcrLine, ...] = ()

    def within(self, top: float, height: float) -> "OcrResult":
        """The reading of a strip as one of the picture that it was cut from; ``top`` and ``height`` are shares of that."""
        lines = (
            line._replace(sides=sides._replace(top=top + height * sides.top, bottom=top + height * sides.bottom))
            for line in self.lines
            for sides in (line.sides,)
        )
        return replace(self, lines=tuple(lines))

    def placed_paragraphs(self, page: int) -> Iterator[tuple[str, list[TextBox]]]:
        """The paragraphs, each with its boxes on a page that the picture fills."""
        boxes: list[list[TextBox]] = [[] for _ in self.paragraphs]
        for line in self.lines:
            box = text_box(line.sides, page, line.start, line.end)
            if box is not None:
                boxes[line.paragraph].append(box)
        yield from zip(self.paragraphs, boxes, strict=True)


def warnings(readings: Iterable[OcrResult]) -> tuple[str, ...]:
    """The warnings about a document's readings."""
    uncertain = [reading.is_uncertain for reading in readings]
    if not uncertain:
        return ()
    return (RECOGNISED, UNCERTAIN) if any(uncertain) else (RECOGNISED,)


def _no_time_bound(_: float) -> None:
    """Processor time is not bounded here."""


@dataclass(slots=True)
class _ProcessSetup:
    recognition: OcrSettings
    grant_time: Callable[[float], None]


_setup = _ProcessSetup(OcrSettings(), _no_time_bound)


def configure(recognition: OcrSettings, *, grant_time: Callable[[float], None]) -> None:
    """Configure text recognition; ``grant_time`` gets each picture's limit of processor time in seconds."""
    _setup.recognition, _setup.grant_time = recognition, grant_time


def is_installed() -> bool:
    """Whether the extra is installed, without importing it."""
    return find_spec("tesserocr") is not None and find_spec("PIL") is not None


def is_ready() -> bool:
    """Whether the extra and language data are available."""
    return is_installed() and bool(installed_languages(_setup.recognition))


def installed_languages(settings: OcrSettings) -> tuple[str, ...]:
    """The configured languages whose data is available."""
    return _language_data(settings)[1]


class OcrEngine:
    """Reads the pictures of one document; Tesseract is loaded at the first."""

    def __init__(self, limits: ParseLimits) -> None:
        self._limits = limits
        self._engine: Any = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._engine is not None:
            self._engine.End()

    def read(self, picture: GreyImage) -> OcrResult:
        """The text of a picture; ParseFailure ``recognition_missing``."""
        library = _library()
        if self._engine is None:
            self._engine = _load_engine(library)
        # Per picture: a book of hundreds of pages takes long, and no honest page takes minutes.
        _setup.grant_time(min(self._limits.picture_seconds, self._limits.recognition_seconds))
        if max(picture.width, picture.height) > MAX_SIDE:
            return OcrResult()
        engine = self._engine
        engine.SetImageBytes(picture.pixels, picture.width, picture.height, 1, picture.stride)
        if _MIN_DPI <= picture.dpi <= _MAX_DPI:
            engine.SetSourceResolution(picture.dpi)
        engine.Recognize()
        paragraphs = _paragraphs(library, engine, picture)
        engine.Clear()
        return _result([paragraph for paragraph in paragraphs if paragraph.text])


@dataclass(slots=True)
class _RecognisedParagraph:
    """A paragraph as it is read: each line with the number of its visible characters, and its height in pixels."""

    confidence: float
    text: str
    lines: list[tuple[int, PageRectangle]] = field(default_factory=list[tuple[int, PageRectangle]])
    heights: list[float] = field(default_factory=list[float])

    def placed_lines(self, number: int) -> Iterator[OcrLine]:
        places = [match.start() for match in _VISIBLE.finditer(self.text)]
        first = 0
        for count, sides in self.lines:
            span = places[first : first + count]
            first += count
            if span:
                yield OcrLine(number, span[0], span[-1] + 1, sides)


def _paragraphs(
    library: ModuleType,
    engine: Any,  # noqa: ANN401 - the library has no types
    picture: GreyImage,
) -> list[_RecognisedParagraph]:
    whole, level = library.RIL.PARA, library.RIL.TEXTLINE
    paragraphs: list[_RecognisedParagraph] = []
    for line in library.iterate_level(engine.GetIterator(), level):
        if line.Empty(level):
            continue
        if not paragraphs or line.IsAtBeginningOf(whole):
            text = _CJK_GAP.sub("", flow(line.GetUTF8Text(whole)))
            paragraphs.append(_RecognisedParagraph(line.Confidence(whole), text))
        left, top, right, bottom = line.BoundingBox(level) or (0, 0, 0, 0)
        count = len("".join(line.GetUTF8Text(level).split()))
        width, height = picture.width, picture.height
        paragraphs[-1].lines.append((count, PageRectangle(left / width, top / height, right / width, bottom / height)))
        # On a page that lies on its side, lines' widths and heights are swapped.
        paragraphs[-1].heights.append(min(right - left, bottom - top))
    return paragraphs


def _result(paragraphs: Sequence[_RecognisedParagraph]) -> OcrResult:
    length = sum(len(paragraph.text) for paragraph in paragraphs)
    mean = sum(paragraph.confidence * len(paragraph.text) for paragraph in paragraphs) / max(1, length)
    heights = [height for paragraph in paragraphs for height in paragraph.heights]
    certain = [paragraph for paragraph in paragraphs if paragraph.confidence >= _MIN_CONFIDENCE]
    return OcrResult(
        tuple(paragraph.text for paragraph in certain),
        mean,
        is_uncertain=any(paragraph.confidence < SURE_CONFIDENCE for paragraph in paragraphs),
        line_height=float(median(heights)) if heights else 0.0,
        lines=tuple(line for number, paragraph in enumerate(certain) for line in paragraph.placed_lines(number)),
    )


def _library() -> ModuleType:
    if not is_installed():
        raise ParseFailure(FailureReason.RECOGNITION_MISSING, "library")
    return import_module("tesserocr")


def _load_engine(library: ModuleType) -> Any:  # noqa: ANN401 - the library has no types
    folder, languages = _language_data(_setup.recognition)
    if not languages:
        raise ParseFailure(FailureReason.RECOGNITION_MISSING, "language data")
    engine = library.PyTessBaseAPI(path=str(folder), lang="+".join(languages))
    # The binding writes messages to /dev/null, which a sandboxed process may not open: it would crash. Its standard
    # error is closed already.
    engine.SetVariable("debug_file", "")
    return engine


def _language_data(settings: OcrSettings) -> tuple[Path, tuple[str, ...]]:
    names = settings.languages.split("+")
    for folder in _data_folders(settings):
        languages = tuple(name for name in names if (folder / f"{name}.traineddata").is_file())
        if languages:
            return folder, languages
    return Path(), ()


def _data_folders(settings: OcrSettings) -> list[Path]:
    if settings.data_dir:
        return [Path(settings.data_dir)]
    root = Path("/")
    folders = [folder for place in _DATA_FOLDERS for folder in sorted(root.glob(place.lstrip("/")))]
    return [*folders, Path(sys.prefix, "share", "tessdata")]
