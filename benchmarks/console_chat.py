"""The chat in a browser: ``python -m benchmarks.console_chat``.

The product, the scripted model and Chromium run on one machine; what is measured is how long the page is busy at a
stretch while an answer of 10,000 tokens streams, and in a conversation of 500 messages.
"""

import argparse
import os
import time
from collections.abc import Callable, Iterator

import httpx
from playwright.sync_api import Page

from benchmarks.console_browser import TimedPage, timed_page
from benchmarks.product import Product, running_product
from benchmarks.runs.model import MODEL, Script
from benchmarks.runs.setting import program

_TOKENS = 10_000
_TURNS = 250
_TOKENS_PER_ANSWER = 250
_DOCUMENT = "# Relay\n\nThe relay listens on port 7070.\n\nLogs are kept for thirty days.\n"
_WAIT_MS = 180_000
_COPY = "Copy the answer"
# A search for a role looks at every element of a page, which in a long conversation is a long task of its own.
_COMPOSER = "form:has(textarea)"
Measured = tuple[str, str, float]


class _Conversations:
    """The administrator's conversations, over HTTP."""

    def __init__(self, product: Product) -> None:
        self._http = httpx.Client(base_url=f"{product.url}/api/v1", timeout=120)
        login = {"username": product.username, "password": product.password}
        self._http.headers["Authorization"] = f"Bearer {self._post('/auth/login', login)['access_token']}"

    def _post(self, path: str, body: dict) -> dict:
        answer = self._http.post(path, json=body)
        answer.raise_for_status()
        return answer.json()["data"]

    def add_document(self) -> None:
        """A document that answers cite."""
        kb = self._post("/knowledge-bases", {"name": "Handbook"})["id"]
        path = f"/knowledge-bases/{kb}/documents"
        added = self._http.post(path, files={"file": ("relay.md", _DOCUMENT.encode(), "text/markdown")})
        added.raise_for_status()
        document = added.json()["data"]["id"]
        while self._http.get(f"{path}/{document}").json()["data"]["status"] not in ("completed", "failed"):
            time.sleep(0.2)

    def thread(self) -> str:
        """An empty conversation."""
        return self._post("/sessions", {"config": {"agent_type": "react"}})["thread_id"]

    def ask(self, thread: str, number: int) -> None:
        """Ask a question in it, and read the answer to its end."""
        script = Script(_TOKENS_PER_ANSWER, is_rich=True)
        message = {"id": f"{thread}-{number}", "role": "user", "content": f"{number}. {script.question}"}
        body = {"threadId": thread, "runId": f"run-{thread}-{number}", "messages": [message]}
        self._http.post("/agent/run", json=body).raise_for_status()


def _ask(page: Page, script: Script) -> None:
    field = page.locator(_COMPOSER).get_by_role("textbox", name="Your question")
    field.fill(script.question)
    field.press("Enter")


def _streamed(timed: TimedPage, account: _Conversations, per_second: int) -> Measured:
    page = timed.page
    page.goto(f"{timed.base}/chat/{account.thread()}")
    page.get_by_text("Nothing has been said").wait_for()
    timed.longest_task()
    begun = time.perf_counter()
    _ask(page, Script(_TOKENS, per_second, is_rich=True))
    page.get_by_role("button", name=_COPY).wait_for(timeout=_WAIT_MS)
    seconds = time.perf_counter() - begun
    pace = f"{per_second} a second" if per_second else "as fast as they come"
    return f"an answer of {_TOKENS:,} tokens, {pace}", f"{seconds:.1f} s", timed.longest_task()


def _long_thread(timed: TimedPage, account: _Conversations) -> Iterator[Measured]:
    page, thread = timed.page, account.thread()
    composer = page.locator(_COMPOSER)
    for number in range(1, _TURNS + 1):
        account.ask(thread, number)
    # Another page, so that this one is opened anew.
    page.goto(f"{timed.base}/models")
    page.wait_for_selector("h1")
    timed.longest_task()

    def measured(what: str, act: Callable[[], None]) -> Measured:
        begun = time.perf_counter()
        act()
        seconds = time.perf_counter() - begun
        page.wait_for_timeout(1000)
        return f"{2 * _TURNS} messages: {what}", f"{seconds:.1f} s", timed.longest_task()

    def open_thread() -> None:
        page.goto(f"{timed.base}/chat/{thread}")
        page.locator("article").last.get_by_role("button", name=_COPY).wait_for(timeout=_WAIT_MS)

    def read_up() -> None:
        page.mouse.move(800, 400)
        for _ in range(60):
            page.mouse.wheel(0, -4000)
            page.wait_for_timeout(30)

    def write() -> None:
        composer.get_by_role("textbox").press_sequentially("On which port does it listen, please?")

    def ask() -> None:
        composer.get_by_role("textbox").fill("")
        _ask(page, Script(1000, 200, is_rich=True))
        stop = composer.get_by_role("button", name="Stop the answer")
        stop.wait_for()
        stop.wait_for(state="detached", timeout=_WAIT_MS)

    acts = {"opened": open_thread, "scrolled up": read_up, "written in": write, "asked in, 1,000 tokens": ask}
    for what, act in acts.items():
        yield measured(what, act)


def run(slow_down: float) -> Iterator[Measured]:
    """What was done, how long it took, and the longest task of the page in milliseconds."""
    with program("benchmarks.runs.model", {}) as (port, _):
        llm = {"AGENTEX_LLM_BASE_URL": f"http://127.0.0.1:{port}/v1", "AGENTEX_LLM_MODEL": MODEL}
        with running_product(settings=llm) as product, timed_page(product) as timed:
            account = _Conversations(product)
            account.add_document()
            if slow_down > 1:
                timed.slow_down(slow_down)
            yield _streamed(timed, account, 0)
            yield _streamed(timed, account, 200)
            yield from _long_thread(timed, account)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--slow-down", type=float, default=1, help="give the page one part in so many of a core")
    print("| what | took | longest task |\n|---|---|---|")
    for what, took, longest in run(parser.parse_args().slow_down):
        print(f"| {what} | {took} | {longest:.0f} ms |", flush=True)
    print(f"\n{os.cpu_count()} cores, load average {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
