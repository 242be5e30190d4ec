"""Quotes from real manuals: headings, long lists and odd bigrams are no answers."""

import pytest

from agents.llm.extractive.quotes import QuoteSource, select_quotes, surface_text
from agents.llm.extractive.sentences import quotable_units

BACKUP = QuoteSource(
    1,
    "手册",
    ("第 10 章 数据管理", "10.2.1. 备份和恢复策略"),
    "10.2.1. 备份和恢复策略\n\n有三个因素决定备份和恢复策略。\n\n先弄清楚哪些数据不能丢失。",
)


def quoted_texts(question: str, *sources: QuoteSource) -> list[str]:
    return [quote.text for quote in select_quotes(question, sources).quotes]


@pytest.mark.parametrize(
    "heading",
    [
        "10.2.1. 备份和恢复策略",
        "第 10 章 数据管理",
        "表 9.24. 数据恢复软件包列表",
        "26.1.1. Restoring the Dump",
        "Chapter 28. Monitoring Database Activity",
        "Table 13.1. Transaction Isolation Levels",
        "F.27. pg_buffercache",
    ],
)
def test_numbered_headings_are_no_units_even_where_the_path_lacks_them(heading):
    units = quotable_units(f"{heading}\n\nThe cache is emptied at midnight.", ())

    assert [unit.text for unit in units] == ["The cache is emptied at midnight."]
    assert units[0].label == heading


def test_sentences_that_begin_with_a_number_stay_units():
    text = "3.5 million rows fit into the table.\n\n12 workers share one queue."

    assert len(quotable_units(text, ())) == 2


def test_long_list_is_cut_and_says_so():
    items = "\n".join(f"- item number {number} of the list" for number in range(20))
    unit = quotable_units(f"The parts are these:\n\n{items}", ())[0]

    assert unit.text.splitlines()[-1] == "- …"
    assert unit.text.count("item number") == 6


def test_chinese_question_is_answered_though_its_word_borders_stand_nowhere():
    assert quoted_texts("应该怎样制定备份策略？", BACKUP)[0] == "有三个因素决定备份和恢复策略。"


def test_leftover_of_a_chinese_run_is_not_named_as_missing():
    assert select_quotes("应该怎样制定备份策略？", [BACKUP]).missing == ()


def test_chinese_run_that_nothing_mentions_is_named_as_missing():
    missing = select_quotes("备份策略和量子纠缠", [BACKUP]).missing

    assert surface_text(missing) == "量子纠缠"


def test_better_search_rank_wins_when_the_words_are_nearly_the_same():
    first = QuoteSource(1, "a", (), "Standard vacuuming reclaims space. VACUUM FULL rewrites the table.")
    noise = [QuoteSource(n, f"n{n}", (), f"Unrelated sentence number {n}.") for n in range(2, 8)]
    last = QuoteSource(8, "z", (), "VACUUM FULL has no effective difference in this VACUUM FULL utility.")

    quotes = quoted_texts("What is the difference between VACUUM and VACUUM FULL?", first, *noise, last)

    assert quotes[0] == "VACUUM FULL rewrites the table."


def test_first_passage_of_the_search_has_a_say():
    first = QuoteSource(1, "a", (), "Wondering what the system does right now? Here is how to see it.")
    other = QuoteSource(2, "b", (), "Running queries have the rights of the user who is running them.")

    numbers = {quote.number for quote in select_quotes("Which queries are running right now?", [first, other]).quotes}

    assert numbers == {1, 2}
