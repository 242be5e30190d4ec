"""Pages that citations name, over HTTP."""

import pytest

from tests.fixtures.files.ruled_pdf import ruled_pdf, words
from tests.fixtures.files.sample_files import pptx, shape
from tests.fixtures.http.client import Api
from tests.fixtures.product.server import one_shape
from tests.fixtures.runs.agent_runs import verified_run

QUESTION = "On which port does the relay listen?"
ANSWER = "The relay listens on port 7070 for its operators."
# All in one passage, which begins on the first page.
FILES = {
    "relays.pdf": ruled_pdf(
        [words(60, 740 - 20 * line, f"Shelf {line} of the harbour holds the spare lamps.") for line in range(8)],
        [words(60, 740, ANSWER)],
        [words(60, 740, "Logs are kept for thirty days.")],
    ),
    "relays.pptx": pptx(*map(shape, ("The harbour has eight shelves.", ANSWER, "Logs are kept for thirty days."))),
}


def cited_pages(user: Api, kb: str) -> set[int | None]:
    events = verified_run(user, QUESTION, forwarded_props={"agent_type": "agentic_rag", "knowledge_base_ids": [kb]})
    cited = events[-1]["result"]["citations"]
    assert cited
    assert all(ANSWER in citation["quote"] for citation in cited)
    return {citation.get("page") for citation in cited}


@one_shape
@pytest.mark.parametrize("name", FILES)
def test_citation_names_the_page_of_its_quote_also_in_a_copy(user: Api, name: str):
    kb = user.create_kb()
    document_id = user.ingest(kb, name, FILES[name])
    (passage,) = user.get(f"/knowledge-bases/{kb}/documents/{document_id}/chunks")["items"]
    assert passage["page"] == 1

    assert cited_pages(user, kb) == {2}

    assert cited_pages(user, user.copy_kb(kb)) == {2}
