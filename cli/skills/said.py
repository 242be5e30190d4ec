"""What the skill commands say to people, in English and Chinese."""

from cli.messages import Message

NO_SKILL = Message(
    "There is no SKILL.md at {path}. Name a SKILL file, a folder with one, or - for standard input.",
    "{path} 处没有 SKILL.md。请指定 SKILL 文件、包含它的文件夹，或用 - 表示标准输入。",
)
STDIN_ONCE = Message(
    "Standard input can be read once only: name - once.", "标准输入只能读取一次：请只写一个 -。"
)
FILE_UNREADABLE = Message(
    "{path} can't be read ({reason}). Check that you may read it.",
    "无法读取 {path}（{reason}）。请确认您有读取权限。",
)
FILE_UNWRITABLE = Message(
    "{path} can't be written ({reason}). Check that you may write there.",
    "无法写入 {path}（{reason}）。请确认您有写入权限。",
)
FINDING = Message(
    "{path}:{line}:{column}: {severity} {code} {text}",
    "{path}:{line}:{column}：{severity} {code} {text}",
)
FIXABLE = Message("  fix: {title}", "  修复：{title}")
SEVERITIES = {
    "error": Message("error", "错误"),
    "warning": Message("warning", "警告"),
    "info": Message("info", "提示"),
}
PASSED = Message("{path}: valid", "{path}：有效")
PASSED_PORTABLE = Message("{path}: valid and portable", "{path}：有效且可移植")
REFUSED = Message("{path}: refused", "{path}：未通过")
SUMMARY = Message(
    "{checked} checked, {refused} refused: {errors} errors, {warnings} warnings, {infos} hints",
    "共检查 {checked} 个，{refused} 个未通过：{errors} 个错误，{warnings} 个警告，{infos} 个提示",
)
FIX_WITH = Message(
    "{count} of these can be mended by: agentex skill fix {path}",
    "其中 {count} 处可用以下命令修复：agentex skill fix {path}",
)
SARIF_WRITTEN = Message("Report written to {path}.", "报告已写入 {path}。")
MADE = Message(
    "Made {path}. Fill it in, then check it with: agentex skill validate {path}",
    "已创建 {path}。填写后请运行：agentex skill validate {path}",
)
NAME_UNUSABLE = Message(
    "A skill needs a name of 1 to 64 characters on one line.",
    "技能名称须为一行之内的 1 至 64 个字符。",
)
SLUG_NEEDED = Message(
    "No folder name can be made of {name}: give one with --slug, such as daily-report.",
    "无法由“{name}”生成文件夹名：请用 --slug 指定，例如 daily-report。",
)
SLUG_UNUSABLE = Message(
    "{slug} is no slug: use lower-case letters, digits and single hyphens, 64 at most.",
    "{slug} 不是有效的短名：请使用小写字母、数字和单个连字符，最多 64 个字符。",
)
NOTHING_TO_FIX = Message(
    "{path}: nothing that can be mended by itself.", "{path}：没有可自动修复之处。"
)
FIXED = Message("{path}: {count} mended ({codes})", "{path}：已修复 {count} 处（{codes}）")
LEFT = Message("{path}: {count} left to you", "{path}：还有 {count} 处需要您处理")
NO_SUCH_CODE = Message(
    "There is no diagnostic {code}. The codes are listed in docs/skills.md.",
    "没有诊断代码 {code}。代码列表见 docs/skills.md。",
)
SAME = Message("Both say the same.", "两者内容相同。")
SAME_MEANING = Message(
    "Only the text differs: parameters, steps, triggers and tools are the same.",
    "仅文本不同：参数、步骤、触发条件和工具均相同。",
)
BREAKING = Message(
    "Breaking: whoever uses the old version may fail with the new one.",
    "不兼容变更：使用旧版本的调用可能在新版本上失败。",
)
NOT_PARSED = Message(
    "{path} can't be compared in meaning: it is no readable skill. Run agentex skill validate {path}.",
    "无法比较 {path} 的含义：它不是可读取的技能。请运行 agentex skill validate {path}。",
)
KIND = Message("KIND", "类别")
CHANGE = Message("CHANGE", "变更")
WHAT = Message("WHAT", "内容")
KINDS = {
    "value": Message("text", "文本"),
    "parameter": Message("parameter", "参数"),
    "step": Message("step", "步骤"),
    "tool": Message("tool", "工具"),
    "trigger_conditions": Message("trigger", "触发条件"),
    "not_for": Message("not for", "不适用"),
    "constraints": Message("constraint", "约束"),
    "outputs": Message("output", "输出"),
}
ADDED = Message("added", "新增")
REMOVED = Message("removed", "移除")
CHANGED = Message("changed", "修改")
TOOLS_FREE = Message("any tool", "任意工具")
TOOLS_LISTED = Message("listed tools only", "仅限列出的工具")
