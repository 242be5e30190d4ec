"""Messages of ``agentex doctor`` in English and Chinese."""

from cli.ui.i18n.common import Message

DATABASE = Message("Database", "数据库")
DATABASE_AT = Message("at migration {level}", "迁移版本 {level}")
MADE_AT_START = Message("made at first start", "首次启动时创建")
DATABASE_BEHIND = Message("at migration {level} of {newest}", "迁移版本 {level}，最新为 {newest}")
DATABASE_BEHIND_HINT = Message(
    "Bring it to this version: agentex migrate (agentex serve does it at its start).",
    "请升级数据库：agentex migrate（agentex serve 启动时会自动执行）。",
)
DATABASE_AHEAD = Message(
    "at migration {level}, which this version does not know", "迁移版本 {level}，当前程序版本无法识别"
)
DATABASE_AHEAD_HINT = Message(
    "A newer Agentex has used it: install that version, or put back the backup from before.",
    "更新版本的 Agentex 使用过该数据库：请安装该版本，或恢复升级前的备份。",
)
DATABASE_DAMAGED = Message("damaged, or no SQLite database", "文件已损坏，或不是 SQLite 数据库")
DATABASE_DAMAGED_HINT = Message(
    "Stop Agentex, keep the file, and put back your last backup.", "请停止 Agentex，保留该文件，并恢复最近的备份。"
)
DATABASE_DOWN_HINT = Message(
    "Start the server that AGENTEX_DATABASE_URL names and check its user, password and address; "
    "without that setting, check that the data folder can be read.",
    "请启动 AGENTEX_DATABASE_URL 指定的服务器并检查其用户、密码和地址；未设置时请确认数据目录可读。",
)
UNREACHED = Message("does not answer", "没有响应")
REFUSED = Message("refuses the request", "拒绝了请求")
QUEUE = Message("Queue", "任务队列")
QUEUE_FACTS = Message("{workers} workers, {waiting} jobs", "{workers} 个后台进程，{waiting} 个任务")
QUEUE_PRIVATE = Message(
    "the private Redis does not run: agentex serve starts it", "私有 Redis 未运行：agentex serve 会启动它"
)
QUEUE_DOWN_HINT = Message(
    "Start the server that AGENTEX_REDIS_URL names and check its password and address; without "
    "that setting, restart agentex serve.",
    "请启动 AGENTEX_REDIS_URL 指定的服务器并检查其密码和地址；未设置时请重启 agentex serve。",
)
NO_WORKER_HINT = Message(
    "Jobs wait and nobody works: start agentex serve or agentex worker.",
    "有任务等待但没有后台进程：请启动 agentex serve 或 agentex worker。",
)
MANY_JOBS_HINT = Message(
    "Much is waiting: start further workers with agentex worker.",
    "等待的任务较多：可用 agentex worker 启动更多后台进程。",
)
VECTORS = Message("Vector store", "向量库")
VECTORS_OWN = Message("in the data folder", "在数据目录中")
VECTORS_SERVER = Message("the Qdrant server answers", "Qdrant 服务器有响应")
VECTORS_HINT = Message(
    "Start the server that AGENTEX_QDRANT_URL names and check its address and AGENTEX_QDRANT_API_KEY.",
    "请启动 AGENTEX_QDRANT_URL 指定的服务器，并检查其地址和 AGENTEX_QDRANT_API_KEY。",
)
PARSER_SERVICE_ANSWERS = Message("the service answers", "服务有响应")
PARSER_SERVICE_DOWN_HINT = Message(
    "Start the service that {url} names, and check the address; documents for it wait until it answers.",
    "请启动 {url} 指定的服务并检查地址；在它恢复响应之前，交由它解析的文档会等待。",
)
PARSER_SERVICE_KEY = Message("refuses the key", "拒绝了密钥")
PARSER_SERVICE_KEY_HINT = Message("Set {key} to the key of the service.", "请将 {key} 设为该服务的密钥。")
PARSER_SERVICE_OTHER = Message("something else answers", "应答的不是该服务")
PARSER_SERVICE_OTHER_HINT = Message(
    "Check {url}: it takes the address of the service without a path.", "请检查 {url}：填写服务地址，不含路径。"
)
ISSUER = Message("Single sign-on", "单点登录")
ISSUER_OFF = Message("not set up", "未配置")
ISSUER_ANSWERS = Message("the issuer answers", "签发者有响应")
ISSUER_DOWN_HINT = Message(
    "Nobody can log in there: check AGENTEX_OIDC_ISSUER, and that this machine reaches {issuer} "
    "(its /.well-known/openid-configuration, and the keys that it names).",
    "目前无法通过单点登录登录：请检查 AGENTEX_OIDC_ISSUER，并确认本机可以访问 {issuer}"
    "（其 /.well-known/openid-configuration 及其中的密钥地址）。",
)
ISSUER_OTHER = Message("the discovery document there is another issuer's", "该地址的发现文档属于其他签发者")
ISSUER_OTHER_HINT = Message(
    "Write AGENTEX_OIDC_ISSUER as the field issuer of that document has it, to the last slash.",
    "请将 AGENTEX_OIDC_ISSUER 写成该文档 issuer 字段的值，包括末尾的斜杠。",
)
ISSUER_KEYS = Message("its keys can't be read", "无法读取其密钥")
PARTS_UNCHECKED_HINT = Message(
    "The check itself did not end: install the dependencies again (make run) and look at the settings.",
    "检查未能完成：请重新安装依赖（make run）并检查设置。",
)
SECRET_KEY = Message("Secret key", "密钥文件")
SECRET_KEY_SET = Message("in AGENTEX_SECRET_KEY", "来自 AGENTEX_SECRET_KEY")
SECRET_KEY_SHORT_HINT = Message(
    "It is short: use 32 random characters or more, and enter stored keys and tokens again.",
    "密钥过短：请使用至少 32 个随机字符，并重新录入已保存的密钥和令牌。",
)
SECRET_KEY_LOST = Message("missing, though there is a database", "缺失，但数据库已存在")
SECRET_KEY_LOST_HINT = Message(
    "Put {file} back from your backup: stored keys and tokens can't be read without it.",
    "请从备份恢复 {file}：没有它就无法读取已保存的密钥和令牌。",
)
SECRET_KEY_UNKNOWN = Message("missing; whether there is a database is not known", "缺失；无法确认数据库是否已存在")
SECRET_KEY_UNKNOWN_HINT = Message(
    "Mend the database first; if it was used before, put {file} back from your backup.",
    "请先修复数据库；如果数据库曾被使用，请从备份恢复 {file}。",
)
SECRET_KEY_EMPTY = Message("the file is empty or can't be read", "文件为空或不可读")
SECRET_KEY_OPEN = Message("others on this machine can read it", "本机其他用户可以读取")
SECRET_KEY_OPEN_HINT = Message("Make it yours alone: chmod 600 {file}", "请限制权限：chmod 600 {file}")
SECRET_KEY_OWN = Message("readable by its owner alone", "仅所有者可读")
EXPOSURE = Message("Addresses", "访问地址")
EXPOSURE_OK = Message("listens on {host}", "监听 {host}")
PROXIES_ALL = Message(
    "AGENTEX_TRUSTED_PROXIES believes everybody in {network}", "AGENTEX_TRUSTED_PROXIES 信任 {network} 中的所有地址"
)
PROXIES_ALL_HINT = Message(
    "Name the addresses of your proxies alone: whoever sends X-Forwarded-For passes the limits.",
    "请只填写反向代理的地址：否则任何人都能用 X-Forwarded-For 绕过限制。",
)
ORIGIN_PLAIN = Message("AGENTEX_ALLOWED_ORIGINS names {origin}", "AGENTEX_ALLOWED_ORIGINS 包含 {origin}")
ORIGIN_PLAIN_HINT = Message(
    "Use https for it: whoever is on the way can change a page that comes without TLS.",
    "请改用 https：未加密的页面可能被中途篡改。",
)
ALL_ADDRESSES = Message("listens on {host}, without TLS of its own", "监听 {host}，本身不提供 TLS")
ALL_ADDRESSES_HINT = Message(
    "Put a proxy with TLS in front, or set AGENTEX_HOST=127.0.0.1.",
    "请在前面部署带 TLS 的反向代理，或设置 AGENTEX_HOST=127.0.0.1。",
)
TRANSPORT = Message("Transport", "传输加密")
TRANSPORT_LOCAL = Message("stays on this machine", "仅限本机")
TRANSPORT_PLAIN = Message("no TLS: passwords travel readable", "没有 TLS：密码以明文传输")
TRANSPORT_PLAIN_HINT = Message(
    "Put a proxy with TLS in front of the server and use its https address.",
    "请在服务器前部署带 TLS 的反向代理，并使用 https 地址。",
)
TRANSPORT_TLS = Message("TLS; the certificate holds {days} more days", "TLS；证书还有 {days} 天到期")
CERTIFICATE_HINT = Message("Renew the certificate.", "请更新证书。")
PROXY_UNBELIEVED = Message("TLS ends at a proxy that is not believed", "TLS 在未受信任的代理处终止")
PROXY_UNBELIEVED_HINT = Message(
    "Let the proxy send X-Forwarded-Proto and name its address in AGENTEX_TRUSTED_PROXIES.",
    "请让代理发送 X-Forwarded-Proto，并在 AGENTEX_TRUSTED_PROXIES 中填写其地址。",
)
CLOCK = Message("Clock", "时钟")
CLOCK_TOGETHER = Message("within {seconds} s of the others", "与其他部分相差不超过 {seconds} 秒")
CLOCK_APART = Message("{seconds} s away from {part}", "与 {part} 相差 {seconds} 秒")
CLOCK_ALONE = Message("nothing to compare with", "没有可比较的对象")
CLOCK_HINT = Message(
    "Set both clocks by NTP: tokens and leases of another time are refused.",
    "请用 NTP 校准两端时钟：时间不符的令牌和租约会被拒绝。",
)
REGISTERED = Message("  model {name}", "  模型 {name}")
REGISTERED_NONE = Message("Registered models", "注册模型")
CONNECTION = Message("  MCP {name}", "  MCP {name}")
CONNECTION_NONE = Message("MCP connections", "MCP 连接")
NONE_THERE = Message("none", "无")
ANSWERS_IN = Message("answers in {latency} ms", "{latency} 毫秒内有应答")
TEST_UNANSWERED = Message(
    "the server did not say how the test went: run agentex doctor again, or look at the server's log",
    "服务器未返回测试结果：请重新运行 agentex doctor，或查看服务器日志",
)
CONNECTION_HINT = Message(
    "Look at the server of this connection, or switch the connection off.", "请检查该连接的服务器，或停用该连接。"
)
KNOWLEDGE_BASES = Message("Knowledge bases", "知识库")
REINDEX_OFFERED = Message(
    "{count} with an encoder that reads English only: {names}", "{count} 个知识库的编码器只能理解英文：{names}"
)
REINDEX_OFFERED_HINT = Message(
    "agentex kb show NAME says how to re-index it with the multilingual encoder.",
    "agentex kb show 名称 会说明怎样用多语言编码器为它重建索引。",
)
BACKLOG = Message("Work", "工作量")
NOT_FOR_YOU = Message("not checked: for administrators only", "未检查：仅限管理员")
LOG_IN_FIRST = Message("not checked: log in first", "未检查：请先登录")
OLLAMA = Message("Ollama on this machine", "本机的 Ollama")
OLLAMA_NONE = Message("none answers at {place}", "{place} 没有应答")
OLLAMA_EMPTY = Message("answers at {place}, without a model", "{place} 有应答，但没有模型")
OLLAMA_EMPTY_HINT = Message("To get a model, run: ollama pull qwen3:8b", "获取模型请运行：ollama pull qwen3:8b")
OLLAMA_HAS = Message("answers at {place} with {models}", "{place} 有应答，模型：{models}")
OLLAMA_OFFER = Message("To let it answer by default, run: {command}", "要默认由它回答，请运行：{command}")
OLLAMA_LIST_FIRST = Message(
    "Others reach this server, so first list its address: {command}.",
    "其他机器可以访问此服务器，请先列出其地址：{command}。",
)
