"""Codes for how well a skill is found and chosen, and for its files."""

from skills.diagnostics.rule import ERROR, INFO, WARNING, DiagnosticRule

RULES = (
    DiagnosticRule(
        "SK060",
        WARNING,
        (
            "The description never says when to use the skill, so agents will miss it. Add “Use when …”.",
            "描述没有说明何时使用该技能，智能体可能不会选中它。请补充“当……时使用”。",
        ),
    ),
    DiagnosticRule(
        "SK061",
        WARNING,
        (
            "The description is too short to tell this skill from others ({length}). Name what it "
            "works on and what it gives.",
            "描述过短（{length_zh}），无法与其他技能区分。请写明处理对象和产出。",
        ),
    ),
    DiagnosticRule(
        "SK062",
        WARNING,
        (
            "The {what} is nearly that of the skill “{other}”, so agents may take the wrong one. "
            "Say what is different.",
            "{what_zh}与技能“{other}”几乎相同，智能体可能选错。请写明不同之处。",
        ),
    ),
    DiagnosticRule(
        "SK063",
        INFO,
        (
            "The triggers are in {language} only. Add some in the other language if people ask in it.",
            "触发条件只有{language_zh}。如果用户会用另一种语言提问，请补充相应的触发条件。",
        ),
    ),
    DiagnosticRule(
        "SK064",
        WARNING,
        (
            "The {what} repeats “{word}” {count} times. Write sentences instead of keywords.",
            "{what_zh}中“{word}”重复了 {count} 次。请写成句子，而不是堆砌关键词。",
        ),
    ),
    DiagnosticRule(
        "REF001",
        WARNING,
        (
            "The link goes to `{path}`, which is not among the skill's files. Add the file, or correct the link.",
            "链接指向 `{path}`，但技能中没有这个文件。请添加文件，或更正链接。",
        ),
        variants={
            "meant": (
                "The link goes to `{path}`, which is not among the skill's files; did you mean `{meant}`?",
                "链接指向 `{path}`，但技能中没有这个文件；是否想写 `{meant}`？",
            )
        },
        fix=("Link the file that is there", "链接到已有的文件"),
    ),
    DiagnosticRule(
        "REF002",
        ERROR,
        (
            "The link `{path}` leaves the skill's folder. Put the file into it.",
            "链接 `{path}` 指向技能文件夹之外。请把文件放进该文件夹。",
        ),
    ),
    DiagnosticRule(
        "REF003",
        WARNING,
        (
            "The file `{path}` lies deeper than one folder. Put it directly into `scripts/`, "
            "`references/` or `assets/`.",
            "文件 `{path}` 的层级超过一层。请直接放在 `scripts/`、`references/` 或 `assets/` 下。",
        ),
    ),
    DiagnosticRule(
        "REF004",
        INFO,
        (
            "Nothing refers to the file `{path}`, so agents will not read it. Link it, or remove it.",
            "没有任何地方提到文件 `{path}`，智能体不会读取它。请添加链接，或删除它。",
        ),
    ),
)
