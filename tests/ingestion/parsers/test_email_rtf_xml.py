"""E-mails, Outlook messages, rich text and XML beyond the golden files."""

from email.message import EmailMessage

import pytest

from ingestion.parsers import parser_for
from ingestion.parsers.errors import ParseFailure
from ingestion.parsers.limits import ParseLimits
from tests.fixtures.files.sample_files import RTF, compound, eml, msg

EML, MSG = "message/rfc822", "application/vnd.ms-outlook"
RICH, XML = "application/rtf", "application/xml"


def parse(media_type, folder, content):
    path = folder / "document"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return parser_for(media_type)(path, ParseLimits())


def blocks(parsed):
    return [(element.kind, element.level, element.text) for element in parsed.elements]


def reason(media_type, folder, content):
    with pytest.raises(ParseFailure) as caught:
        parse(media_type, folder, content)
    return caught.value.reason.value


@pytest.mark.parametrize("charset", ["gb2312", "gbk", "big5", "utf-8", ""])
def test_mail_is_read_in_the_encoding_it_declares_or_in_none(charset, tmp_path):
    text = "知識庫問答系統把文件切分成段落" if charset == "big5" else "知识库问答系统把文档切分成段落"
    kind = f"Content-Type: text/plain; charset={charset}\n" if charset else ""
    raw = f"Subject: {text}\nFrom: 张三 <z@example.org>\n{kind}\n{text}\n"
    raw = raw.replace("张三", "張三") if charset == "big5" else raw
    parsed = parse(EML, tmp_path, raw.encode(charset or "gb18030"))
    assert parsed.elements[0].text == text
    assert parsed.elements[-1].text == text


@pytest.mark.parametrize("nests", [False, True])
def test_plain_body_of_a_mail_is_read_where_the_other_one_has_no_text(nests, tmp_path):
    message = EmailMessage()
    message["Subject"] = "Invoice 发票"
    message.set_content("Pay by Friday. 请周五前付款。")
    message.add_alternative('<html><body><img src="cid:1"></body></html>', subtype="html")
    if nests:
        (_, page) = message.iter_parts()
        page.add_related(b"picture", "image", "png", cid="<1>")
    assert parse("message/rfc822", tmp_path, bytes(message)).text == ("Invoice 发票\n\nPay by Friday. 请周五前付款。")


def test_forwarded_mail_follows_under_its_own_subject(tmp_path):
    inner = EmailMessage()
    inner["Subject"] = "Inner 内"
    inner.set_content("first text")
    outer = EmailMessage()
    outer["Subject"] = "Outer"
    outer.set_content("see below")
    outer.add_attachment(inner)
    parsed = parse(EML, tmp_path, bytes(outer))
    assert blocks(parsed) == [
        ("heading", 1, "Outer"),
        ("paragraph", 0, "see below"),
        ("heading", 2, "Inner 内"),
        ("paragraph", 0, "first text"),
    ]
    assert parsed.warnings == ()


def test_outlook_message_with_attachments_says_that_they_were_left_out(tmp_path):
    streams = {
        "__properties_version1.0": bytes(32),
        "__substg1.0_1000001F": "body".encode("utf-16-le"),
    }
    parsed = parse(MSG, tmp_path, compound(streams))
    assert (parsed.text, parsed.warnings) == ("body", ())
    parsed = parse(MSG, tmp_path, compound({**streams, "__attach_version1.0_#00000000": b"x"}))
    assert (parsed.text, parsed.warnings) == ("body", ("attachments",))


def test_attachments_are_neither_read_nor_named_nor_stored(tmp_path):
    mail = EmailMessage()
    mail["Subject"] = "With parts\t"
    mail.set_content("body")
    mail.add_attachment("attached text", filename="../../../canary.txt")
    mail.add_attachment(b"\x00", maintype="application", subtype="x", filename="/etc/canary")
    folder = tmp_path / "in"
    folder.mkdir()
    parsed = parse(EML, folder, bytes(mail))
    assert parsed.text == "With parts\n\nbody"
    assert parsed.warnings == ("attachments",)
    assert [path.name for path in tmp_path.rglob("*")] == ["in", "document"]


def test_header_injection_in_an_encoded_word_stays_one_line_of_text(tmp_path):
    raw = b"Subject: =?utf-8?q?a=0D=0ABcc:_x@y=00?=\n\nbody"
    parsed = parse(EML, tmp_path, raw)
    assert parsed.elements[0].text == "a Bcc: x@y"


def test_encrypted_mail_says_so(tmp_path):
    raw = b"Subject: s\nContent-Type: application/pkcs7-mime\n\nMIIB"
    assert reason(EML, tmp_path, raw) == "password_protected"


def test_mail_of_nested_parts_without_end_is_too_complex(tmp_path):
    heads = "".join(f"Content-Type: multipart/mixed; boundary=b{n}\n\n--b{n}\n" for n in range(2_000))
    with pytest.raises((ParseFailure, RecursionError)) as caught:
        parse(EML, tmp_path, f"Subject: s\n{heads}")
    assert getattr(caught.value, "reason", "too_complex") in ("too_complex", "empty_text")


def test_outlook_message_is_read_from_its_html_body(tmp_path):
    content = msg({0x37: "主题", 0x1013: b"<h2>Part</h2><p>rich \xe6\x96\x87</p>", 0x1000: "plain"})
    assert blocks(parse(MSG, tmp_path, content)) == [
        ("heading", 1, "主题"),
        ("heading", 2, "Part"),
        ("paragraph", 0, "rich 文"),
    ]


@pytest.mark.parametrize("size", [0, 600, 3000, 9000])
def test_outlook_message_that_was_cut_off_is_corrupt(size, tmp_path):
    content = msg({0x37: "Subject", 0x1000: "body " * 3000})
    assert reason(MSG, tmp_path, content[:size]) == "corrupt_file"


def test_compound_file_that_is_no_message_is_corrupt(tmp_path):
    content = msg({}).replace("__properties".encode("utf-16-le"), "__somethings".encode("utf-16-le"))
    assert reason(MSG, tmp_path, content) == "corrupt_file"


def test_plain_lines_of_a_mail_are_no_headings(tmp_path):
    parsed = parse(EML, tmp_path, eml("S", "Chapter 4\n\nWe met."))
    assert [e.kind for e in parsed.elements] == ["heading", "paragraph", "paragraph", "paragraph"]


@pytest.mark.parametrize(
    ("head", "body", "text"),
    [
        (rb"\ansi\ansicpg950", rb"\'aa\'be\'c3\'d1", "知識"),
        (rb"\ansi\ansicpg932", rb"\'93\'fa\'96\'7b", "日本"),
        (rb"\ansi\ansicpg1251", rb"\'cf\'f0\'e8", "При"),
        (rb"\mac", rb"\'8e", "é"),
        (rb"\ansi\ansicpg99999", rb"\'e9", "é"),
        (rb"\ansi\uc2", rb"\u30693\'d6\'aa!", "知!"),
        (rb"\ansi\uc0", rb"\u30693 x", "知x"),
        (rb"\ansi", rb"a\~b\_c\-d\{e\}\\\emdash f", "a b-cd{e}\\—f"),
        (rb"\ansi", rb"x{\object\bin5 }}}}}y}z", "xz"),
    ],
)
def test_rich_text_is_read_in_its_encoding(head, body, text, tmp_path):
    assert parse(RICH, tmp_path, rb"{\rtf1" + head + b" " + body + rb"\par}").text == text


@pytest.mark.parametrize("cut", [1, 200, 700])
def test_rich_text_that_was_cut_off_is_corrupt(cut, tmp_path):
    assert reason(RICH, tmp_path, RTF[:-cut]) == "corrupt_file"


def test_deep_rich_text_is_too_complex(tmp_path):
    assert reason(RICH, tmp_path, rb"{\rtf1 " + b"{" * 100_000 + b"x") == "too_complex"


def test_xml_feed_gives_titles_and_the_text_of_its_markup(tmp_path):
    feed = (
        "<rss><channel><title>News 新闻</title><item><title>First</title><description>"
        "<![CDATA[<p>Hello <b>you</b></p>]]></description></item></channel></rss>"
    )
    assert blocks(parse(XML, tmp_path, feed)) == [
        ("heading", 2, "News 新闻"),
        ("heading", 3, "First"),
        ("paragraph", 0, "Hello you"),
    ]


def test_xml_tables_are_tables(tmp_path):
    table = (
        "<doc><table><thead><row><entry>Name</entry><entry>数</entry></row></thead>"
        "<tbody><row><entry>a</entry><entry>1</entry></row></tbody></table>"
        '<list><r id="1"><v>x</v></r><r id="2"><w>y</w></r></list></doc>'
    )
    assert [e.text for e in parse(XML, tmp_path, table).elements] == [
        "Name | 数\na | 1",
        "id | v | w\n1 | x |\n2 |  | y",
    ]


@pytest.mark.parametrize("codec", ["utf-8", "utf-16", "gb18030", "big5", "shift_jis", "euc-kr"])
def test_xml_is_read_in_the_encoding_it_declares(codec, tmp_path):
    text = {"euc-kr": "지식 베이스", "shift_jis": "日本語の文書"}.get(codec, "知道文件")
    content = f'<?xml version="1.0" encoding="{codec}"?><a>{text}</a>'.encode(codec)
    assert parse(XML, tmp_path, content).text == f"a: {text}"
