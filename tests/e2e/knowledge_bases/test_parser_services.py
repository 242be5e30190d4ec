"""Documents that parsing services read: chosen by a knowledge base or with an upload, and found by a search."""

from collections.abc import Iterator

import pytest

from core.errors.server import ParserServiceUnavailable
from tests.fixtures.http.client import Api, check_success, eventually
from tests.fixtures.product.server import Server
from tests.fixtures.servers.parser_services import KEY, ParsingServices, fixed

PDF = b"%PDF-1.7\nthe otters"
WORD = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"


@pytest.fixture
def user(llm_product: Server) -> Api:
    return llm_product.person()


@pytest.fixture
def services(parser_services: ParsingServices) -> Iterator[ParsingServices]:
    """The services, as they were after the test."""
    servers = (parser_services.unstructured, parser_services.docling, parser_services.mineru)
    for server in servers:
        server.forms.clear()
    yield parser_services
    for server in servers:
        server.faults.clear()
        server.held.clear()


@pytest.mark.parametrize(
    ("parser", "strategy", "field"),
    [
        ("unstructured_api", "hi_res", ("strategy", "hi_res")),
        ("docling", "force_ocr", ("force_ocr", "true")),
        ("mineru", "ocr", ("parse_method", "ocr")),
    ],
)
def test_document_is_read_by_the_service_of_its_knowledge_base(
    user: Api, services: ParsingServices, parser: str, strategy: str, field: tuple[str, str]
):
    kb = user.create_kb(parser=parser, strategy=strategy)
    # Its own parsers read what the service does not.
    note = user.ingest(kb, "otters.txt", "Otters hold hands.")
    paper = check_success(user.send_file(kb, "pumps.pdf", PDF, "application/pdf"))["id"]
    row = user.wait(kb, paper)
    assert (row["status"], row["parser"], row["pages"] in {2, 3}) == ("completed", parser, True), row
    assert user.document(kb, note)["parser"] == "built_in"
    (hit, *_) = user.search(kb, "when does the otter pump run")
    assert "runs at night" in hit["content"]
    assert (hit["heading_path"], hit["page"]) == (["Pumps of the otter works"], 1)
    server = {"unstructured_api": services.unstructured, "docling": services.docling, "mineru": services.mineru}[parser]
    (sent,) = server.forms
    assert (sent.file_name, sent.content) == ("document.pdf", PDF)
    assert sent.fields[field[0]] == [field[1]]


def test_refusal_is_final_and_an_outage_waits(user: Api, services: ParsingServices, llm_product: Server):
    kb = user.create_kb(parser="docling")
    services.docling.faults.append(fixed(401, b'{"detail": "no"}'))
    refused = check_success(user.send_file(kb, "a.pdf", PDF, "application/pdf"))["id"]
    row = user.wait(kb, refused)
    assert (row["status"], row["failure"]["reason"]) == ("failed", "parser_service_key_refused"), row
    assert "AGENTEX_DOCLING_API_KEY" in row["failure"]["next_action"]
    assert "密钥" in row["failure"]["message_zh"]
    services.docling.faults.append(fixed(503))
    waiting = check_success(user.send_file(kb, "b.pdf", PDF + b"2", "application/pdf"))["id"]
    postponed = eventually(lambda: (user.document(kb, waiting)["failure"] or {}).get("reason"), what="it is postponed")
    assert postponed == "parser_service_unavailable"
    assert user.wait(kb, waiting)["status"] == "completed"
    # A person who waits is told at once.
    services.docling.faults.append(fixed(503))
    path = f"/knowledge-bases/{kb}/split-preview"
    user.refused(ParserServiceUnavailable, "POST", path, files={"file": ("d.pdf", PDF, "application/pdf")})
    assert KEY not in llm_product.output.read_text(encoding="utf-8", errors="replace")


def test_cancelled_document_leaves_the_service(user: Api, services: ParsingServices):
    kb = user.create_kb()
    services.mineru.held.set()
    left = services.mineru.left
    fields = {"parser": "mineru", "strategy": "txt"}
    document = check_success(user.send_file(kb, "c.pdf", PDF, "application/pdf", **fields))["id"]
    eventually(lambda: services.mineru.forms or None, what="the file is sent")
    assert user.document(kb, document)["status"] == "processing"
    user.post(f"/knowledge-bases/{kb}/documents/{document}/cancel")
    eventually(lambda: services.mineru.left > left or None, what="the connection is closed")
    assert user.document(kb, document)["status"] == "cancelled"
    assert len(services.mineru.forms) == 1
