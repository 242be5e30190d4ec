"""Export of a session as Markdown."""

import html
import json
from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from pydantic import JsonValue
from sqlalchemy import func
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from agents.models import ChatMessage, ChatSession
from agents.sessions.markdown_sanitizer import fenced, plain, quoted
from core.db.database import Database
from core.errors.auth import SessionNotFound
from core.json_access import as_count, as_list, as_object, as_text
from kb_service.text.tokenizer import is_cjk_dominant

_BATCH = 100


@dataclass(frozen=True)
class _ExportTexts:
    untitled: str
    session: str
    created: str
    exported: str
    roles: Mapping[str, str]
    images: str
    thinking: str
    tool_call: str
    sources: str
    page: str
    input: str
    output: str
    stopped: str


_ENGLISH = _ExportTexts(
    untitled="Untitled session",
    session="Session",
    created="Created",
    exported="Exported",
    roles={"user": "User", "assistant": "Assistant"},
    images="Attached images: {count}",
    thinking="Thinking",
    tool_call="Tool call: {tool} ({duration} ms)",
    sources="Sources",
    page="page {page}",
    input="Input",
    output="Output",
    stopped="Stopped before it was complete.",
)
_CHINESE = _ExportTexts(
    untitled="未命名会话",
    session="会话",
    created="创建时间",
    exported="导出时间",
    roles={"user": "用户", "assistant": "助手"},
    images="附带图片：{count} 张",
    thinking="思考过程",
    tool_call="工具调用：{tool}（{duration} 毫秒）",
    sources="来源",
    page="第 {page} 页",
    input="输入",
    output="输出",
    stopped="未完成即已停止。",
)


class MarkdownExporter:
    """Writes one session in the language of its title.

    Content has no effect in the file: no HTML runs, no image is loaded, no link runs a script
    (``agents.sessions.markdown_sanitizer``).
    """

    def __init__(self, row: ChatSession, *, now: datetime) -> None:
        self._row = row
        self._now = now
        self._words = _CHINESE if is_cjk_dominant(row.title) else _ENGLISH

    def head(self) -> str:
        row, words = self._row, self._words
        facts = (
            (words.session, row.id),
            (words.created, _moment(row.created_at)),
            (words.exported, _moment(self._now)),
        )
        listed = "\n".join(f"- {name}: {value}" for name, value in facts)
        return f"# {plain(row.title) or words.untitled}\n\n{listed}\n"

    def message(self, message: ChatMessage) -> str:
        details, words = message.details, self._words
        role = words.roles.get(message.role) or plain(message.role)
        parts = [f"\n## {role} · {_moment(message.created_at)}", quoted(message.content)]
        if images := as_list(details.get("attachments")):
            parts.append(f"*{words.images.format(count=len(images))}*")
        if details.get("stopped"):
            parts.append(f"*{words.stopped}*")
        parts += self._sources(details)
        parts += self._thoughts(details)
        parts += [self._call(as_object(call)) for call in as_list(details.get("tool_calls"))]
        return "\n\n".join(parts) + "\n"

    def _sources(self, details: Mapping[str, JsonValue]) -> Iterable[str]:
        cited = [as_object(citation) for citation in as_list(details.get("citations"))]
        if not cited:
            return []
        return [f"**{self._words.sources}**", "\n".join(map(self._source, cited))]

    def _source(self, citation: Mapping[str, JsonValue]) -> str:
        where = [as_text(citation.get("document_name"))]
        if (page := citation.get("page")) is not None:
            where.append(self._words.page.format(page=page))
        headings = [as_text(heading) for heading in as_list(citation.get("heading_path"))]
        where += [" > ".join(headings)] if headings else []
        line = plain(f"[{as_count(citation.get('number'))}] {' · '.join(where)}")
        return f"- {line}\n  > {plain(as_text(citation.get('quote')))}"

    def _thoughts(self, details: Mapping[str, JsonValue]) -> Iterable[str]:
        steps = [as_object(step) for step in as_list(details.get("thinking"))]
        thoughts = [as_text(step.get("content")) for step in steps if step.get("type") == "thought"]
        return [_folded(self._words.thinking, fenced("\n\n".join(thoughts)))] if thoughts else []

    def _call(self, call: Mapping[str, JsonValue]) -> str:
        words = self._words
        name = words.tool_call.format(tool=as_text(call.get("tool")), duration=as_count(call.get("duration")))
        parts = (
            f"{title}:\n\n{_json(call.get(field))}"
            for title, field in ((words.input, "input"), (words.output, "output"))
        )
        return _folded(name, "\n\n".join(parts))


def _json(value: JsonValue) -> str:
    if isinstance(value, str):
        return fenced(value)
    return fenced(json.dumps(value, ensure_ascii=False, indent=2), "json")


def _folded(title: str, body: str) -> str:
    line = html.escape(" ".join(title.split()))
    return f"<details>\n<summary>{line}</summary>\n\n{body}\n\n</details>"


def _moment(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M:%S} UTC"


async def message_batches(database: Database, session_key: str) -> AsyncGenerator[Sequence[ChatMessage]]:
    """The current messages of a session, oldest first, without an open transaction: readers may be slow."""
    async with database.reading() as session:
        newest = select(func.max(ChatMessage.position)).where(ChatMessage.session_id == session_key)
        last = (await session.exec(newest)).one() or 0
    place = 0
    while place < last:
        async with database.reading() as session:
            rows = await _read(session, session_key, place, last)
        if not rows:
            return
        yield rows
        place = rows[-1].position


async def _read(session: AsyncSession, session_key: str, after: int, last: int) -> Sequence[ChatMessage]:
    query = (
        select(ChatMessage)
        .where(
            ChatMessage.session_id == session_key, col(ChatMessage.position) > after, col(ChatMessage.position) <= last
        )
        .order_by(col(ChatMessage.position))
        .limit(_BATCH)
    )
    rows = (await session.exec(query)).all()
    # A half told session must not look like a whole one.
    if not rows and await session.get(ChatSession, session_key) is None:
        raise SessionNotFound
    return rows
