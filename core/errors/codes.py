"""The numbers and messages of every error, in English and Chinese."""

from enum import IntEnum, unique


@unique
class ErrorCode(IntEnum):
    """Codes of seed 002 section 1.4; the HTTP status is ``code // 100``.

    Each member carries its message in English (the wire default) and Chinese.
    """

    message: str
    message_zh: str

    def __new__(cls, value: int, message: str, message_zh: str) -> "ErrorCode":
        """Build a member from its number and its two messages."""
        member = int.__new__(cls, value)
        member._value_ = value
        member.message = message
        member.message_zh = message_zh
        return member

    INVALID_REQUEST = 40001, "Invalid request parameters", "请求参数错误"
    MALFORMED_JSON = 40002, "The request body is not valid JSON", "请求体不是有效的 JSON"
    INVALID_PAGINATION = 40003, "Invalid pagination or sorting", "分页或排序参数错误"
    EMPTY_FILE = 40010, "The uploaded file is empty", "上传的文件为空"
    UNSUPPORTED_FILE_TYPE = 40011, "This file type is not supported", "不支持该文件类型"
    FILE_TYPE_MISMATCH = (
        40012,
        "The file's content does not match its name",
        "文件内容与文件名不符",
    )
    INVALID_FILE_NAME = 40013, "The file name can't be used", "文件名无效"
    QUERY_TOO_LONG = 40014, "The query is too long", "查询过长"
    EMPTY_QUERY = 40015, "The query is empty", "查询为空"
    UNKNOWN_EMBEDDING_MODEL = 40016, "Unknown embedding model", "未知的嵌入模型"
    WEAK_PASSWORD = 40017, "The password does not meet the rules", "密码不符合要求"
    UNKNOWN_AGENT_TYPE = 40018, "Unknown agent type", "未知的智能体类型"
    INVALID_RUN_INPUT = 40019, "The run input is not valid", "运行输入无效"
    INVALID_ARCHIVE = (
        40030,
        "This file is not a knowledge base that can be imported",
        "该文件不是可导入的知识库",
    )
    TEXT_RECOGNITION_MISSING = (
        40031,
        "Pictures are read by text recognition, which is not installed here: install agentex[ocr]",
        "读取图片需要文字识别，服务器尚未安装：请安装 agentex[ocr]",
    )
    ARCHIVE_LIMITS = (
        40032,
        "The file has too many parts or unpacks to more data than is allowed",
        "文件内的组成部分过多，或解压后的数据超出允许范围",
    )
    ARCHIVE_MEMBER_REFUSED = (
        40033,
        "This member of the archive is not taken in",
        "压缩包中的该文件不予接收",
    )
    CORRUPT_ARCHIVE = 40034, "The archive is damaged or incomplete", "压缩包已损坏或不完整"

    CORRUPT_IMAGE = 40060, "The image is damaged and can't be read", "图片已损坏，无法读取"
    URL_NOT_ALLOWED = 40050, "This address is not allowed", "不允许使用该地址"
    UNREADABLE_FILE = 40040, "No text can be read from this file", "无法从该文件读取文本"
    INTERRUPT_ANSWER_INVALID = (
        40042,
        "The answer does not fit what was asked: see the interrupt's responseSchema",
        "答复与所问不符：请参照中断的 responseSchema",
    )
    INVALID_CURSOR = (
        40041,
        "This is no place in this event stream",
        "该位置不属于此事件流",
    )

    UNREADABLE_SKILL = (
        40070,
        "No skill can be read from this content: see the diagnostics",
        "无法从该内容读取技能：请查看诊断信息",
    )

    SKILL_FILES_REFUSED = (
        40071,
        "Files of the skill are not taken in: see the problems",
        "技能的文件未被接收：请查看问题列表",
    )

    SKILL_NOT_EDITABLE = (
        40072,
        "This part of the skill can't be written so that it is read back as it is: see the error",
        "技能的这一部分无法写成能被原样读回的形式：请查看 error",
    )

    NOT_AUTHENTICATED = 40101, "Authentication is required", "需要认证"
    INVALID_CREDENTIALS = 40102, "Wrong user name or password", "用户名或密码错误"
    INVALID_TOKEN = 40103, "The token is not valid", "令牌无效"
    TOKEN_EXPIRED = 40104, "The token has expired", "令牌已过期"
    TOKEN_REUSED = 40105, "The refresh token was already used", "刷新令牌已被使用"
    ACCOUNT_DISABLED = 40106, "The account is disabled", "账户已停用"
    OIDC_STATE_INVALID = (
        40110,
        "This sign-in was begun in another browser or is over already: begin it again",
        "此登录并非在该浏览器中发起，或已结束：请重新发起登录",
    )
    OIDC_EXPIRED = 40111, "The sign-in took too long: begin it again", "登录超时，请重新发起登录"
    OIDC_REFUSED = (
        40112,
        "The identity provider did not let you in: begin the sign-in again",
        "身份提供方未允许登录：请重新发起登录",
    )
    OIDC_TOKEN_INVALID = (
        40113,
        "The identity provider's answer can't be trusted",
        "身份提供方的应答不可信",
    )
    OIDC_CODE_INVALID = (
        40114,
        "The sign-in code is not valid, was used or has expired",
        "登录代码无效、已被使用或已过期",
    )

    PERMISSION_DENIED = 40301, "You do not have this permission", "没有该权限"
    REGISTRATION_DISABLED = 40302, "Registration is switched off", "注册已关闭"
    READ_ONLY = 40303, "You may read this but not change it", "只读，无法修改"

    INVALID_LINK = 40304, "This link is not valid", "链接无效"
    LINK_EXPIRED = 40305, "This link has expired", "链接已过期"
    TOOL_POLICY_FIXED = (
        40306,
        "The administrator allows no freer use of this tool",
        "管理员不允许更宽松地使用该工具",
    )

    ORIGIN_NOT_ALLOWED = (
        40307,
        "Pages of this origin may not call this",
        "不允许该来源的网页调用",
    )

    OWNER_ONLY = (
        40310,
        "Only the owner decides who may see this, and whether it stays",
        "只有所有者可以决定共享范围或删除",
    )

    OIDC_EMAIL_REFUSED = (
        40320,
        "Your e-mail address may not sign in here",
        "您的邮箱地址不允许在此登录",
    )

    NOT_FOUND = 40401, "Not found", "资源不存在"
    USER_NOT_FOUND = 40402, "User not found", "用户不存在"
    API_KEY_NOT_FOUND = 40403, "API key not found", "API 密钥不存在"
    KNOWLEDGE_BASE_NOT_FOUND = 40404, "Knowledge base not found", "知识库不存在"
    DOCUMENT_NOT_FOUND = 40405, "Document not found", "文档不存在"
    SESSION_NOT_FOUND = 40406, "Session not found", "会话不存在"
    RUN_NOT_FOUND = 40407, "Run not found", "运行不存在"
    CHUNK_NOT_FOUND = 40408, "Passage not found", "段落不存在"
    QUESTION_NOT_FOUND = 40420, "Saved question not found", "已保存的问题不存在"
    EVALUATION_NOT_FOUND = 40421, "Evaluation not found", "评测不存在"
    RETRIEVAL_NOT_FOUND = 40430, "Recorded retrieval not found", "检索记录不存在"
    TRANSFER_NOT_FOUND = 40422, "Import or copy not found", "导入或复制任务不存在"
    SKILL_NOT_FOUND = 40410, "Skill not found", "技能不存在"
    SKILL_VERSION_NOT_FOUND = 40411, "The skill has no such version", "技能没有该版本"
    SKILL_FILE_NOT_FOUND = 40412, "The skill has no such file", "技能没有该文件"
    CALENDAR_EVENT_NOT_FOUND = 40460, "Calendar event not found", "日程不存在"
    CALENDAR_FEED_NOT_FOUND = 40461, "There is no calendar feed", "没有日历订阅"
    MODEL_NOT_FOUND = 40480, "Model not found", "模型不存在"
    MCP_CONNECTION_NOT_FOUND = 40490, "MCP connection not found", "MCP 连接不存在"
    MCP_TOOL_NOT_FOUND = 40491, "The MCP server has no such tool", "MCP 服务器没有该工具"
    MEMORY_NOT_FOUND = 40440, "Memory not found", "记忆不存在"
    ROLE_NOT_FOUND = 40450, "Role not found", "角色不存在"
    CONFIG_KEY_NOT_FOUND = 40470, "There is no such configuration key", "没有该配置项"
    OIDC_OFF = 40475, "Single sign-on is not configured here", "未配置单点登录"
    METHOD_NOT_ALLOWED = 40501, "This method is not allowed here", "不允许使用该方法"

    CONFLICT = 40901, "The resource was changed or already exists", "资源冲突"
    USERNAME_TAKEN = 40902, "This user name is taken", "用户名已被使用"
    EMAIL_TAKEN = 40903, "This e-mail address is taken", "邮箱已被使用"
    KNOWLEDGE_BASE_NAME_TAKEN = (
        40904,
        "You already have a knowledge base of this name",
        "知识库名称已存在",
    )
    THREAD_BUSY = 40905, "A run is already active on this thread", "该会话已有运行中的任务"
    RUN_ID_TAKEN = 40906, "This run id was already used", "该运行 ID 已被使用"
    INTERRUPTS_OPEN = (
        40930,
        "This thread waits for answers: answer or cancel each open interrupt in `resume`",
        "该会话正在等待回复：请在 `resume` 中答复或取消每个未决的中断",
    )
    INTERRUPT_NOT_OPEN = (
        40931,
        "No such interrupt is open on this thread",
        "该会话没有此未决中断",
    )
    INTERRUPT_ANSWERED = 40932, "This interrupt was answered already", "该中断已被答复"
    SESSION_ARCHIVED = (
        40908,
        "This session is archived: take it out of the archive to ask in it again",
        "该会话已归档：取消归档后才能继续提问",
    )
    DOCUMENT_NAME_TAKEN = (
        40907,
        "The knowledge base has another document of this name",
        "知识库中已有同名文档",
    )
    REINDEX_RUNNING = (
        40910,
        "A re-index towards other settings is under way: cut it over or cancel it first",
        "正在按其他设置重建索引：请先切换或取消",
    )
    REINDEX_NOT_READY = (
        40911,
        "The re-index can't come into force: documents are left or failed",
        "重建索引尚不能切换：仍有文档未完成或失败",
    )
    NO_REINDEX = (
        40912,
        "There is no re-index under way, and none to go back to",
        "没有进行中的重建索引，也没有可回退的设置",
    )
    REINDEX_OVER = (
        40913,
        "There is no re-index under way: the last one took effect, and can be rolled back",
        "没有进行中的重建索引：上一次重建已生效，可以回退",
    )
    NO_QUESTIONS = 40920, "The knowledge base has no saved questions", "知识库没有已保存的问题"
    SETTINGS_CHANGED = (
        40921,
        "The knowledge base was re-indexed meanwhile",
        "知识库在此期间已重建索引",
    )
    MODEL_NAME_TAKEN = 40980, "Another model has this name", "已有同名模型"
    MEMORY_FULL = (
        40940,
        "No more memories are kept for you: delete some first",
        "您的长期记忆已满，请先删除一些",
    )
    LAST_ADMINISTRATOR = (
        40950,
        "This is the last active administrator: make another one first",
        "这是最后一位可用的管理员：请先指定另一位管理员",
    )
    ROLE_BUILT_IN = 40951, "A built-in role can't be changed or deleted", "内置角色不可修改或删除"
    ROLE_IN_USE = (
        40952,
        "Accounts have this role: give them another one first",
        "仍有账户使用该角色：请先为其更换角色",
    )
    ROLE_NAME_TAKEN = 40953, "Another role has this name", "角色名称已存在"
    USER_OWNS_THINGS = (
        40954,
        "The account owns things: name who takes over its knowledge bases and skills with transfer_to, or "
        "erase everything with erase=true",
        "该账户名下仍有内容：请用 transfer_to 指定知识库和技能的接手人，或用 erase=true 全部清除",
    )
    MCP_NAME_TAKEN = 40990, "You already have an MCP connection of this name", "MCP 连接名称已存在"
    API_KEYS_FULL = (
        40995,
        "You have as many API keys as are kept: revoke some first",
        "您的 API 密钥数量已达上限，请先撤销一些",
    )
    MCP_SWITCHED_OFF = 40991, "This MCP connection is switched off", "该 MCP 连接已停用"
    MCP_CONNECTIONS_FULL = (
        40992,
        "You have as many MCP connections as are kept: delete some first",
        "您的 MCP 连接数量已达上限，请先删除一些",
    )

    SESSIONS_FULL = (
        40970,
        "You have as many sessions as are allowed: delete some first",
        "您的会话数已达上限，请先删除一些",
    )

    OIDC_EMAIL_TAKEN = (
        40975,
        "Another account has your e-mail address: log in to it as before, or ask an administrator",
        "您的邮箱已属于另一账户：请用原有方式登录，或联系管理员",
    )

    SKILL_SLUG_TAKEN = (
        40960,
        "You already have a skill of this slug: choose another one",
        "您已有使用该标识的技能：请换一个",
    )
    SKILL_CHANGED = (
        40961,
        "The skill was changed since it was read: read it again",
        "技能在读取后已被修改：请重新读取",
    )
    SKILL_NOT_PUBLISHABLE = (
        40962,
        "The skill has errors: mend them before others may see it",
        "技能存在错误：修正后才能与他人共享",
    )
    SKILL_REVIEW_NEEDED = (
        40963,
        "This skill was imported: review it before it is used or shared",
        "该技能为导入的技能：请先审核再使用或共享",
    )
    SKILL_NOT_PENDING = (
        40964,
        "No version of this skill waits for a review",
        "该技能没有待审核的版本",
    )
    SKILL_NOT_EXPORTABLE = (
        40966,
        "The skill can't be exported as a folder: see the problems",
        "该技能无法导出为技能文件夹：请查看问题列表",
    )
    SKILLS_FULL = (
        40965,
        "You have as many skills as are allowed: delete some first",
        "您的技能数已达上限，请先删除一些",
    )

    FILE_TOO_LARGE = 41301, "The file is too large", "文件过大"
    REQUEST_TOO_LARGE = 41302, "The request is too large", "请求过大"
    QUOTA_EXCEEDED = 41304, "Your storage quota is used up", "存储配额已用尽"

    NO_SUCH_PART = 41601, "The file has no such part", "文件没有该部分"

    IMAGE_TOO_LARGE = 41360, "The image has too many pixels", "图片像素过多"
    TEXT_TOO_LARGE = (
        41361,
        "The file holds more text than one document may have: split it",
        "文件文字过多，超出单个文档的上限，请拆分",
    )

    REJECTED_RUN_INPUT = 42201, "The RunAgentInput breaks a rule", "RunAgentInput 不符合校验规则"

    PREVIEW_BUSY = (
        42910,
        "Other previews are under way: try again in a moment",
        "正在生成其他预览，请稍后重试",
    )

    TOO_MANY_REQUESTS = 42901, "Too many requests: try again later", "请求过于频繁，请稍后再试"
    TOO_MANY_LOGINS = (
        42902,
        "Too many wrong passwords: try again later",
        "密码错误次数过多，请稍后再试",
    )

    INTERNAL = 50001, "Internal error", "服务器内部错误"
    RUN_TIMED_OUT = 50002, "The run took too long", "运行超时"
    INVALID_VECTOR = 50004, "A vector does not fit the index", "向量与索引不匹配"

    EMBEDDINGS_REFUSED = (
        50005,
        "The embedding endpoint refused a text",
        "嵌入服务拒绝了一段文本",
    )
    UNUSABLE_SETTING = 50006, "A setting can't be used", "某项设置无法使用"

    RUN_LOST = 50003, "The process that drove the run stopped", "执行该运行的进程已停止"

    MODEL_FAILED = 50201, "The language model failed", "语言模型调用失败"
    VECTOR_INDEX_UNAVAILABLE = 50202, "The vector index can't be reached", "向量索引不可用"
    ENGINE_UNAVAILABLE = 50203, "The embedding engine can't be reached", "嵌入引擎不可用"
    OBJECT_STORE_UNAVAILABLE = 50204, "The object store can't be reached", "对象存储不可用"
    SERVER_UNREACHABLE = 50205, "The Agentex server can't be reached", "无法连接 Agentex 服务器"
    EMBEDDINGS_UNAVAILABLE = (
        50207,
        "The embedding endpoint gave no usable answer",
        "嵌入服务没有给出可用的结果",
    )
    EMBEDDING_MODEL_UNUSABLE = (
        50208,
        "The engine could not load this knowledge base's embedding model",
        "引擎未能加载该知识库的嵌入模型",
    )
    RERANKER_UNAVAILABLE = 50230, "The reranker did not answer", "重排序服务未响应"
    MCP_UNAVAILABLE = 50290, "The MCP server can't be used", "MCP 服务器不可用"
    MCP_RESULT_TOO_LARGE = 50291, "The MCP server's answer is too large", "MCP 服务器的响应过大"
    MCP_REFUSED = 50292, "The MCP server refused the call", "MCP 服务器拒绝了调用"
    OIDC_UNAVAILABLE = (
        50275,
        "The identity provider can't be used at the moment",
        "身份提供方暂时不可用",
    )
    EMBEDDING_MODEL_NOT_SERVED = (
        50206,
        "This knowledge base's embedding model is not configured on the server",
        "服务器未配置该知识库的嵌入模型",
    )

    SHUTTING_DOWN = 50301, "The server is shutting down", "服务器正在关闭"
    DATABASE_UNAVAILABLE = 50302, "The database can't be reached", "数据库不可用"
    STORAGE_FULL = 50701, "The storage is full", "存储空间不足"

    @property
    def status(self) -> int:
        """The HTTP status of this code."""
        return int(self) // 100
