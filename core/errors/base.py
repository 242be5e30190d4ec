"""The base of all errors."""

from typing import ClassVar

from core.error_codes import ErrorCode


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
