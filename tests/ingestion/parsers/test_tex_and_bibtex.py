"""TeX sources and bibliographies beyond their golden files."""

from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ingestion.parsers import parser_for
from ingestion.parsers.errors import ParseFailure
from ingestion.parsers.limits import ParseLimits
from ingestion.parsers.model import ParsedDocument

TEX, BIB = "application/x-tex", "application/x-bibtex"


def parse(media_type: str, folder: Path, content: str) -> ParsedDocument:
    path = folder / "document"
    path.write_text(content, encoding="utf-8")
    return parser_for(media_type)(path, ParseLimits())


def blocks(parsed: ParsedDocument) -> list[tuple[str, int, str]]:
    return [(element.kind, element.level, element.text) for element in parsed.elements]


@pytest.mark.parametrize(
    ("source", "text"),
    [
        (r"Schr\"odinger, G\"{o}del, \v{S}kvoreck\'y, na\"{\i}ve, fa\c{c}ade, Stra\ss e", None),
        (r"100\% of \$3 \& \#1 a\_b \{x\}", "100% of $3 & #1 a_b {x}"),
        ("kept % comment\nwords", "kept words"),
        (r"``quoted'' -- and --- \ldots", "“quoted” – and — …"),
        (r"a \textbf{bold \emph{inner}} word", "a bold inner word"),
        (r"\textcolor{red}{red} \href{https://a.org/%20}{link} \verb|a%b{|", "red link a%b{"),
        (r"\unknown[option]{text} behind", "text behind"),
        (r"\def\x#1{never #1}\let\y\z" "\nwords", "words"),
        (r"\newcommand{\x}[2][a]{never}\newcommand\y{never} words", "words"),
        (r"\iffalse never \fi words", "words"),
        (r"where \(x_1 < y\) and $\alpha$", r"where $x_1 < y$ and $\alpha$"),
        (r"see~\cite[p.~3]{knuth84, li} and Table~\ref{tab:x}", "see [knuth84, li] and Table"),
        (r"one brace { too many", "one brace too many"),
        (r"one brace } too many", "one brace too many"),
        ("first line\\\\[2pt] second line", "first line\nsecond line"),
    ],
)
def test_text_is_read_without_its_commands(tmp_path: Path, source: str, text: str | None):
    text = text or "Schrödinger, Gödel, Škvorecký, naïve, façade, Straße"
    assert blocks(parse(TEX, tmp_path, source)) == [("paragraph", 0, text)]


def test_headings_have_the_levels_that_the_document_uses(tmp_path: Path):
    source = "\\chapter{One} words\n\\section[short]{Two} words \\subsubsection*{Three} words\n\\section{Four}\nwords"
    assert [block[:2] for block in blocks(parse(TEX, tmp_path, source)) if block[0] == "heading"] == [
        ("heading", 1), ("heading", 2), ("heading", 3), ("heading", 2),
    ]  # fmt: skip
    slides = "\\begin{document}\\begin{frame}[t]{Plan}\\begin{itemize}\\item a\\end{itemize}\\end{frame}\\end{document}"
    assert blocks(parse(TEX, tmp_path, slides)) == [("heading", 1, "Plan"), ("list_item", 1, "- a")]


def test_table_within_a_table_stays_in_its_cell(tmp_path: Path):
    source = (
        "\\begin{tabularx}{\\textwidth}{l|X}\nPart & Size \\\\ \\midrule\n"
        "a & \\begin{tabular}{c}x \\\\ y & z\\end{tabular} \\\\\n"
        "\\multirow{2}{*}{b} & \\% of \\$5\n\\end{tabularx} behind"
    )
    assert blocks(parse(TEX, tmp_path, source)) == [
        ("table", 0, "Part | Size\na | x y z\nb | % of $5"),
        ("paragraph", 0, "behind"),
    ]


def test_listing_keeps_every_sign(tmp_path: Path):
    source = '\\begin{lstlisting}[language=C]\nif (a % b) { x = "\\n"; }\n\\end{lstlisting}\nbehind'
    assert blocks(parse(TEX, tmp_path, source)) == [
        ("code", 0, 'if (a % b) { x = "\\n"; }'),
        ("paragraph", 0, "behind"),
    ]


def test_groups_without_end_are_refused(tmp_path: Path):
    with pytest.raises(ParseFailure) as caught:
        parse(TEX, tmp_path, "{" * 100_000)
    assert caught.value.reason == "too_complex"


SIGNS = ["word", " ", "\n", "\n\n", "\\", "{", "}", "$", "$$", "%", "&", "~", "[", "]", "\\\\", "\\item", "\\section",
         "\\begin{tabular}", "\\end{tabular}", "\\begin{itemize}", "\\end{itemize}", "\\footnote", "\\'", "\\["]  # fmt: skip


@given(parts=st.lists(st.sampled_from(SIGNS), min_size=1, max_size=40))
@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_source_gives_text_or_a_reason(tmp_path: Path, parts: list[str]):
    with suppress(ParseFailure):
        assert parse(TEX, tmp_path, "".join(parts)).text.strip()


FORMS = [
    "\\emph{%s} ",
    "{\\bf %s} ",
    "\n\n%s ",
    "\\section{%s} ",
    "\\footnote{%s} ",
    "\\unknown[x]{a}{%s} ",
    "\\\\ %s ",
]


@given(forms=st.lists(st.sampled_from(FORMS), min_size=1, max_size=20))
@settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_every_word_of_a_source_comes_once(tmp_path: Path, forms: list[str]):
    words = [f"word{n}" for n in range(len(forms))]
    source = "".join(form.replace("%s", word) for form, word in zip(forms, words, strict=True))
    text = parse(TEX, tmp_path, source).text
    assert sorted(word.removeprefix("a") for word in text.split()) == sorted(words)


@pytest.mark.parametrize(
    ("entry", "text"),
    [
        ("@book{k, title = {A {B} C}, year=1999,}", "A B C\nk (book)\nyear: 1999"),
        ('@misc(k, note = "a {""} b" # { c})', 'k (misc)\nnote: a "" b c'),
        ("@article{k, month = mar, title={x}}", "x\nk (article)\nmonth: March"),
        (
            '@string{j = "Journal"} @article{k, journal = j # " of {\\\'E}t\\\'e"}',
            "k (article)\njournal: Journal of Été",
        ),
        ("words @book{k, url = {https://a.org/b_c}}", "k (book)\nurl: https://a.org/b_c"),
    ],
)
def test_entry_is_read_with_its_fields(tmp_path: Path, entry: str, text: str):
    assert parse(BIB, tmp_path, entry).text == text


def test_entry_that_does_not_end_loses_no_other(tmp_path: Path):
    good = "@book{{k{n}, title = {{Title {n}}}}}\n"
    content = good.format(n=1) + "@book{bad, title = {open\n" + good.format(n=2) + good.format(n=3)
    parsed = parse(BIB, tmp_path, content)
    assert [text.split("\n")[0] for _, _, text in blocks(parsed)] == [
        "Title 1", "@book{bad, title = {open", "Title 2", "Title 3",
    ]  # fmt: skip
    assert parsed.warnings == ("damaged_records",)


@pytest.mark.parametrize("content", ["@book{bad, title = {open", "no entry at all", "@book{a @book{b"])
def test_bibliography_without_a_whole_entry_is_damaged(tmp_path: Path, content: str):
    with pytest.raises(ParseFailure, match="damaged"):
        parse(BIB, tmp_path, content)


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("% \\begin{document}\n\\section{A}\nText here.", "A\n\nText here."),
        (
            "\\def\\ee{\\end{equation}}\\def\\be{\\begin{equation}}\n\\begin{document}\nHello.\n\\end{document}",
            "Hello.",
        ),
        ("First. % note\n\nSecond.", "First.\n\nSecond."),
        ("First. % note\n  \nSecond.", "First.\n\nSecond."),
        ("First. % note\n  Second.", "First. Second."),
        ("See \\hyperref[sec:a]{the introduction}.", "See the introduction."),
        ("\\AtBeginDocument{\\x}\\title{A title}", "A title"),
    ],
)
def test_text_is_lost_to_no_comment_definition_or_option(tmp_path: Path, source: str, text: str):
    assert parse(TEX, tmp_path, source).text == text


def test_percent_and_tilde_of_a_field_stand(tmp_path: Path):
    entry = "@article{k, title={A 50% drop in rain}, url={https://x.org/~me/a%20b--c}}"
    text = parse(BIB, tmp_path, entry).text
    assert "A 50% drop in rain" in text
    assert "https://x.org/~me/a%20b--c" in text


def test_abbreviations_of_abbreviations_do_not_grow_without_end(tmp_path: Path):
    strings = "".join(f"@string{{a{n + 1}=a{n} # a{n}}}\n" for n in range(60))
    text = parse(BIB, tmp_path, f'@string{{a0="x"}}\n{strings}' + "@misc{k, title={T}}\n" * 100).text
    assert len(text) < 100_000
