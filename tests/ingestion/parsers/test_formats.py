"""Details of single formats beyond the golden files."""

import zipfile

import pytest

from ingestion.parsers import parser_for
from ingestion.parsers.errors import ParseFailure
from ingestion.parsers.image import ocr
from ingestion.parsers.limits import ParseLimits
from ingestion.splitters.base import SplitSizes
from ingestion.splitters.heading_recursive import split
from kb_service.text.token_counter import token_counter
from tests.fixtures.paths import PARSER_DATA

WORD = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
NAMESPACES = (
    'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main" '
    'xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"'
)


def parse(media_type, folder, content, limits=None):
    path = folder / "document"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return parser_for(media_type)(path, limits or ParseLimits())


def blocks(parsed):
    return [(element.kind, element.level, element.text) for element in parsed.elements]


def word_file(path, body, **parts):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("word/document.xml", f"<w:document {NAMESPACES}><w:body>{body}</w:body></w:document>")
        for name, content in parts.items():
            archive.writestr(f"word/{name}.xml", f"<w:{name} {NAMESPACES}>{content}</w:{name}>")
    return path.read_bytes()


def paragraph(text, style="", more=""):
    named = f'<w:pStyle w:val="{style}"/>' if style else ""
    return f"<w:p><w:pPr>{named}{more}</w:pPr><w:r><w:t>{text}</w:t></w:r></w:p>"


def style(identifier, name, more=""):
    return f'<w:style w:type="paragraph" w:styleId="{identifier}"><w:name w:val="{name}"/>{more}</w:style>'


def test_word_headings_are_told_by_localised_names_outline_and_inheritance(tmp_path):
    styles = (
        style("1", "标题 1")
        + style("b2", "Überschrift 2")
        + style("mine", "Company", '<w:basedOn w:val="b2"/>')
        + style("out", "Kapitel", '<w:pPr><w:outlineLvl w:val="2"/></w:pPr>')
        + style("toc1", "toc 1")
        + style("li", "Points", '<w:pPr><w:numPr><w:numId w:val="3"/></w:numPr></w:pPr>')
        + style("loop", "Loop", '<w:basedOn w:val="loop"/>')
    )
    body = (
        paragraph("概述", "1")
        + paragraph("Zweite", "b2")
        + paragraph("Inherited", "mine")
        + paragraph("Third", "out")
        + paragraph("Contents .... 1", "toc1")
        + paragraph("point", "li")
        + paragraph("not a point", "li", '<w:numPr><w:numId w:val="0"/></w:numPr>')
        + paragraph("direct", "", '<w:outlineLvl w:val="0"/>')
        + paragraph("plain", "loop")
    )
    parsed = parse(WORD, tmp_path, word_file(tmp_path / "a.docx", body, styles=styles))
    assert blocks(parsed) == [
        ("heading", 1, "概述"),
        ("heading", 2, "Zweite"),
        ("heading", 2, "Inherited"),
        ("heading", 3, "Third"),
        ("list_item", 1, "- point"),
        ("paragraph", 0, "not a point"),
        ("heading", 1, "direct"),
        ("paragraph", 0, "plain"),
    ]


def test_word_text_that_is_deleted_hidden_or_doubled_is_left_out(tmp_path):
    box = "<w:txbxContent><w:p><w:r><w:t>in a box</w:t></w:r></w:p></w:txbxContent>"
    body = (
        "<w:p><w:r><w:t>kept</w:t></w:r><w:del><w:r><w:delText> deleted</w:delText></w:r></w:del>"
        "<w:ins><w:r><w:t> inserted</w:t></w:r></w:ins>"
        "<w:r><w:rPr><w:vanish/></w:rPr><w:t> hidden</w:t></w:r>"
        "<w:r><w:instrText> PAGE </w:instrText></w:r>"
        f"<w:r><mc:AlternateContent><mc:Choice>{box}</mc:Choice><mc:Fallback>{box}</mc:Fallback>"
        "</mc:AlternateContent></w:r></w:p>"
        "<w:sdt><w:sdtContent><w:p><w:r><w:t>in a control</w:t></w:r></w:p></w:sdtContent></w:sdt>"
    )
    notes = (
        '<w:footnote w:type="separator"><w:p><w:r><w:t>---</w:t></w:r></w:p></w:footnote>'
        "<w:footnote><w:p><w:r><w:t>a note</w:t></w:r></w:p></w:footnote>"
    )
    parsed = parse(WORD, tmp_path, word_file(tmp_path / "a.docx", body, footnotes=notes))
    assert [e.text for e in parsed.elements] == [
        "kept inserted",
        "in a box",
        "in a control",
        "a note",
    ]


def test_long_csv_repeats_its_header_in_every_block(tmp_path):
    rows = "".join(f"{n},name {n}\n" for n in range(500))
    parsed = parse("text/csv", tmp_path, "id,title\n" + rows)
    assert len(parsed.elements) > 3
    assert all(e.kind == "table" and e.text.startswith("id | title\n") for e in parsed.elements)
    assert parsed.text.count("name 499") == 1
    assert sum(e.text.count("\n") for e in parsed.elements) == 500


def test_csv_without_header_repeats_nothing(tmp_path):
    parsed = parse("text/csv", tmp_path, "".join(f"{n};{n},5\n" for n in range(500)))
    assert parsed.text.count("0 | 0,5\n") == 1
    assert parsed.elements[1].text.split("\n")[0] != "0 | 0,5"


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_csv_separator_is_found(separator, tmp_path):
    parsed = parse("text/csv", tmp_path, f"a{separator}b\n1{separator}x y\n2{separator}z\n")
    assert parsed.text == "a | b\n1 | x y\n2 | z"


def test_json_keeps_numbers_and_repeated_names_as_written(tmp_path):
    parsed = parse("application/json", tmp_path, '{"a": 1e400, "a": 12345678901234567890.10}')
    assert parsed.text == "a: 1e400\na: 12345678901234567890.10"
    scalar = parse("application/json", tmp_path, '"just text"')
    assert scalar.text == "just text"


def test_json_records_stay_whole_in_blocks(tmp_path):
    records = ",".join(f'{{"name": "n{i}", "text": "{"x" * 100}"}}' for i in range(50))
    parsed = parse("application/json", tmp_path, f"[{records}]")
    assert len(parsed.elements) > 3
    for element in parsed.elements:
        assert element.text.count(".name: ") == element.text.count(".text: ")


def test_json_lines_keep_a_damaged_record_with_a_warning(tmp_path):
    parsed = parse("application/jsonl", tmp_path, '{"a": 1}\n{"b": \n{"c": 3}\n')
    assert parsed.warnings == ("damaged_records",)
    assert '{"b":' in parsed.text
    with pytest.raises(ParseFailure, match="damaged"):
        parse("application/jsonl", tmp_path, "no\njson\nat all\n")


def test_heading_in_the_middle_of_a_text_sentence_is_none(tmp_path):
    text = "这一点在\n第三章 检索\n里面说明。\n\n第一章是全书的基础，应当先读。\n"
    assert {kind for kind, _, _ in blocks(parse("text/plain", tmp_path, text))} == {"paragraph"}


def test_markdown_front_matter_title_is_the_heading_where_there_is_none(tmp_path):
    parsed = parse("text/markdown", tmp_path, "---\ntitle: 'The title'\n---\nbody\n\n## Two\n")
    assert blocks(parsed) == [
        ("heading", 1, "The title"),
        ("paragraph", 0, "title: 'The title'"),
        ("paragraph", 0, "body"),
        ("heading", 2, "Two"),
    ]
    rule = parse("text/markdown", tmp_path, "---\nno front matter\n\ntext\n")
    assert "no front matter" in rule.text


def test_html_page_of_links_only_keeps_its_contents(tmp_path):
    page = "<title>Index</title><div class=toc><ul><li><a>One</a></li><li><a>Two</a></li></ul></div>"
    assert blocks(parse("text/html", tmp_path, page)) == [
        ("heading", 1, "Index"),
        ("list_item", 1, "- One"),
        ("list_item", 1, "- Two"),
    ]


def test_html_layout_tables_give_their_blocks(tmp_path):
    page = (
        "<table><tr><td><h2>Title</h2><p>text</p><table><tr><td>a</td><td>b</td></tr></table>"
        "</td></tr></table><table><tr><td><p>alone</p></td></tr></table>"
    )
    assert blocks(parse("text/html", tmp_path, page)) == [
        ("heading", 2, "Title"),
        ("paragraph", 0, "text"),
        ("table", 0, "a | b"),
        ("paragraph", 0, "alone"),
    ]


@pytest.mark.parametrize("empty", ["<title/>", '<script src="a.js"/>', '<style media="print" />'])
def test_xhtml_goes_on_behind_what_is_empty(empty, tmp_path):
    page = (
        f'<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml"><head>{empty}</head>'
        '<body><h1 id="t"/><div style="display:none"/><p>First 第一<br/>line</p>'
        '<p><a id="p2"/>Second</p></body></html>'
    )
    assert [e.text for e in parse("text/html", tmp_path, page).elements] == [
        "First 第一\nline",
        "Second",
    ]


def test_page_of_many_drawings_or_anchors_is_not_deep(tmp_path):
    icons = '<p>item</p><svg viewBox="0 0 1 1"><path d="M0 0"/><use href="#a" /></svg>' * 2_000
    parsed = parse("text/html", tmp_path, icons)
    assert len(parsed.elements) == 2_000
    anchors = '<?xml version="1.0"?><html><body>' + '<p><span id="a"/>item</p>' * 2_000
    assert len(parse("text/html", tmp_path, anchors).elements) == 2_000


def test_readings_beside_characters_do_not_part_the_words(tmp_path):
    page = "<p><ruby>春<rp>(</rp><rt>chūn</rt><rp>)</rp>眠<rt>mián</rt></ruby>不觉晓</p>"
    assert parse("text/html", tmp_path, page).text == "春眠不觉晓"
    ruby = "".join(
        f"<w:r><w:ruby><w:rt><w:r><w:t>{reading}</w:t></w:r></w:rt>"
        f"<w:rubyBase><w:r><w:t>{character}</w:t></w:r></w:rubyBase></w:ruby></w:r>"
        for character, reading in (("春", "chūn"), ("眠", "mián"))
    )
    body = f"<w:p>{ruby}<w:r><w:t>不觉晓</w:t></w:r></w:p>"
    assert parse(WORD, tmp_path, word_file(tmp_path / "a.docx", body)).text == "春眠不觉晓"


@pytest.mark.parametrize(
    "mark",
    [
        '<sup><a href="#n1">1</a></sup>',
        '<sup id="r1" class="footnote-ref"><a href="notes.html#n1">[12]</a></sup>',
        '<a epub:type="noteref" href="#n1">1</a>',
        '<a role="doc-noteref" href="#n1">*</a>',
    ],
)
def test_mark_of_a_note_is_no_part_of_the_word_before(mark, tmp_path):
    page = f"<p>capitalism{mark}, x<sup>2</sup> and 10<sup><a href='/units'>km</a></sup></p>"
    assert parse("text/html", tmp_path, page).text == "capitalism, x2 and 10km"


def test_html_note_set_as_table_does_not_open_a_section(tmp_path):
    page = (
        '<h2>Section</h2><div class="caution"><table><tr><td rowspan=2><img alt="[警告]"></td>'
        "<th>警告</th></tr><tr><td><p>小心。</p></td></tr></table></div><p>after</p>"
    )
    assert blocks(parse("text/html", tmp_path, page)) == [
        ("heading", 2, "Section"),
        ("paragraph", 0, "警告: 小心。"),
        ("paragraph", 0, "after"),
    ]


@pytest.mark.parametrize("codec", ["gbk", "utf-8", "utf-16"])
def test_html_encoding_is_read_from_the_page_or_its_bytes(codec, tmp_path):
    page = '<meta charset="gb2312"><p>知识库根据上传的文档回答问题。</p>'
    parsed = parse("text/html", tmp_path, page.encode(codec))
    assert parsed.text == "知识库根据上传的文档回答问题。"
    assert parsed.warnings == ()


def test_pdf_joins_lines_across_hyphens_and_drops_running_heads(tmp_path):
    pages = [
        [(12, 50, 520, "Annual report"), (10, 50, 500, "The in-"), (10, 50, 487, "dex stays whole."),
         (8, 50, 20, f"Page {n} of 4"), (8, 50, 580, "Agentex manual")]
        for n in range(1, 5)
    ]  # fmt: skip
    parsed = parse("application/pdf", tmp_path, pdf_file(pages))
    assert parsed.pages == 4
    assert "Page" not in parsed.text
    assert "manual" not in parsed.text
    assert [(e.kind, e.text, e.page) for e in parsed.elements[:2]] == [
        ("heading", "Annual report", 1),
        ("paragraph", "The index stays whole.", 1),
    ]


@pytest.mark.parametrize("bullet", ["", "- "])
def test_pdf_paragraph_over_pages_knows_where_each_begins(bullet, tmp_path):
    pages = [
        [(10, 50, 500 - 13 * n, f"The text of page {page} goes on and on to line {n:02}") for n in range(9)]
        for page in (1, 2, 3)
    ]  # fmt: skip
    pages[0].insert(0, (10, 50, 513, f"{bullet}It begins here with a line of all its width"))
    pages[1].append((10, 50, 383, "The text of page 2 goes on to a high moun-"))
    pages[1].append((10, 50, 370, "tain where it ends not yet but goes on and on"))
    parsed = parse("application/pdf", tmp_path, pdf_file(pages))
    (found,) = parsed.elements
    assert (found.kind, found.page) == ("list_item" if bullet else "paragraph", 1)
    assert [page for _, page in found.later_pages] == [2, 3]
    second, third = (found.text[place:] for place, _ in found.later_pages)
    assert second.startswith("The text of page 2 goes on and on to line 00")
    assert third.startswith("The text of page 3 goes on and on to line 00")
    assert "a high mountain where" in found.text
    pieces = list(split(parsed, sizes=SplitSizes(60, 0), counter=token_counter()))
    assert {piece.page for piece in pieces} == {1, 2, 3}
    for piece in pieces[1:]:
        # The page is named in each line but one.
        named = parsed.text.rfind("of page ", 0, piece.char_start + len("The text of page "))
        assert parsed.text[named + len("of page ")] == str(piece.page)


def pdf_file(pages):
    """A PDF with one font; each page is a list of size, x, y and text."""
    objects = [
        "<</Type/Catalog/Pages 2 0 R>>",
        "",
        "<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
    ]
    kids = []
    for lines in pages:
        content = "".join(f"BT /F {s} Tf {x} {y} Td ({t}) Tj ET\n" for s, x, y, t in lines)
        objects.append(f"<</Length {len(content)}>>stream\n{content}endstream\n")
        objects.append(
            f"<</Type/Page/Parent 2 0 R/MediaBox[0 0 400 600]/Contents {len(objects)} 0 R"
            "/Resources<</Font<</F 3 0 R>>>>>>"
        )
        kids.append(f"{len(objects)} 0 R")
    objects[1] = f"<</Type/Pages/Kids[{' '.join(kids)}]/Count {len(kids)}>>"
    body = "".join(f"{n} 0 obj{text}endobj\n" for n, text in enumerate(objects, 1))
    return f"%PDF-1.4\n{body}trailer<</Root 1 0 R>>\nstartxref\n0\n%%EOF\n".encode()


@pytest.mark.parametrize(("name", "reason"), [("locked.pdf", "password_protected"), ("scanned.pdf", "no_text_layer")])
def test_pdf_without_readable_text_says_why(name, reason, monkeypatch):
    monkeypatch.setattr(ocr, "is_ready", lambda: False)
    with pytest.raises(ParseFailure) as caught:
        parser_for("application/pdf")(PARSER_DATA / name, ParseLimits())
    assert caught.value.reason == reason


def test_pdf_with_more_pages_than_allowed_is_refused():
    with pytest.raises(ParseFailure) as caught:
        parser_for("application/pdf")(PARSER_DATA / "handbook.pdf", ParseLimits(pages=3))
    assert caught.value.reason == "too_many_pages"
