"""Quotes from real manuals: headings, long lists and odd bigrams are no answers."""

import pytest

from agents.llm.extractive.quotes import QuoteSource, select_quotes
from agents.llm.extractive.sentences import quotable_units
from agents.llm.extractive.terms import surface_text

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


# The structure of a protocol page: a long list full of the question's words, and the item that answers.
EVENTS = QuoteSource(
    1,
    "events",
    (),
    """# 推送协议
## 1) 数据流向
事件的处理过程如下:
1. 采集端产出事件(如 `JOB_OPEN`)
2. `frame_filter` 去掉 `event_id`、`job_id` 等内部字段
3. 事件同时:
- 写入数据库
- 发布到 SSE
4. `/jobs/{job_id}/events` 读取并输出 SSE
---
## 2) SSE 帧格式
每个事件遵循标准 SSE
```text
id: <序号>
event: <类型>
```
- `id` 可用于断点续传(`Last-Event-ID`)
- `event` 与 JSON 内 `type` 一致
""",
)


def test_item_that_answers_is_quoted_instead_of_the_list_that_shares_words():
    assert quoted_texts("SSE 事件的 id 可以用来做什么？", EVENTS)[0] == "`id` 可用于断点续传(`Last-Event-ID`)"


def test_row_is_found_by_its_header_and_key():
    table = QuoteSource(1, "a", (), "Code | Sent when\nlost | nothing was scanned\nlate | the date moved")

    assert quoted_texts("When is lost sent?", table)[0] == "lost | nothing was scanned"


def test_sentence_with_the_figure_wins_over_one_with_the_words():
    text = "Sick leave of employees is paid. The leave of employees who are sick is paid for six weeks."

    assert quoted_texts("How long is sick leave paid?", QuoteSource(1, "a", (), text))[0].endswith("six weeks.")


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("Does the vault run on Windows?", "The vault runs on every server of the vault."),
        ("Can I take my dog on a cargo bike?", "Children may ride in the seat of a cargo bike."),
        ("备份支持 macOS 吗？", "备份支持增量上传。"),
    ],
)
def test_nothing_is_quoted_when_the_documents_never_name_what_is_asked_about(question: str, text: str):
    assert quoted_texts(question, QuoteSource(1, "a", (), text)) == []


def test_part_of_an_identifier_is_no_word():
    parts = QuoteSource(1, "a", (), "`thread_id` names the thread.\n\nThe id of a frame lets clients resume.")

    assert quoted_texts("What is the id good for?", parts)[0] == "The id of a frame lets clients resume."


def test_identifier_is_found_by_itself():
    text = QuoteSource(1, "a", (), "`job_id` is unique within a project.\n\nAn id and a job are shown in the list.")

    assert quoted_texts("What is job_id?", text)[0] == "`job_id` is unique within a project."
