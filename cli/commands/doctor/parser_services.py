"""Checks of ``agentex doctor`` for the parsing services that are switched on."""

from pydantic import TypeAdapter, ValidationError

from cli.commands.doctor.local import CheckResult, CheckVerdict, ask_child
from cli.ui.i18n import doctor as messages
from cli.ui.i18n.common import Message
from cli.ui.output import Output
from core.settings import Settings
from core.settings.parser_services import SERVICE_KEYS, SERVICE_URLS

_STATES = TypeAdapter(dict[str, str])
_FINDINGS: dict[str, tuple[Message, Message]] = {
    "unreachable": (messages.UNREACHED, messages.PARSER_SERVICE_DOWN_HINT),
    "key_refused": (messages.PARSER_SERVICE_KEY, messages.PARSER_SERVICE_KEY_HINT),
    "unexpected": (messages.PARSER_SERVICE_OTHER, messages.PARSER_SERVICE_OTHER_HINT),
}


async def check_parser_services(output: Output, settings: Settings) -> list[CheckResult]:
    """Whether each service answers and takes its key; empty without one."""
    names = [name for name in SERVICE_URLS if name in settings.parsers]
    if not names:
        return []
    try:
        states = _STATES.validate_json(await ask_child("cli.commands.doctor.probe_parsers"))
    except ValidationError:
        states = {}
    return [_result(output, name, states.get(name, "unreachable")) for name in names]


def _result(output: Output, name: str, state: str) -> CheckResult:
    title = Message(f"Parser {name}", f"解析器 {name}")
    if state == "ok":
        return CheckResult(f"parser:{name}", title, CheckVerdict.OK, output.render(messages.PARSER_SERVICE_ANSWERS))
    detail, hint = _FINDINGS[state]
    settings = {"url": SERVICE_URLS[name], "key": SERVICE_KEYS[name]}
    words = output.render(hint, **{field: f"AGENTEX_{setting.upper()}" for field, setting in settings.items()})
    return CheckResult(f"parser:{name}", title, CheckVerdict.FAILED, output.render(detail), words)
