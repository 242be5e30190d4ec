"""Rows of a table of inputs: cells that say the same, and those of columns that no input has, stay as they are."""

from skills.parser.param_forms import cells, column_key
from skills.schema import Param


def param_row(param: Param, head: str, *, old: tuple[Param, str] | None, chinese: bool) -> str:
    """An input as a row of a table with this head.

    Args:
        old: the input and the row in whose place it stands; None for a new row.
    """
    keys = [column_key(text) for _, text in cells(head)]
    before = [text for _, text in cells(old[1])] if old else []
    row: list[str] = []
    for place, key in enumerate(keys):
        old_text = before[place] if place < len(before) else ""
        text = _cell(param, key, chinese=chinese)
        if text is None or (old and text == _cell(old[0], key, chinese=chinese)):
            text = old_text
        row.append(text.replace("\n", " ").replace("|", "\\|"))
    return f"| {' | '.join(row)} |"


def _cell(param: Param, key: str | None, *, chinese: bool) -> str | None:
    """What a column says of an input; None for a column that says something else."""
    if key == "name":
        return f"`{param.name}`"
    if key == "type":
        return f"array<{param.items}>" if param.type == "array" and param.items else param.type
    if key in {"required", "optional"}:
        yes, no = ("是", "否") if chinese else ("yes", "no")
        return yes if param.required is (key == "required") else no
    if key == "enum":
        return ", ".join(map(_value, param.enum or ()))
    if key in {"default", "description", "example", "min", "max", "pattern"}:
        return _value(getattr(param, key))
    return None


def _value(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)
