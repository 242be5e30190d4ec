"""The sentences of a passage that the offline model may quote."""

from agents.llm.extractive.sentences import quotable_units

PAGE = """# Installation

Home > Docs > Install

## Linux

You need Python 3.11, e.g. from your
distribution. Run it with:

```bash
pip install agentex
agentex serve
```

See Dr. Smith's notes on ports. “他说的是这样。”他们就走了。

- `make run` starts the server on port 8000
- Next
* The data folder
  holds everything that must be kept.

| variable | default | meaning |
|---|---|---|
| `AGENTEX_PORT` | 8000 | Port the API listens on |

Formats
=======
知识库可以包含多种
格式的文档。支持的格式：
1. Markdown 文档
2. PDF 文件
"""


def texts(page: str, headings: tuple[str, ...] = ()) -> list[str]:
    return [unit.text for unit in quotable_units(page, headings)]


def test_units_are_whole_and_readable():
    assert texts(PAGE) == [
        "You need Python 3.11, e.g. from your distribution.",
        "Run it with:\n```\npip install agentex\nagentex serve\n```",
        "See Dr. Smith's notes on ports.",
        "“他说的是这样。”",
        "他们就走了。",
        "`make run` starts the server on port 8000",
        "The data folder holds everything that must be kept.",
        "`AGENTEX_PORT` | 8000 | Port the API listens on",
        "知识库可以包含多种格式的文档。",
        "支持的格式：\n- Markdown 文档\n- PDF 文件",
    ]


def test_headings_and_crumbs_are_no_units():
    page = "Installation on Linux machines with systemd\nHome » Docs » Install on Linux machines now\n"
    assert texts(page, ("Installation on Linux machines with systemd",)) == []


def test_announcement_is_dropped_when_nothing_follows_it():
    assert texts("The supported formats are these:") == []


def test_units_know_the_heading_above_them():
    units = quotable_units(PAGE, ())

    assert (units[0].label, units[0].opens) == ("Linux", True)
    assert (units[1].label, units[1].opens) == ("Linux", False)
    assert units[-1].label == "Formats"


def test_open_code_block_is_quoted_to_the_end_of_the_passage():
    assert texts("Run this:\n```\nmake run") == ["Run this:\n```\nmake run\n```"]


EXTRACTED = """2) Retries

A delivery goes through these stages:

1. The carrier reports a change

2. The event is written

Limits

- A body holds at most 256 KB

Code | Meaning | Remedy
404 | parcel not found | check the number
409 | label was printed | cancel it first

How do I stop it?

Yes. Press the red button twice.

curl -X POST https://parcel.example/stop
curl -X GET https://parcel.example/state
"""


def test_extracted_text_has_its_headings_rows_answers_and_code():
    units = {unit.text: unit for unit in quotable_units(EXTRACTED, ())}

    assert list(units) == [
        "A delivery goes through these stages:\n- The carrier reports a change\n- The event is written",
        "The carrier reports a change",
        "The event is written",
        "A body holds at most 256 KB",
        "404 | parcel not found | check the number",
        "409 | label was printed | cancel it first",
        "Yes. Press the red button twice.",
        "curl -X POST https://parcel.example/stop\ncurl -X GET https://parcel.example/state",
    ]
    assert units["The event is written"].label == "Retries"
    assert units["The event is written"].context == "A delivery goes through these stages:"
    assert units["A body holds at most 256 KB"].label == "Limits"
    assert units["409 | label was printed | cancel it first"].context == "Code | Meaning | Remedy"
    assert units["Yes. Press the red button twice."].asks


def test_numbered_item_behind_a_nested_list_is_no_heading():
    page = "1. Open it\n\n2. Fill in:\n\n- the name\n\n- the date\n\n3. Send it off\n\nThen wait for the answer."

    assert "Send it off" in texts(page)


def test_passage_that_was_cut_within_code_is_read_from_there():
    page = '"stage": "worker"\n}\n```\nThe result is kept for a day.\n```json\n{"a": 1}\n```\nIt is removed then.'

    assert "The result is kept for a day." in texts(page)


def test_line_that_a_colon_introduces_is_its_example():
    assert texts("When idle, the server sends:\n\n: keep-alive\n\nClients skip it.")[0].endswith(": keep-alive\n```")
