"""Quotable units of a passage: sentences, list items, table rows, code."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from agents.llm.extractive.blocks import CLOSERS, LABEL_WORDS, Block, UnitKind, blocks, has_end, word_count
from kb_service.text.tokenizer import sentences

# A cut after one of these was no end of a sentence.
_ABBREVIATION = re.compile(
    r"(?:^|[\s(])(?:e\.g|i\.e|etc|vs|cf|approx|resp|[Dd]r|[Mm]rs?|[Mm]s|[Pp]rof|[Ff]ig|[Nn]o|[Ss]t"
    r"|[Vv]ol|[Ss]ec|[Cc]h|[Ii]nc|[Ll]td|[Cc]o|[A-Z])\.$"
)
# A sentence of fewer words is a part of the next one: "No." says nothing by itself.
_FEWEST_WORDS: dict[UnitKind, float] = {"sentence": 1.7, "item": 1.7, "row": 1.7, "code": 1, "heading": 1}
_LISTED = frozenset({"item", "code", "row"})
_LONGEST_THOUGHT = 40
_LONGEST_FRAGMENT = 40
_LONGEST_EXTENSION = 600
_MOST_ITEMS = 6
_CACHED_PASSAGES = 256


@dataclass(frozen=True, slots=True)
class QuotableUnit:
    """One quotable piece.

    Attributes:
        label: The heading or label above it; ``asks`` whether that is a question.
        opens: Whether it is the first one below its label.
        context: What its words depend on: the sentence that introduces its list, or the header of its table.
        lead: The part to judge it by, if not the whole text: of a list with its introduction, the introduction.
    """

    text: str
    kind: UnitKind
    block: int
    label: str = ""
    opens: bool = False
    asks: bool = False
    context: str = ""
    lead: str = ""

    @property
    def introduces(self) -> bool:
        return self.kind != "code" and self.text.endswith((":", "："))


@lru_cache(maxsize=_CACHED_PASSAGES)
def quotable_units(text: str, heading_path: tuple[str, ...]) -> tuple[QuotableUnit, ...]:
    """The units of a passage that can stand alone, in order.

    Headings, rules, breadcrumbs and labels are dropped. A unit that ends with a colon is also joined with the code or list
    it introduces, or dropped if nothing follows.
    """
    every = list(_labelled(blocks(text, heading_path)))
    units: list[QuotableUnit] = []
    introduction = ""
    for index, unit in enumerate(every):
        if unit.introduces:
            introduction = unit.text
            extended = _with_introduced(every, index)
            units += [extended] if extended is not None else []
            continue
        if unit.kind not in _LISTED or unit.opens:
            introduction = ""
        is_quoted_with_it = introduction and unit.kind == "code"
        if word_count(unit.text) >= _FEWEST_WORDS[unit.kind] and not is_quoted_with_it:
            units.append(replace(unit, context=unit.context or introduction))
    return tuple(units)


def _labelled(every: Sequence[Block]) -> Iterator[QuotableUnit]:
    label, opens, asks, header = "", True, False, ""
    for number, block in enumerate(every):
        if block.kind == "heading":
            label, opens, asks, header = block.text, True, block.asks, ""
            continue
        if block.kind != "row":
            header = ""
        if block.is_header:
            header = block.text
            continue
        for unit in _units(block, number, whole=opens and asks):
            if unit.kind == "sentence" and not has_end(unit.text) and word_count(unit.text) < LABEL_WORDS:
                label, opens, asks = unit.text, True, False
                continue
            yield replace(unit, label=label, opens=opens, asks=asks, context=header)
            opens = False


def _units(block: Block, number: int, *, whole: bool) -> Iterator[QuotableUnit]:
    if block.kind == "code":
        yield QuotableUnit("\n".join(block.lines), "code", number)
    elif block.kind == "row":
        yield QuotableUnit(block.text, "row", number)
    elif (whole or block.kind == "item") and not _is_long(block.text) and not block.text.endswith((":", "：")):
        # A list item, and the answer below a question, are one thought.
        yield QuotableUnit(block.text, block.kind, number)
    else:
        for sentence in _whole_sentences(block.text):
            yield QuotableUnit(sentence, block.kind, number)


def _is_long(text: str) -> bool:
    return word_count(text) > _LONGEST_THOUGHT


def _whole_sentences(text: str) -> list[str]:
    whole: list[str] = []
    for raw in sentences(text):
        sentence = raw.strip()
        if whole and sentence[0] in CLOSERS and not sentence.startswith('"'):
            closers = sentence[: len(sentence) - len(sentence.lstrip(CLOSERS))]
            whole[-1] += closers
            sentence = sentence[len(closers) :].strip()
        if not sentence:
            continue
        if whole and (sentence[0].islower() or _ABBREVIATION.search(whole[-1]) or _is_fragment(whole[-1])):
            glue = "" if whole[-1].endswith(("。", "！", "？")) else " "
            whole[-1] = f"{whole[-1]}{glue}{sentence}"
        else:
            whole.append(sentence)
    return whole


def _is_fragment(sentence: str) -> bool:
    is_short = len(sentence) <= _LONGEST_FRAGMENT and word_count(sentence) < _FEWEST_WORDS["sentence"]
    return is_short or sentence.endswith(" ...")


def _with_introduced(every: Sequence[QuotableUnit], index: int) -> QuotableUnit | None:
    unit = every[index]
    text = unit.text
    for items, following in enumerate(every[index + 1 : index + 2 + _MOST_ITEMS]):
        if following.kind not in ("code", "item") or following.opens:
            break
        piece = f"```\n{following.text}\n```" if following.kind == "code" else f"- {following.text}"
        if len(text) + len(piece) > _LONGEST_EXTENSION or items == _MOST_ITEMS:
            text = f"{text}\n- …" if items else text
            break
        text = f"{text}\n{piece}"
        if following.kind == "code":
            break
    return replace(unit, text=text, lead=unit.text) if text != unit.text else None
