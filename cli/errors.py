"""Failures of client commands and their exit codes."""

from collections.abc import Mapping
from enum import IntEnum

from pydantic import JsonValue, ValidationError

from cli.client.schemas import FailureRecord
from cli.ui.i18n.common import Language, Message
from core.errors.base import AgentexError
from core.errors.server import ServerUnreachable, ShuttingDown

# A server that drains or does not answer: try again later, nothing is wrong with the request.
_UNREACHABLE = {ServerUnreachable.code, ShuttingDown.code}
_FAMILIES = {400: 2, 422: 2, 401: 4, 404: 5}


class ExitCode(IntEnum):
    """Exit codes of client commands."""

    OK = 0
    FAILED = 1
    USAGE = 2
    UNREACHABLE = 3
    NOT_AUTHENTICATED = 4
    NOT_FOUND = 5
    INTERRUPTED = 130


class CommandFailed(Exception):
    """A failure in the client itself; ``error`` is the fact, with the code that ``--json`` shows."""

    def __init__(self, error: AgentexError, hint: Message, **values: object) -> None:
        super().__init__(error.message)
        self.code = error.code
        self.details: dict[str, JsonValue] = {key: str(value) for key, value in values.items()}
        self._hint, self._values = hint, values

    def explain(self, language: Language) -> str:
        return self._hint.render(language, **self._values)


# Details that say what to do, in both languages.
_ADVICE = {Language.EN: "next_action", Language.ZH: "next_action_zh"}
_NO_FACTS = {"field", *_ADVICE.values()}


class ServerRefused(Exception):
    """The server answered with an error envelope, whose code may be unknown to this version."""

    def __init__(self, code: int, message: str, details: Mapping[str, JsonValue]) -> None:
        super().__init__(message)
        self.code, self.message, self.details = code, message, dict(details)

    def explain(self, language: Language) -> str:
        """The server's message, already in the requested language, with facts and advice.

        An unreadable file is explained like a failed document.
        """
        failure = _failure_in(self.details)
        if failure is not None:
            return failure.explain(language)
        advice = self.details.get(_ADVICE[language])
        message = self._server_message(language)
        return f"{message}\n{advice}" if advice else message

    def _server_message(self, language: Language) -> str:
        field, error = self.details.get("field"), self.details.get("error")
        if language is Language.ZH:
            error = self.details.get("error_zh") or error
        if error:
            return f"{self.message} ({field}: {error})" if field else f"{self.message} ({error})"
        facts = [
            f"{name}: {value}"
            for name, value in self.details.items()
            if name not in _NO_FACTS and isinstance(value, str | int | float) and value != ""
        ]
        return f"{self.message} ({', '.join(facts)})" if facts else self.message


def _failure_in(details: Mapping[str, JsonValue]) -> FailureRecord | None:
    if not details.get("message") or not details.get("message_zh"):
        return None
    try:
        return FailureRecord.model_validate(details)
    except ValidationError:
        return None


Problem = CommandFailed | ServerRefused


def exit_code(code: int) -> ExitCode:
    """The exit code for an error code."""
    if code in _UNREACHABLE:
        return ExitCode.UNREACHABLE
    return ExitCode(_FAMILIES.get(code // 100, ExitCode.FAILED))


def to_json(problem: Problem, language: Language) -> dict[str, JsonValue]:
    """The problem for ``--json``: ``code``, ``message``, ``details``."""
    return {"code": problem.code, "message": problem.explain(language), "details": problem.details}
