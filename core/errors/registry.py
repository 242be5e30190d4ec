"""All errors by number."""

from collections.abc import Mapping

from core.errors import auth, conflicts, oidc, requests, server
from core.errors.base import REGISTERED, AgentexError

MODULES = (auth, conflicts, oidc, requests, server)
"""Where the errors are defined; importing them registers them."""

ERRORS: Mapping[int, type[AgentexError]] = REGISTERED


def error_for_code(code: int) -> AgentexError:
    """An error of this number, without details; an internal error for unknown numbers."""
    error_class = ERRORS.get(code, AgentexError)
    error = error_class.__new__(error_class)
    AgentexError.__init__(error)
    return error
