"""The choice of a parser where the operator has switched none on: what is refused, and what is said."""

from core.errors.requests import InvalidRequest, ParserNotEnabled
from tests.fixtures.http.client import Api, check_error, check_success, unique

TEXT = "# Pumps\n\nThe otter pump runs at night."
OTHERS = {"parser": "unstructured", "strategy": "fast"}


def test_a_parser_that_is_not_switched_on_is_refused_at_each_door(user: Api):
    parsers = {entry["name"]: entry for entry in user.get("/parsers")["items"]}
    assert parsers["built_in"] == {"name": "built_in", "strategies": [], "available": True, "missing": {}}
    assert parsers["unstructured"]["strategies"] == ["auto", "fast", "ocr_only", "hi_res"]
    assert (parsers["unstructured"]["available"], parsers["unstructured"]["missing"]) == (False, {})
    kb = user.create_kb()
    document = user.ingest(kb, "a.md", TEXT)
    path = f"/knowledge-bases/{kb}"
    file = {"files": {"file": ("b.md", TEXT.encode(), "text/markdown")}}
    refusals = (
        user.request("POST", "/knowledge-bases", json={"name": unique("kb"), **OTHERS}),
        user.request("PUT", path, json=OTHERS),
        user.request("PUT", f"{path}/documents/{document}", json=OTHERS),
        user.request("POST", f"{path}/documents", params=OTHERS, **file),
        user.request("POST", f"{path}/documents", data=OTHERS, **file),
    )
    for refusal in refusals:
        details = check_error(refusal, ParserNotEnabled)
        assert details == {"parser": "unstructured", "available": ["built_in"]}
        assert "AGENTEX_PARSERS" in refusal.json()["message"]
    (item,) = check_success(user.request("POST", f"{path}/documents/batch", params=OTHERS, **file))["items"]
    assert item["error"]["code"] == ParserNotEnabled.code
    assert [row["name"] for row in user.get(f"{path}/documents")["items"]] == ["a.md"]
    assert user.get(path)["parser"] == "built_in"


def test_a_choice_says_which_values_there_are(user: Api):
    kb = user.create_kb()
    path = f"/knowledge-bases/{kb}"
    for body, field in (
        ({"parser": "magic"}, "parser"),
        ({"strategy": "fast"}, "strategy"),
        ({"parser": "built_in", "strategy": "fast"}, "strategy"),
    ):
        assert check_error(user.request("PUT", path, json=body), InvalidRequest)["field"] == field
    document = user.ingest(kb, "a.md", TEXT)
    row = user.document(kb, document)
    assert (row["parser"], row["chosen_parser"], row["chosen_strategy"]) == ("built_in", None, None)
    # A choice that changes how it is read processes it again, and the way back too.
    for choice, chosen in (("built_in", ("built_in", "auto")), ("inherit", (None, None))):
        check_success(user.request("PUT", f"{path}/documents/{document}", json={"parser": choice}))
        after = user.wait(kb, document)
        assert (after["chosen_parser"], after["chosen_strategy"]) == chosen
        assert after["revision"] == row["revision"] + 1
        row = after
    # The same bytes with another choice are read anew; the same choice once more is nothing to do.
    for outcome in ("retried", "unchanged"):
        sent = user.request(
            "POST",
            f"{path}/documents",
            params={"parser": "built_in"},
            files={"file": ("a.md", TEXT.encode(), "text/markdown")},
        )
        assert check_success(sent)["outcome"] == outcome
        assert user.wait(kb, document)["status"] == "completed"
