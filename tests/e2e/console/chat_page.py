"""The chat of the console as its tests operate it: with the scripted model, or without any."""

import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from playwright.sync_api import Locator, expect

from tests.e2e.console.conftest import Console
from tests.fixtures.http.client import Api
from tests.fixtures.llm.model_server import ModelServer

HANDBOOK = """# Relay

The relay listens on port 7070.

Logs are kept for thirty days.
"""
_WAIT_SECONDS = 30


@dataclass
class ChatPage:
    """One conversation in a console.

    Attributes:
        thread: the id of its thread.
    """

    console: Console
    thread: str

    def __post_init__(self) -> None:
        self.page = self.console.page
        self.words = self.console.look.words("chat")

    def open(self) -> "ChatPage":
        """Go to the conversation."""
        self.console.open(f"/chat/{self.thread}")
        return self

    def ask(self, question: str) -> None:
        """Write a question and send it with Enter."""
        self.field.fill(question)
        self.field.press("Enter")
        expect(self.field).to_have_value("")

    @property
    def field(self) -> Locator:
        """Where questions are written."""
        return self.page.get_by_role("textbox", name=self.words("composer.label"))

    @property
    def turns(self) -> Locator:
        """The questions with their answers."""
        return self.page.get_by_role("article", name=self.words("message.turn"))

    def wait_for_answer(self, count: int = 1) -> None:
        """Wait until so many answers are complete, and the agent has ended."""
        expect(self.page.get_by_role("button", name=self.words("message.copy"))).to_have_count(count, timeout=30_000)
        # What an agent says on its way looks like an answer until it says more.
        expect(self.page.get_by_role("button", name=self.words("composer.stop"))).to_have_count(0, timeout=30_000)

    def unfold(self) -> None:
        """Open everything that is folded."""
        folded = self.page.locator("article details:not([open]) > summary:visible")
        while folded.count():
            folded.first.click()


def new_chat(person: Api, console: Console, **config: Any) -> ChatPage:
    """A new conversation with these settings, opened."""
    session = person.post("/sessions", {"config": config})
    return ChatPage(console, session["thread_id"]).open()


def wait_until_held(llm: ModelServer) -> None:
    """Wait until the model's stream stands still in the middle."""
    assert llm.waiting.wait(_WAIT_SECONDS)


def wait_until(condition: Callable[[], bool], console: Console) -> None:
    """Wait for something that no locator shows, while the browser goes on."""
    end = time.monotonic() + _WAIT_SECONDS
    while not condition():
        assert time.monotonic() < end
        console.page.wait_for_timeout(50)


def whole(text: str) -> re.Pattern[str]:
    """A pattern for exactly this text."""
    return re.compile(f"^{re.escape(text)}$")
