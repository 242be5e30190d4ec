"""Prints ``.env.example``: every setting with its description and default.

``python -m scripts.env_example > .env.example``; a test keeps the file equal to the settings.
"""

import sys
from pathlib import Path

from pydantic.fields import FieldInfo

from core.settings import Settings

_HEAD = """\
# Agentex reads these variables from the environment or from a file named .env in the folder it
# is started in. Every one may be left out; what is commented out shows the default.
"""


def render() -> str:
    """The text of ``.env.example``."""
    blocks = [_render_field(name, field) for name, field in Settings.model_fields.items()]
    return "\n".join([_HEAD, *blocks])


def _render_field(name: str, field: FieldInfo) -> str:
    # A default made by a factory depends on the machine and is described, not shown.
    is_shown = field.default_factory is None and field.default not in (None, ())
    default = _show(field.default) if is_shown else ""
    return f"# {field.description}\n#AGENTEX_{name.upper()}={default}\n"


def _show(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return value.as_posix() if isinstance(value, Path) else str(value)


if __name__ == "__main__":
    sys.stdout.write(render())
