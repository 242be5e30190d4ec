"""Every operation of the OpenAPI document, fuzzed by schemathesis in the name of several roles.

Whatever is sent: no internal error, no status or media type that the document does not name, no
answer that breaks its schema, nothing taken in that the document forbids. Cases are the same each
time. It takes too long for the suite: ``make soak`` sends them to both shapes.

No operation is left out. Streams are read for their first events only, and what callers send in
parts (``fuzzing._ANSWERED_IN_PARTS``) may be taken in though a part of it is refused.
"""

import logging
from collections.abc import Callable, Iterator
from uuid import uuid4

import pytest

from api.middleware import is_open
from tests.fixtures.http.client import Api
from tests.fixtures.http.openapi_requests import HOSTILE, Caller, Document, Findings, hostile_cases, with_existing_ids
from tests.fixtures.product.owned_objects import REQUESTS, OwnedObjects, fill, filled, make_owned_objects
from tests.fixtures.product.server import Server, one_shape

log = logging.getLogger(__name__)

# A setting that hurts nobody; it is set back at the end.
_KEY = "max_sessions_per_user"


@pytest.fixture
def document(server: Server) -> Iterator[Document]:
    base = f"http://127.0.0.1:{server.settings.port}"
    made = Document(server.http.get("/openapi.json").json(), base)
    yield made
    made.close()


@pytest.fixture
def leaving_nothing(server: Server, admin_of: Callable[[Server], Api]) -> Iterator[Api]:
    """The first administrator, who removes afterwards what came into being meanwhile."""
    admin = admin_of(server)
    before = {path: ids_of(admin, path) for path in ("/admin/users", "/admin/models", "/admin/roles")}
    yield admin
    for path, known in before.items():
        options = {"params": {"erase": True}} if path == "/admin/users" else {}
        for id_ in ids_of(admin, path) - known:
            answer = admin.request("DELETE", f"{path}/{id_}", **options)
            assert answer.status_code == 200, answer.text
    for item in admin.get("/admin/system/config")["items"]:
        if item["source"] not in {"default", "environment"}:
            admin.delete(f"/admin/system/config/{item['key']}")


def ids_of(admin: Api, path: str) -> set[str]:
    found: set[str] = set()
    page, pages = 1, 1
    while page <= pages:
        params = {"page": page, "page_size": 100} if path == "/admin/users" else {}
        data = admin.get(path, **params)
        found |= {item["id"] for item in data["items"]}
        page, pages = page + 1, data.get("pages", 1)
    return found


def as_role(server: Server, person: Api, role: str) -> None:
    server.sql(
        'UPDATE "user" SET role_id = (SELECT id FROM role WHERE name = :role) WHERE id = :id',
        role=role,
        id=person.user_id,
    )


def caller_of(server: Server, role: str, admin: Api) -> tuple[Caller, OwnedObjects]:
    """Somebody of this role with one of everything."""
    person = server.person()
    owned_objects = make_owned_objects(server, person, admin)
    as_role(server, person, role)
    # Wrong passwords are counted by address: they are nobody else's.
    headers = {**person.headers, "X-Forwarded-For": f"198.51.100.{len(role)}"}
    return Caller(role, headers, owned_objects.ids), owned_objects


def ids_for(label: str, caller: Caller, server: Server) -> dict[str, str]:
    """The ids of the caller's things; under administration those of somebody else."""
    ids = {**caller.ids, "key": _KEY}
    if " /api/v1/admin/" in label:
        ids["user_id"] = server.person().user_id
    return ids


def ask_all(server: Server, document: Document, callers: list[Caller], *, covering: int, drawn: int) -> Findings:
    findings = Findings()
    for label in document.ordered():
        cases = document.cases(label, covering=covering, drawn=drawn)
        for caller in callers:
            ids = ids_for(label, caller, server)
            for number, case in enumerate(cases):
                # Now and then for things that there aren't, too.
                sent = case if number % 5 == 4 else with_existing_ids(case, ids)
                document.send(sent, caller, findings)
    return findings


def was_heard(findings: Findings, document: Document, *, each: int) -> None:
    """Pass if much was sent, and was not merely turned away at the door."""
    said = "%s requests to %s operations, %s forbidden: %s"
    facts = (findings.sent, len(document.operations), findings.forbidden, dict(findings.statuses))
    log.info(said, *facts)
    assert findings.sent > each * len(document.operations)
    assert findings.turned_away < 0.05, findings.statuses


def ask_as_owner(owned_objects: OwnedObjects, document: Document, findings: Findings) -> None:
    """What is known to succeed: whatever is drawn, these answers are looked at."""
    last = [name for name in REQUESTS if name.startswith("DELETE")]
    first = [name for name in REQUESTS if name not in last]
    # With a knowledge base everything in it goes.
    for name in first + last[::-1]:
        method, _, path = name.partition(" ")
        label = f"{method} {path}"
        options = filled(REQUESTS[name], owned_objects.ids.__getitem__)
        url = fill(path, owned_objects.ids.__getitem__)
        answer = owned_objects.owner.http.request(method, url, headers=owned_objects.owner.headers, **options)
        # Of a form httpx has kept nothing that could be shown.
        answer.request.read()
        case = document.operations[label].Case(path_parameters=dict(owned_objects.ids))
        if answer.status_code < 300:
            findings.succeeded.add(label)
        document.judge(case, answer, "owner", findings)


@pytest.mark.soak
@pytest.mark.timeout(2 * 3600)
def test_answers_keep_to_the_document(server: Server, document: Document, leaving_nothing: Api):
    made = [caller_of(server, role, leaving_nothing) for role in ("viewer", "developer", "admin")]
    _, owned_objects = caller_of(server, "developer", leaving_nothing)
    callers = [caller for caller, _ in made]
    findings = ask_all(server, document, callers, covering=2, drawn=1)
    never = set(document.operations) - findings.succeeded
    ask_as_owner(owned_objects, document, findings)
    assert not findings.wrong, findings.text
    was_heard(findings, document, each=6)
    # Only a success shows what its schema is worth.
    assert len(never) < len(document.operations) // 3, sorted(never)
    assert len(set(document.operations) - findings.succeeded) < len(document.operations) // 4


@pytest.mark.soak
@pytest.mark.timeout(2 * 3600)
def test_hostile_values_are_refused_where_the_document_forbids_them(
    server: Server, document: Document, leaving_nothing: Api
):
    findings = Findings()
    caller, _ = caller_of(server, "admin", leaving_nothing)
    for label in document.ordered():
        ids = ids_for(label, caller, server)
        for case in document.cases(label, covering=0, drawn=0):
            for hostile in hostile_cases(with_existing_ids(case, ids), HOSTILE, each=4):
                document.send_forbidden(hostile, caller, findings)
    assert not findings.wrong, findings.text
    was_heard(findings, document, each=2)
    assert findings.forbidden > findings.sent // 4


@one_shape
@pytest.mark.soak
@pytest.mark.timeout(2 * 3600)
def test_nobody_is_let_in_anywhere(server: Server, document: Document, leaving_nothing: Api):
    findings = Findings()
    strangers = [
        Caller("nobody", {}, {}),
        Caller("a stranger", {"Authorization": "Bearer nonsense"}, {}),
        Caller("a stranger's key", {"X-API-Key": f"sk-{uuid4().hex}"}, {}),
    ]
    for label in document.ordered():
        path = label.partition(" ")[2]
        many = 4 if is_open(path) else 1
        cases = document.cases(label, covering=many, drawn=many)
        for caller in strangers[:1] if is_open(path) else strangers:
            for case in cases:
                answer = document.send(case, caller, findings)
                if answer is not None and not is_open(path):
                    assert answer.status_code == 401, f"{label} as {caller.name}"
    assert not findings.wrong, findings.text


@pytest.mark.soak
@pytest.mark.timeout(2 * 3600)
def test_answers_keep_to_the_document_whatever_is_sent(server: Server, document: Document, leaving_nothing: Api):
    made = [caller_of(server, role, leaving_nothing) for role in ("viewer", "developer", "admin")]
    callers = [caller for caller, _ in made]
    findings = ask_all(server, document, callers, covering=100, drawn=60)
    for label in document.ordered():
        ids = ids_for(label, callers[-1], server)
        for case in document.cases(label, covering=0, drawn=0):
            for hostile in hostile_cases(with_existing_ids(case, ids), HOSTILE, each=len(HOSTILE)):
                document.send_forbidden(hostile, callers[-1], findings)
    assert not findings.wrong, findings.text
    was_heard(findings, document, each=100)
