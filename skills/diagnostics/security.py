"""Codes for what could deceive the agent, the reader or the machine."""

from skills.diagnostics.rule import ERROR, WARNING, BilingualText, DiagnosticRule


def _until_published(
    code: str, message: BilingualText, *, fix: BilingualText | None = None, **variants: BilingualText
) -> DiagnosticRule:
    return DiagnosticRule(code, WARNING, message, variants=variants, fix=fix, publishing=ERROR)


RULES = (
    DiagnosticRule(
        "SEC901",
        ERROR,
        (
            "Hidden characters ({characters}) stand here, which a reader cannot see. Remove them.",
            "这里有读者看不见的隐藏字符（{characters}）。请移除。",
        ),
        variants={
            "decoded": (
                "Hidden characters ({characters}) stand here; they spell “{decoded}”. Remove them.",
                "这里有读者看不见的隐藏字符（{characters}），其内容为“{decoded}”。请移除。",
            )
        },
        fix=("Remove the hidden characters", "移除隐藏字符"),
    ),
    _until_published(
        "SEC902",
        (
            "“{text}” tells an agent to drop its rules. A skill cannot change them: remove the phrase.",
            "“{text}”要求智能体放弃规则。技能无法改变规则：请删除这句话。",
        ),
    ),
    _until_published(
        "SEC903",
        (
            "This HTML comment gives instructions that a reader does not see. Write them as text, or remove them.",
            "这段 HTML 注释含有读者看不见的指令。请写成正文，或删除。",
        ),
        fix=("Remove the comment", "删除注释"),
    ),
    _until_published(
        "SEC904",
        (
            "This external address carries data of the conversation (`{text}`). Remove that part.",
            "这个外部地址会带出对话中的数据（`{text}`）。请移除该部分。",
        ),
    ),
    _until_published(
        "SEC905",
        (
            "What is downloaded here is run without being looked at. Put the script into `scripts/`.",
            "这里下载的内容未经检查就被执行。请把脚本放到 `scripts/` 中。",
        ),
    ),
    DiagnosticRule(
        "SEC906",
        ERROR,
        (
            "This looks like a secret ({kind}). Remove it, revoke it, and name the place it is kept instead.",
            "这里像是一个密钥（{kind}）。请移除并吊销它，改为写明其存放位置。",
        ),
    ),
    _until_published(
        "SEC907",
        (
            "This step reads credentials (`{path}`) and uses the network. Separate the two, or remove one.",
            "这个步骤既读取凭据（`{path}`）又访问网络。请分开，或去掉其中之一。",
        ),
    ),
    _until_published(
        "SEC908",
        (
            "{length} characters of encoded data stand here, which nobody can review. Put them into "
            "a file under `assets/`.",
            "这里有 {length} 个字符的编码数据，无法审阅。请放到 `assets/` 下的文件中。",
        ),
    ),
    _until_published(
        "SEC909",
        (
            "`{tag}` imitates the frame of a conversation. Remove it, or put it in a code span.",
            "`{tag}` 冒充了对话的结构标记。请删除，或放进行内代码。",
        ),
    ),
    _until_published(
        "SEC910",
        (
            "“{text}” tells the agent to keep something from the user. Remove the phrase.",
            "“{text}”要求智能体对用户隐瞒。请删除这句话。",
        ),
    ),
)
