"""The codes about inputs, steps and tools."""

from skills.diagnostics.rule import ERROR, INFO, WARNING, DiagnosticRule

RULES = (
    DiagnosticRule(
        "SK030",
        WARNING,
        (
            "“{text}” is not readable as a parameter and was left out. Write "
            "``- `name` (string, required): what it is``.",
            "“{text}”无法作为参数读取，已略过。请写成 ``- `name` (string, 必填): 说明``。",
        ),
    ),
    DiagnosticRule(
        "SK031",
        WARNING,
        (
            "The table of parameters has no column for the name, so it was left out. Head one column `Name`.",
            "参数表没有名称列，已略过。请把其中一列的表头写成 `名称`。",
        ),
    ),
    DiagnosticRule(
        "SK032",
        WARNING,
        (
            "`{text}` of parameter `{name}` is not a known type or attribute. Types are string, "
            "integer, number, boolean, array, object, enum, date, datetime, file; attributes are "
            "written like `required`, `default: 3` or `enum: a|b`.",
            "参数 `{name}` 的 `{text}` 不是已知的类型或属性。类型有 string、integer、number、"
            "boolean、array、object、enum、date、datetime、file；属性写成 `必填`、`默认: 3`、"
            "`枚举: a|b` 这样的形式。",
        ),
        variants={
            "meant": (
                "`{text}` of parameter `{name}` is not a known type or attribute; did you mean `{meant}`?",
                "参数 `{name}` 的 `{text}` 不是已知的类型或属性；是否想写 `{meant}`？",
            ),
            "no values": (
                "The enum `{name}` names no values, so it takes any text. Add them: `enum: a|b`.",
                "枚举参数 `{name}` 没有列出可选值，因此接受任何文本。请补充，如 `枚举: a|b`。",
            ),
            "value": (
                "The {attribute} `{text}` of parameter `{name}` is not readable and was left out. Write {expected}.",
                "参数 `{name}` 的 {attribute} `{text}` 无法读取，已略过。应为 {expected_zh}。",
            ),
        },
        fix=("Use the known word", "使用已知的写法"),
    ),
    DiagnosticRule(
        "SK033",
        WARNING,
        (
            "“{name}” is not a good parameter name. Use a letter or Han character first, then "
            "letters, digits, `_`, `.`, `-`, at most 64.",
            "“{name}”不是合适的参数名。请以字母或汉字开头，其后为字母、数字、`_`、`.`、`-`，最多 64 个。",
        ),
        fix=("Put underscores in place of other signs", "用下划线替换其他字符"),
    ),
    DiagnosticRule(
        "SK034",
        ERROR,
        (
            "The parameter `{name}` is declared twice, first in line {first}. Keep one.",
            "参数 `{name}` 声明了两次，第一次在第 {first} 行。请只保留一个。",
        ),
    ),
    DiagnosticRule(
        "SK035",
        ERROR,
        (
            "The default `{default}` of `{name}` is not of type {type}. Change the one or the other.",
            "`{name}` 的默认值 `{default}` 不是 {type} 类型。请修改其中之一。",
        ),
    ),
    DiagnosticRule(
        "SK036",
        ERROR,
        (
            "The default `{default}` of `{name}` is none of its values {values}. Take one of them.",
            "`{name}` 的默认值 `{default}` 不在可选值 {values} 中。请选用其中之一。",
        ),
    ),
    DiagnosticRule(
        "SK037",
        INFO,
        (
            "The parameter `{name}` is required and has a default, so the default is never "
            "needed. Make it optional, or remove the default.",
            "参数 `{name}` 既必填又有默认值，默认值不会用到。请改为可选，或去掉默认值。",
        ),
        fix=("Make it optional", "改为可选"),
    ),
    DiagnosticRule(
        "SK038",
        WARNING,
        ("The parameter `{name}` has no description. Say what it is for.", "参数 `{name}` 没有说明。请写明它的用途。"),
    ),
    DiagnosticRule(
        "SK039",
        WARNING,
        (
            "This row has {cells} cells, the table's head {columns}. Write a `|` inside a cell as `\\|`.",
            "该行有 {cells} 个单元格，表头有 {columns} 个。单元格内的 `|` 请写成 `\\|`。",
        ),
    ),
    DiagnosticRule(
        "SK040",
        INFO,
        (
            "The steps are running text and were read as one step. Write a numbered list to have "
            "them followed one by one.",
            "步骤写成了整段文字，被当作一个步骤读取。请写成编号列表，以便逐步执行。",
        ),
    ),
    DiagnosticRule(
        "SK041",
        WARNING,
        (
            "`{{{{{name}}}}}` stands for no declared parameter. Declare it under `## Inputs`.",
            "`{{{{{name}}}}}` 没有对应的参数声明。请在 `## 输入参数` 中声明。",
        ),
        variants={
            "meant": (
                "`{{{{{name}}}}}` stands for no declared parameter; did you mean `{{{{{meant}}}}}`?",
                "`{{{{{name}}}}}` 没有对应的参数声明；是否想写 `{{{{{meant}}}}}`？",
            )
        },
        fix=("Use the declared parameter", "使用已声明的参数"),
    ),
    DiagnosticRule(
        "SK042",
        INFO,
        (
            "The parameter `{name}` is used nowhere. Refer to it as `{{{{{name}}}}}` in a step, or remove it.",
            "参数 `{name}` 没有被使用。请在步骤中用 `{{{{{name}}}}}` 引用，或删除它。",
        ),
    ),
    DiagnosticRule(
        "SK043",
        WARNING,
        (
            "The tool `{tool}` is not registered here. Correct its name, or connect what offers it.",
            "工具 `{tool}` 未在此注册。请更正名称，或接入提供它的服务。",
        ),
        variants={
            "meant": (
                "The tool `{tool}` is not registered here; did you mean `{meant}`?",
                "工具 `{tool}` 未在此注册；是否想写 `{meant}`？",
            )
        },
        fix=("Use the registered name", "使用已注册的名称"),
    ),
    DiagnosticRule(
        "SK044",
        ERROR,
        (
            "Step {step} uses the tool `{tool}`, which the skill does not allow. Add it to the "
            "allowed tools, or change the step.",
            "步骤 {step} 使用了技能未允许的工具 `{tool}`。请把它加入允许的工具，或修改该步骤。",
        ),
    ),
    DiagnosticRule(
        "SK045",
        WARNING,
        (
            "Step number {number} follows {before}. Number the steps without gaps.",
            "步骤编号 {number} 紧接在 {before} 之后。请连续编号。",
        ),
        variants={
            "start": ("The steps begin with number {number}. Begin with 1.", "步骤编号从 {number} 开始。请从 1 开始。")
        },
        fix=("Number the steps anew", "重新编号"),
    ),
    DiagnosticRule(
        "SK046",
        WARNING,
        (
            "Step {step} refers to step {number}, but there are {count}. Correct the number.",
            "步骤 {step} 提到了步骤 {number}，但总共只有 {count} 个步骤。请更正编号。",
        ),
    ),
    DiagnosticRule(
        "SK047",
        WARNING,
        (
            "The skill allows no tool at all: agents can call none while they follow it. Name the tools, or "
            "remove this restriction.",
            "该技能不允许任何工具：智能体执行时无法调用工具。请写出允许的工具，或删除该限制。",
        ),
        variants={
            "patterns": (
                "No tool is left of those that the skill allows ({tools}): patterns of arguments can't be enforced "
                "and allow nothing. Name a tool without one, or remove this restriction.",
                "技能允许的工具（{tools}）全部无效：参数模式无法执行，因此不允许任何工具。请写出不带模式的工具，或删除该限制。",
            )
        },
    ),
)
