"""Reading of definitions that come from elsewhere than a request's body."""

from collections.abc import Mapping

from pydantic import JsonValue, ValidationError

from core.errors.requests import InvalidRequest
from core.types.validation_errors import error_details
from rules.language.definition import RuleDefinition


def read_definition(fields: Mapping[str, JsonValue], *, place: str = "") -> RuleDefinition:
    """A definition out of its JSON.

    Args:
        place: the path of the definition in what the caller sent.

    Raises:
        InvalidRequest: it names the field, such as ``conditions.2.operator``, and what is allowed there.
    """
    try:
        return RuleDefinition.model_validate(fields)
    except ValidationError as error:
        problems = [{**problem, "loc": ("body", *problem["loc"])} for problem in error.errors()]
        details = error_details(problems, fields)
        field = ".".join(part for part in (place, str(details["field"])) if part)
        raise InvalidRequest(field, str(details["error"]), str(details.get("error_zh", ""))) from error
