"""Pages of a document by its characters."""

from hypothesis import given
from hypothesis import strategies as st

from core.types.text_pages import page_at
from ingestion.page_index import PageIndex
from ingestion.parsers.builder import DocumentBuilder
from ingestion.parsers.limits import ParseLimits
from ingestion.parsers.model import ParsedDocument


def parsed(*elements: tuple[str, int | None, tuple[tuple[int, int], ...]]) -> ParsedDocument:
    builder = DocumentBuilder(ParseLimits())
    for text, page, later in elements:
        builder.add("paragraph", text, page=page, later_pages=later)
    return builder.finish()


TEXTS = st.tuples(st.sampled_from(("a", "two words", "x" * 30)), st.integers(0, 2), st.integers(0, 2))


@given(st.lists(TEXTS, min_size=1, max_size=8), st.data())
def test_each_character_of_a_passage_is_on_the_page_of_its_element(texts, data):
    page, elements = 1, []
    for text, ahead, within in texts:
        first = page + ahead
        # Of a block over several pages, one begins at its middle.
        page = first + (within if len(text) > 1 else 0)
        elements.append((text, first, ((len(text) // 2, page),) if page > first else ()))
    document = parsed(*elements)
    start = data.draw(st.integers(0, len(document.text) - 1))
    end = data.draw(st.integers(start + 1, len(document.text)))
    index = PageIndex(document.elements)
    later = index.within(start, end)
    pages = {
        place: page_at(place - element.char_start, element.page, element.later_pages)
        for element in document.elements
        for place in range(element.char_start, element.char_end)
    }
    first = next((page for place, page in sorted(pages.items(), reverse=True) if place <= start), None)
    assert all(start < offset < end for offset, _ in later)
    for place in range(start, end):
        if place in pages:
            assert page_at(place, first, later) == pages[place]


def test_texts_without_pages_have_none():
    document = parsed(("One.", None, ()), ("Two.", None, ()))
    assert PageIndex(document.elements).within(0, len(document.text)) == []
    assert page_at(3, None, []) is None


def test_page_that_goes_on_begins_once():
    document = parsed(("One.", 1, ()), ("Two.", 1, ()), ("Three.", 2, ()))
    assert PageIndex(document.elements).within(0, 99) == [(document.text.index("Three"), 2)]
