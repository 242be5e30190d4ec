"""Question files: JSON Lines or CSV with ``question``, ``document`` and optional ``text``."""

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal, cast

import orjson

from core.errors.base import AgentexError
from core.errors.requests import InvalidRequest
from core.text.csv_escape import escape_cell, unescape_cell
from kb_service.models import Question
from kb_service.questions import MAX_EXPECTED, MAX_QUESTIONS, PassageSpec, QuestionDraft, validate_draft

FileFormat = Literal["jsonl", "csv"]

COLUMNS: tuple[str, ...] = ("question", "document", "text")
_MAX_LINES = MAX_QUESTIONS * MAX_EXPECTED


def parse(content: bytes, kind: FileFormat) -> list[QuestionDraft]:
    """Parse a file; lines with the same question are merged. An error names the unusable line."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidRequest("file", "The file must be UTF-8", "文件必须是 UTF-8 编码") from error
    passages: dict[str, list[PassageSpec]] = {}
    lines = _json_lines(text) if kind == "jsonl" else _csv_lines(text)
    for number, line in lines:
        if number > _MAX_LINES:
            en, zh = f"The file has more than {_MAX_LINES} lines", f"文件超过 {_MAX_LINES} 行"
            raise InvalidRequest("file", en, zh)
        draft = _draft(number, line)
        passages.setdefault(draft.text, []).extend(draft.expected)
    if not passages:
        raise InvalidRequest("file", "The file holds no questions", "文件中没有问题")
    return [QuestionDraft(question, expected) for question, expected in passages.items()]


def _draft(number: int, line: dict[str, object]) -> QuestionDraft:
    columns = {name: line.get(name) or "" for name in COLUMNS}
    if not all(isinstance(value, str) for value in columns.values()):
        names = ", ".join(COLUMNS)
        raise _line_refused(number, f"{names} must be text", f"{names} 必须是文本")
    words = {name: str(value) for name, value in columns.items()}
    if any("\x00" in value for value in words.values()):
        raise _line_refused(number, "must not contain the character NUL", "不能包含 NUL 字符")
    passage = {"document": words["document"], "text": words["text"]}
    try:
        return validate_draft(QuestionDraft(words["question"], [passage]))
    except AgentexError as error:
        field, why = error.details.get("field"), error.details.get("error")
        why_zh = error.details.get("error_zh", why)
        raise _line_refused(number, f"{field}: {why}", f"{field}：{why_zh}") from error


def _line_refused(number: int, error: str, error_zh: str) -> InvalidRequest:
    return InvalidRequest("file", f"Line {number}: {error}", f"第 {number} 行：{error_zh}")


def _json_lines(text: str) -> Iterator[tuple[int, dict[str, object]]]:
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            value: Any = orjson.loads(line)
        except orjson.JSONDecodeError as error:
            raise _line_refused(number, "not valid JSON", "不是有效的 JSON") from error
        if not isinstance(value, dict):
            raise _line_refused(number, "not a JSON object", "不是 JSON 对象")
        yield number, cast(dict[str, object], value)


def _csv_lines(text: str) -> Iterator[tuple[int, dict[str, object]]]:
    reader = csv.DictReader(io.StringIO(text, newline=""), strict=True)
    try:
        names = [name.strip().lower() for name in reader.fieldnames or ()]
        if not {"question", "document"} <= set(names):
            zh = "第一行必须写明列名 question 和 document"
            en = "The first line must name the columns question, document"
            raise InvalidRequest("file", en, zh)
        reader.fieldnames = names
        for row in reader:
            yield reader.line_num, {name: unescape_cell(row.get(name) or "") for name in COLUMNS}
    except csv.Error as error:
        raise _line_refused(reader.line_num, "not valid CSV", "不是有效的 CSV") from error


def render(questions: Iterable[Question], kind: FileFormat) -> bytes:
    """Write questions to a file, one line for each expected passage."""
    lines = [
        {"question": row.text, "document": passage["document"], "text": passage.get("text", "")}
        for row in questions
        for passage in row.expected
    ]
    return _to_json_lines(lines) if kind == "jsonl" else _to_csv(lines)


def _to_json_lines(lines: Sequence[dict[str, str]]) -> bytes:
    filled = ({name: value for name, value in line.items() if value} for line in lines)
    return b"".join(orjson.dumps(line) + b"\n" for line in filled)


def _to_csv(lines: Sequence[dict[str, str]]) -> bytes:
    file = io.StringIO(newline="")
    writer = csv.DictWriter(file, COLUMNS)
    writer.writeheader()
    writer.writerows({name: escape_cell(value) for name, value in line.items()} for line in lines)
    # Without a byte order mark, spreadsheets assume a legacy encoding.
    return file.getvalue().encode("utf-8-sig")
