"""Rich text (RTF): headings, paragraphs, lists, tables and footnotes."""

from dataclasses import dataclass, field, replace
from itertools import chain, repeat
from pathlib import Path

from ingestion.parsers.builder import DocumentBuilder
from ingestion.parsers.errors import FailureReason, ParseFailure
from ingestion.parsers.limits import ParseLimits
from ingestion.parsers.model import ParsedDocument
from ingestion.parsers.office.docx import heading_level
from ingestion.parsers.office.rtf_tokens import Sort, Token, charset_codec, page_codec, tokens
from ingestion.parsers.table_grid import TableCell, spread_merged_cells
from ingestion.parsers.text_cleanup import BREAK, flow, flow_lines

_SIGNATURE = b"{\\rtf"
# Groups whose text is not the document's.
_SKIPPED = frozenset(
    {
        *("colortbl", "info", "pict", "object", "header", "headerl", "headerr", "headerf"),
        *("footer", "footerl", "footerr", "footerf", "fldinst", "nonshppict", "listtext"),
        *("pntext", "xe", "tc", "template", "revtbl", "filetbl", "generator"),
    }
)
# Groups marked as optional that hold text all the same.
_OPTIONAL = frozenset({"shptxt", "shpinst", "listtext", "pntext", "footnote"})
_SIGNS = {
    "tab": "\t",
    "line": BREAK,
    "emdash": "—",
    "endash": "–",
    "bullet": "•",
    "lquote": "‘",
    "rquote": "’",
    "ldblquote": "“",
    "rdblquote": "”",
    "emspace": " ",
    "enspace": " ",
    "~": "\xa0",
    "_": "-",
    "nestcell": " ",
    "nestrow": " ",
}
_ENDS = frozenset({"par", "sect", "page", "row", "cell"})
_BODY_TEXT_LEVEL = 9
_DEEPEST = 5_000


def parse(path: Path, limits: ParseLimits) -> ParsedDocument:
    """Read an .rtf file; embedded objects, pictures and fields are ignored.

    Headings are recognised by outline level or style name. Text is decoded by its font, for documents of older
    Chinese, Japanese and Korean programs. Hidden and deleted text, page headers and footers are left out; footnotes
    follow the body.
    """
    content = path.read_bytes()
    if not content.startswith(_SIGNATURE):
        raise ParseFailure(FailureReason.CORRUPT_FILE)
    builder = DocumentBuilder(limits)
    reader = RtfReader(builder)
    reader.read(content)
    return builder.finish()


@dataclass(frozen=True, slots=True)
class _FormatState:
    """Formatting within a group; ``into`` is where its text goes."""

    into: str = "body"
    codec: str | None = None
    fallback: int = 1
    is_hidden: bool = False
    is_optional: bool = False
    is_new: bool = True


@dataclass(slots=True)
class _Paragraph:
    """Properties of the current paragraph; ``\\pard`` resets them."""

    style: int = 0
    outline: int = _BODY_TEXT_LEVEL
    level: int = 0
    in_table: bool = False
    is_listed: bool = False


@dataclass(slots=True)
class _OutputEntry:
    number: int = 0
    level: int = 0
    name: list[str] = field(default_factory=list[str])


class RtfReader:
    """Turns tokens into elements."""

    def __init__(self, out: DocumentBuilder) -> None:
        self._out = out
        self._state = _FormatState()
        self._stack: list[_FormatState] = []
        self._bytes = bytearray()
        self._text: list[str] = []
        self._paragraph = _Paragraph()
        self._default = "cp1252"
        self._fonts: dict[int, str | None] = {}
        self._styles: dict[int, int] = {}
        self._entry = _OutputEntry()
        self._row: list[str] = []
        self._rows: list[list[TableCell]] = []
        # For the row's cells so far: whether they continue those above.
        self._continue: list[bool] = []
        self._continues = False
        self._notes: list[str] = []
        self._held: list[list[str]] = []
        self._skip = 0

    def read(self, content: bytes) -> None:
        """Read a whole document; ParseFailure ``corrupt_file`` for a truncated one, or ``too_complex``."""
        for token in tokens(content):
            if token.sort is Sort.TEXT:
                self._add_bytes(token.data)
            elif token.sort is Sort.WORD:
                self._obey(token)
            elif token.sort is Sort.OPEN:
                self._open()
            elif not self._close():
                break
        if self._stack:
            raise ParseFailure(FailureReason.CORRUPT_FILE)
        self._end_paragraph()
        self._end_table()
        for note in self._notes:
            self._out.add("paragraph", note)

    def _open(self) -> None:
        if len(self._stack) > _DEEPEST:
            raise ParseFailure(FailureReason.TOO_COMPLEX)
        self._flush()
        self._skip = 0
        self._stack.append(self._state)
        self._state = replace(self._state, is_new=True, is_optional=False)

    def _close(self) -> bool:
        """End a group; False at the end of the document."""
        self._flush()
        self._skip = 0
        if not self._stack:
            return False
        ended, self._state = self._state, self._stack.pop()
        if ended.into == "stylesheet" and self._entry.name:
            self._end_style()
        if ended.into == "footnote" and self._state.into != "footnote":
            note = flow_lines("".join(self._text))
            self._text = self._held.pop()
            self._notes += filter(None, [note])
        return bool(self._stack)

    def _end_style(self) -> None:
        style_name = "".join(self._entry.name).partition(";")[0]
        self._styles[self._entry.number] = heading_level(style_name) or self._entry.level
        self._entry = _OutputEntry()

    def _add_bytes(self, data: bytes) -> None:
        if self._skip:
            dropped = min(self._skip, len(data))
            self._skip -= dropped
            data = data[dropped:]
        self._state = replace(self._state, is_new=False) if self._state.is_new else self._state
        self._bytes += data

    def _add_text(self, text: str) -> None:
        self._flush()
        self._put(text)

    def _put(self, text: str) -> None:
        if self._state.into == "stylesheet":
            self._entry.name.append(text)
        elif self._state.into in ("body", "footnote") and not self._state.is_hidden:
            self._text.append(text)

    def _flush(self) -> None:
        if self._bytes:
            self._put(self._bytes.decode(self._state.codec or self._default, "replace"))
            self._bytes.clear()

    def _obey(self, token: Token) -> None:
        word, number = token.word, token.number
        if self._skip:
            # A control word counts as one character of a fallback.
            self._skip -= 1
            if word not in _ENDS:
                return
        if word == "u" and number is not None:
            self._add_text(chr(number & 0xFFFF))
            self._skip = self._state.fallback
            return
        self._flush()
        if self._state.is_new and self._enter(word):
            return
        if word in _SIGNS:
            self._put(_SIGNS[word])
        elif word in _ENDS:
            self._end(word)
        elif not self._obey_table(word, number):
            self._obey_format(word, number)

    def _enter(self, word: str) -> bool:
        """Handle the first control word of a group; returns whether that was all of it."""
        if word == "*":
            self._state = replace(self._state, is_optional=True)
            return True
        into = self._state.into
        self._state = replace(self._state, is_new=False)
        if word in ("listtext", "pntext") and into == "body":
            self._paragraph.is_listed = True
        if word in _SKIPPED or (self._state.is_optional and word not in _OPTIONAL):
            self._state = replace(self._state, into="nowhere")
        elif word in ("fonttbl", "stylesheet") and into == "body":
            self._state = replace(self._state, into=word)
        elif word == "footnote" and into == "body":
            self._state = replace(self._state, into="footnote")
            self._held.append(self._text)
            self._text = []
        else:
            return False
        return True

    def _obey_table(self, word: str, number: int | None) -> bool:
        """Handle a word within a font or style definition; False outside of definitions."""
        if self._state.into == "fonttbl":
            if word == "f":
                self._entry.number = number or 0
            elif word in ("fcharset", "cpg"):
                codec = charset_codec(number) if word == "fcharset" else page_codec(number)
                self._fonts[self._entry.number] = codec or self._fonts.get(self._entry.number)
            return True
        if self._state.into == "stylesheet":
            if word == "s":
                self._entry.number = number or 0
            elif word == "outlinelevel" and number is not None and 0 <= number < _BODY_TEXT_LEVEL:
                self._entry.level = number + 1
            return True
        return self._state.into == "nowhere"

    def _obey_format(self, word: str, number: int | None) -> None:
        if word == "f":
            self._state = replace(self._state, codec=self._fonts.get(number or 0))
        elif word in ("v", "deleted"):
            self._state = replace(self._state, is_hidden=number != 0)
        elif word == "plain":
            self._state = replace(self._state, is_hidden=False)
        elif word == "uc":
            self._state = replace(self._state, fallback=max(0, min(number or 0, 8)))
        elif word == "ansicpg":
            self._default = page_codec(number) or self._default
        elif word == "mac":
            self._default = "mac_roman"
        elif word == "pard":
            self._paragraph = _Paragraph(is_listed=self._paragraph.is_listed)
        else:
            self._obey_paragraph(word, number or 0)

    def _obey_paragraph(self, word: str, number: int) -> None:
        if word == "s":
            self._paragraph.style = number
        elif word == "outlinelevel":
            self._paragraph.outline = number
        elif word == "ilvl":
            self._paragraph.level = max(0, min(number, 8))
        elif word == "ls":
            self._paragraph.is_listed = number > 0
        elif word == "intbl":
            self._paragraph.in_table = True
        elif word == "trowd":
            self._continue, self._continues = [], False
        elif word == "clvmrg":
            self._continues = True
        elif word == "cellx":
            self._continue.append(self._continues)
            self._continues = False

    def _end(self, word: str) -> None:
        if self._state.into == "footnote":
            self._text.append(BREAK)
        elif self._state.into != "body":
            return
        elif word == "cell":
            self._row.append(flow(self._take()))
        elif word == "row":
            self._end_row()
        elif self._paragraph.in_table:
            self._text.append(" ")
        else:
            self._end_paragraph()

    def _take(self) -> str:
        """The text so far, surrogate pairs combined."""
        text = "".join(self._text).encode("utf-16-le", "surrogatepass")
        self._text.clear()
        return text.decode("utf-16-le", "replace")

    def _end_paragraph(self) -> None:
        text = flow_lines(self._take())
        kind = self._paragraph
        if not text:
            return
        self._end_table()
        outline = kind.outline + 1 if 0 <= kind.outline < _BODY_TEXT_LEVEL else 0
        level = outline or self._styles.get(kind.style, 0)
        if level:
            self._out.add("heading", text.replace("\n", " "), level=level)
        elif kind.is_listed:
            self._out.add("list_item", f"- {text}", level=kind.level + 1)
        else:
            self._out.add("paragraph", text)
        kind.is_listed = False

    def _end_table(self) -> None:
        if self._row:
            self._end_row()
        self._out.add_table(spread_merged_cells(self._rows))
        self._rows = []

    def _end_row(self) -> None:
        merged = chain(self._continue, repeat(False))
        pairs = zip(self._row, merged, strict=False)
        self._rows.append([TableCell(text, continues=continues) for text, continues in pairs])
        self._row = []
