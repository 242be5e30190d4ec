"""The gate, the roles, and the forms of names."""

from dataclasses import dataclass

import pytest

from core.accounts.access import Action, Principal, allow, may
from core.accounts.permissions import BUILT_IN_ROLES, DEFAULT_ROLE, Permission
from core.accounts.users import clean_email, clean_username, folded
from core.errors import (
    AgentexError,
    ErrorCode,
    InvalidRequest,
    KnowledgeBaseNotFound,
    NotFound,
    PermissionDenied,
    ReadOnly,
)


@dataclass
class Thing:
    id: str = "t"
    owner_id: str = "anna"
    is_public: bool = False


def person(name: str, *permissions: Permission, role: str = "user") -> Principal:
    return Principal(name, name, role, frozenset(permissions))


@pytest.mark.parametrize(
    ("who", "public", "reads", "writes"),
    [
        (person("anna"), False, True, True),
        (person("anna"), True, True, True),
        (person("ben"), False, False, False),
        (person("ben"), True, True, False),
        (person("root", *Permission, role="admin"), False, False, False),
        (person("root", *Permission, role="admin"), True, True, False),
    ],
)
def test_owner_does_everything_and_others_read_what_is_public(
    who: Principal, public: bool, reads: bool, writes: bool
):
    thing = Thing(is_public=public)
    assert may(who, Action.READ, thing) is reads
    assert may(who, Action.WRITE, thing) is writes


def test_missing_and_hidden_things_look_the_same():
    for thing in (None, Thing()):
        with pytest.raises(KnowledgeBaseNotFound) as error:
            allow(person("ben"), Action.READ, thing, KnowledgeBaseNotFound)
        assert error.value.details == {}
    with pytest.raises(ReadOnly):
        allow(person("ben"), Action.WRITE, Thing(is_public=True), KnowledgeBaseNotFound)
    thing = Thing()
    assert allow(person("anna"), Action.WRITE, thing, KnowledgeBaseNotFound) is thing


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
    [("zhangsan", "zhangsan"), ("张三", "张三"), (" ann ", "ann"), ("ａｎｎ", "ann"), ("a.b@c+d-e_f", "a.b@c+d-e_f")],
)  # fmt: skip
def test_user_name_gets_its_stored_form(given: str, stored: str):
    assert clean_username(given) == stored


@pytest.mark.parametrize("name", ["", "a", " a ", "a b", "a/b", "a\u200bb", "x" * 65, "a\x00b", "<b>", "\u202eab"])  # fmt: skip
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
    assert folded("ZhangSan") == folded("zhangsan") == folded("ｚｈａｎｇｓａｎ")
    assert folded("STRASSE") == folded("straße")
    assert folded("anna") != folded("аnna")


def test_each_error_has_one_code_of_its_own():
    def below(kind: type[AgentexError]) -> list[type[AgentexError]]:
        return [kind, *(inner for child in kind.__subclasses__() for inner in below(child))]

    kinds = [kind for kind in below(AgentexError) if kind.__module__ == "core.errors"]
    # One that says more than another class may keep its code: callers see the code alone.
    own = [kind for kind in kinds if kind.__base__ in {AgentexError, NotFound, object, Exception}]
    assert len({kind.code for kind in own}) == len(own)
    assert len(own) >= len(kinds) - 1


def test_codes_are_in_the_documented_ranges_with_both_languages():
    families = {400, 401, 403, 404, 405, 409, 413, 422, 429, 500, 502, 503, 507}
    for code in ErrorCode:
        assert code.status in families
        assert 1 <= code % 100 <= 99
        assert code.message.isascii()
        assert not code.message_zh.isascii()
    assert len({code.message for code in ErrorCode}) == len(ErrorCode)
