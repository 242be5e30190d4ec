"""The terms that a question asks about, for the offline model."""

import pytest

from agents.llm.extractive.terms import content_terms, surface_text, uncovered


def keys(question: str) -> list[str]:
    return [term.key for term in content_terms(question)]


@pytest.mark.parametrize(
    ("question", "terms"),
    [
        ("How do I install Agentex on Windows?", ["instal", "agentex", "window"]),
        ("What is the default port?", ["default", "port"]),
        ("怎么安装服务器？", ["安装", "装服", "服务", "务器"]),
        ("Agentex支持哪些文件？", ["agentex", "支持", "文件"]),
        ("端口的默认值是多少", ["端口", "默认", "认值"]),
        ("请介绍一下 RAG 是什么", ["rag"]),
        ("什么是知识库", ["知识", "识库"]),
    ],
)
def test_terms_have_no_question_words(question, terms):
    assert keys(question) == terms


@pytest.mark.parametrize("question", ["why?", "Tell me more", "hello", "你好", "为什么呢？", "?!", ""])
def test_no_terms_when_a_question_has_no_content(question):
    assert keys(question) == []


def test_bigram_over_a_word_border_is_not_missing_when_both_words_are_found():
    terms = content_terms("怎么安装服务器")

    assert uncovered(terms, {"安装", "服务", "务器"}) == ()
    assert [term.key for term in uncovered(terms, {"服务", "务器"})] == ["安装", "装服"]


def test_missing_terms_are_written_as_in_the_question():
    terms = content_terms("怎么安装 Installing 服务器")

    assert surface_text(terms) == "安装 Installing 服务器"
