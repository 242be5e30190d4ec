"""``agentex chat``: ask an agent, once or in a conversation."""

import asyncio
import importlib
import importlib.util
import os
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Annotated

import typer
from platformdirs import user_state_path

from cli.client.api import ApiClient, new_id
from cli.command import JsonOption, LanguageOption, Options, UrlOption, leave, open_client, open_output, run
from cli.commands.chat.run import DEFAULT_AGENT_TYPE, ChatQuestion, ask
from cli.commands.kb.search import KnowledgeBasesOption, find_ids
from cli.errors import CommandFailed, ExitCode, ServerRefused, exit_code
from cli.ui.i18n import common as messages
from cli.ui.output import Output
from core.errors.requests import InvalidRequest


def chat(
    question: Annotated[str | None, typer.Argument(help="The question; without it a conversation begins.")] = None,
    knowledge_bases: KnowledgeBasesOption = None,
    thread: Annotated[str | None, typer.Option("--thread", metavar="ID", help="A conversation to go on with.")] = None,
    agent: Annotated[
        str,
        typer.Option(
            "--agent",
            metavar="TYPE",
            help="Who answers: agentic_rag, react, plan_execute, reflexion, or worker to have it chosen.",
        ),
    ] = DEFAULT_AGENT_TYPE,
    url: UrlOption = None,
    json_only: JsonOption = False,
    language: LanguageOption = None,
) -> None:
    """Ask a question and get an answer with its sources.

    Ctrl-C stops the answer and keeps what was said so far (exit code 130).
    A question may also come on standard input. With --json each AG-UI event is
    one line.
    """
    options = Options(json_only, language, url)
    thread_id = thread or new_id()
    if question is None and sys.stdin.isatty() and not json_only:
        _converse(options, knowledge_bases, ChatQuestion("", thread_id, agent_type=agent))
        return

    async def body(output: Output, client: ApiClient) -> ExitCode:
        text = question if question is not None else _piped()
        if not text.strip():
            raise CommandFailed(InvalidRequest("question", "empty"), messages.CHAT_NO_QUESTION)
        ids = await find_ids(client, knowledge_bases)
        code = await ask(output, client, ChatQuestion(text, thread_id, ids, agent))
        output.hint(messages.CHAT_RESUME, thread=thread_id)
        return code

    run(options, body)


def _piped() -> str:
    return "" if sys.stdin.isatty() else sys.stdin.read()


def _converse(options: Options, knowledge_bases: list[str] | None, first: ChatQuestion) -> None:
    output = open_output(options)

    def work() -> ExitCode:
        with asyncio.Runner() as runner:
            client = open_client(options, output)
            try:
                conversation = Conversation(output, client, first)
                runner.run(conversation.begin(knowledge_bases))
                output.say(messages.CHAT_WELCOME)
                with chat_prompt(output.render(messages.CHAT_PROMPT)) as prompt:
                    while (text := prompt()) is not None:
                        if not conversation.obey(text):
                            break
                        if conversation.wants(text):
                            runner.run(conversation.answer(text))
                output.hint(messages.CHAT_RESUME, thread=conversation.thread_id)
            finally:
                runner.run(client.__aexit__(None, None, None))
        return ExitCode.OK

    leave(output, work)


class Conversation:
    """Questions and answers on one thread after another; ``first`` has the first one's thread and agent type."""

    def __init__(self, output: Output, client: ApiClient, first: ChatQuestion) -> None:
        self.thread_id = first.thread_id
        self._agent_type = first.agent_type
        self._output = output
        self._client = client
        self._ids: list[str] = []

    async def begin(self, knowledge_bases: list[str] | None) -> None:
        """Connect, so that problems show before the first question."""
        await self._client.__aenter__()
        await self._client.me()
        self._ids = await find_ids(self._client, knowledge_bases)

    def obey(self, text: str) -> bool:
        """Run a line that is a command; False ends the conversation."""
        match text.strip().lower():
            case "/quit" | "/exit" | "/q":
                return False
            case "/new":
                self.thread_id = new_id()
                self._output.say(messages.CHAT_NEW)
            case "/help":
                self._output.say(messages.CHAT_WELCOME)
            case line if line.startswith("/") and not self.wants(text):
                self._output.say(messages.CHAT_UNKNOWN)
            case _:
                pass
        return True

    def wants(self, text: str) -> bool:
        """Whether a line is a question."""
        words = text.split()
        # The server runs a tool that is named like this when it has no language model.
        return bool(words) and (words[0] == "/tool" or not words[0].startswith("/"))

    async def answer(self, text: str) -> None:
        """Ask and show the answer; errors leave the conversation open."""
        try:
            # A second Ctrl-C gives up on this answer alone.
            with suppress(asyncio.CancelledError):
                question = ChatQuestion(text, self.thread_id, self._ids, self._agent_type)
                await ask(self._output, self._client, question)
        except (CommandFailed, ServerRefused) as problem:
            if exit_code(problem.code) is ExitCode.NOT_AUTHENTICATED:
                raise
            self._output.fail(problem)


_HISTORY_LENGTH = 1000

Prompt = Callable[[], str | None]


@contextmanager
def chat_prompt(text: str) -> Generator[Prompt]:
    """Yield a function that reads a line: None at the end (Ctrl-D or Ctrl-C).

    The history is kept in a file that only its owner can read.
    """
    path = user_state_path("agentex") / "chat-history"
    # Some builds of Python come without readline: then there is no history, and all else works.
    is_available = importlib.util.find_spec("readline") is not None
    readline = importlib.import_module("readline") if is_available else None
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
