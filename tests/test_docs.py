"""The documents say what is so: links, commands, settings, codes, routes; and the guide answers."""

import math
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
import typer.main

from agents.evidence import NumberedText
from agents.llm.extractive.model import quote_passages
from agents.llm.extractive.sentences import quotable_units
from api.app import create_app
from cli.main import build
from core.errors.registry import ERRORS
from core.settings import Settings
from ingestion.parsers.errors import FailureReason
from ingestion.parsers.limits import ParseLimits
from ingestion.parsers.text import markdown
from ingestion.splitters.base import Piece, SplitSizes, indexed_text
from kb_service.knowledge_bases.service import DEFAULT_SPLITTER
from kb_service.text.token_counter import token_counter
from kb_service.vector_index.bm25 import encode_document, encode_query
from tests.fixtures.knowledge.splitters import split
from tests.fixtures.paths import GUIDE, ROOT

DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
# Variables of Docker Compose and of the test runner; all others are settings.
NO_SETTINGS = {
    "AGENTEX_PUBLISH",
    "AGENTEX_TORCH_INDEX",
    "AGENTEX_TEST_DATABASE_URL",
    "AGENTEX_TEST_REDIS_URL",
    "AGENTEX_TEST_SCREENSHOTS",
    "AGENTEX_TEST_UNSTRUCTURED",
}
PIPELINE_REASONS = {
    "poison",
    "service_unavailable",
    "engine_unavailable",
    "vector_index_unavailable",
    "object_store_unavailable",
    "database_unavailable",
    "storage_full",
    "embedding_model_not_configured",
    "embedding_model_not_loaded",
    "embedding_endpoint_unavailable",
    "embedding_model_misfit",
    "embedding_refused",
    "parser_service_unavailable",
    "internal_error",
}
FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)


def text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


def code_of(text: str) -> Iterator[str]:
    """Inline code, and the lines of fenced blocks without their comments."""
    for block in FENCE.findall(text):
        yield from (re.sub(r"\s#.*", "", line) for line in block.splitlines()[1:-1])
    yield from re.findall(r"`([^`\n]+)`", FENCE.sub("", text))


@pytest.mark.parametrize("path", DOCUMENTS, ids=name_of)
def test_every_relative_link_leads_somewhere(path: Path):
    targets = re.findall(r"\]\(([^)\s]+)\)", FENCE.sub("", text_of(path)))
    local = [target.partition("#")[0] for target in targets if "://" not in target]
    assert [target for target in local if target and not (path.parent / target).exists()] == []


def mentioned_commands() -> Iterator[tuple[str, list[str]]]:
    for path in DOCUMENTS:
        for code in code_of(text_of(path)):
            for words in re.findall(r"(?:^|[\s/(])agentex((?: +[^\s|;&<>]+)+)", code):
                yield name_of(path), words.replace('"', " ").split()


def test_every_mentioned_command_and_option_exists():
    wrong: list[str] = []
    root = typer.main.get_command(build())
    for document, words in mentioned_commands():
        command, place = root, 0
        while words[place : place + 1] and words[place] in getattr(command, "commands", {}):
            command, place = command.commands[words[place]], place + 1
        options = {option for parameter in command.params for option in parameter.opts}
        options |= {option for parameter in command.params for option in parameter.secondary_opts}
        given = {word.partition("=")[0] for word in words[place:] if word.startswith("--")}
        is_group = hasattr(command, "commands") and not given
        unknown = given - options - {"--help"}
        wrong += [f"{document}: agentex {' '.join(words)}"] if unknown or is_group else []
    assert wrong == []


def test_commands_are_mentioned_at_all():
    assert len(list(mentioned_commands())) > 100


@pytest.mark.parametrize("path", DOCUMENTS, ids=name_of)
def test_every_mentioned_variable_is_a_setting(path: Path):
    known = {f"AGENTEX_{name.upper()}" for name in Settings.model_fields} | NO_SETTINGS
    named = set(re.findall(r"AGENTEX_[A-Z][A-Z_]*[A-Z]", text_of(path)))
    assert named - known == set()


@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_setting_stands_in_the_guide_with_its_default(language: str):
    page = text_of(GUIDE / language / "settings.md")
    rows = dict(re.findall(r"^\| `AGENTEX_(\w+)` \| (.*?) \|", page, flags=re.MULTILINE))
    assert {name.lower() for name in rows} == set(Settings.model_fields)
    for name, field in Settings.model_fields.items():
        # Paths and what is made at run time are told in words.
        if isinstance(field.default, bool | int | float | str):
            default = str(field.default).lower() if field.default in (True, False) else field.default
            assert rows[name.upper()] == f"`{default}`", name


@pytest.mark.parametrize("path", DOCUMENTS, ids=name_of)
def test_every_mentioned_error_code_exists(path: Path):
    found = re.findall(r"(?<![\d.])(?:[45]0\d{3}|413\d\d|42[2-9]\d\d)(?!\d)", text_of(path))
    codes = {int(code) for code in found}
    # The round number is a setting's default; no code ends in three zeros.
    assert codes - {50_000} - set(ERRORS) == set()


def test_every_error_code_is_in_the_table():
    _, _, section = text_of(ROOT / "docs" / "api.md").partition("\n## Errors\n")
    told: set[int] = set()
    for cell in re.findall(r"^\| (4\d{4}.*?|5\d{4}.*?) \|", section, flags=re.MULTILINE):
        for first, last in re.findall(r"(\d{5})(?: to (\d{5}))?", cell):
            told |= set(range(int(first), int(last or first) + 1))
    assert set(ERRORS) - told == set()


def test_every_mentioned_route_exists():
    served = {
        (method.upper(), re.sub(r"\{\w+\}", "{}", route))
        for route, methods in create_app(Settings()).openapi()["paths"].items()
        for method in methods
    }
    named = {
        (name_of(path), method, re.sub(r"\{\w+\}", "{}", route))
        for path in DOCUMENTS
        for method, route in re.findall(
            r"(GET|POST|PUT|PATCH|DELETE) (/api/v1/[\w/{}-]+)", FENCE.sub("", text_of(path))
        )
    }
    assert named
    assert {entry for entry in named if entry[1:] not in served} == set()


def test_each_guide_page_exists_in_both_languages_with_the_same_sections():
    pages = {
        language: {
            path.name: len(re.findall(r"^## ", text_of(path), flags=re.MULTILINE))
            for path in (GUIDE / language).glob("*.md")
        }
        for language in ("en", "zh")
    }
    assert pages["en"]
    assert pages["en"] == pages["zh"]


@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_reason_of_a_failure_is_explained(language: str):
    reasons = {reason.value for reason in FailureReason} | PIPELINE_REASONS
    page = text_of(GUIDE / language / "documents.md")
    assert {reason for reason in reasons if f"`{reason}`" not in page} == set()


@cache
def guide_pieces() -> tuple[tuple[Path, Piece], ...]:
    return tuple(
        (path, piece)
        for path in sorted(GUIDE.rglob("*.md"))
        for piece in split(
            DEFAULT_SPLITTER, markdown.parse(path, ParseLimits()), sizes=SplitSizes(), counter=token_counter()
        )
    )


def test_no_heading_of_the_guide_can_be_quoted_as_an_answer():
    quotable = [
        (name_of(path), unit.text)
        for path, piece in guide_pieces()
        for unit in quotable_units(piece.text, piece.heading_path)
        if f"# {unit.text}" in text_of(path)
    ]
    assert quotable == []


@cache
def guide_terms() -> tuple[dict[int, float], ...]:
    encoded = (
        encode_document(indexed_text(piece, f"{path.parent.name}-{path.stem}")) for path, piece in guide_pieces()
    )
    return tuple(dict(zip(one.indices, one.values, strict=True)) for one in encoded)


def best_passages(question: str) -> list[NumberedText]:
    """The eight best passages of the guide by BM25, which is what every question starts from."""
    terms = guide_terms()
    counts = Counter(index for one in terms for index in one)
    query = encode_query(question)
    scores = [
        sum(
            weight * one.get(index, 0.0) * math.log1p((len(terms) + 0.5) / (counts[index] + 0.5))
            for index, weight in zip(query.indices, query.values, strict=True)
        )
        for one in terms
    ]
    best = sorted(range(len(scores)), key=lambda place: -scores[place])[:8]
    pieces = guide_pieces()
    return [
        NumberedText(number, pieces[place][0].name, pieces[place][1].heading_path, text)
        for number, place in enumerate(best, start=1)
        if scores[place] > 0 and (text := pieces[place][1].text)
    ]


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("How do I upload a document?", "agentex ingest PATH --kb NAME"),
        ("Which file formats are supported?", "Markdown (md)"),
        ("What is the maximum file size?", "100 MiB"),
        ("How do I log in?", "agentex login"),
        ("Where is the initial password?", "initial-admin-password"),
        ("How do I change my password?", "/api/v1/users/me/password"),
        ("How do I create a knowledge base?", "agentex kb create NAME"),
        ("What is the default chunk size?", "500 tokens"),
        ("How do I delete a document?", "DELETE /api/v1/knowledge-bases"),
        ("Why did my document fail?", "failure.reason"),
        ("Is the score a probability?", "not a probability"),
        ("How do I connect a language model?", "AGENTEX_LLM_BASE_URL"),
        ("Can administrators see my documents?", "can't see the private documents"),
        ("How do I stop an answer?", "Ctrl-C"),
        ("How do I use PostgreSQL?", "AGENTEX_DATABASE_URL"),
        ("How do I change the port?", "AGENTEX_PORT"),
        ("How do I delete all my memories?", "DELETE /api/v1/memories"),
        ("怎么上传文档？", "agentex ingest PATH --kb"),
        ("支持哪些文件格式？", "Markdown（md）"),
        ("文件最大多大？", "100 MiB"),
        ("怎么登录？", "agentex login"),
        ("初始密码在哪里？", "initial-admin-password"),
        ("怎么修改密码？", "/api/v1/users/me/password"),
        ("怎么创建知识库？", "agentex kb create"),
        ("默认的分块大小是多少？", "500 个 token"),
        ("怎么删除文档？", "DELETE /api/v1/knowledge-bases"),
        ("文档处理失败怎么办？", "failure.reason"),
        ("搜索分数是什么意思？", "0 到 1"),
        ("怎么接入语言模型？", "AGENTEX_LLM_BASE_URL"),
        ("管理员能看到我的文档吗？", "管理员不能"),
        ("怎么停止回答？", "Ctrl-C"),
        ("怎么备份数据？", "agentex backup create"),
        ("怎么修改端口？", "AGENTEX_PORT"),
        ("怎么删除全部记忆？", "DELETE /api/v1/memories"),
    ],
)
def test_the_guide_answers_without_a_language_model(question: str, expected: str):
    quotes = quote_passages(question, best_passages(question)).quotes
    assert any(expected in quote.text for quote in quotes), [quote.text for quote in quotes]


@pytest.mark.parametrize("question", ["Who won the football world cup?", "今天天气怎么样？"])
def test_the_guide_answers_nothing_that_it_does_not_say(question: str):
    assert quote_passages(question, best_passages(question)).quotes == ()
