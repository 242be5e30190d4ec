"""Names of downloads that every file system takes."""

from urllib.parse import unquote

import pytest

from api.http.files import content_disposition, file_disposition, safe_name


@pytest.mark.parametrize(
    ("title", "name"),
    [
        ("服务器状态查询", "服务器状态查询"),
        ("../../etc/passwd", "etc passwd"),
        ('a/b\\c:d*e?f"g<h>i|j', "a b c d e f g h i j"),
        ("line\r\nSet-Cookie: x=1", "line Set-Cookie x=1"),
        ("\u202egpj.exe\x00", "gpj.exe"),
        (".hidden. ", "hidden"),
        ("CON", ""),
        ("com1.txt", ""),
        ("contact", "contact"),
        ("???", ""),
        ("", ""),
        ("汉" * 200, "汉" * 80),
        ("x" * 79 + "\U0001f1e8\U0001f1f3", "x" * 79),
    ],
)
def test_name_of_a_file_is_safe(title: str, name: str):
    assert safe_name(title) == name


def test_header_is_ascii_and_carries_the_name():
    header = content_disposition('50% "状态"; x=y', fallback="session", extension="md")

    assert header.isascii()
    ascii_part, _, encoded = header.partition("; filename*=UTF-8''")
    assert ascii_part == 'attachment; filename="session.md"'
    assert unquote(encoded) == "50% 状态 ; x=y.md"
    assert not set(encoded) & set(' ";,\\')


@pytest.mark.parametrize(
    ("path", "plain", "full"),
    [
        ("scripts/run.py", "run.py", "run.py"),
        ("Makefile", "Makefile", "Makefile"),
        ("references/换算表.md", "file.md", "换算表.md"),
        ("资料", "file", "资料"),
        ("图.图", "file", "图.图"),
        ("a/archive.tar.gz", "archive.tar.gz", "archive.tar.gz"),
        # Some readers decode what only looks encoded.
        ("a/%41.txt", "file.txt", "%41.txt"),
        ("a/con.txt", "file.txt", "file.txt"),
        ("a/\u202etxt.exe", "txt.exe", "txt.exe"),
        ("a/..", "file", "file"),
    ],
)
def test_file_is_saved_under_the_end_of_its_path(path: str, plain: str, full: str):
    header = file_disposition(path, fallback="file")

    assert header.isascii()
    ascii_part, _, encoded = header.partition("; filename*=UTF-8''")
    assert (ascii_part, unquote(encoded)) == (f'attachment; filename="{plain}"', full)
