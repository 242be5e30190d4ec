"""Documents of all knowledge bases by a part of their name, over HTTP."""

from core.errors.auth import PermissionDenied
from core.errors.requests import InvalidPagination, InvalidRequest
from tests.fixtures.http.client import Api, unique
from tests.fixtures.product.server import Server, one_shape


def names(user: Api, part: str, **query: str) -> list[str]:
    return [row["name"] for row in user.get("/documents", name_contains=part, **query)["items"]]


def test_documents_are_found_in_all_knowledge_bases_by_a_part_of_the_name(user: Api):
    word = unique("ledger")
    first, second = user.create_kb(), user.create_kb()
    user.ingest(first, f"{word} 2025 年度.md", "# One\n\nText.")
    user.ingest(second, f"Old {word}.md", "# Two\n\nText.")
    user.ingest(second, "other.md", "# Three\n\nText.")

    page = user.get("/documents", name_contains=word.upper(), sort_by="name", sort_order="asc")
    assert page["total"] == 2
    found = {row["name"]: row for row in page["items"]}
    assert list(found) == [f"Old {word}.md", f"{word} 2025 年度.md"]
    row = found[f"Old {word}.md"]
    knowledge_base = user.get(f"/knowledge-bases/{second}")
    assert (row["knowledge_base_id"], row["knowledge_base_name"]) == (second, knowledge_base["name"])
    assert row["status"] == "completed"
    assert names(user, "2025 年") == [f"{word} 2025 年度.md"]
    # Signs of patterns mean themselves.
    assert names(user, f"{word}%5") == names(user, f"{word}_2025") == []


def test_hidden_and_deleted_documents_are_not_found(user: Api, other: Api):
    word = unique("secret")
    kb = user.create_kb()
    opened = user.ingest(kb, f"{word} open.md", "# One\n\nText.")
    hidden = user.ingest(kb, f"{word} hidden.md", "# Two\n\nText.")
    assert names(other, word) == []

    user.put(f"/knowledge-bases/{kb}/shares", {"shares": [{"user_id": other.user_id, "access": "read"}]})
    user.put(f"/knowledge-bases/{kb}/documents/{hidden}/access", {"readers": []})
    assert names(other, word) == [f"{word} open.md"]
    assert other.get("/documents", name_contains=word)["total"] == 1
    assert sorted(names(user, word)) == [f"{word} hidden.md", f"{word} open.md"]

    user.delete(f"/knowledge-bases/{kb}/documents/{opened}")
    assert names(other, word) == []
    user.delete(f"/knowledge-bases/{kb}")
    assert names(user, word) == []


@one_shape
def test_search_of_names_without_a_name_or_permission_is_refused(server: Server, user: Api):
    user.refused(InvalidRequest, "GET", "/documents")
    user.refused(InvalidRequest, "GET", "/documents?name_contains=")
    user.refused(InvalidPagination, "GET", "/documents?name_contains=a&sort_by=sha256")
    key = user.post("/users/me/api-keys", {"name": "k", "scopes": ["session:view"]})["key"]
    blind = server.api(**{"X-API-Key": key})
    assert blind.refused(PermissionDenied, "GET", "/documents?name_contains=a") == {"permission": "kb:view"}
