"""Output of client commands: text and tables for people, JSON for programs."""

import json
import sys
from collections.abc import Iterable, Sequence

from pydantic import JsonValue
from rich.console import Console
from rich.table import Table
from rich.text import Text

from cli.errors import ExitCode, Problem, exit_code, to_json
from cli.ui.i18n.common import Language, Message

_KEPT_CONTROLS = {"\n", "\t"}
_CONTROLS = {code: None for code in (*range(0x20), *range(0x7F, 0xA0)) if chr(code) not in _KEPT_CONTROLS}


def printable(text: str) -> str:
    """Text without control characters: a document must not steer the reader's terminal."""
    return text.translate(_CONTROLS)


class Output:
    """Writes results to standard output and remarks to standard error.

    With ``json_only`` standard output gets JSON and nothing else.
    """

    def __init__(self, *, json_only: bool, language: Language) -> None:
        self.json_only = json_only
        self.language = language
        self.screen = Console(highlight=False, markup=False, emoji=False)
        self.remarks = Console(stderr=True, highlight=False, markup=False, emoji=False)

    @property
    def lively(self) -> bool:
        """Whether a person can see progress and remarks."""
        return not self.json_only and self.remarks.is_terminal

    def render(self, message: Message, **values: object) -> str:
        return printable(message.render(self.language, **values))

    def say(self, message: Message, **values: object) -> None:
        """Print a message for people."""
        self.print(self.render(message, **values))

    def print(self, text: str | Text, style: str = "") -> None:
        """Print a line for people, as it is."""
        if not self.json_only:
            line = Text(printable(text)) if isinstance(text, str) else text
            line.stylize(style)
            self.screen.print(line, soft_wrap=True)

    def remark(self, message: Message, **values: object) -> None:
        """Print a message beside the result, dimly, on standard error."""
        if not self.json_only:
            self.remarks.print(Text(self.render(message, **values), style="dim"), soft_wrap=True)

    def hint(self, message: Message, **values: object) -> None:
        """Like :meth:`remark`, but only on a terminal."""
        if self.lively:
            self.remark(message, **values)

    def emit(self, value: JsonValue) -> None:
        """Print a value as one line of JSON, if this command speaks JSON."""
        if self.json_only:
            sys.stdout.write(json.dumps(value, ensure_ascii=False) + "\n")
            sys.stdout.flush()

    def table(self, headings: Sequence[Message], rows: Iterable[Sequence[str]]) -> None:
        """Print a table: framed on a terminal, tab-separated elsewhere."""
        if self.json_only:
            return
        titles = [self.render(heading) for heading in headings]
        cells = [[printable(cell) for cell in row] for row in rows]
        if not self.screen.is_terminal:
            for row in [titles, *cells]:
                # Rich would turn the tabs into blanks.
                line = "\t".join(" ".join(cell.split()) for cell in row)
                self.screen.file.write(f"{line}\n")
            return
        table = Table(box=None, header_style="bold", padding=(0, 2, 0, 0))
        for title in titles:
            table.add_column(title, overflow="fold")
        for row in cells:
            table.add_row(*(Text(cell) for cell in row))
        self.screen.print(table)

    def facts(self, pairs: Iterable[tuple[Message, str]]) -> None:
        """Print names and values, one pair a line."""
        for name, value in pairs:
            self.print(f"{self.render(name)}: {value}")

    def fail(self, problem: Problem) -> ExitCode:
        """Report why the command ends and return its exit code."""
        self.emit(to_json(problem, self.language))
        if not self.json_only:
            text = printable(problem.explain(self.language))
            self.remarks.print(Text(text, style="red"), soft_wrap=True)
        return exit_code(problem.code)
