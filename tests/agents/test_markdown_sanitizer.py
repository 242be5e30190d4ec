"""The sanitizer of exported Markdown: foreign text has no effect, however it is written."""

import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from agents.sessions.markdown_sanitizer import LONGEST_READ, _code_spans, fenced, plain, quoted

HEAD = "# Session\n\n"
TAGS = re.compile(r"<(/?)([a-zA-Z!?][^\s>/]*)")
HARMLESS = {
    *("h1", "h2", "h3", "h4", "h5", "h6", "p", "a", "em", "strong", "s", "code", "pre", "br", "hr"),
    *("blockquote", "ul", "ol", "li", "table", "thead", "tbody", "tr", "th", "td"),
}
PIECES = st.sampled_from(
    ["`", "``", "```", "~~~", "<script>", "<img src=x onerror=y>", "</a>", "<!--", "[a]", "![a]",
     "(javascript:x)", "(`)", "(<javascript:x>)", "(java&Tab;script:x)", "(&#106;avascript:x)",
     "(http://a)", "]:", "[1]: javascript:x", "[1]", "[", "]", "(", ")", "\\", "|", "\n", "\n\n",
     "\n    ", "\n\t", "\n- ", "\n> ", "\n| - |", "# ", "a", " ", "  ", ":", "&lt;", "\u2028", "\r"]
)  # fmt: skip


def effects(markdown: str) -> set[str]:
    """What a lax reader makes of a text that it should not."""
    reader = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
    reader.validateLink = lambda url: True
    shown = reader.render(HEAD + markdown)
    tags = {name for _, name in TAGS.findall(shown)} - HARMLESS
    targets = re.findall(r'href="([^"]*)"', shown)
    scripts = {to for to in targets if re.match(r"[^/?#]*:", to) and not to.startswith("http")}
    return tags | scripts


@settings(max_examples=400)
@given(st.lists(PIECES, max_size=14).map("".join))
@example("[a](`) <script>x</script> (`)")
@example("| ` | <script> ` |\n| - | - |\n| ` | <script> ` |")
@example("\t<script>")
@example("[a]: /x`\n`<script>`")
@example("`\\`<script>`")
@example("x\n```\n<b>\n```\n<script>")
@example("[x](java\tscript:alert(1)) [x](data:text/html,x) ![x](http://tracker)")
def test_nothing_has_an_effect(text: str):
    assert effects(quoted(text)) == set()
    assert effects(f"- {plain(text)}") == set()
    assert effects(fenced(text)) == set()


@settings(max_examples=200)
@given(st.lists(PIECES, max_size=8).map("".join), st.lists(PIECES, max_size=8).map("".join))
def test_quotation_ends_where_it_ends(first: str, second: str):
    reader = MarkdownIt("commonmark")
    tokens = reader.parse(f"{quoted(first)}\n\n## Next\n\n{quoted(second)}\n")
    headings = [i for i, t in enumerate(tokens) if t.type == "heading_open" and t.level == 0]

    assert [tokens[place + 1].content for place in headings] == ["Next"]


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("Use `Vec<T>` and ``a`<b>``.", "> Use `Vec<T>` and ``a`<b>``."),
        ("a < b, **bold** [x](https://a/b?c#d)", "> a &lt; b, **bold** [x](https://a/b?c#d)"),
        ("```html\n<b>\n\n```\n<i>", "> ```html\n> <b>\n>\n> ```\n> &lt;i>"),
        ("[x](javascript:alert)", "> &#91;x](javascript:alert)"),
        ("![x](http://tracker)", "> &#33;[x](http://tracker)"),
        ("see [1]\n\n[1]: http://evil", "> see [1]\n>\n> [1]&#58; http://evil"),
        ("\x1b[31mred\x07", "> [31mred"),
        ("", ">"),
    ],
)
def test_what_is_harmless_stays(text: str, kept: str):
    assert quoted(text) == kept


@pytest.mark.parametrize("piece", ["<script>\r\n", "```\n", "[a](javascript:x)\n", "[1]: x\n\n"])
def test_long_text_is_quoted_as_code_with_all_that_it_says(piece: str):
    text = piece * (LONGEST_READ // len(piece) + 1)
    shown = quoted(text)
    first, *lines, last = shown.split("\n")

    assert effects(shown) == set()
    assert first == last
    assert set(first) == {">", " ", "`"}
    said = [line.removeprefix(">").removeprefix(" ") for line in lines]
    assert "\n".join(said) == text.replace("\r\n", "\n")
    # One sign less is read as Markdown.
    assert not quoted(text[:LONGEST_READ]).startswith(first)


def test_much_code_in_a_line_takes_no_longer_than_its_length():
    assert len(_code_spans("` " * 100_000) or ()) == 50_000


def test_plain_text_shows_its_signs():
    text = "a_b*c* [x](y) `<b>` 100% | \\ &amp;\n# head"
    shown = MarkdownIt("commonmark").renderInline(plain(text))

    assert shown == "a_b*c* [x](y) `&lt;b&gt;` 100% | \\ &amp;amp; # head"
