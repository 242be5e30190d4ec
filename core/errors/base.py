"""The base of all errors."""

from typing import ClassVar

from core.errors.codes import ErrorCode


class AgentexError(Exception):
    """Base of every error that may reach a caller.

    Args:
        details: JSON-ready facts for the caller (``{"field": ..., "error": ...}`` by custom);
            never exception text, secrets or document text.
    """

    code: ClassVar[ErrorCode] = ErrorCode.INTERNAL

    def __init__(self, **details: object) -> None:
        super().__init__(self.code.message)
        self.details = details

    @classmethod
    def of_code(cls, number: int) -> "AgentexError":
        """An error of this code, without details; the plain base if there is none."""
        waiting: list[type[AgentexError]] = [cls]
        while waiting:
            kind = waiting.pop()
            if int(kind.code) == number:
                return kind()
            waiting += kind.__subclasses__()
        return cls()
