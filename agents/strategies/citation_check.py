"""Resolving the ``[n]`` marks of an answer to the passages they name."""

import re
from dataclasses import dataclass

from agents.citations import Citation, Passage
from agents.evidence import Evidence
from kb_service.text.tokenizer import sentences, tokenize

_MARK = re.compile(r"[\[【](\d{1,3}(?:\s*[,，、;]\s*\d{1,3})*)[\]】](?!\()")
_TRAILING_MARKS = re.compile(r"(?:\s*[\[【][\d,，、; ]{1,40}[\]】]){1,20}\s*$")
_CODE = re.compile(r"```.*?(?:```|\Z)|`[^`\n]*`", re.DOTALL)
_LONGEST_QUOTE = 600
_LONGEST_CLAIM = 1200


@dataclass(frozen=True, slots=True)
class CheckedCitations:
    """The citations of an answer, by number, and the numbers that no passage has."""

    citations: tuple[Citation, ...]
    invalid_numbers: tuple[int, ...]


def check_citations(answer: str, evidence: Evidence) -> CheckedCitations:
    """Resolve every cited number; each quote is the part of the passage nearest to its claims."""
    claims: dict[int, list[str]] = {}
    # Brackets in code are indices; blanked out, so that positions stay.
    prose = _CODE.sub(lambda code: " " * len(code.group()), answer)
    for mark in _MARK.finditer(prose):
        claim = _claim_before(answer[max(0, mark.start() - _LONGEST_CLAIM) : mark.start()])
        for number in re.findall(r"\d+", mark.group(1)):
            claims.setdefault(int(number), []).append(claim)
    citations: list[Citation] = []
    invalid: list[int] = []
    for number, texts in claims.items():
        passage = evidence.get(number)
        if passage is None:
            invalid.append(number)
        else:
            citations.append(_cite(number, passage, texts))
    return CheckedCitations(tuple(citations), tuple(invalid))


def without_marks(answer: str) -> str:
    """The answer without its marks: in a later run the numbers mean other passages."""
    return _MARK.sub("", answer)


def _claim_before(text: str) -> str:
    """The paragraph piece or sentence that a mark stands behind."""
    paragraph = _TRAILING_MARKS.sub("", text).rsplit("\n\n", 1)[-1]
    found = sentences(paragraph)
    return found[-1] if found and not paragraph.lstrip().startswith(">") else paragraph


def _cite(number: int, passage: Passage, claims: list[str]) -> Citation:
    start, end = _quoted_span(passage.content, claims)
    quote = passage.content[start:end]
    # A cut table carries its header in front: its text is no plain slice of the document.
    is_slice = len(passage.content) == passage.char_end - passage.char_start
    return Citation(
        number=number,
        chunk_id=passage.chunk_id,
        document_id=passage.document_id,
        document_name=passage.document_name,
        knowledge_base_id=passage.knowledge_base_id,
        revision=passage.revision,
        heading_path=passage.heading_path,
        page=passage.page,
        char_start=passage.char_start + start if is_slice else passage.char_start,
        char_end=passage.char_start + end if is_slice else passage.char_end,
        quote=quote,
        retrieval_id=passage.retrieval_id,
    )


def _quoted_span(content: str, claims: list[str]) -> tuple[int, int]:
    """From the first to the last sentence that a claim rests on, or the best one if far apart."""
    spans = _sentence_spans(content)
    tokens = [set(tokenize(content[start:end])) for start, end in spans]
    chosen = [found for claim in claims if (found := _nearest(set(tokenize(claim)), tokens))]
    if not chosen:
        return _trimmed(content, 0, min(len(content), _LONGEST_QUOTE))
    first, last = min(item[1] for item in chosen), max(item[2] for item in chosen)
    if spans[last][1] - spans[first][0] > _LONGEST_QUOTE:
        _, first, last = max(chosen)
    return _trimmed(content, spans[first][0], spans[last][1])


def _nearest(claim: set[str], tokens: list[set[str]]) -> tuple[float, int, int] | None:
    """Score, first and last of the sentences nearest to a claim; neighbours it repeats join in."""
    scores = [len(claim & have) / (len(have) + 4) for have in tokens]
    best = max(range(len(scores)), key=scores.__getitem__, default=0)
    if not scores or scores[best] == 0:
        return None
    first = last = best
    while first > 0 and tokens[first - 1] and tokens[first - 1] <= claim:
        first -= 1
    while last + 1 < len(tokens) and tokens[last + 1] and tokens[last + 1] <= claim:
        last += 1
    return scores[best], first, last


def _sentence_spans(content: str) -> list[tuple[int, int]]:
    spans: list[tuple[int, int]] = []
    place = 0
    for block in re.split(r"\n\s*\n", content):
        for sentence in sentences(block):
            start = content.index(sentence, place)
            place = start + len(sentence)
            spans.append((start, place))
    return spans


def _trimmed(content: str, start: int, end: int) -> tuple[int, int]:
    text = content[start:end]
    left = len(text) - len(text.lstrip())
    return start + left, start + max(left, len(text.rstrip()))
