"""TeX and LaTeX: headings, paragraphs, lists, tables, formulas and listings, without the commands around them."""

import re
from dataclasses import dataclass, field
from pathlib import Path

from ingestion.parsers.builder import DocumentBuilder
from ingestion.parsers.errors import FailureReason, ParseFailure
from ingestion.parsers.limits import ParseLimits
from ingestion.parsers.model import Kind, ParsedDocument
from ingestion.parsers.text import tex_commands as tex
from ingestion.parsers.text.charset import decode
from ingestion.parsers.text_cleanup import BREAK, clean, flow, flow_lines

_TOKEN = re.compile(
    r"(?P<comment>%[^\n]*(?:\n(?![ \t]*\n)[ \t]*)?)"
    r"|\\(?P<accent>[\"'`^~=.]|[vcuHkrd](?![a-zA-Z]))[ \t]*(?:\{[ \t]*(?P<braced>\\[ij]|\w)[ \t]*\}|(?P<bare>\\[ij]\b|\w))"
    r"|\\(?P<word>[a-zA-Z@]+)\*?[ \t]*"
    r"|\\(?P<sign>.)"
    r"|(?P<math>\$\$?)|(?P<brace>[{}])|(?P<blank>\n[ \t]*(?:\n[ \t]*)+)|(?P<tie>~)|(?P<cell>&)"
    r"|(?P<text>[^%\\${}~&\n]+|\n)",
    re.DOTALL,
)
_ENVIRONMENT = re.compile(r"\s*\{([^{}]{1,60})\}")
_OPTION = re.compile(r"[ \t]*\[([^\[\]{}]{0,2000}|(?:[^\[\]]|\[[^\[\]]{0,200}\]){0,2000})\]")
_DIGITS = re.compile(r"\d{1,2}")
_LABEL = re.compile(r"\\label\{[^{}]*\}[ \t]*")
_SECTION = re.compile(r"\\(" + "|".join(tex.SECTIONS) + r")\b\*?\s*[\[{]|\\begin\s*\{frame\}\s*\{")
_QUOTES = (("---", "—"), ("--", "–"), ("``", "“"), ("''", "”"), ("`", "‘"))
# Between authors; a character that clean text does not hold.
_AND = "\x01"
_DEEPEST = 200
_MOST_COLUMNS = 100
_LONGEST_FORMULA = 5_000


def parse(path: Path, limits: ParseLimits) -> ParsedDocument:
    """Read a TeX source of any encoding.

    Comments, definitions, labels and drawings are left out, formulas stay as they are written, and a citation gives its
    keys. Of a whole document the title and author of its preamble are read. Files that it includes are not opened:
    upload them too.
    """
    decoded = decode(path.read_bytes())
    source = clean(decoded.text).lstrip("\ufeff")
    builder = DocumentBuilder(limits)
    reader = TexReader(source, builder, is_preamble="\\begin{document}" in source)
    reader.read()
    if reader.is_preamble:
        # The document begins in a comment or a listing only: this is a part of one.
        builder = DocumentBuilder(limits)
        TexReader(source, builder).read()
    return builder.finish(encoding=decoded.encoding, confidence=decoded.confidence, warnings=decoded.warnings)


def plain_text(source: str, limits: ParseLimits) -> str:
    """The text of a fragment on one line."""
    builder = DocumentBuilder(limits)
    TexReader(source, builder).read()
    return flow(builder.finish().text) if len(builder) else ""


@dataclass(slots=True)
class _TexGroup:
    """What stands between two braces."""

    kind: str
    parts: list[str]
    following: tuple[str, ...] = ()


@dataclass(slots=True)
class _TexList:
    is_numbered: bool
    count: int = 0


@dataclass(slots=True)
class _TexTable:
    rows: list[list[str]] = field(default_factory=list[list[str]])
    cells: list[str] = field(default_factory=list[str])
    span: int = 1
    depth: int = 0


class TexReader:
    """Reads a source from its start to its end, once."""

    def __init__(self, source: str, out: DocumentBuilder, *, is_preamble: bool = False) -> None:
        self._source = source
        self._out = out
        self._place = 0
        self._parts: list[str] = []
        self._groups: list[_TexGroup] = []
        self._waiting: tuple[str, ...] = ()
        self._lists: list[_TexList] = []
        self._marker = ""
        self._notes: list[str] = []
        self._table: _TexTable | None = None
        self.is_preamble = is_preamble
        present = {match[1] or "frametitle" for match in _SECTION.finditer(source)}
        self._levels = {name: level for level, name in enumerate((s for s in tex.SECTIONS if s in present), 1)}

    def read(self) -> None:
        """Add the blocks of the source to the document."""
        while self._place < len(self._source):
            match = _TOKEN.match(self._source, self._place)
            if match is None:
                # A backslash at the end of the file.
                break
            self._place = match.end()
            self._take(match)
        while self._groups:
            self._close()
        if self._table is not None:
            self._end_table()
        self._flush()

    def _take(self, match: re.Match[str]) -> None:
        kind, text = match.lastgroup, match[0]
        if kind == "text":
            if not text.isspace():
                self._waiting = ()
            self._write(text)
        elif kind in ("braced", "bare"):
            self._write(tex.accented(match["accent"], match["braced"] or match["bare"]))
        elif kind == "word":
            self._command(match["word"])
        elif kind == "sign":
            self._sign(match["sign"])
        elif kind == "math":
            self._math(text)
        else:
            self._separate(text)

    def _separate(self, text: str) -> None:
        """Take a brace, a blank line, a tie, the end of a cell; a comment is none of these."""
        if text == "{":
            self._open()
        elif text == "}":
            self._close()
        elif text == "~":
            self._write(" ")
        elif text == "&":
            self._end_cell()
        elif text.startswith("\n"):
            self._end_paragraph()

    def _write(self, text: str) -> None:
        if text:
            for source, char in _QUOTES:
                text = text.replace(source, char)
            self._parts.append(text)

    # Groups: the arguments of commands.

    def _open(self) -> None:
        if len(self._groups) >= _DEEPEST:
            raise ParseFailure(FailureReason.TOO_COMPLEX)
        kind, following = (self._waiting[0], self._waiting[1:]) if self._waiting else (tex.TEXT, ())
        self._waiting = ()
        self._groups.append(_TexGroup(kind, self._parts, following))
        if kind != tex.TEXT:
            self._parts = []

    def _close(self) -> None:
        if not self._groups:
            return
        group = self._groups.pop()
        self._waiting = group.following
        if group.kind == tex.TEXT:
            return
        text = "".join(self._parts)
        self._parts = group.parts
        if not self._is_dropped:
            self._use(group.kind, text)
        if self._waiting:
            self._skip_options()

    def _use(self, kind: str, text: str) -> None:
        """Do with an argument what its command says."""
        if kind == tex.CITE:
            self._parts.append(f"[{', '.join(key.strip() for key in text.split(','))}]")
        elif kind == tex.NOTE:
            self._notes.append(text)
        elif kind == tex.SPAN and self._table is not None:
            digits = _DIGITS.search(text)
            self._table.span = min(int(digits[0]), _MOST_COLUMNS) if digits else 1
        elif kind == tex.ITEM_KEY:
            self._flush()
            self._parts.append(f"[{text.strip()}] ")
        elif kind in (tex.TITLE, tex.AUTHOR, tex.CAPTION) or kind.startswith(tex.HEADING):
            self._add_block(kind, text)

    def _add_block(self, kind: str, text: str) -> None:
        if self._table is None:
            self._flush()
        if kind in (tex.AUTHOR, tex.CAPTION):
            self._out.add("paragraph", re.sub(rf"\s*{_AND}\s*", "; ", flow_lines(text)))
            return
        name = "title" if kind == tex.TITLE else kind.removeprefix(f"{tex.HEADING}:")
        self._out.add("heading", flow(text.replace(BREAK, " ")), level=self._levels.get(name, 1))

    # Commands.

    @property
    def _is_dropped(self) -> bool:
        return any(group.kind == tex.DROP for group in self._groups)

    def _command(self, name: str) -> None:
        if name == "begin":
            self._begin()
        elif name == "end":
            self._end()
        elif name in ("verb", "lstinline"):
            self._write_verbatim()
        elif name in ("url", "path", "href"):
            self._write_address(is_shown=name != "href")
        elif name in ("def", "gdef", "edef", "let"):
            self._skip_definition(name)
        elif name == "iffalse":
            self._skip_to("\\fi")
        elif name == "item":
            self._begin_item()
        elif name in ("par", "bigskip", "medskip", "smallskip", "newpage", "clearpage"):
            self._end_paragraph()
        elif name in ("newline", "linebreak", "tabularnewline"):
            self._sign("\\")
        else:
            self._other_command(name)

    def _other_command(self, name: str) -> None:
        is_argument = bool(self._waiting) and self._waiting[0] == tex.DROP
        if is_argument:
            # As in \newcommand\name{...}: the name is the first argument.
            self._waiting = self._waiting[1:]
        elif name == "and":
            self._parts.append(_AND)
            return
        elif name in tex.SYMBOLS:
            self._parts.append(tex.SYMBOLS[name])
            return
        else:
            self._waiting = tex.ARGUMENTS.get(name, ())
        self._skip_options()

    def _sign(self, sign: str) -> None:
        if sign == "\\":
            self._skip_options()
            if self._table is not None and not self._table.depth:
                self._end_row()
            else:
                self._parts.append(BREAK)
        elif sign in "([":
            self._display("\\)" if sign == "(" else "\\]", is_block=sign == "[")
        else:
            self._parts.append(tex.SYMBOLS.get(sign, ""))

    def _skip_options(self) -> None:
        while match := _OPTION.match(self._source, self._place):
            self._place = match.end()

    def _skip_definition(self, name: str) -> None:
        """Leave out a definition: what stands before its braces are the parameters."""
        end = self._source.find("\n", self._place) if name == "let" else self._source.find("{", self._place)
        self._place = end if end >= 0 else len(self._source)
        self._waiting = () if name == "let" else (tex.DROP,)

    def _skip_to(self, mark: str) -> str:
        """Move behind a mark and return what stands before it; to the end if there is none."""
        start = self._place
        end = self._source.find(mark, start)
        self._place = len(self._source) if end < 0 else end + len(mark)
        return self._source[start : end if end >= 0 else None]

    def _write_verbatim(self) -> None:
        self._skip_options()
        mark = self._source[self._place : self._place + 1]
        self._place += 1
        self._parts.append(self._skip_to("}" if mark == "{" else mark or "\n"))

    def _write_address(self, *, is_shown: bool) -> None:
        """An address: signs such as ``%`` have no meaning in it."""
        if self._source.startswith("{", self._place):
            self._place += 1
            address = self._skip_to("}")
            self._parts.append(address if is_shown else "")

    # Environments.

    def _begin(self) -> None:
        name = self._environment()
        if self._is_dropped:
            # Definitions often begin an environment in one of them and end it in another.
            return
        if name == "document":
            self.is_preamble = False
            self._parts.clear()
            self._notes.clear()
        elif name in tex.SKIPPED:
            self._skip_to(f"\\end{{{name}}}")
        elif name in tex.VERBATIM:
            self._listing(name)
        elif name in tex.MATH:
            self._display(f"\\end{{{name}}}", is_block=name.rstrip("*") != "math")
        elif name in tex.TABLES:
            self._begin_table(name)
        else:
            if name in tex.LISTS:
                self._flush()
                self._lists.append(_TexList(name in ("enumerate", "compactenum")))
            elif name not in ("center", "small"):
                self._end_paragraph()
            self._begin_arguments(name)

    def _begin_arguments(self, name: str) -> None:
        self._skip_options()
        kinds = tex.ENVIRONMENT_ARGUMENTS.get(name, ())
        self._waiting = kinds if self._source.startswith("{", self._place) else ()

    def _end(self) -> None:
        name = self._environment()
        if self._is_dropped:
            return
        if name == "document":
            self._place = len(self._source)
        elif name in tex.TABLES:
            self._end_table()
        else:
            self._end_paragraph()
            if name in tex.LISTS and self._lists:
                self._lists.pop()

    def _environment(self) -> str:
        match = _ENVIRONMENT.match(self._source, self._place)
        if match is None:
            return ""
        self._place = match.end()
        return match[1]

    def _listing(self, name: str) -> None:
        self._skip_options()
        if name == "minted":
            self._skip_to("}")
        self._flush()
        text = self._skip_to(f"\\end{{{name}}}")
        if not self.is_preamble:
            self._out.add("code", text)

    def _begin_item(self) -> None:
        self._flush()
        term = _OPTION.match(self._source, self._place)
        if not self._lists:
            return
        listed = self._lists[-1]
        listed.count += 1
        self._marker = f"{listed.count}. " if listed.is_numbered else "- "
        if term:
            # The term is read as text, up to its bracket.
            self._place = term.end()
            self._write(f"{term[1]}: ")

    # Formulas.

    def _math(self, mark: str) -> None:
        end = self._source.find(mark, self._place)
        while end > 0 and self._source[end - 1] == "\\":
            end = self._source.find(mark, end + 1)
        if not 0 <= end - self._place <= _LONGEST_FORMULA:
            return
        formula = self._source[self._place : end]
        self._place = end + len(mark)
        self._write_formula(formula, is_block=mark == "$$")

    def _display(self, end: str, *, is_block: bool) -> None:
        self._write_formula(self._skip_to(end), is_block=is_block)

    def _write_formula(self, formula: str, *, is_block: bool) -> None:
        formula = _LABEL.sub("", formula).strip()
        if not is_block or self._groups or self._table is not None:
            self._parts.append(f"${formula}$" if formula else "")
            return
        self._flush()
        if not self.is_preamble:
            self._out.add("paragraph", formula)

    # Tables.

    def _begin_table(self, name: str) -> None:
        self._begin_arguments(name)
        if self._table is not None:
            self._table.depth += 1
            return
        self._flush()
        self._table = _TexTable()

    def _end_cell(self) -> None:
        if self._table is None or self._table.depth:
            self._parts.append(" " if self._table is not None else "&")
            return
        self._table.cells.append("".join(self._parts).replace(BREAK, " "))
        self._table.cells += [""] * (self._table.span - 1)
        self._table.span = 1
        self._parts.clear()

    def _end_row(self) -> None:
        table = self._table
        if table is not None:
            self._end_cell()
            table.rows.append(table.cells)
            table.cells = []

    def _end_table(self) -> None:
        table = self._table
        if table is None:
            return
        if table.depth:
            table.depth -= 1
            return
        self._end_row()
        self._table = None
        if not self.is_preamble:
            self._out.add_table(table.rows)

    # Paragraphs.

    def _end_paragraph(self) -> None:
        """End a paragraph, except within an argument or a cell, where a blank line is a break."""
        self._waiting = ()
        if self._table is not None or any(group.kind != tex.TEXT for group in self._groups):
            self._parts.append("\n")
        else:
            self._flush()

    def _flush(self) -> None:
        text = flow_lines("".join(self._parts))
        self._parts.clear()
        notes, self._notes = self._notes, []
        if self.is_preamble:
            return
        self._add_text(text)
        for note in notes:
            self._out.add("paragraph", flow_lines(note))

    def _add_text(self, text: str) -> None:
        kind: Kind = "list_item" if self._marker else "paragraph"
        if text:
            self._out.add(kind, self._marker + text, level=len(self._lists) if self._marker else 0)
            self._marker = ""
