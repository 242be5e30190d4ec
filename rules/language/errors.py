"""Errors of rules: what is wrong, where, and what to do next."""

from core.types.errors import FieldValueError


class RuleError(FieldValueError):
    """Base of the errors of rules; pydantic's validators turn it into a validation error.

    Args:
        error: what is wrong and what to do next.
        error_zh: the same in Chinese.
        position: the character of the text where it is wrong, counted from 1.
    """

    def __init__(self, error: str, error_zh: str, position: int | None = None) -> None:
        if position is not None:
            error, error_zh = f"At character {position}: {error}", f"第 {position} 个字符：{error_zh}"
        super().__init__(error, error_zh)
        self.position = position

    @property
    def error(self) -> str:
        """What is wrong and what to do next."""
        return str(self)


class InvalidPath(RuleError):
    """A path that can't be read."""


class InvalidOperand(RuleError):
    """A value that its operator can't compare with."""


class InvalidPattern(InvalidOperand):
    """A regular expression that RE2 refuses."""


class InvalidTemplate(RuleError):
    """A template that can't be read or that passes a limit."""


class InvalidSchedule(RuleError):
    """A cron expression or time zone that can't be used."""


class TemplateFailure(RuleError):
    """A template that an event gives no text for."""


class MissingValue(TemplateFailure):
    """A template whose path leads to nothing.

    Args:
        path: the path of the template.
        absent: the part of the path, from its start, that the event lacks.
    """

    def __init__(self, path: str, absent: str) -> None:
        super().__init__(
            f"The event has no {absent}; use {{{{{path} | default:...}}}} where it may be missing",
            f"事件没有 {absent}；如果可能缺失，请使用 {{{{{path} | default:...}}}}",
        )
        self.path, self.absent = path, absent
