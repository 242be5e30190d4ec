"""What the offline model says in its own words, in Chinese and in English."""

from dataclasses import dataclass

from kb_service.text.tokenizer import is_cjk_dominant


@dataclass(frozen=True, slots=True)
class Wording:
    """The sentences of one language; names in braces are filled in."""

    quoted: str
    partial: str
    abstained: str
    nothing_found: str
    tries: str
    no_knowledge_base: str
    greeting: str
    search_failed: str
    unknown_tool: str
    tool_result: str
    skills: str
    bad_arguments: str
    part_not_found: str
    part_quoted_above: str
    reflection: str
    separator: str
    open_quote: str
    close_quote: str


ENGLISH = Wording(
    quoted="No language model is configured, so this answer is quoted from your documents.",
    partial="The documents found say nothing about: {missing}.",
    abstained="No language model is configured: I can only quote, and found nothing to quote.",
    nothing_found="I searched for {queries} and read {count} passages, but no sentence in them "
    "answers the question.",
    tries="""What you can try:
- use the words that the documents themselves use: only the same words are recognised;
- ask for one thing at a time;
- check that the right knowledge bases are selected and their documents are processed;
- configure a language model (`AGENTEX_LLM_BASE_URL`, `AGENTEX_LLM_MODEL`) for answers in its own
  words.""",
    no_knowledge_base="No language model is configured: I can only quote, and no knowledge base "
    "is selected to quote from. Select one and ask again.",
    greeting="Hello! No language model is configured, so I can't converse: I search the selected "
    "knowledge bases and quote the sentences that answer a question, with their sources. "
    "Ask about something your documents describe.",
    search_failed="No language model is configured: I can only quote, and the search failed: "
    "{reason}",
    unknown_tool="No language model is configured. There is no tool `{name}`. Tools: {names}.",
    tool_result="No language model is configured. The tool's result as it came:",
    skills="No language model is configured, so nobody can carry out these steps for you. "
    "The skill as it is written:",
    bad_arguments="No language model is configured. What follows the tool's name is no JSON object, "
    'so `{name}` was not called. Write it like this: `/tool {name} {{"name": "value"}}`.',
    part_not_found="No sentence in the documents found answers this.",
    part_quoted_above="See the quotes above.",
    reflection="The quotes so far say nothing about: {missing}. Next I search for exactly that.",
    separator=", ",
    open_quote="“",
    close_quote="”",
)
CHINESE = Wording(
    quoted="当前未配置语言模型，以下回答直接引用自您的文档。",
    partial="找到的文档中没有提到：{missing}。",
    abstained="当前未配置语言模型，只能引用原文，而这次没有找到可以引用的内容。",
    nothing_found="我搜索了{queries}，读了 {count} 个段落，其中没有能回答这个问题的句子。",
    tries="""您可以尝试：
- 使用文档中的原词提问：只能识别相同的词语；
- 一次只问一件事；
- 确认已选择正确的知识库，并且其中的文档已处理完成；
- 配置语言模型（`AGENTEX_LLM_BASE_URL`、`AGENTEX_LLM_MODEL`），以获得归纳后的回答。""",
    no_knowledge_base="当前未配置语言模型，只能引用原文，但还没有选择知识库。请选择知识库后再提问。",
    greeting="您好！当前未配置语言模型，我无法对话，只能在所选知识库中检索，并引用能回答问题的原句及其出处。"
    "请就文档中的内容提问。",
    search_failed="当前未配置语言模型，只能引用原文，而检索失败：{reason}",
    unknown_tool="当前未配置语言模型。没有名为 `{name}` 的工具。可用的工具：{names}。",
    tool_result="当前未配置语言模型。工具返回的原始结果：",
    skills="当前未配置语言模型，无法代您执行这些步骤。技能原文如下：",
    bad_arguments="当前未配置语言模型。工具名后面不是 JSON 对象，因此没有调用 `{name}`。"
    '请这样写：`/tool {name} {{"参数": "值"}}`。',
    part_not_found="找到的文档中没有能回答这一点的句子。",
    part_quoted_above="见上面的引用。",
    reflection="目前的引用没有提到：{missing}。接下来专门搜索这些内容。",
    separator="、",
    open_quote="“",
    close_quote="”",
)


def wording_for(question: str) -> Wording:
    """The language of the question: Chinese when enough of it is Chinese, else English."""
    return CHINESE if is_cjk_dominant(question) else ENGLISH
