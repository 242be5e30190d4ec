"""A smoke test of retrieval quality over HTTP; ``benchmarks/retrieval_quality.py`` measures it."""

import pytest

from tests.fixtures.http.client import Api
from tests.fixtures.product.server import one_shape

# Neighbouring subjects in both languages, so that a lost leg or a wrong fusion shows.
PARAGRAPHS = {
    "tides": "The sea rises and falls twice a day because the moon pulls at the water.",
    "moon": "The moon turns once on its axis in the time it takes to go around the earth.",
    "salt": "Rivers wash minerals out of the rocks and carry them to the ocean, where they stay.",
    "bread": "Yeast eats the sugar in the dough, and the gas it gives off makes a loaf rise.",
    "beer": "Brewers add yeast to cooled wort; sugar becomes alcohol within a week.",
    "glass": "Sand melts at high heat and sets into a clear solid when it cools quickly.",
    "潮汐": "月球的引力使海水每天涨落两次，人们把这种现象叫作潮汐。",
    "茶叶": "绿茶不经过发酵，采摘以后先杀青，再揉捻和干燥。",
    "酱油": "大豆和小麦拌入曲菌，在盐水里发酵数月，压榨后就是酱油。",
    "玻璃": "石英砂在高温下熔化，快速冷却之后成为透明的玻璃。",
    "丝绸": "蚕吐丝结茧，工人把茧煮软，抽出长丝织成绸缎。",
    "瓷器": "瓷土成型后上釉，送进窑里以一千三百度烧制。",
}
QUESTIONS = {
    "Why does the sea rise twice a day?": "tides",
    "How long does the moon need for one turn on its axis?": "moon",
    "How do minerals get into the sea?": "salt",
    "Why does dough get bigger before baking?": "bread",
    "When does wort turn into alcohol?": "beer",
    "What is sand turned into by heat?": "glass",
    # No word in common with their paragraph: only the meaning finds them.
    "Where do bakers need microbes?": "bread",
    "Which drink contains ethanol?": "beer",
    "海水为什么每天涨落两次？": "潮汐",
    "绿茶要不要发酵？": "茶叶",
    "酱油是用什么发酵的？": "酱油",
    "石英砂熔化以后变成什么？": "玻璃",
    "蚕茧怎样变成绸缎？": "丝绸",
    "烧制瓷器要多少度？": "瓷器",
}


@pytest.fixture
def kb(user: Api) -> str:
    kb_id = user.create_kb()
    ids = [user.upload(kb_id, f"{name}.txt", text) for name, text in PARAGRAPHS.items()]
    for document_id in ids:
        assert user.wait(kb_id, document_id)["status"] == "completed"
    return kb_id


@one_shape
def test_questions_in_both_languages_find_their_paragraph(user: Api, kb: str):
    ranked = {
        question: [hit["document_name"].removesuffix(".txt") for hit in user.search(kb, question)]
        for question in QUESTIONS
    }
    assert {question: names[0] for question, names in ranked.items()} == QUESTIONS
