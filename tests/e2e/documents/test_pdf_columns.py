"""A PDF that draws its two columns row by row, over HTTP: a passage holds whole sentences of one column."""

from tests.fixtures.files.ruled_pdf import ruled_pdf, words
from tests.fixtures.http.client import Api

LEFT = [
    "The harbour was widened after the exam-",
    "ple of the older ports along the coast,",
    "where the fishermen wait in winter.",
]
RIGHT = [
    "Every ship that comes in pays for the",
    "pilot and for the light of the tower,",
    "which the keeper lights at dusk.",
]


def test_sentence_of_one_column_is_a_passage(user: Api):
    drawn = [
        words(x, 700 - 13 * number, lines[number]) for number in range(3) for x, lines in ((50, LEFT), (320, RIGHT))
    ]
    kb = user.create_kb()
    user.ingest(kb, "paper.pdf", ruled_pdf(drawn))
    text = "\n\n".join(hit["content"] for hit in user.search(kb, "Who pays for the light?"))
    assert "after the example of the older ports along the coast, where the fishermen wait in winter." in text
    assert "pays for the pilot and for the light of the tower, which the keeper lights at dusk." in text
