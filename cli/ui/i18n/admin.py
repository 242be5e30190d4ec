"""Messages of ``agentex admin`` in English and Chinese."""

from cli.ui.i18n.common import Message

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
ROLE_UNKNOWN = Message("There is no role {wanted}. Those there are: {names}", "角色 {wanted} 不存在。现有角色：{names}")
USER_CREATED = Message("Created the account {username} with the role {role}.", "已创建账户 {username}，角色为 {role}。")
USER_ENABLED = Message("{username} may log in again.", "{username} 可以重新登录。")
EMAIL_VERIFIED = Message("The address of {username} counts as verified.", "{username} 的邮箱已视为经过验证。")
EMAIL_UNVERIFIED = Message(
    "The address of {username} counts as verified no longer.", "{username} 的邮箱不再视为经过验证。"
)
USER_DISABLED = Message(
    "{username} is switched off: its logins have ended, its keys are refused.",
    "{username} 已停用：它的登录已结束，密钥被拒绝。",
)
ROLE_SET = Message("{username} has the role {role} now.", "{username} 的角色现在是 {role}。")
PASSWORD_SET = Message(
    "{username} has another password now; all its logins have ended.", "{username} 的密码已更换，它的所有登录已结束。"
)
NEW_PASSWORD = Message("New password for {username}", "{username} 的新密码")
DELETE_CONFIRM = Message(
    "Delete the account {username}? What is private to it is erased, and this can't be undone.",
    "确定删除账户 {username} 吗？它的私有内容会被清除，且无法恢复。",
)
USER_DELETED = Message(
    "Deleted the account {username}. Handed over: {bases} knowledge bases with {documents} documents, {skills} skills.",
    "已删除账户 {username}。已转交：{bases} 个知识库（共 {documents} 个文档）、{skills} 个技能。",
)
ERASED = Message(
    "Erased: {knowledge_bases} knowledge bases with {documents} documents, {skills} skills, "
    "{sessions} sessions, "
    "{memories} memories, {calendar_events} calendar events, {images} images, {api_keys} API keys.",
    "已清除：{knowledge_bases} 个知识库（{documents} 个文档）、{skills} 个技能、{sessions} 个会话、{memories} 条记忆、"
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
AUDIT_WRITTEN = Message("Wrote the audit log to {path} ({size} bytes).", "已将审计日志写入 {path}（{size} 字节）。")
LACKING = Message("Lacks", "缺少的权限")
ROLE_MADE = Message("Made the role {name}: {permissions}", "已创建角色 {name}：{permissions}")
ROLE_CHANGED = Message("The role {name} allows now: {permissions}", "角色 {name} 现在的权限：{permissions}")
ROLE_CONFIRM = Message("Delete the role {name}?", "确定删除角色 {name} 吗？")
ROLE_DELETED = Message("Deleted the role {name}.", "已删除角色 {name}。")
KEY_NAME = Message("Name", "名称")
KEY_PREFIX = Message("Key", "密钥")
LAST_USED = Message("Last use", "最近使用")
ENDS = Message("Ends", "到期")
ALL = Message("all of the account", "账户的全部权限")
KEY_MADE = Message("The API key {name}, which is shown this once:", "API 密钥 {name}，仅显示这一次：")
KEY_UNKNOWN = Message(
    "There is no API key {wanted}. To see those there are: agentex admin keys list",
    "API 密钥 {wanted} 不存在。查看现有密钥：agentex admin keys list",
)
KEY_AMBIGUOUS = Message(
    "Several keys are called {wanted}. Name one by its id: {ids}", "有多个密钥名为 {wanted}。请用 ID 指定其一：{ids}"
)
KEY_CONFIRM = Message(
    "Revoke the API key {name} ({prefix})? What uses it stops working.",
    "确定撤销 API 密钥 {name}（{prefix}）吗？使用它的程序会停止工作。",
)
KEY_REVOKED = Message("Revoked the API key {name}.", "已撤销 API 密钥 {name}。")
MODEL = Message("Model", "模型")
PROVIDER = Message("Provider", "服务商")
AT_ENDPOINT = Message("At the endpoint", "接口中的名称")
BASE_URL = Message("Endpoint", "接口地址")
DEFAULT = Message("Default", "默认")
ENABLED = Message("On", "启用")
HAS_KEY = Message("Key", "密钥")
MAX_TOKENS = Message("Longest answer", "最长回答")
TEMPERATURE = Message("Temperature", "温度")
WINDOW = Message("Context window", "上下文窗口")
PRICES = Message("Price in / out per million tokens", "每百万 token 价格（输入 / 输出）")
FOR_ROLES = Message("Roles that may use it", "可用角色")
FOR_USERS = Message("People who may use it", "可用账户")
EVERYBODY = Message("everybody", "所有人")
MODEL_UNKNOWN = Message(
    "There is no registered model {wanted}. Those there are: {names}", "没有名为 {wanted} 的注册模型。现有模型：{names}"
)
MODEL_ADDED = Message(
    "Registered {name}. To see whether it answers: agentex admin models test",
    "已注册 {name}。检查是否可用：agentex admin models test",
)
MODEL_CHANGED = Message("Changed {name}; the next run acts on that.", "已更改 {name}，下次运行生效。")
MODEL_DEFAULT = Message("{name} answers by default now.", "{name} 现在是默认模型。")
MODEL_ANSWERS = Message("{name} answers ({latency} ms).", "{name} 有应答（{latency} 毫秒）。")
MODEL_CONFIRM = Message("Remove the model {name}?", "确定移除模型 {name} 吗？")
MODEL_DELETED = Message("Removed the model {name}.", "已移除模型 {name}。")
ASK_MODEL_KEY = Message("Key of the model", "模型的密钥")
MODEL_KEY_NEEDED = Message(
    "There is no terminal to ask for the key: use --key-stdin, --key-env or --no-key.",
    "当前没有可输入密钥的终端：请使用 --key-stdin、--key-env 或 --no-key。",
)
KEY_NOT_SET = Message("The variable that --key-env names is not set.", "--key-env 指定的变量未设置。")
CONTRADICTION = Message(
    "These options contradict each other, use one of them: {options}", "以下选项相互矛盾，只能使用其中之一：{options}"
)
CLEAR_UNKNOWN = Message(
    "--clear takes a value away that a model may be without; see --help.",
    "--clear 只能清除模型可以没有的值，见 --help。",
)
OPTIONS_UNREADABLE = Message("--options is no JSON.", "--options 不是有效的 JSON。")
DAY = Message("Day", "日期")
RUNS = Message("Runs", "运行次数")
TOKENS_IN = Message("Tokens in", "输入 token")
TOKENS_OUT = Message("Tokens out", "输出 token")
COST = Message("Cost", "费用")
USAGE_SUMS = Message(
    "{since} to {until}: {runs} runs, {tokens} tokens, cost {cost} ({shown} of {total} rows shown)",
    "{since} 至 {until}：{runs} 次运行，{tokens} 个 token，费用 {cost}（显示 {total} 行中的 {shown} 行）",
)
