"""Checks of ``agentex doctor`` for models, MCP connections, the queue and knowledge bases."""

import asyncio
from collections.abc import Awaitable, Callable
from urllib.parse import quote

from cli.client.api import ApiClient
from cli.client.schemas import Record
from cli.commands.doctor.backends import backlog
from cli.commands.doctor.local import CheckResult, CheckVerdict, skipped
from cli.errors import CommandFailed, ServerRefused
from cli.ui.i18n import doctor as messages
from cli.ui.i18n.common import Language, Message
from cli.ui.output import Output
from core.errors.auth import PermissionDenied

TITLES = {
    "backlog": messages.BACKLOG,
    "registered_models": messages.REGISTERED_NONE,
    "mcp_connections": messages.CONNECTION_NONE,
    "knowledge_bases": messages.KNOWLEDGE_BASES,
}
_OFFER = "reindex_offered"
_NAMED = 5
# Each test calls a foreign server.
_AT_ONCE = 4


class _ServerInfo(Record):
    queue_depth: int | None = None
    workers: list[str] | None = None


class _ModelState(Record):
    id: str
    name: str
    built_in: bool = False


class _ModelStates(Record):
    items: list[_ModelState]


class _ModelTest(Record):
    success: bool
    latency: int = 0
    message: str = ""
    message_zh: str = ""
    fault: str | None = None


class _ConnectionState(Record):
    id: str
    name: str
    enabled: bool = True


async def check_things(output: Output, client: ApiClient) -> list[CheckResult]:
    """Check the queue, registered models, MCP connections and knowledge bases through the server."""
    looks = {
        "backlog": _backlog,
        "registered_models": _models,
        "mcp_connections": _connections,
        "knowledge_bases": _knowledge_bases,
    }
    results: list[CheckResult] = []
    for name, look in looks.items():
        try:
            results += await look(output, client)
        except ServerRefused as problem:
            is_right = problem.code == PermissionDenied.code
            results += _unlooked(output, name, None if is_right else problem)
        except CommandFailed as problem:
            results += _unlooked(output, name, problem)
    return results


def _unlooked(output: Output, name: str, problem: ServerRefused | CommandFailed | None) -> list[CheckResult]:
    if problem is None:
        return skipped(output, {name: TITLES[name]}, messages.NOT_FOR_YOU)
    words = problem.explain(output.language)
    return [CheckResult(name, TITLES[name], CheckVerdict.FAILED, "-", words)]


async def _backlog(output: Output, client: ApiClient) -> list[CheckResult]:
    info = client.read(_ServerInfo, await client.call("GET", "/api/v1/admin/system/info"))
    if info.queue_depth is None or info.workers is None:
        # Its Redis is down, which the check of the parts reports.
        return []
    workers, waiting = len(info.workers), info.queue_depth
    return [backlog(output, "backlog", messages.BACKLOG, workers=workers, waiting=waiting)]


async def _models(output: Output, client: ApiClient) -> list[CheckResult]:
    listed = client.read(_ModelStates, await client.call("GET", "/api/v1/models"))
    registered = [model for model in listed.items if not model.built_in]

    async def look(model: _ModelState) -> CheckResult:
        path = f"/api/v1/models/{quote(model.id, safe='')}/test"
        title = _titled(messages.REGISTERED, model.name)
        return _judged(output, f"model:{model.name}", title, await _test(client, path))

    return await _each(output, "registered_models", [lambda m=m: look(m) for m in registered])


async def _connections(output: Output, client: ApiClient) -> list[CheckResult]:
    rows = [
        client.read(_ConnectionState, item) async for page in client.pages("/api/v1/mcp/connections") for item in page
    ]

    async def look(row: _ConnectionState) -> CheckResult:
        path = f"/api/v1/mcp/connections/{quote(row.id, safe='')}/test"
        title = _titled(messages.CONNECTION, row.name)
        tested = await _test(client, path)
        return _judged(output, f"mcp:{row.name}", title, tested, messages.CONNECTION_HINT)

    enabled = [row for row in rows if row.enabled]
    return await _each(output, "mcp_connections", [lambda r=r: look(r) for r in enabled])


async def _knowledge_bases(output: Output, client: ApiClient) -> list[CheckResult]:
    """The knowledge bases for which the server offers a re-index."""
    name, title = "knowledge_bases", messages.KNOWLEDGE_BASES
    bases = await client.list_knowledge_bases()
    offered = [base for base in bases if any(notice.code == _OFFER for notice in base.notices)]
    if not offered:
        return [CheckResult(name, title, CheckVerdict.OK, str(len(bases)))]
    names = ", ".join(base.name for base in offered[:_NAMED]) + (", ..." if len(offered) > _NAMED else "")
    detail = output.render(messages.REINDEX_OFFERED, count=len(offered), names=names)
    # All of them work: the offer is no fault.
    return [CheckResult(name, title, CheckVerdict.OK, detail, output.render(messages.REINDEX_OFFERED_HINT))]


async def _test(client: ApiClient, path: str) -> _ModelTest:
    try:
        return client.read(_ModelTest, await client.call("POST", path))
    except ServerRefused as problem:
        return _ModelTest(success=False, message=problem.message)
    except CommandFailed:
        # Such as a timeout; the others are still reported.
        words = messages.TEST_UNANSWERED
        return _ModelTest(success=False, message=words.en, message_zh=words.zh)


def _judged(
    output: Output, name: str, title: Message, tested: _ModelTest, otherwise: Message | None = None
) -> CheckResult:
    if tested.success:
        detail = output.render(messages.ANSWERS_IN, latency=tested.latency)
        return CheckResult(name, title, CheckVerdict.OK, detail)
    is_chinese = output.language is Language.ZH and bool(tested.message_zh)
    reason = tested.message_zh if is_chinese else tested.message
    fact, _, step = reason.partition("：" if is_chinese else ": ")
    # A busy endpoint is there and knows the key.
    verdict = CheckVerdict.WARNING if tested.fault == "busy" else CheckVerdict.FAILED
    return CheckResult(name, title, verdict, fact, step or (output.render(otherwise) if otherwise else ""))


def _titled(title: Message, name: str) -> Message:
    # A name may hold braces, which are no placeholders.
    plain = name.replace("{", "{{").replace("}", "}}")
    return Message(title.en.format(name=plain), title.zh.format(name=plain))


async def _each(output: Output, name: str, looks: list[Callable[[], Awaitable[CheckResult]]]) -> list[CheckResult]:
    if not looks:
        return [CheckResult(name, TITLES[name], CheckVerdict.OK, output.render(messages.NONE_THERE))]
    turn = asyncio.Semaphore(_AT_ONCE)

    async def item(look: Callable[[], Awaitable[CheckResult]]) -> CheckResult:
        async with turn:
            return await look()

    return [*await asyncio.gather(*(item(look) for look in looks))]
