"""What ``agentex admin`` says, in English and Chinese."""

from cli.messages import Message

USERNAME = Message("User name", "用户名")
EMAIL = Message("E-mail", "邮箱")
ROLE = Message("Role", "角色")
STATUS = Message("Status", "状态")
LAST_LOGIN = Message("Last login", "最近登录")
ID = Message("Id", "ID")
PERMISSIONS = Message("Permissions", "权限")
SHOWN_AS = Message("Shown as", "显示名称")
USER_NONE = Message("No account fits.", "没有符合条件的账户。")
USER_UNKNOWN = Message(
    "There is no account {wanted}. To see those there are: agentex admin users list",
    "账户 {wanted} 不存在。查看现有账户：agentex admin users list",
)
ROLE_UNKNOWN = Message(
    "There is no role {wanted}. Those there are: {names}",
    "角色 {wanted} 不存在。现有角色：{names}",
)
USER_CREATED = Message(
    "Created the account {username} with the role {role}.", "已创建账户 {username}，角色为 {role}。"
)
USER_ENABLED = Message("{username} may log in again.", "{username} 可以重新登录。")
USER_DISABLED = Message(
    "{username} is switched off: its logins have ended, its keys are refused.",
    "{username} 已停用：它的登录已结束，密钥被拒绝。",
)
ROLE_SET = Message("{username} has the role {role} now.", "{username} 的角色现在是 {role}。")
PASSWORD_SET = Message(
    "{username} has another password now; all its logins have ended.",
    "{username} 的密码已更换，它的所有登录已结束。",
)
NEW_PASSWORD = Message("New password for {username}", "{username} 的新密码")
DELETE_CONFIRM = Message(
    "Delete the account {username}? What is private to it is erased, and this can't be undone.",
    "确定删除账户 {username} 吗？它的私有内容会被清除，且无法恢复。",
)
DELETE_KEPT = Message("Nothing was deleted.", "未删除任何内容。")
USER_DELETED = Message(
    "Deleted the account {username}. Handed over: {bases} knowledge bases with {documents} documents.",
    "已删除账户 {username}。已转交：{bases} 个知识库，共 {documents} 个文档。",
)
ERASED = Message(
    "Erased: {knowledge_bases} knowledge bases with {documents} documents, {sessions} sessions, "
    "{memories} memories, {calendar_events} calendar events, {images} images, {api_keys} API keys.",
    "已清除：{knowledge_bases} 个知识库（{documents} 个文档）、{sessions} 个会话、{memories} 条记忆、"
    "{calendar_events} 个日程、{images} 张图片、{api_keys} 个 API 密钥。",
)
KEY = Message("Setting", "设置项")
VALUE = Message("Value", "值")
SOURCE = Message("From", "来源")
MEANING = Message("Meaning", "含义")
SOURCES = {
    "stored": Message("set here", "在线设置"),
    "environment": Message("environment", "环境变量"),
    "default": Message("default", "默认值"),
}
CONFIG_SET = Message("{key} is {value} now.", "{key} 现在是 {value}。")
WHEN = Message("When (UTC)", "时间（UTC）")
ACTION = Message("Act", "操作")
ACTOR = Message("Who", "操作者")
OBJECT = Message("On", "对象")
ADDRESS = Message("Address", "地址")
MORE_ACTS = Message(
    "The newest {shown} of {total}; more with --limit, all with --csv FILE.",
    "共 {total} 条，此处为最近 {shown} 条；可用 --limit 显示更多，用 --csv FILE 导出全部。",
)
AUDIT_WRITTEN = Message(
    "Wrote the audit log to {path} ({size} bytes).", "已将审计日志写入 {path}（{size} 字节）。"
)
