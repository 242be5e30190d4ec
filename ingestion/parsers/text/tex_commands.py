"""The commands of TeX that have a meaning for text: what their arguments are, and which characters they stand for."""

import unicodedata

DROP, TEXT, SPAN = "drop", "text", "span"
"""Arguments: left out; text of where they stand; the number of columns that a cell of a table covers."""
TITLE, AUTHOR, HEADING, NOTE, CAPTION, CITE, ITEM_KEY = (
    "title", "author", "heading", "note", "caption", "cite", "item_key",
)  # fmt: skip

SECTIONS = (
    "title",
    "part",
    "chapter",
    "section",
    "frametitle",
    "subsection",
    "subsubsection",
    "paragraph",
    "subparagraph",
)
"""Commands of headings, outermost first."""

_ARGUMENTS: dict[tuple[str, ...], str] = {
    (DROP,): (
        "label ref eqref pageref autoref cref Cref vref nameref includegraphics input include includeonly usepackage "
        "documentclass RequirePackage LoadClass bibliography bibliographystyle addbibresource pagestyle thispagestyle "
        "vspace hspace vskip hskip color pagecolor graphicspath lstset tikzset hypersetup geometry index glossary "
        "hyphenation cline cmidrule usetheme usecolortheme usetikzlibrary newcounter stepcounter refstepcounter "
        "setmainfont setCJKmainfont newlength pagenumbering selectlanguage setstretch linespread captionsetup "
        "theoremstyle nocite hypertarget phantom hphantom vphantom DeclareUnicodeCharacter newif date thanks AtBeginDocument "
    ),
    (DROP, DROP): (
        "newcommand renewcommand providecommand DeclareRobustCommand DeclareMathOperator newtheorem setcounter "
        "addtocounter setlength addtolength definecolor newcolumntype rule titleformat fontsize hyphenpenalty "
        "DeclarePairedDelimiter newfontfamily pdfbookmark setbeamertemplate setbeamercolor"
    ),
    (DROP, DROP, DROP): "newenvironment renewenvironment addcontentsline",
    (DROP, TEXT): "textcolor colorbox parbox raisebox hyperlink foreignlanguage adjustbox scalebox rotatebox",
    (DROP, DROP, TEXT): "resizebox fcolorbox multirow",
    (SPAN, DROP, TEXT): "multicolumn",
    (CITE,): "cite citep citet citealp citeauthor citeyear parencite textcite autocite footcite",
    (NOTE,): "footnote footnotetext endnote marginpar",
    (CAPTION,): "caption",
    (AUTHOR,): "author institute affiliation",
    (TITLE,): "title",
    (ITEM_KEY,): "bibitem",
    **{(f"{HEADING}:{name}",): name for name in SECTIONS if name != "title"},
}
ARGUMENTS = {name: kinds for kinds, names in _ARGUMENTS.items() for name in names.split()}
"""Kinds of a command's arguments; those of other commands are text."""

ENVIRONMENT_ARGUMENTS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("tabular", "longtable", "minipage", "multicols", "wrapfigure", "thebibliography"), (DROP,)),
    **dict.fromkeys(("tabular*", "tabularx", "tabulary", "adjustbox"), (DROP, DROP)),
    "tabular*": (DROP, DROP),
    "frame": (f"{HEADING}:frametitle",),
}
TABLES = frozenset(("tabular", "tabular*", "tabularx", "tabulary", "longtable"))
LISTS = frozenset(("itemize", "enumerate", "description", "compactitem", "compactenum"))
VERBATIM = frozenset(("verbatim", "verbatim*", "Verbatim", "lstlisting", "minted", "alltt"))
MATH = frozenset(
    f"{name}{star}"
    for name in ("equation", "align", "gather", "multline", "eqnarray", "displaymath", "math", "flalign", "alignat")
    for star in ("", "*")
)
SKIPPED = frozenset(("comment", "tikzpicture", "pgfpicture", "filecontents", "filecontents*", "picture"))

SYMBOLS = {
    **{char: char for char in "%&$#_{}"},
    **dict.fromkeys((",", ";", ":", " ", "!", "\n", "\t", "quad", "qquad", "enspace", "space"), " "),
    "ss": "ß", "o": "ø", "O": "Ø", "l": "ł", "L": "Ł", "ae": "æ", "AE": "Æ", "oe": "œ", "OE": "Œ", "aa": "å",
    "AA": "Å", "i": "ı", "j": "ȷ", "ldots": "…", "dots": "…", "textellipsis": "…", "textendash": "–",
    "textemdash": "—", "textbackslash": "\\", "textasciitilde": "~", "textasciicircum": "^", "textbar": "|",
    "textless": "<", "textgreater": ">", "textquoteright": "’", "textquoteleft": "‘", "textquotedblleft": "“",
    "textquotedblright": "”", "textdegree": "°", "degree": "°", "copyright": "©", "S": "§", "P": "¶", "euro": "€",
    "pounds": "£", "LaTeX": "LaTeX", "TeX": "TeX", "LaTeXe": "LaTeX2e", "BibTeX": "BibTeX",
    "slash": "/", "guillemotleft": "«", "guillemotright": "»", "textregistered": "®", "texttrademark": "™",
}  # fmt: skip
"""Characters that a command stands for."""

_MARKS = {
    '"': "\u0308", "'": "\u0301", "`": "\u0300", "^": "\u0302", "~": "\u0303", "=": "\u0304", ".": "\u0307",
    "v": "\u030c", "c": "\u0327", "u": "\u0306", "H": "\u030b", "k": "\u0328", "r": "\u030a", "d": "\u0323",
}  # fmt: skip


def accented(accent: str, letter: str) -> str:
    """The letter with an accent of TeX, as one character where there is one."""
    letter = {"\\i": "i", "\\j": "j"}.get(letter, letter)
    return unicodedata.normalize("NFC", letter + _MARKS[accent])
