"""What ``agentex sessions`` says, in English and Chinese."""

from cli.ui.i18n.common import Message

TITLE = Message("Title", "标题")
COUNT = Message("Messages", "消息数")
LAST = Message("Last message", "最后一条消息")
ID = Message("Id", "编号")
ARCHIVED = Message("Archived", "已归档")
FOUND = Message("Found", "匹配内容")
UNTITLED = Message("(untitled)", "（未命名）")
NONE = Message("There is no session here.", "这里没有会话。")
USER = Message("You", "您")
ASSISTANT = Message("Assistant", "助手")
OLDER = Message(
    "Older messages are not shown; see more with --limit.",
    "更早的消息没有显示；可用 --limit 查看更多。",
)
EXPORTED = Message(
    "Exported {title} to {path} ({size} bytes).", "已将 {title} 导出到 {path}（{size} 字节）。"
)
PUT_AWAY = Message(
    "Archived {title}. Questions in it are refused until: agentex sessions archive {id} --undo",
    "已归档 {title}。取消归档之前不能在其中提问：agentex sessions archive {id} --undo",
)
TAKEN_OUT = Message("Took {title} out of the archive.", "已取消归档 {title}。")
CONFIRM = Message(
    "Delete the session {title} with its {count} messages?",
    "确定删除会话 {title} 及其 {count} 条消息吗？",
)
DELETED = Message("Deleted the session {title}.", "已删除会话 {title}。")
