"""The base class of all errors."""

import re
from typing import ClassVar


class AgentexError(Exception):
    """Base of every error that may reach a caller; by itself, an internal error.

    The body of a subclass is its number (docs/reference/agentex-api.md, section 1.4), whose first
    three digits are the HTTP status, and its message in English (the wire default) and Chinese.
    ``wire_name`` is the class's name in capitals.

    Args:
        details: JSON-ready facts for the caller (``{"field": ..., "error": ...}`` by custom);
            never exception text, secrets or document text.
    """

    code: ClassVar[int] = 50001
    message: ClassVar[str] = "Internal error"
    message_zh: ClassVar[str] = "服务器内部错误"
    wire_name: ClassVar[str] = "INTERNAL"
    status: ClassVar[int] = 500

    def __init_subclass__(cls, *, same_as: "type[AgentexError] | None" = None) -> None:
        """Complete and register an error; ``same_as`` is the error that callers see instead."""
        super().__init_subclass__()
        if same_as is not None:
            cls.code, cls.message, cls.message_zh = (same_as.code, same_as.message, same_as.message_zh)
            cls.wire_name, cls.status = same_as.wire_name, same_as.status
        elif "code" in vars(cls):
            if cls.code in REGISTERED:
                raise TypeError(f"{cls.code} is the number of {REGISTERED[cls.code].__name__}")
            cls.wire_name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", cls.__name__).upper()
            cls.status = cls.code // 100
            REGISTERED[cls.code] = cls

    def __init__(self, **details: object) -> None:
        super().__init__(self.message)
        self.details = details


REGISTERED: dict[int, type[AgentexError]] = {AgentexError.code: AgentexError}
"""The errors of the modules that are loaded, by number; ``core.errors.registry`` has them all."""
