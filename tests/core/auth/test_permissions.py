"""Access levels, roles, the forms of user names, and the codes of errors."""

from dataclasses import dataclass
from hashlib import sha256
from typing import ClassVar

import pytest

from core.auth.permissions import BUILT_IN_ROLES, DEFAULT_ROLE, Permission
from core.auth.principal import Access, Action, Principal, access_to, check_access
from core.auth.users import clean_email, clean_username
from core.errors.auth import KnowledgeBaseNotFound, OwnerOnly, PermissionDenied, ReadOnly
from core.errors.base import AgentexError
from core.errors.registry import ERRORS, error_for_code
from core.errors.requests import EmptyFile, InvalidRequest
from core.errors.server import DatabaseFull, StorageFull
from core.text.confusables import fold, name_key


@dataclass
class Thing:
    SHARE_KIND: ClassVar[str] = "thing"

    id: str = "t"
    owner_id: str = "anna"
    is_public: bool = False


def person(name: str, *permissions: Permission, role: str = "user") -> Principal:
    return Principal(name, name, role, frozenset(permissions))


ROOT = person("root", *Permission, role="admin")


@pytest.mark.parametrize(
    ("who", "public", "shared", "access"),
    [
        (person("anna"), False, None, Access.OWNER),
        (person("anna"), True, Access.READ, Access.OWNER),
        (person("ben"), False, None, None),
        (person("ben"), True, None, Access.READ),
        (person("ben"), False, Access.READ, Access.READ),
        (person("ben"), True, Access.WRITE, Access.WRITE),
        (ROOT, False, None, None),
        (ROOT, True, None, Access.READ),
    ],
)
def test_owner_has_everything_and_others_what_is_shared_or_public(
    who: Principal, public: bool, shared: Access | None, access: Access | None
):
    assert access_to(who, Thing(is_public=public), shared) is access


@pytest.mark.parametrize(
    ("access", "action", "refusal"),
    [
        (None, Action.READ, KnowledgeBaseNotFound),
        (None, Action.MANAGE, KnowledgeBaseNotFound),
        (Access.READ, Action.READ, None),
        (Access.READ, Action.WRITE, ReadOnly),
        (Access.READ, Action.MANAGE, ReadOnly),
        (Access.WRITE, Action.READ, None),
        (Access.WRITE, Action.WRITE, None),
        (Access.WRITE, Action.MANAGE, OwnerOnly),
        (Access.OWNER, Action.WRITE, None),
        (Access.OWNER, Action.MANAGE, None),
    ],
)
def test_access_is_enough_or_refused(access: Access | None, action: Action, refusal: type[AgentexError] | None):
    if refusal is None:
        check_access(access, action, KnowledgeBaseNotFound)
        return
    with pytest.raises(refusal) as error:
        check_access(access, action, KnowledgeBaseNotFound)
    assert error.value.details == {}


def test_permission_is_required_by_name():
    person("anna", Permission.KB_VIEW).require(Permission.KB_VIEW)
    with pytest.raises(PermissionDenied) as error:
        person("anna", Permission.KB_VIEW).require(Permission.KB_WRITE)
    assert error.value.details == {"permission": "kb:write"}


def test_each_role_allows_all_that_the_one_below_it_does():
    roles = {role.name: set(role.permissions) for role in BUILT_IN_ROLES}
    assert roles["viewer"] < roles["user"] < roles["developer"] < roles["admin"]
    assert roles["admin"] == set(Permission)
    assert Permission.USERS_MANAGE not in roles["developer"]
    assert DEFAULT_ROLE == "user"


@pytest.mark.parametrize(
    ("given", "stored"),
    [("zhangsan", "zhangsan"), ("张三", "张三"), (" ann ", "ann"), ("ａｎｎ", "ann"), ("a.b@c+d-e_f", "a.b@c+d-e_f"), ("иван2", "иван2"), ("张san", "张san"), ("ｱﾆﾒfan", "アニメfan")],
)  # fmt: skip
def test_user_name_gets_its_stored_form(given: str, stored: str):
    assert clean_username(given) == stored


@pytest.mark.parametrize("name", ["", "a", " a ", "a b", "a/b", "a\u200bb", "x" * 65, "a\x00b", "<b>", "\u202eab", "аdmin", "admin\u03bf", "иvan", "张ван", "3f2504e0-4f89-41d3-9a0c-0305e82c3301", "3F2504E0-4F89-41D3-9A0C-0305E82C3301"])  # fmt: skip
def test_user_name_that_can_be_mistaken_is_refused(name: str):
    with pytest.raises(InvalidRequest) as error:
        clean_username(name)
    assert error.value.details["field"] == "username"


@pytest.mark.parametrize("email", ["zhangsan@example.com", "a+b@x.co.uk", "用户@例子.公司"])
def test_mail_address_is_kept(email: str):
    assert clean_email(f" {email} ") == email


@pytest.mark.parametrize("email", ["", "a", "a@b", "@b.co", "a@", "a b@c.de", "a@b@c.de", "a@.de", "a@b..de", "a\n@b.co", "x" * 65 + "@b.co", "a@" + "b" * 250 + ".de"])  # fmt: skip
def test_what_is_no_mail_address_is_refused(email: str):
    with pytest.raises(InvalidRequest) as error:
        clean_email(email)
    assert error.value.details == {"field": "email", "error": "Invalid email format"}


def test_folding_makes_equal_what_looks_equal():
    assert fold("ZhangSan") == fold("zhangsan") == fold("ｚｈａｎｇｓａｎ")
    assert fold("STRASSE") == fold("straße")
    assert fold("anna") != fold("аnna")


def test_error_with_the_number_of_another_is_refused():
    with pytest.raises(TypeError, match="EmptyFile"):
        type("Twin", (AgentexError,), {"code": EmptyFile.code})


def test_error_may_look_like_another_to_callers():
    assert (DatabaseFull.code, DatabaseFull.wire_name) == (StorageFull.code, "STORAGE_FULL")
    assert (DatabaseFull.status, DatabaseFull.message) == (507, StorageFull.message)
    assert type(error_for_code(StorageFull.code)) is StorageFull


def test_every_number_gives_its_error_and_any_other_an_internal_one():
    assert {type(error_for_code(code)) for code in ERRORS} == set(ERRORS.values())
    assert all(error_for_code(code).details == {} for code in ERRORS)
    assert type(error_for_code(1)) is AgentexError


def test_names_on_the_wire_are_stable():
    names = "\n".join(sorted(f"{code} {error.wire_name}" for code, error in ERRORS.items()))
    # A class's name is that of its error in run events, which are stored: renaming one breaks them.
    assert sha256(names.encode()).hexdigest()[:16] == "ced7536b70333ca7"


def test_codes_are_in_the_documented_ranges_with_both_languages():
    families = {400, 401, 403, 404, 405, 409, 413, 416, 422, 429, 500, 502, 503, 507}
    for code, error in ERRORS.items():
        assert error.status in families
        assert 1 <= code % 100 <= 99
        assert error.message.isascii()
        assert not error.message_zh.isascii()
    assert len({error.message for error in ERRORS.values()}) == len(ERRORS)


@pytest.mark.parametrize(
    ("name", "other"),
    [
        ("аррӏе", "Apple"), ("ΑΝΑ", "AVA"), ("ᴀᴅᴍɪɴ", "admin"), ("ꓮꓓꓟꓲꓠ", "admin"),
        ("ａｄｍｉｎ", "admin"), ("аdmin", "admin"), ("Straße", "strasse"), ("рома", "poma"),
    ],
)  # fmt: skip
def test_names_that_look_alike_are_one(name: str, other: str):
    assert name_key(name) == name_key(other)


def test_names_that_can_be_told_apart_are_two():
    names = ("anna", "änna", "ann", "安娜", "Иван", "admin1", "adminl", "дима", "dima")
    assert len({name_key(name) for name in names}) == len(names)
