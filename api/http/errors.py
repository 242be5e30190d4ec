"""Translation of errors to HTTP answers."""

from collections.abc import Sequence
from typing import cast

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from sqlalchemy.exc import IntegrityError
from starlette.exceptions import HTTPException as StarletteHTTPException

from api.http.responses import ErrorBody
from core.errors.auth import NotAuthenticated, NotFound
from core.errors.base import AgentexError
from core.errors.conflicts import Conflict
from core.errors.requests import (
    InvalidPagination,
    InvalidRequest,
    MalformedJson,
    MethodNotAllowed,
    RejectedRunInput,
    RequestTooLarge,
)
from core.errors.server import EngineUnavailable, VectorIndexUnavailable
from core.logging import get_logger
from core.types.validation_errors import error_details
from kb_service.failures import MODEL_ERRORS

log = get_logger(__name__)

EMBEDDING_FAILURES = (VectorIndexUnavailable, EngineUnavailable, *MODEL_ERRORS)
"""What all may end with that needs an embedding model and its index."""


_RETRY_SECONDS = {429: 2, 502: 2, 503: 2}
_BY_STATUS = {
    # What FastAPI raises for a body that it can't decode.
    400: MalformedJson,
    401: NotAuthenticated,
    404: NotFound,
    405: MethodNotAllowed,
    413: RequestTooLarge,
}


def error_response(
    error: type[AgentexError], details: dict[str, object] | None = None, *, language: str = ""
) -> JSONResponse:
    """The answer for an error (docs/reference/agentex-api.md, section 1.3), in Chinese if preferred."""
    headers: dict[str, str] = {}
    if error.status in _RETRY_SECONDS:
        # RFC 9110, section 10.2.3; a rate limit knows better.
        seconds = (details or {}).get("retry_after", _RETRY_SECONDS[error.status])
        headers["Retry-After"] = str(seconds)
    if error.status == NotAuthenticated.status:
        headers["WWW-Authenticate"] = "Bearer"
    body = error_body(error, details, language=language)
    return JSONResponse(body.model_dump(), status_code=error.status, headers=headers)


def error_body(error: type[AgentexError], details: dict[str, object] | None = None, *, language: str = "") -> ErrorBody:
    """The body of an error, also for streams that have begun."""
    message = error.message_zh if language.lower().startswith("zh") else error.message
    return ErrorBody.model_validate({"code": error.code, "message": message, "details": details or {}})


def error_responses(*errors: type[AgentexError]) -> dict[int | str, dict[str, object]]:
    """OpenAPI entries for the errors of a route, grouped by HTTP status."""
    by_status: dict[int | str, dict[str, object]] = {}
    for error in errors:
        line = error_line(error)
        entry = by_status.setdefault(error.status, {"model": ErrorBody, "description": ""})
        present = str(entry["description"])
        entry["description"] = f"{present}; {line}" if present else line
    return by_status


def error_line(error: type[AgentexError]) -> str:
    """OpenAPI's text for an error."""
    return f"`{error.code}` {error.message}"


def _language(request: Request) -> str:
    return request.headers.get("accept-language", "")


def _answer_agentex_error(request: Request, error: Exception) -> JSONResponse:
    refusal = cast(AgentexError, error)
    if refusal.status >= AgentexError.status:
        log.warning("request.failed", code=refusal.code)
    answer = error_response(type(refusal), refusal.details, language=_language(request))
    if isinstance(refusal, RejectedRunInput):
        # Programs compare these words: they are those of the contract.
        body = ErrorBody.model_validate(
            {"code": refusal.code, "message": refusal.contract_message, "details": refusal.details}
        )
        return JSONResponse(body.model_dump(), status_code=answer.status_code)
    return answer


def _answer_invalid(request: Request, error: Exception) -> JSONResponse:
    invalid = cast(RequestValidationError, error)
    problems = cast(Sequence[dict[str, object]], invalid.errors())
    language = _language(request)
    if problems[0]["type"] == "json_invalid":
        return error_response(MalformedJson, language=language)
    (place, *_) = cast(tuple[str | int, ...], problems[0]["loc"])
    details = error_details(problems, invalid.body)
    code = InvalidRequest
    if place == "query" and details["field"] in {"page", "page_size", "sort_by", "sort_order"}:
        code = InvalidPagination
    return error_response(code, details, language=language)


def _answer_http(request: Request, error: Exception) -> JSONResponse:
    status = cast(StarletteHTTPException, error).status_code
    code = _BY_STATUS.get(status, InvalidRequest)
    return error_response(code, language=_language(request))


def _answer_conflict(request: Request, _error: Exception) -> JSONResponse:
    # Two requests passed the same check at the same moment; the constraint let one in.
    return error_response(Conflict, language=_language(request))


def install_error_handlers(app: FastAPI) -> None:
    """Answer every error in the documented shape."""
    app.add_exception_handler(AgentexError, _answer_agentex_error)
    app.add_exception_handler(RequestValidationError, _answer_invalid)
    app.add_exception_handler(StarletteHTTPException, _answer_http)
    app.add_exception_handler(IntegrityError, _answer_conflict)
