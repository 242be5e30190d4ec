"""The grammar of SKILL files in ``docs/skills.md``, spelling by spelling."""

import pytest
from jsonschema import Draft202012Validator

from skills.lint.linter import lint
from skills.parser import headings
from skills.parser.triggers import derive_triggers
from skills.schema import Param, ParsedSkill, SkillFormat, TriggerKind
from tests.fixtures.paths import SKILL_DATA

SITUATIONS = SKILL_DATA / "situations"


def model_of(text: str) -> ParsedSkill:
    parsed = lint(text.encode()).parsed
    assert parsed is not None
    return parsed


def inputs_of(text: str) -> list[Param]:
    return list(model_of(f"# SKILL: x\n\n## Inputs\n{text}").input_params)


def situation(name: str) -> ParsedSkill:
    parsed = lint((SITUATIONS / f"{name}.md").read_bytes()).parsed
    assert parsed is not None
    return parsed


@pytest.mark.parametrize(
    ("heading", "key"),
    [
        ("2. 参数说明 (Inputs) 🎯", "input_params"),
        ("三、執行步驟", "steps"),
        ("第一步 输入参数", "input_params"),
        ("（1）何時使用？", "trigger_conditions"),
        ("① 關鍵規則：", "constraints"),
        ("1️⃣ 輸入參數", "input_params"),
        ("**When to Use This Skill**", "trigger_conditions"),
        ("`Workflow`", "steps"),
        ("Ｏｕｔｐｕｔ　Ｆｏｒｍａｔ", "outputs"),
        ("Inputs / Parameters", "input_params"),
        ("参考 | References", "references"),
        ("示例 — 两个", "examples"),
        ("Example", "examples"),
        ("何时使用此技能", "trigger_conditions"),
        ("触发条件与关键词", "trigger_conditions"),
        ("When not to use", "not_for"),
        ("不适用场景", "not_for"),
        ("Do not use this skill when", "not_for"),
        ("Critical Rules", "constraints"),
        ("FAQ", "errors"),
        ("Mystery", None),
        ("🎯", None),
    ],
)
def test_a_heading_is_known_however_it_is_dressed(heading: str, key: str | None):
    known = headings.resolve(heading)

    assert (known.key if known else None) == key


def test_a_native_skill_in_chinese_is_read_whole():
    model = situation("native.zh")

    assert (model.name, model.format) == ("合同审查：采购类", SkillFormat.NATIVE)
    assert model.description == "审查采购合同的**付款**与违约条款，列出风险。\n\n当用户上传合同并要求审查时使用。"
    assert model.trigger_conditions == ("用户上传合同", "关键词：合同、审查、违约", "`/review`")
    assert model.not_for == ("劳动合同",)
    assert [(param.name, param.type, param.required, param.default) for param in model.input_params] == [
        ("合同", "file", True, None),
        ("严格程度", "string", False, "一般"),
        ("金额上限", "number", False, 1.5),
        ("关注点", "array", False, ["付款", "违约"]),
        ("截止", "date", False, "2026-12-31"),
    ]
    assert model.input_params[1].enum == ("宽松", "一般", "严格|极严")
    assert [(step.title, step.tools, step.condition) for step in model.steps] == [
        ("通读全文", ("read_document",), None),
        ("查找条款", ("search_knowledge_base", "read_document"), "合同超过 10 页"),
        (None, (), None),
    ]
    assert "## 这不是标题" in model.steps[0].instruction
    assert model.tools == ("read_document", "search_knowledge_base")
    assert model.metadata == {"category": "法务", "tags": "合同, 审查"}
    assert [example.title for example in model.examples] == ["标准合同", None]
    assert (model.examples[0].input, model.examples[0].output) == ("一份合同", "三条风险")


def test_a_native_skill_in_english_is_read_whole():
    model = situation("native.en")

    assert model.name == "Incident summary"
    assert model.slug == "incident-summary"
    assert [param.name for param in model.input_params] == [
        "incident_id",
        "since",
        "channels",
        "extra",
    ]
    assert model.input_params[2].items == "string"
    assert model.input_params[3].default == {"a": [1, 2]}
    assert [step.title for step in model.steps] == ["Collect", "Order", "Write it down"]
    assert model.steps[1].condition == "there is more than one source"
    assert model.steps[2].instruction.count("\n") == 4
    assert model.tools == ()
    assert model.metadata["license"] == "MIT"


def test_a_free_document_takes_its_triggers_from_the_description():
    model = situation("free")

    assert (model.format, model.name, model.slug) == (
        SkillFormat.AGENT_SKILLS,
        "PDF-Tools",
        "pdf-tools",
    )
    assert model.trigger_conditions == ("a form shall be filled in", "PDF 文件需要拆分")
    assert model.triggers_derived
    assert model.tools == ("Bash(git log:*, git show:*)", "Read", "Write")
    assert model.metadata == {
        "version": "1.0",
        "author": "Ann",
        "nested": '{"a":["b"]}',
        "license": "Apache-2.0",
        "tags": "pdf, forms",
        "published": "2026-01-02",
    }
    assert [section.key for section in model.sections] == [
        "title",
        "description",
        None,
        "references",
    ]


def test_a_hybrid_keeps_the_bodys_description_and_the_frontmatters_tools():
    model = situation("hybrid")

    assert (model.format, model.name) == (SkillFormat.HYBRID, "daily-report")
    assert model.slug == "daily-report"
    assert model.description == "根据记录整理日报。"
    assert model.tools == ()


@pytest.mark.parametrize("ending", ["\r\n", "\r"])
def test_line_ends_change_no_line_and_no_meaning(ending: str):
    text = (SITUATIONS / "native.zh.md").read_text(encoding="utf-8")
    one, other = lint(text.encode()), lint(("\ufeff" + text.replace("\n", ending)).encode())

    assert one.parsed is not None
    assert other.parsed is not None
    assert one.parsed.steps == other.parsed.steps
    places = [(found.code, found.line, found.column) for found in one.diagnostics]
    assert [place for place in places if place[0] != "SK013"] == [
        (found.code, found.line, found.column) for found in other.diagnostics if found.code not in ("SK013", "AS002")
    ] or {code for code, *_ in places} >= {"AS002"}
    for section in other.parsed.sections:
        at = section.start + (3 if section.start == 0 else 0)
        shown = ("\ufeff" + text.replace("\n", ending)).encode()[at : section.end].decode()
        assert section.title in shown.split(ending)[0]


def test_headings_inside_of_other_blocks_are_text():
    model = situation("headings-inside")

    assert [section.title for section in model.sections] == [
        "SKILL: Quoter",
        "Description",
        "Steps",
    ]
    assert len(model.steps) == 1


@pytest.mark.parametrize(
    ("item", "expected"),
    [
        ("- `a`（整数，必填）：说明", ("a", "integer", True, None)),
        ("- **a** (int; optional): x", ("a", "integer", False, None)),
        ("* a: x", ("a", "string", True, None)),
        ("- a (default=`x, y`): z", ("a", "string", False, "x, y")),
        ('- a (default: "`"): z', ("a", "string", False, "`")),
        ("- a（布尔，默认：是）：x", ("a", "boolean", False, True)),
        ("- a (array<integer>, default: [1, 2]): x", ("a", "array", False, [1, 2])),
        ("- a (字符串[], 默认: 甲、乙): x", ("a", "array", False, ["甲", "乙"])),
        ("- a (yes|no): x", ("a", "string", True, None)),
        ("- a (required, f(x)): x", ("a", "string", True, None)),
        ("- a (unclosed, int", ("a", "integer", True, None)),
        ("- a\n  - type: integer\n  - default: 4", ("a", "integer", False, 4)),
    ],
)
def test_an_input_may_be_written_in_many_ways(item: str, expected: tuple[object, ...]):
    (param,) = inputs_of(item)

    assert (param.name, param.type, param.required, param.default) == expected


def test_a_tables_cells_may_hold_bars_code_and_nothing():
    (first, second) = inputs_of(
        "| 名称 | 类型 | 必填 | 默认值 | 说明 | 可选值 | 示例 |\n|---|---|---|---|---|---|---|\n"
        "| `a` | enum | ✓ | - | 甲\\|乙 | x\\|y | x |\n| **b** | 整数 |  | 3 |  |  | 无 |\n"
    )

    assert (first.name, first.required, first.default, first.enum) == ("a", True, None, ("x", "y"))
    assert (first.description, first.example) == ("甲|乙", "x")
    assert (second.name, second.required, second.default, second.example) == ("b", False, 3, None)


def test_a_tables_type_may_say_more_between_commas():
    (param,) = model_of(
        "# SKILL: x\n\n## Inputs\n\n| Name | Type |\n|---|---|\n| a | integer, optional, default: 3 |\n"
    ).input_params
    assert (param.type, param.required, param.default) == ("integer", False, 3)


@pytest.mark.parametrize("none", ["无", "None.", "- 无", "N/A"])
def test_no_inputs_can_be_said_in_words(none: str):
    report = lint(f"# SKILL: x\n\n## Inputs\n{none}\n".encode())

    assert report.parsed is not None
    assert report.parsed.input_params == ()
    assert "SK030" not in {diagnostic.code for diagnostic in report.diagnostics}


def test_the_schema_of_inputs_takes_what_fits_and_refuses_the_rest():
    model = situation("native.zh")
    Draft202012Validator.check_schema(model.input_schema)
    schema = Draft202012Validator(model.input_schema)

    assert schema.is_valid({"合同": "a.pdf", "严格程度": "宽松", "关注点": ["付款"], "金额上限": 2})
    assert not schema.is_valid({})
    assert not schema.is_valid({"合同": "a.pdf", "其他": 1})
    assert not schema.is_valid({"合同": "a.pdf", "严格程度": "随意"})
    assert not schema.is_valid({"合同": "a.pdf", "金额上限": 0})


@pytest.mark.parametrize(
    ("steps", "titles"),
    [
        ("### 步骤 1：看\n读。\n### 第二步 写\n写。", ["看", "写"]),
        ("### Step 1\nRead.\n### 2. Write\nNow.", [None, "Write"]),
        ("Intro.\n\n1. Read\n\n```sh\nls\n```\n\n2. Write", [None, None]),
        ("- **Read**: all\n- Write：some", ["Read", "Write"]),
        ("1. Open https://a.b/c\n2. Note: x", [None, "Note"]),
        ("Just do it.", [None]),
    ],
)
def test_steps_come_from_headings_numbers_bullets_or_text(steps: str, titles: list[str | None]):
    model = model_of(f"# SKILL: x\n\n## Steps\n{steps}\n")

    assert [step.title for step in model.steps] == titles
    assert [step.index for step in model.steps] == list(range(1, len(titles) + 1))


def test_text_between_numbered_items_belongs_to_the_item_before():
    model = model_of("# SKILL: x\n\n## Steps\n1. Read\n\n```sh\nls\n```\n\n2. Write\n")

    assert model.steps[0].instruction == "Read\n\n```sh\nls\n```"
    assert (model.steps[0].line, model.steps[0].end_line, model.steps[1].line) == (4, 8, 10)


@pytest.mark.parametrize(
    ("tools", "expected"),
    [
        ("allowed-tools: Read Bash(git log:*) Write", ("Read", "Bash(git log:*)", "Write")),
        ("allowed-tools: Read, Write", ("Read", "Write")),
        ("allowed-tools: [Read, 'Bash(a b)']", ("Read", "Bash(a b)")),
        ("allowed-tools:\n  - Read\n  - Write", ("Read", "Write")),
        ("allowed-tools:", None),
        ('allowed-tools: ""', None),
        ("allowed-tools: none", ()),
        ("license: MIT", None),
    ],
)
def test_allowed_tools_may_be_a_text_or_a_list(tools: str, expected: tuple[str, ...] | None):
    assert model_of(f"---\nname: x\ndescription: y\n{tools}\n---\nText\n").tools == expected


@pytest.mark.parametrize(
    ("description", "conditions"),
    [
        ("Fills forms. Use when a form is to be filled in.", ("a form is to be filled in",)),
        (
            "This skill should be used when users ask for a PDF. It splits.",
            ("users ask for a PDF",),
        ),
        ("Triggers: pdf, forms", ("pdf, forms",)),
        ("处理表格。适用：填写表单、拆分文件。", ("填写表单", "拆分文件")),
        ("处理表格，当用户要填写表单时使用。", ("用户要填写表单",)),
        ("It is of use when-ever; a house when empty", ()),
        ("应当尽快处理", ()),
    ],
)
def test_a_description_may_say_when_to_use_the_skill(description: str, conditions: tuple[str, ...]):
    assert derive_triggers(description) == conditions


@pytest.mark.parametrize(
    ("condition", "kind"),
    [
        ("关键词：合同、审查", TriggerKind.KEYWORDS),
        ("Keywords: a, b", TriggerKind.KEYWORDS),
        ("`/review`", TriggerKind.SLASH),
        ("/review-code", TriggerKind.SLASH),
        (r"`issue \d+`", TriggerKind.REGEX),
        ("the user asks for a review", TriggerKind.SEMANTIC),
    ],
)
def test_the_kind_of_a_trigger_is_told(condition: str, kind: TriggerKind):
    model = model_of(f"# SKILL: x\n\n## Triggers\n\n- {condition}\n")
    assert model.trigger_kinds == {condition: kind}
