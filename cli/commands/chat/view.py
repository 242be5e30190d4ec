"""How the terminal shows a run: its steps while it thinks, its words as they come, its sources."""

from rich.status import Status
from rich.text import Text

from cli.client.schemas import Citation, WireEvent
from cli.commands.kb.search import place
from cli.ui.i18n import common as messages
from cli.ui.output import Output, printable

_LONGEST_QUOTE = 300
_STEPS = {
    "decide": messages.STEP_DECIDE,
    "retrieve": messages.STEP_RETRIEVE,
    "grade": messages.STEP_GRADE,
    "rewrite": messages.STEP_REWRITE,
    "answer": messages.STEP_ANSWER,
    "check_citations": messages.STEP_CHECK,
    "widen": messages.STEP_WIDEN,
    "think": messages.STEP_THINK,
    "act": messages.STEP_ACT,
    "observe": messages.STEP_OBSERVE,
    "plan": messages.STEP_PLAN,
    "execute": messages.STEP_EXECUTE,
    "replan": messages.STEP_REPLAN,
    "synthesise": messages.STEP_SYNTHESISE,
    "attempt": messages.STEP_ATTEMPT,
    "evaluate": messages.STEP_EVALUATE,
    "reflect": messages.STEP_REFLECT,
    "router": messages.STEP_ROUTER,
    "worker": messages.STEP_WORKER,
}


class ChatView:
    """Shows one run's events to a person.

    Args:
        output: the command's; in JSON mode nothing is shown here.
    """

    def __init__(self, output: Output) -> None:
        self._output = output
        self._in_line = False
        self._has_text = False
        self._status = Status("", console=output.remarks) if output.lively else None

    def begin(self) -> None:
        """Show that something happens."""
        if self._status is not None:
            self._status.update(self._dim(self._output.render(messages.CHAT_THINKING)))
            self._status.start()

    def end(self) -> None:
        """Leave the cursor on a new line."""
        if self._status is not None:
            self._status.stop()
        self._break_line()

    def show(self, event: WireEvent) -> None:
        """Show one event."""
        match event.type:
            case "STEP_STARTED":
                step = _STEPS.get(event.step_name)
                self.work(self._output.render(step) if step else event.step_name)
            case "TOOL_CALL_START":
                self.work(self._output.render(messages.CHAT_TOOL, tool=event.tool_call_name))
            case "TEXT_MESSAGE_START" if self._has_text:
                self._break_line()
                self._output.print("")
            case "TEXT_MESSAGE_CONTENT" if isinstance(event.delta, str):
                self._write(event.delta)
            case "RUN_FINISHED" if event.result is not None:
                self._show_sources(event.result.citations)
            case _:
                pass

    def work(self, text: str) -> None:
        """Show what is being done, unless an answer is being written."""
        if self._status is not None and not self._in_line:
            self._status.update(self._dim(printable(text)))
            self._status.start()

    def _write(self, delta: str) -> None:
        text = printable(delta)
        if self._output.json_only or not text:
            return
        if self._status is not None:
            self._status.stop()
        self._output.screen.out(text, end="", highlight=False)
        self._output.screen.file.flush()
        self._in_line, self._has_text = not text.endswith("\n"), True

    def _break_line(self) -> None:
        if self._in_line:
            self._output.print("")
        self._in_line = False

    def _show_sources(self, citations: list[Citation]) -> None:
        if not citations or self._output.json_only:
            return
        if self._status is not None:
            self._status.stop()
        self._break_line()
        self._output.print("")
        self._output.print(self._output.render(messages.CHAT_SOURCES), "bold")
        for citation in sorted(citations, key=lambda one: one.number):
            where = place(
                self._output, citation.document_name, citation.page, citation.heading_path
            )
            line = Text.assemble((f"[{citation.number}] ", "bold"), (where, "cyan"))
            self._output.print(line)
            if citation.quote:
                self._output.print(f"    “{_shorten(citation.quote)}”", "dim")

    def _dim(self, text: str) -> Text:
        return Text(text, style="dim")


def _shorten(quote: str) -> str:
    text = " ".join(quote.split())
    return text if len(text) <= _LONGEST_QUOTE else f"{text[:_LONGEST_QUOTE]} …"
