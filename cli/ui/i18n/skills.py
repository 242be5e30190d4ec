"""Messages of ``agentex skill`` in English and Chinese."""

from cli.ui.i18n.common import Message

NO_SKILL = Message(
    "There is no SKILL.md at {path}. Name a SKILL file, a folder with one, or - for standard input.",
    "{path} 处没有 SKILL.md。请指定 SKILL 文件、包含它的文件夹，或用 - 表示标准输入。",
)
STDIN_ONCE = Message("Standard input can be read once only: name - once.", "标准输入只能读取一次：请只写一个 -。")
FILE_UNREADABLE = Message(
    "{path} can't be read ({reason}). Check that you may read it.", "无法读取 {path}（{reason}）。请确认您有读取权限。"
)
SEVERAL = Message("There are several skills at {path}: name one.", "{path} 处有多个技能：请指定其中一个。")
TOO_MANY_FILES = Message(
    "{path} has more than {most} files: put the skill into a folder of its own.",
    "{path} 中的文件超过 {most} 个：请把技能放到单独的文件夹中。",
)
LINK_LEAVES = Message(
    "{path} is a link that leads out of the skill's folder, or to a folder: put the files themselves there.",
    "{path} 是指向技能文件夹之外或指向文件夹的链接：请在该处放置文件本身。",
)
FINDING = Message(
    "{path}:{line}:{column}: {severity} {code} {text}", "{path}:{line}:{column}：{severity} {code} {text}"
)
FIXABLE = Message("  fix: {title}", "  修复：{title}")
SEVERITIES = {"error": Message("error", "错误"), "warning": Message("warning", "警告"), "info": Message("info", "提示")}
NOT_PORTABLE = Message("not portable", "不可移植")
PASSED = Message("{path}: valid", "{path}：有效")
PASSED_PORTABLE = Message("{path}: valid and portable", "{path}：有效且可移植")
REFUSED = Message("{path}: refused", "{path}：未通过")
SUMMARY = Message(
    "{checked} checked, {refused} refused: {errors} errors, {warnings} warnings, {infos} hints",
    "共检查 {checked} 个，{refused} 个未通过：{errors} 个错误，{warnings} 个警告，{infos} 个提示",
)
AGAINST_STANDARD = Message("against the open standard: {count}", "不符合开放标准：{count} 处")
FIX_WITH = Message(
    "{count} of these can be mended by: agentex skill fix {path}",
    "其中 {count} 处可用以下命令修复：agentex skill fix {path}",
)
SARIF_WRITTEN = Message("Report written to {path}.", "报告已写入 {path}。")
MADE = Message(
    "Made {path}. Fill it in, then check it with: agentex skill validate {named}",
    "已创建 {path}。填写后请运行：agentex skill validate {named}",
)
NAME_UNUSABLE = Message(
    "A skill needs a name of 1 to 64 characters on one line.", "技能名称须为一行之内的 1 至 64 个字符。"
)
SLUG_NEEDED = Message(
    "No folder name can be made of {name}: give one with --slug, such as daily-report.",
    "无法由“{name}”生成文件夹名：请用 --slug 指定，例如 daily-report。",
)
SLUG_UNUSABLE = Message(
    "{slug} is no slug: use lower-case letters, digits and single hyphens, 64 at most.",
    "{slug} 不是有效的短名：请使用小写字母、数字和单个连字符，最多 64 个字符。",
)
NOTHING_TO_FIX = Message("{path}: nothing that can be mended by itself.", "{path}：没有可自动修复之处。")
FIXED = Message("{path}: {count} mended ({codes})", "{path}：已修复 {count} 处（{codes}）")
LEFT = Message(
    "{path}: {count} left to you; see agentex skill validate {named}",
    "{path}：还有 {count} 处需要您处理，请运行 agentex skill validate {named} 查看",
)
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
NO_SKILLS = Message(
    "No skills. Make one with agentex skill new, or see public ones with --public.",
    "没有技能。可用 agentex skill new 创建，或用 --public 查看公开的技能。",
)
SLUG = Message("SLUG", "短名")
NAME = Message("NAME", "名称")
VERSION = Message("VERSION", "版本")
OWNER = Message("OWNER", "所有者")
STATE = Message("STATE", "状态")
STATE_INVALID = Message("has errors", "有错误")
STATE_UNREVIEWED = Message("not reviewed", "未审核")
STATE_OFF = Message("off", "已停用")
STATE_PUBLIC = Message("public", "公开")
STATE_PRIVATE = Message("private", "私有")
SHOWN = Message("{name}, version {version}, of {owner}: {state}", "{name}，版本 {version}，所有者 {owner}：{state}")
DELETE_SKILL = Message("Delete {name} with all its versions?", "删除 {name} 及其所有版本？")
SKILL_DELETED = Message("{name} deleted.", "已删除 {name}。")
SKILL_UNKNOWN = Message(
    "There is no skill {wanted} that you may see. There are: {names}", "没有您可见的技能 {wanted}。现有：{names}"
)
SKILL_AMBIGUOUS = Message(
    "{wanted} fits several skills; name one as owner/slug: {names}",
    "{wanted} 对应多个技能；请用 所有者/短名 指定：{names}",
)
FILE = Message("FILE", "文件")
OUTCOME = Message("OUTCOME", "结果")
SKILL = Message("SKILL", "技能")
PROBLEMS = Message("PROBLEMS", "问题")
REVIEW_NEXT = Message(
    "Agents are not given {slug} until you have read it (agentex skill review {slug}) and run: agentex skill review {slug} --approve",
    "请用 agentex skill review {slug} 阅读 {slug}；在您运行 agentex skill review {slug} --approve 之前，它不会提供给智能体。",
)
OUTCOMES = {
    "created": Message("created", "已创建"),
    "new_version": Message("new version", "新版本"),
    "unchanged": Message("unchanged", "无变化"),
    "skipped": Message("skipped", "已跳过"),
    "refused": Message("refused", "未通过"),
    "failed": Message("failed", "失败"),
}
PROFILE_UNUSED = Message(
    "{path} is no package, so --profile has no effect: end the name with .zip or .skill, or leave the option out.",
    "{path} 不是技能包，--profile 不起作用：请让文件名以 .zip 或 .skill 结尾，或去掉该选项。",
)
EXPORTED = Message("{name} written to {path} ({size} bytes).", "{name} 已写入 {path}（{size} 字节）。")
PUBLISHED = Message("{name} is public now.", "{name} 现已公开。")
WITHDRAWN = Message("{name} is not public any more.", "{name} 不再公开。")
PENDING = Message(
    "Version {version} waits for an administrator's review before others get it.",
    "版本 {version} 须经管理员审核后才会提供给其他人。",
)
SHARED_WITH_NOBODY = Message("{name} is shared with nobody.", "{name} 未与任何人共享。")
ONE_DECISION = Message("Give either --approve or --reject.", "请给出 --approve 或 --reject 其中之一。")
NOTHING_WAITS = Message("No version of {name} waits for a review.", "{name} 没有等待审核的版本。")
FILE_BESIDE = Message("Beside it: {path} ({size} bytes)", "附带文件：{path}（{size} 字节）")
WAITS = Message(
    "This is version {version}. When you have read it and its files, run: agentex skill review {name} --version {version} --approve (or --reject)",
    "这是版本 {version}。阅读正文和附带文件后请运行：agentex skill review {name} --version {version} --approve（或 --reject）",
)
APPROVED = Message("Version {version} of {name} approved.", "{name} 的版本 {version} 已通过审核。")
REJECTED = Message("Version {version} of {name} rejected.", "{name} 的版本 {version} 已被拒绝。")
NO_QUERIES = Message(
    'In {path} there is no list of {{"query": ..., "should_trigger": true or false}}.',
    '{path} 中没有由 {{"query": ..., "should_trigger": true 或 false}} 组成的列表。',
)
RIGHT = Message("VERDICT", "判定")
SCORE = Message("SCORE", "得分")
CHOSEN = Message("CHOSEN", "选中")
QUERY = Message("QUERY", "请求")
IS_RIGHT = Message("right", "正确")
IS_WRONG = Message("wrong", "错误")
OFFLINE_OR_MODEL = Message("Use --offline or --model, not both.", "--offline 与 --model 只能选一个。")
OFFLINE_OR_RUNS = Message(
    "Use --offline or --runs, not both: words give the same answer each time.",
    "--offline 与 --runs 只能选一个：离线评分每次结果相同。",
)
TRIED_BY = Message(
    "{model} chose, asked {runs} times for each request; its tokens count as your usage.",
    "由 {model} 选择，每个请求询问 {runs} 次；消耗的 token 计入您的用量。",
)
TRIED_OFFLINE = Message(
    "Without a language model: shared words and closeness of meaning chose.",
    "未使用语言模型：按共同的词语和语义相近程度选择。",
)
TRIGGERS = Message(
    "{name}, version {version}, among {neighbours} others: recall {recall}, precision {precision} of {queries} requests",
    "{name} 第 {version} 版，与 {neighbours} 个技能一起测试：{queries} 个请求，召回率 {recall}，精确率 {precision}",
)
NO_QUERY_FOR_IT = Message(
    "In {path} no request should choose the skill: there is nothing to compare.",
    "{path} 中没有应当选中该技能的请求：没有可比较的内容。",
)
COMPARED_OUTCOME = Message("WITH IT", "使用后")
COMPARED_REASON = Message("REASON", "理由")
COMPARED_OUTCOMES = {
    "better": Message("better", "更好"),
    "worse": Message("worse", "更差"),
    "same": Message("same", "相当"),
    "undecided": Message("undecided", "未定"),
}
COMPARED = Message(
    "{name} version {version} beside {other}: {better} better, {worse} worse, {same} the same, {undecided} undecided.",
    "{name} 版本 {version} 与{other}相比：{better} 个更好，{worse} 个更差，{same} 个相当，{undecided} 个未定。",
)
WITHOUT_SKILL = Message("no skill", "不使用技能")
OTHER_VERSION = Message("version {version}", "版本 {version} ")
COMPARED_BY = Message(
    "{model} answered and {judge} judged each pair twice without knowing which is which; the tokens count as your usage.",
    "由 {model} 回答，{judge} 在不知来源的情况下对每对回答评判两次；消耗的 token 计入您的用量。",
)
