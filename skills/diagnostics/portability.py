"""Codes for the open standard (agentskills.io): what its reference validator, or other readers, refuse."""

from skills.diagnostics.rule import INFO, BilingualText, DiagnosticRule


def _rule(
    code: str,
    message: BilingualText,
    *,
    fix: BilingualText | None = None,
    accepted: frozenset[str] = frozenset(),
    **variants: BilingualText,
) -> DiagnosticRule:
    return DiagnosticRule(code, INFO, message, variants=variants, fix=fix, portability=True, accepted=accepted)


def _advice(code: str, message: BilingualText, *, fix: BilingualText | None = None) -> DiagnosticRule:
    """What the reference validator accepts, and some other reader does not."""
    return _rule(code, message, fix=fix, accepted=frozenset({""}))


RULES = (
    _rule(
        "AS001",
        (
            "The skill has no name for machines. Set a slug of lower-case letters, digits and hyphens.",
            "技能没有供机器使用的名称。请设置由小写字母、数字和连字符组成的 slug。",
        ),
        accepted=frozenset({"placeholder"}),
        placeholder=(
            "The name `{name}` was made up by the export and says nothing. Set a telling slug.",
            "名称 `{name}` 由导出自动生成，没有含义。请设置有意义的 slug。",
        ),
    ),
    _rule(
        "AS002",
        (
            "The open standard asks for frontmatter. The portable export writes it.",
            "开放标准要求 frontmatter。可移植导出会自动写入。",
        ),
        first=(
            "The frontmatter must begin with the first byte of the file. Remove what stands before it.",
            "frontmatter 必须从文件的第一个字节开始。请移除它之前的内容。",
        ),
        closed=(
            "The frontmatter is not closed. End it with a line `---`.",
            "frontmatter 没有结束。请用一行 `---` 结束它。",
        ),
        cut=(
            "A value of the frontmatter holds `---`, at which the reference validator cuts. Write it otherwise.",
            "frontmatter 的值中含有 `---`，参考校验器会在此处截断。请换一种写法。",
        ),
        fix=("Mend the beginning of the file", "修正文件开头"),
    ),
    _rule(
        "AS003",
        ("The frontmatter is not readable as a mapping. Mend its YAML.", "frontmatter 无法作为映射读取。请修正 YAML。"),
    ),
    _rule(
        "AS004",
        (
            "The standard has no field `{field}`. Move it into `metadata`.",
            "标准中没有字段 `{field}`。请移到 `metadata` 中。",
        ),
        fix=("Move it into metadata", "移到 metadata 中"),
    ),
    _rule(
        "AS005",
        (
            "The name `{name}` must be 1 to 64 lower-case letters, digits and single hyphens. Write `{slug}`.",
            "名称 `{name}` 必须是 1 至 64 个小写字母、数字和单个连字符。请写成 `{slug}`。",
        ),
        unknown=(
            "The name `{name}` must be 1 to 64 lower-case letters, digits and single hyphens.",
            "名称 `{name}` 必须是 1 至 64 个小写字母、数字和单个连字符。",
        ),
        fix=("Use the right form", "使用正确的形式"),
    ),
    _rule(
        "AS006",
        (
            "The name `{name}` is not that of its folder, `{folder}`. Rename one of them.",
            "名称 `{name}` 与所在文件夹 `{folder}` 不一致。请修改其中之一。",
        ),
        fix=("Take the folder's name", "使用文件夹的名称"),
    ),
    _rule(
        "AS007",
        (
            "The frontmatter has no description. Write what the skill does and when to use it.",
            "frontmatter 没有 description。请写明技能做什么、何时使用。",
        ),
        long=(
            "The description has {length} characters, the standard allows {limit}. Shorten it.",
            "description 有 {length} 个字符，标准允许 {limit} 个。请缩短。",
        ),
    ),
    _rule(
        "AS008",
        (
            "`compatibility` must be a text of 1 to {limit} characters. Write it as one short text.",
            "`compatibility` 必须是 1 至 {limit} 个字符的文字。请写成一段短文字。",
        ),
    ),
    _rule(
        "AS009",
        (
            "The folder has no SKILL.md. Name the skill's file so.",
            "文件夹中没有 SKILL.md。请将技能文件命名为 SKILL.md。",
        ),
        several=(
            "The folder has {count} files named SKILL.md. One folder is one skill.",
            "文件夹中有 {count} 个 SKILL.md。一个文件夹只放一个技能。",
        ),
    ),
    _advice(
        "AS010",
        (
            "The description holds `{sign}`, which some readers refuse. Write it in words.",
            "description 含有 `{sign}`，部分读取程序会拒绝。请改用文字。",
        ),
        fix=("Remove the signs", "移除这些符号"),
    ),
    _advice(
        "AS011",
        (
            "The name `{name}` holds the reserved word `{word}`, which some readers refuse. Choose another.",
            "名称 `{name}` 含有保留字 `{word}`，部分读取程序会拒绝。请换一个名称。",
        ),
    ),
    _advice(
        "AS012",
        (
            "The value of `metadata.{key}` is not a text, which some readers expect. Put it in quotes.",
            "`metadata.{key}` 的值不是文字，部分读取程序需要文字。请加上引号。",
        ),
        fix=("Write it as text", "写成文字"),
    ),
    _rule(
        "AS013",
        (
            "`{key}` is written as `[…]` or `{{…}}`, which the reference validator refuses. Write one line each.",
            "`{key}` 写成了 `[…]` 或 `{{…}}`，参考校验器会拒绝。请逐行书写。",
        ),
        fix=("Write one line each", "逐行书写"),
    ),
)
