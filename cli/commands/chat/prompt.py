"""The line a person types a question on, with the history of earlier ones."""

import importlib
import importlib.util
import os
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from platformdirs import user_state_path

_HISTORY_LENGTH = 1000

Prompt = Callable[[], str | None]


@contextmanager
def chat_prompt(text: str) -> Generator[Prompt]:
    """Give a function that asks for a line: None at the end (Ctrl-D or Ctrl-C).

    Lines are kept for the arrow keys in a file that only its owner can read.
    """
    path = user_state_path("agentex") / "chat-history"
    # Some builds of Python come without readline: then there is no history, and all else works.
    known = importlib.util.find_spec("readline") is not None
    readline = importlib.import_module("readline") if known else None
    if readline is not None:
        with suppress(OSError):
            readline.read_history_file(path)
        readline.set_history_length(_HISTORY_LENGTH)
    try:
        yield lambda: _ask(text)
    finally:
        if readline is not None:
            _save(path, readline.write_history_file)


def _ask(text: str) -> str | None:
    try:
        return input(text)
    except (EOFError, KeyboardInterrupt):
        # The shell's next prompt belongs on a line of its own.
        print()
        return None


def _save(path: Path, write: Callable[[Path], None]) -> None:
    with suppress(OSError):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600))
        write(path)
