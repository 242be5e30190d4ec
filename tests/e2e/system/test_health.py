"""The parts in the answer of ``/readyz``."""

from kb_service.embeddings.builtin.runtime import choose_backend
from kb_service.embeddings.catalog import DEFAULT
from kb_service.embeddings.cpu import detect_processor
from tests.fixtures.product.server import Server


def test_readiness_names_the_encoder_and_what_it_computes_in(embedded: Server):
    engine = embedded.http.get("/readyz").json()["components"]["engine"]
    # The first thing to compare where one server is slower than another.
    backend, dtype = choose_backend(detect_processor()).split("-")
    assert engine == {"status": "ok", "detail": f"{DEFAULT.name} on {backend} in {dtype}"}
