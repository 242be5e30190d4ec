"""Messages of ``agentex rule`` and ``notifications`` in English and Chinese."""

from cli.ui.i18n.common import Message

NO_RULES = Message(
    "There is no rule here. Write one as JSON and run: agentex rule create FILE",
    "这里没有规则。请用 JSON 编写规则，然后运行：agentex rule create FILE",
)
NAME = Message("Name", "名称")
DESCRIPTION = Message("Description", "描述")
EVENT = Message("Event", "事件")
SOURCE = Message("Source", "来源")
ANY_SOURCE = Message("any", "任意")
ENABLED = Message("On", "启用")
FIRED = Message("Fired", "触发次数")
LAST = Message("Last", "最近一次")
DUE = Message("Due", "下次执行")
ID = Message("Id", "ID")
VERSION = Message("Version", "版本")
COOLDOWN = Message("Cooldown", "冷却时间")
CONDITIONS = Message("Conditions", "条件")
ACTIONS = Message("Actions", "动作")
NO_CONDITIONS = Message("None: true of every event.", "无：对每个事件都成立。")
SWITCHED_ON = Message("{name} is on.", "已启用 {name}。")
SWITCHED_OFF = Message("{name} is off.", "已停用 {name}。")
DELETE_RULE = Message("Delete the rule {name} with its versions and its log?", "确定删除规则 {name} 及其版本和日志吗？")
RULE_DELETED = Message("Deleted the rule {name}.", "已删除规则 {name}。")
RULE_UNKNOWN = Message("There is no rule {wanted}. Those you have: {names}", "规则 {wanted} 不存在。现有规则：{names}")
RULE_AMBIGUOUS = Message(
    "Several rules are called {wanted}, apart from upper and lower case; give the name exactly: {names}",
    "有多个名称仅大小写不同的规则 {wanted}，请准确填写名称：{names}",
)
RULE_CREATED = Message(
    "Created the rule {name} ({id}). See what it does: agentex rule logs {id}",
    "已创建规则 {name}（{id}）。查看其执行情况：agentex rule logs {id}",
)
RULE_CHANGED = Message("{name} is changed; this is version {version}.", "已更改 {name}，当前为版本 {version}。")
IS_OFF = Message(
    "It is switched off. To switch it on: agentex rule enable {id}", "该规则已停用。启用：agentex rule enable {id}"
)
NO_EDITOR = Message(
    "There is no terminal for an editor: use agentex rule update RULE FILE.",
    "当前没有可用于编辑器的终端：请使用 agentex rule update RULE FILE。",
)
EDITOR_FAILED = Message(
    "The editor can't be started or failed: name another one in EDITOR.",
    "编辑器无法启动或执行失败：请用 EDITOR 指定其他编辑器。",
)
EDIT_KEPT = Message(
    "What you wrote is kept in {path}. Mend it there and run: agentex rule update {id} {path}",
    "您编辑的内容保存在 {path}。修改后请运行：agentex rule update {id} {path}",
)
UNCHANGED = Message("Nothing was changed.", "未做任何更改。")

NO_JSON = Message("{path} is no JSON ({reason}).", "{path} 不是有效的 JSON（{reason}）。")
NO_RULE = Message(
    "In {path} there is no rule, which is a JSON object with name, trigger_config and actions.",
    "{path} 中没有规则；规则是包含 name、trigger_config 和 actions 的 JSON 对象。",
)
IS_EXPORT = Message(
    "{path} is what an export wrote: run agentex rule import {path}",
    "{path} 是导出的文件：请运行 agentex rule import {path}",
)
NO_EXPORT = Message(
    "{path} is no export of a rule: use agentex rule create for a rule that you wrote.",
    "{path} 不是导出的规则文件：自己编写的规则请使用 agentex rule create。",
)
NO_EVENT = Message(
    'In {path} there is no event, such as {{"type": "player_join", "data": {{"player": {{"name": "Steve"}}}}}}.',
    '{path} 中没有事件，例如 {{"type": "player_join", "data": {{"player": {{"name": "Steve"}}}}}}。',
)
RULE_OR_FILE = Message("Name a rule, or give one with --file.", "请指定规则，或用 --file 提供规则文件。")
EVENT_OR_LOG = Message("Give either --event or --log.", "请给出 --event 或 --log 其中之一。")
LOG_NEEDS_RULE = Message("--log needs the rule whose log it is.", "--log 需要同时指定规则。")
STDIN_ONCE = Message("Standard input can be read only once.", "标准输入只能读取一次。")

HOLDS = Message("Verdict", "结果")
CONDITION = Message("Condition", "条件")
VALUE_MET = Message("Value met", "实际值")
WHY = Message("Why", "原因")
DOES_HOLD = Message("true", "成立")
DOES_NOT_HOLD = Message("false", "不成立")
NO_VALUE = Message("(nothing)", "（无）")
GROUP = Message("group of:", "条件组：")
NEGATED_GROUP = Message("not the group of:", "非以下条件组：")
MISSING = Message("missing: {reason}", "缺失：{reason}")
AWAITS_RESULTS = Message(
    "The texts are as written: they need what earlier actions give.", "文本保持原样：需要前面动作的结果。"
)
NOT_TRIGGERED = Message(
    "The event is not of the type and source that trigger this rule.", "该事件的类型或来源不会触发此规则。"
)
HELD_BACK = Message("The cooldown holds it back{key} until {until}.", "冷却时间内{key}，在 {until} 之前不会执行。")
WOULD_ACT = Message("It would act.", "将会执行。")
WOULD_FAIL = Message("It would act, and what lacks something would fail.", "将会执行，但缺失内容的动作会失败。")
WOULD_NOT_ACT = Message("It would not act{reason}.", "不会执行{reason}。")

STATUSES = {
    "not_met": Message("conditions not met", "条件不满足"),
    "cooldown": Message("cooldown", "冷却中"),
    "loop": Message("loop", "循环"),
    "limit": Message("limit per minute", "超过每分钟上限"),
    "pending": Message("waits", "等待中"),
    "running": Message("running", "执行中"),
    "success": Message("success", "成功"),
    "partial": Message("partly failed", "部分失败"),
    "failed": Message("failed", "失败"),
    "unknown": Message("unknown", "结果未知"),
    "skipped": Message("skipped", "已跳过"),
}
TIME = Message("Time", "时间")
STATUS = Message("Status", "状态")
TOOK_MS = Message("Took (ms)", "耗时（毫秒）")
FAULT = Message("What went wrong", "问题")
COOLDOWN_KEY = Message("Cooldown key", "冷却键")
EVENT_DATA = Message("Data of the event", "事件数据")
ATTEMPTS = Message("{count} attempts", "尝试 {count} 次")
NO_ENTRIES = Message("The log has no entries here.", "这里没有日志。")
FOLLOW_ALONE = Message(
    "--follow shows entries from now on: leave ENTRY, --since and --until out.",
    "--follow 只显示此后的日志：请去掉 ENTRY、--since 和 --until。",
)
FOLLOWING = Message("Waiting for entries; Ctrl-C ends.", "等待新的日志；按 Ctrl-C 结束。")
BROKE_OFF = Message("The connection broke off; trying again.", "连接中断，正在重试。")
RULE_GONE = Message("The rule was deleted.", "规则已被删除。")

SAVED = Message("Saved", "保存时间")
CONDITION_COUNT = Message("Conditions", "条件数")
ACTION_TYPES = Message("Actions", "动作")
RESTORED = Message(
    "{name} is again as in version {version}; this is version {new}.",
    "{name} 已恢复为版本 {version} 的内容，当前为版本 {new}。",
)
RULE_EXPORTED = Message("{name} written to {path} ({size} bytes).", "{name} 已写入 {path}（{size} 字节）。")
RULE_IMPORTED = Message("Imported the rule {name} ({id}).", "已导入规则 {name}（{id}）。")
NOTHING_MISSING = Message("Nothing is missing.", "没有缺失的内容。")
WOULD_BE_OFF = Message(
    "With these missing, the rule would be kept switched off.", "由于存在缺失，导入后规则将保持停用。"
)

NO_SOURCES = Message(
    "There is no event source yet. Make one: agentex rule source create NAME",
    "还没有事件源。创建一个：agentex rule source create NAME",
)
ADDRESS = Message("Address", "地址")
SOURCE_MADE = Message(
    "Made the event source {name} ({id}). Send events, signed as Standard Webhooks say, to {url}. "
    "This is its secret; it is not shown again:",
    "已创建事件源 {name}（{id}）。请按 Standard Webhooks 规范签名并将事件发送到 {url}。以下密钥只显示一次：",
)
ROTATE_SECRET = Message(
    "Give {name} another secret? What is signed with the old one is refused at once.",
    "确定更换 {name} 的密钥吗？用旧密钥签名的事件会立即被拒绝。",
)
SECRET_ROTATED = Message(
    "This is the new secret of {name}; it is not shown again:", "以下是 {name} 的新密钥，只显示一次："
)
DELETE_SOURCE = Message(
    "Delete the event source {name}? Rules that name it get no more events.",
    "确定删除事件源 {name} 吗？使用它的规则将不再收到事件。",
)
SOURCE_DELETED = Message("Deleted the event source {name}.", "已删除事件源 {name}。")
SOURCE_UNKNOWN = Message(
    "There is no source {wanted}. Those you have: {names}", "来源 {wanted} 不存在。现有来源：{names}"
)
SOURCE_AMBIGUOUS = Message(
    "Several sources are called {wanted}; name one by its id: {ids}", "有多个名为 {wanted} 的来源，请用 id 指定：{ids}"
)

TYPE = Message("Type", "类型")
DECLARED = Message("Declared", "已声明")
SEEN = Message("Seen", "次数")
SHAPE = Message("Shape", "结构")
EXAMPLE = Message("Example", "示例")
TYPE_UNKNOWN = Message(
    "No event of type {wanted} is known. Those known: {names}", "没有类型为 {wanted} 的事件。已知类型：{names}"
)

DROPPED = Message(
    "{source}: dropped events: {count}, the last one {last}: {reason}",
    "{source}：丢弃了 {count} 个事件，最近一次在 {last}：{reason}",
)
DROP_REASONS = {
    "too_large": Message("their data had more than 256 KB", "数据超过 256 KB"),
    "signature": Message("their signature did not fit, or was too old", "签名不匹配或已过期"),
    "unusable": Message("they had no usable type or id, or could not be read", "没有可用的类型或 ID，或无法读取"),
    "backlog": Message("10,000 waited already; the sender was refused", "已有 10,000 个事件在等待，发送方被拒绝"),
    "rate": Message("too many came within a minute; the sender was refused", "每分钟事件过多，发送方被拒绝"),
    "undecidable": Message("no rule could be asked about them; see the server's log", "无法判断规则，请查看服务器日志"),
}

OWNER = Message("Owner", "所有者")
SHARED_WITH_NOBODY = Message("{name} is shared with nobody.", "{name} 没有共享给任何人。")

NO_NOTIFICATIONS = Message("There are no notifications here.", "这里没有通知。")
LEVEL = Message("Level", "级别")
LEVELS = {
    "info": Message("info", "信息"),
    "warning": Message("warning", "警告"),
    "error": Message("error", "错误"),
}
READ = Message("Read", "已读时间")
TITLE = Message("Title", "标题")
UNREAD = Message("{count} not read", "{count} 条未读")
IDS_OR_ALL = Message("Give ids, or --all.", "请给出 ID，或使用 --all。")
DELETE_NOTIFICATION = Message("Delete the notification {name}?", "确定删除通知 {name} 吗？")
NOTIFICATION_DELETED = Message("Deleted the notification {name}.", "已删除通知 {name}。")
