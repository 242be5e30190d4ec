"""Messages of ``agentex kb source`` in English and Chinese."""

from collections.abc import Mapping

from cli.ui.i18n.common import Message

NO_SOURCES = Message(
    "It has no sources. Add one: agentex kb source add {name} https://example.org/docs/",
    "该知识库还没有来源。添加来源：agentex kb source add {name} https://example.org/docs/",
)
NAME = Message("Name", "名称")
CONNECTOR = Message("Connector", "连接器")
PLACE = Message("Place", "位置")
EVERY = Message("Every", "间隔")
DOCUMENTS = Message("Documents", "文档数")
LAST_SYNC = Message("Last sync", "最近一次同步")
KEY = Message("Item", "条目")
WHY = Message("Why", "原因")
MINUTES = Message("{count} min", "{count} 分钟")
ADDED = Message("Added {name} to {base}; its first sync has begun.", "已将 {name} 添加到 {base}，首次同步已开始。")
BEGUN = Message(
    "The sync of {name} has begun; the server goes on by itself.", "{name} 的同步已开始，服务器将自行完成。"
)
RUNNING = Message("synchronizing: {done} items", "同步中：{done} 个条目")
RESULT = Message("Synchronized: {counts}", "同步结果：{counts}")
PREVIEWED = Message("A sync would give: {counts}", "同步将产生：{counts}")
NOTHING = Message("nothing", "无")
EXAMPLE = Message("  {outcome}: {name}", "  {outcome}：{name}")
SEE_FAILURES = Message(
    "See why: agentex kb source failures {base} {source}", "查看原因：agentex kb source failures {base} {source}"
)
WAITS = Message(
    "More than a third of the documents, {count}, are gone from the source. Nothing is deleted until you allow it: "
    "agentex kb source sync {base} {source} --allow-deletions",
    "来源中有超过三分之一的文档（{count} 个）已消失。在您允许之前不会删除任何文档："
    "agentex kb source sync {base} {source} --allow-deletions",
)
CUT = Message(
    "The source has more than its settings allow: see max_pages, max_items or max_messages.",
    "来源的内容超过其设置允许的数量：请查看 max_pages、max_items 或 max_messages。",
)
DELETE = Message(
    "Forget the source {name}? Its {count} documents stay.", "确定删除来源 {name} 吗？其 {count} 个文档会保留。"
)
DELETE_WITH_DOCUMENTS = Message(
    "Delete the source {name} and its {count} documents?", "确定删除来源 {name} 及其 {count} 个文档吗？"
)
DELETED = Message("Deleted the source {name}.", "已删除来源 {name}。")
UNKNOWN = Message("There is no source {source}. Those it has: {names}", "来源 {source} 不存在。现有来源：{names}")
BAD_PORT = Message(
    "The port in the address is not a number from 1 to 65535.",
    "地址中的端口不是 1 到 65535 之间的数字。",
)
BAD_SETTINGS = Message("--settings takes a JSON object", "--settings 应为 JSON 对象")
CREDENTIALS_STORED = Message(
    "Stored the credentials of {name}; they count from its next sync on.", "已保存 {name} 的凭据，从下次同步起生效。"
)
CREDENTIALS_CLEARED = Message("Forgot the credentials of {name}.", "已删除 {name} 的凭据。")
CREDENTIALS_UNREADABLE = Message(
    "The credentials can't be read: give a file with a JSON object of their names and values",
    "无法读取凭据：请提供一个 JSON 对象文件，包含各凭据的名称和值",
)
NAME_ONE_WAY = Message(
    "Name one way to give credentials: --credentials-file, --ask-credentials or --clear",
    "请选择一种提供凭据的方式：--credentials-file、--ask-credentials 或 --clear",
)
NO_CREDENTIALS = Message("This kind of source takes no credentials", "此类来源不需要凭据")
ASK_CREDENTIAL = Message("{name}", "{name}")
ASK_OPTIONAL_CREDENTIAL = Message("{name} (Enter for none)", "{name}（直接回车表示没有）")
ASK_KEY_LINE = Message("the next line", "下一行")
CREDENTIALS_NEED_TERMINAL = Message(
    "There is no terminal to ask at: give the credentials with --credentials-file FILE, - for standard input",
    "没有可用于提问的终端：请用 --credentials-file 文件 提供凭据，- 表示标准输入",
)
OUTCOMES: Mapping[str, Message] = {
    "created": Message("new", "新增"),
    "updated": Message("changed", "更新"),
    "renamed": Message("renamed", "重命名"),
    "deleted": Message("gone", "消失"),
    "failed": Message("failed", "失败"),
    "skipped": Message("skipped", "跳过"),
    "unchanged": Message("unchanged", "未变"),
    "restricted": Message("restricted", "限制读者"),
    "opened": Message("opened", "解除限制"),
}
STATUSES: Mapping[str, Message] = {
    "pending": Message("waiting", "等待中"),
    "running": Message("running", "同步中"),
    "confirm": Message("waits for your word", "等待确认"),
    "completed": Message("done", "已完成"),
    "failed": Message("failed", "失败"),
    "cancelled": Message("cancelled", "已取消"),
}
