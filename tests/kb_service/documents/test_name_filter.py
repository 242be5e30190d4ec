"""Documents listed by a part of their name, the same on both databases."""

import pytest

from core.db.database import Database
from core.db.pagination import PageRequest
from core.db.unit_of_work import unit_of_work
from kb_service.documents import queries as document_queries
from kb_service.documents.queries import DocumentFilter
from kb_service.visibility import SYSTEM_VIEWER
from tests.fixtures.database.rows import add_document, add_knowledge_base

pytestmark = pytest.mark.anyio

NAMES = (
    "Annual Report 2025.pdf",
    "ÖFFNUNGSZEITEN.md",
    "Инструкция.docx",
    "ΛΌΓΟΣ.md",
    "产品介绍.md",
    "100%_[draft]*?.md",
    "100 drafts.md",
    "a^b-c].md",
    "back\\slash$(1).md",
)
CASES: list[tuple[str, set[str]]] = [
    ("report", {"Annual Report 2025.pdf"}),
    ("REPORT 20", {"Annual Report 2025.pdf"}),
    ("öffnung", {"ÖFFNUNGSZEITEN.md"}),
    ("o\u0308ffnung", {"ÖFFNUNGSZEITEN.md"}),
    ("инСТРУ", {"Инструкция.docx"}),
    ("λόγος", {"ΛΌΓΟΣ.md"}),
    ("介绍", {"产品介绍.md"}),
    ("100%", {"100%_[draft]*?.md"}),
    ("%", {"100%_[draft]*?.md"}),
    ("_", {"100%_[draft]*?.md"}),
    ("*", {"100%_[draft]*?.md"}),
    ("?", {"100%_[draft]*?.md"}),
    ("[DRAFT]", {"100%_[draft]*?.md"}),
    ("]", {"100%_[draft]*?.md", "a^b-c].md"}),
    ("^B-C", {"a^b-c].md"}),
    ("\\S", {"back\\slash$(1).md"}),
    ("$(1)", {"back\\slash$(1).md"}),
    ("***:(?i)", set()),
    (".md", set(NAMES) - {"Annual Report 2025.pdf", "Инструкция.docx"}),
    ("", set(NAMES)),
]


async def test_part_of_a_name_selects_in_any_case_and_alphabet(database: Database):
    async with unit_of_work(database) as work:
        base = await add_knowledge_base(work)
    for name in NAMES:
        await add_document(database, knowledge_base_id=base.id, name=name)
    await add_document(database, name="another report.md")
    async with database.reading() as session:
        for part, expected in CASES:
            only = DocumentFilter(name_contains=part)
            page = PageRequest(size=100)
            listing = await document_queries.list_documents(session, SYSTEM_VIEWER, base.id, page, only=only)
            assert {row.name for row in listing.items} == expected, part
            assert listing.total == len(expected)
