"""The codes about the file, its title, frontmatter, sections and size."""

from skills.diagnostics.rule import ERROR, INFO, WARNING, DiagnosticRule
from skills.schema import SkillFormat

FREE = {SkillFormat.AGENT_SKILLS: INFO}
"""What a free document may lack: the open standard asks for a description only."""

RULES = (
    DiagnosticRule(
        "SK001",
        ERROR,
        (
            "The file has neither a title nor frontmatter. Begin it with `# SKILL: <name>`.",
            "文件既没有标题也没有 frontmatter。请以 `# SKILL: 名称` 开头。",
        ),
        fix=("Make the first line the title", "把第一行改成标题"),
    ),
    DiagnosticRule(
        "SK002",
        ERROR,
        (
            "The title “{title}” lacks `SKILL:`. Write `# SKILL: {title}`.",
            "标题“{title}”缺少 `SKILL:`。请写成 `# SKILL: {title}`。",
        ),
        by_format={SkillFormat.AGENT_SKILLS: WARNING},
        fix=("Put `SKILL:` before the title", "在标题前加上 `SKILL:`"),
    ),
    DiagnosticRule(
        "SK003",
        ERROR,
        (
            "The skill has no name. Write it behind `# SKILL:`, or as `name` in the frontmatter.",
            "技能没有名称。请写在 `# SKILL:` 之后，或写成 frontmatter 的 `name`。",
        ),
    ),
    DiagnosticRule(
        "SK004",
        WARNING,
        (
            "A second top-level heading, “{title}”. One file is one skill: make it a `##` section.",
            "出现第二个一级标题“{title}”。一个文件只写一个技能：请改成 `##` 章节。",
        ),
        fix=("Make it a section", "改成章节"),
    ),
    DiagnosticRule(
        "SK005",
        ERROR,
        (
            "The description is missing. Add a section `## Description` that says what the skill "
            "does and when to use it.",
            "缺少描述。请添加 `## 描述` 章节，写明技能做什么、何时使用。",
        ),
        variants={
            "frontmatter": (
                "The description is missing. Write `description:` in the frontmatter: what the "
                "skill does and when to use it.",
                "缺少描述。请在 frontmatter 中写 `description:`，说明技能做什么、何时使用。",
            )
        },
        fix=("Take the text below the title as description", "把标题下的文字作为描述"),
    ),
    DiagnosticRule(
        "SK006",
        WARNING,
        (
            "Nothing says when to use the skill. Add a section `## When to use`.",
            "没有写明何时使用该技能。请添加 `## 触发条件` 章节。",
        ),
        by_format=FREE,
    ),
    DiagnosticRule(
        "SK007",
        WARNING,
        (
            "The skill has no steps. Add a section `## Steps` with a numbered list.",
            "技能没有步骤。请添加 `## 步骤` 章节，并写成编号列表。",
        ),
        by_format=FREE,
    ),
    DiagnosticRule(
        "SK010",
        ERROR,
        ("The frontmatter is not closed. End it with a line `---`.", "frontmatter 没有结束。请用一行 `---` 结束它。"),
        fix=("Close the frontmatter", "结束 frontmatter"),
    ),
    DiagnosticRule(
        "SK011",
        ERROR,
        (
            "The frontmatter is not readable YAML: {problem}. Mend this line; a text with `: ` or "
            "a leading sign needs quotes.",
            "frontmatter 不是可读的 YAML：{problem}。请修正此行；含有 `: ` 或以符号开头的文字需要加引号。",
        ),
    ),
    DiagnosticRule(
        "SK012",
        ERROR,
        (
            "The frontmatter is not a list of `key: value` lines. Write for example `name: my-skill`.",
            "frontmatter 不是 `键: 值` 的形式。例如写成 `name: my-skill`。",
        ),
    ),
    DiagnosticRule(
        "SK013",
        WARNING,
        (
            "The file begins with a byte order mark, which other readers refuse. Save it as UTF-8 without one.",
            "文件以字节顺序标记（BOM）开头，其他读取程序会拒绝。请保存为不带 BOM 的 UTF-8。",
        ),
        fix=("Remove the byte order mark", "移除字节顺序标记"),
    ),
    DiagnosticRule(
        "SK014",
        WARNING,
        (
            "The code block that begins here is never closed and swallows all that follows. Close "
            "it with a line `{fence}`.",
            "从这里开始的代码块没有结束，会吞掉后面的内容。请用一行 `{fence}` 结束它。",
        ),
        fix=("Close the code block", "结束代码块"),
    ),
    DiagnosticRule(
        "SK015",
        ERROR,
        (
            "The file is not UTF-8 text: byte {byte} cannot be read. Save it as UTF-8.",
            "文件不是 UTF-8 文本：无法读取第 {byte} 个字节。请保存为 UTF-8。",
        ),
        variants={
            "nul": (
                "The file holds a NUL character, which no text has. Remove it.",
                "文件含有 NUL 字符，文本中不应出现。请移除它。",
            )
        },
    ),
    DiagnosticRule(
        "SK016",
        ERROR,
        (
            "The key `{key}` stands twice in the frontmatter, first in line {first}. Keep one.",
            "frontmatter 中的键 `{key}` 重复出现，第一次在第 {first} 行。请只保留一个。",
        ),
    ),
    DiagnosticRule(
        "SK017",
        ERROR,
        (
            "The frontmatter uses a YAML {what} (`{text}`), which is not accepted. Write the value out.",
            "frontmatter 使用了不被接受的 YAML {what_zh}（`{text}`）。请直接写出值。",
        ),
        variants={
            "size": (
                "The frontmatter has {size} bytes, more than {limit}. Move text into the body.",
                "frontmatter 有 {size} 字节，超过 {limit} 字节。请把文字移到正文。",
            ),
            "depth": (
                "The frontmatter is nested more than {limit} levels deep. Write it flat.",
                "frontmatter 的嵌套超过 {limit} 层。请写得扁平一些。",
            ),
        },
    ),
    DiagnosticRule(
        "SK018",
        WARNING,
        (
            "`{key}` is a text that YAML reads only in quotes; it was read as it stands. Put it in quotes, "
            "for other readers.",
            "`{key}` 的文字只有加上引号才能被 YAML 读取；这里已按原样读取。请加上引号，以便其他程序读取。",
        ),
        fix=("Put it in quotes", "加上引号"),
    ),
    DiagnosticRule(
        "SK020",
        INFO,
        (
            "The section “{title}” is none of the known ones; agents get it as plain text.",
            "章节“{title}”不是已知章节；它会作为普通文字交给智能体。",
        ),
        variants={
            "meant": (
                "The section “{title}” is none of the known ones; did you mean “{meant}”? Agents get it as plain text.",
                "章节“{title}”不是已知章节；是否想写“{meant}”？它会作为普通文字交给智能体。",
            )
        },
        fix=("Rename it to the known section", "改名为已知章节"),
    ),
    DiagnosticRule(
        "SK021",
        WARNING,
        (
            "The section “{title}” says the same as “{first}” in line {line}; both are read in "
            "order. Put them together.",
            "章节“{title}”与第 {line} 行的“{first}”含义相同，两者会按顺序合并读取。请合并为一个。",
        ),
    ),
    DiagnosticRule(
        "SK022",
        WARNING,
        (
            "The section “{title}” is empty. Write its text, or remove the heading.",
            "章节“{title}”是空的。请补充内容，或删除该标题。",
        ),
        fix=("Remove the empty section", "删除空章节"),
    ),
    DiagnosticRule(
        "SK023",
        INFO,
        (
            "“{title}” was read as “{meant}”. Use that heading to be sure.",
            "“{title}”被当作“{meant}”读取。为确保无误，请使用该标题。",
        ),
        fix=("Use the sure heading", "使用明确的标题"),
    ),
    DiagnosticRule(
        "SK050",
        WARNING,
        (
            "The body has {lines} lines, more than {limit}. Move details into files under `references/`.",
            "正文有 {lines} 行，超过 {limit} 行。请把细节移到 `references/` 下的文件。",
        ),
    ),
    DiagnosticRule(
        "SK051",
        WARNING,
        (
            "The body takes about {tokens} tokens, more than {limit}. Move details into files under `references/`.",
            "正文约 {tokens} 个 token，超过 {limit} 个。请把细节移到 `references/` 下的文件。",
        ),
    ),
    DiagnosticRule(
        "SK052",
        ERROR,
        (
            "The file has {size} bytes, more than {limit}. Move text into files beside it.",
            "文件有 {size} 字节，超过 {limit} 字节。请把内容移到旁边的文件。",
        ),
    ),
    DiagnosticRule(
        "SK053",
        WARNING,
        (
            "The description has {length} characters, more than {limit}; an export cuts it. Shorten it.",
            "描述有 {length} 个字符，超过 {limit} 个，导出时会被截断。请缩短。",
        ),
    ),
    DiagnosticRule(
        "SK054",
        WARNING,
        (
            "The name has {length} characters, more than {limit}. Shorten it.",
            "名称有 {length} 个字符，超过 {limit} 个。请缩短。",
        ),
    ),
)
