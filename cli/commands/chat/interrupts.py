"""Answers of the person at the terminal to what an agent waits for."""

import signal
import sys
from collections.abc import Callable, Sequence

from pydantic import JsonValue

from cli.client.schemas import InterruptRecord, JsonObject
from cli.ui.i18n.common import CHAT_ASKS, CHAT_CONSENT, CHAT_WAITS, CHAT_YES_NO
from cli.ui.output import Output

_YES = frozenset({"y", "yes", "是", "好", "同意"})
_NO = frozenset({"", "n", "no", "否", "不"})


def answer_all(
    output: Output, interrupts: Sequence[InterruptRecord], *, read: Callable[[str], str] = input
) -> list[JsonObject] | None:
    """Ask for each answer; Ctrl-C or the end of input leaves all of them open.

    Returns:
        AG-UI ``resume`` entries; None where nobody is there to ask.
    """
    for interrupt in interrupts:
        output.say(CHAT_ASKS, question=interrupt.message)
    if not interrupts or not sys.stdin.isatty():
        output.hint(CHAT_WAITS)
        return None
    present = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        return [
            {"interruptId": one.id, "status": "resolved", "payload": _payload(output, one, read)}
            for one in interrupts
        ]
    except (EOFError, KeyboardInterrupt):
        output.hint(CHAT_WAITS)
        return None
    finally:
        signal.signal(signal.SIGINT, present)


def _payload(output: Output, interrupt: InterruptRecord, read: Callable[[str], str]) -> JsonValue:
    match interrupt.reason:
        case "confirmation":
            said = read(output.render(CHAT_YES_NO)).strip().lower()
            return {"confirmed": said in _YES}
        case "tool_call":
            said = read(output.render(CHAT_CONSENT)).strip()
            if said.lower() in _YES:
                return {"approved": True}
            return {"approved": False, **({} if said.lower() in _NO else {"response": said})}
        case _:
            return {"input": read("> ")}
