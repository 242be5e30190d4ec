"""The rendering of an action's templates."""

from collections.abc import Mapping

from pydantic import JsonValue

from core.json_access import as_object
from rules.execution.firing import target_of
from rules.language.action_types import AnyAction
from rules.language.events import EventContext
from rules.language.templates import compile_template


def render_action(action: AnyAction, context: EventContext) -> tuple[str, Mapping[str, JsonValue]]:
    """An action's target and parameters for an event; RuleError where the event lacks something."""
    target = compile_template(target_of(action)).render_text(context)
    return target, as_object(action.compile_params().render(context))
