"""Files of saved questions: import, refusals, and safe spreadsheets."""

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors.requests import InvalidRequest
from kb_service.models import Question
from kb_service.question_files import FileFormat, parse, render
from kb_service.questions import QuestionDraft, validate_draft

words = st.text(st.characters(exclude_categories=("Cs", "Cc", "Zl", "Zp")), min_size=1, max_size=40).filter(
    lambda text: any(character.isalnum() for character in text)
)
passages = st.lists(st.fixed_dictionaries({"document": words}, optional={"text": words}), min_size=1, max_size=4)
drafts = st.lists(
    st.builds(QuestionDraft, words, passages).map(validate_draft),
    min_size=1,
    max_size=5,
    unique_by=lambda draft: draft.text,
)


@pytest.mark.parametrize("kind", ["jsonl", "csv"])
@given(questions=drafts)
def test_file_gives_back_the_questions(kind: FileFormat, questions: list[QuestionDraft]):
    rows = [
        Question(knowledge_base_id="kb", text=one.text, expected=[dict(p) for p in one.expected]) for one in questions
    ]
    read = [validate_draft(draft) for draft in parse(render(rows, kind), kind)]
    assert read == questions


def test_lines_of_one_question_are_one_question():
    content = b'question,document,text\nWho?,a.md,The cook\n"Who?",b.md,\n'
    (draft,) = parse(content, "csv")
    assert draft.expected == [{"document": "a.md", "text": "The cook"}, {"document": "b.md"}]


def test_csv_from_a_spreadsheet_is_read():
    content = "Document,Question\r\n手册.md,保修多久？\r\n".encode("utf-8-sig")
    assert parse(content, "csv") == [QuestionDraft("保修多久？", [{"document": "手册.md"}])]


@pytest.mark.parametrize("cell", ["=1+1", "+1 a", "-1 a", "@SUM(a)", "=HYPERLINK(a)"])
def test_spreadsheet_runs_no_cell(cell: str):
    row = Question(knowledge_base_id="kb", text=cell, expected=[{"document": cell}])
    rows = list(csv.reader(io.StringIO(render([row], "csv").decode("utf-8-sig"))))
    assert rows[1] == [f"'{cell}", f"'{cell}", ""]


@pytest.mark.parametrize(
    ("kind", "content", "problem"),
    [
        ("jsonl", b"", "no questions"),
        ("jsonl", b"\n\n", "no questions"),
        ("jsonl", b'{"question": "a"', "Line 1: not valid JSON"),
        ("jsonl", b'\n["a"]', "Line 2: not a JSON object"),
        ("jsonl", b'{"question": "a"}', "Line 1: document"),
        ("jsonl", b'{"question": 5, "document": "a"}', "Line 1: question, document, text must"),
        ("jsonl", b'{"question": "a\\u0000", "document": "a"}', "NUL"),
        ("jsonl", b'{"question": "a", "document": "a", "text": "..."}', "Line 1: text"),
        ("jsonl", b"\xff\xfe", "UTF-8"),
        ("jsonl", b'{"question": "' + b"x" * 1001 + b'", "document": "a"}', "1000 characters"),
        ("csv", b"a,b\n1,2\n", "columns question, document"),
        ("csv", b"question,document\n,a.md\n", "Line 2: question"),
        ("csv", b'question,document\n"a,b', "not valid CSV"),
    ],
)
def test_line_that_cannot_be_used_is_named(kind: FileFormat, content: bytes, problem: str):
    with pytest.raises(InvalidRequest) as error:
        parse(content, kind)
    assert problem in str(error.value.details["error"])
