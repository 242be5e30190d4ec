"""The form editor of skills over HTTP: from the model to a file, field by field, with nothing stored."""

from core.errors.conflicts import SkillChanged
from core.errors.requests import InvalidRequest, SkillNotEditable, UnreadableSkill
from tests.fixtures.http.client import Api, check_success
from tests.fixtures.product.server import one_shape
from tests.fixtures.skills.skill_texts import REPORT, REVIEW

pytestmark = one_shape


def test_what_validation_reads_is_rendered_to_a_file_that_says_the_same(user: Api):
    for content in (REPORT, REVIEW):
        parsed = user.post("/skills/validate", {"content": content})["parsed"]
        answer = user.post("/skills/render", {"parsed": parsed | {"name": "C #"}})
        told = {
            key: value
            for key, value in answer["parsed"].items()
            if key in {"description", "trigger_conditions", "tools", "metadata", "outputs"}
        }
        assert answer["parsed"]["name"] == "C #"
        assert told == {key: parsed[key] for key in told}
        steps = [step["instruction"] for step in answer["parsed"]["steps"]]
        assert steps == [step["instruction"] for step in parsed["steps"]]
        assert answer["valid"] is True
        again = user.post("/skills/validate", {"content": answer["content"]})
        assert again == {key: value for key, value in answer.items() if key != "content"}
    assert user.get("/skills")["total"] == 0


def test_a_form_is_rendered_from_the_few_fields_that_it_has(user: Api):
    steps = [{"title": "Read", "instruction": " all\r\n ", "tools": ["read_file"], "condition": "x"}]
    params = [{"name": "most", "type": "integer", "default": 3, "min": 1}]
    form = {"name": "a", "description": "b", "steps": steps, "input_params": params, "tools": []}
    answer = user.post("/skills/render", {"parsed": form})
    assert answer["content"] == (
        "# SKILL: a\n\n## Description\n\nb\n\n## Inputs\n\n- `most` (integer, optional, default: 3,"
        " min 1)\n\n## Steps\n\n### 1. Read\n\nall\n\nCondition: x\n\nTool: `read_file`\n\n"
        "## Tools\n\nNone\n"
    )
    assert "SK044" in {diagnostic["code"] for diagnostic in answer["errors"]}
    assert user.post("/skills/render", {"parsed": {}})["valid"] is False


def test_an_edit_keeps_every_other_byte_and_is_stored_by_an_update(user: Api):
    content = REPORT.replace("\n", "\r\n") + "\r\n## Mystery\r\nkept  \r\n* odd\r\n"
    path = f"/skills/{user.post('/skills', {'content': content})['id']}"
    tag = user.request("GET", path).headers["ETag"]
    changes = {"constraints": ["---", "Be short."], "name": "Report"}
    answer = user.post("/skills/edit", {"content": content, "changes": changes})
    wanted = content.replace("Daily report", "Report").replace(
        "## Tools", "## Constraints\r\n\r\n* ---\r\n- Be short.\r\n\r\n## Tools"
    )
    assert answer["content"].replace("\r\n", "\n").count("\n") == answer["content"].count("\r\n")
    assert sorted(answer["content"].split("\r\n")) == sorted(wanted.split("\r\n"))
    assert answer["parsed"]["constraints"] == changes["constraints"]
    assert user.get(path)["version"] == 1
    put = {"json": {"content": answer["content"]}, "headers": {"If-Match": tag}}
    assert check_success(user.request("PUT", path, **put))["content"] == answer["content"]
    user.refused(SkillChanged, "PUT", path, **put)
    assert user.post("/skills/edit", {"content": content, "changes": {}})["content"] == content


def test_what_no_file_can_say_is_refused_by_the_name_of_its_part(user: Api):
    crooked = {"description": "a\n\n## b", "constraints": ["none"], "metadata": {"a:b": "c"}}
    for field, value in crooked.items():
        part = {"constraints": "constraints.0", "metadata": "metadata.a:b"}.get(field, field)
        bodies = {
            "render": {"parsed": {"name": "x", "description": "y"} | {field: value}},
            "edit": {"content": REPORT, "changes": {field: value}},
        }
        for route, body in bodies.items():
            path = f"/skills/{route}"
            details = user.refused(SkillNotEditable, "POST", path, json=body)
            assert details["field"] == part
            assert details["error"]
            assert details["error_zh"]
    for code, body in (
        (UnreadableSkill, {"content": "x\x00", "changes": {"name": "y"}}),
        (InvalidRequest, {"content": REPORT, "changes": {"slug": "y"}}),
        (InvalidRequest, {"content": REPORT, "changes": {"name": "\x00"}}),
        (InvalidRequest, {"content": REPORT, "changes": {"steps": None}}),
    ):
        user.refused(code, "POST", "/skills/edit", json=body)
    large = {"parsed": {"name": "x", "description": "y" * 300_000}}
    details = user.refused(UnreadableSkill, "POST", "/skills/render", json=large)
    assert details["diagnostics"][0]["code"] == "SK052"
