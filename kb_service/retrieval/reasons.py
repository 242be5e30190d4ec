"""Why a passage is not in an answer, in words for a person."""

from enum import Enum


class Reason(Enum):
    """The first thing that kept a passage out, with its words in English and Chinese."""

    code: str
    message: str
    message_zh: str

    def __init__(self, code: str, message: str, message_zh: str) -> None:
        self.code = code
        self.message = message
        self.message_zh = message_zh

    SHOWN = "shown", "The passage is in the answer", "该段落在结果中"
    KNOWLEDGE_BASE_DISABLED = (
        "knowledge_base_disabled",
        "The knowledge base is switched off",
        "该知识库已停用",
    )
    KNOWLEDGE_BASE_UNSEARCHED = (
        "knowledge_base_unsearched",
        "The knowledge base could not be searched: its embedding model can't be used",
        "无法检索该知识库：其嵌入模型不可用",
    )
    NOT_SEARCHABLE = (
        "not_searchable",
        "The document has no searchable revision yet",
        "该文档还没有可检索的版本",
    )
    NOT_ACTIVE = (
        "not_active_revision",
        "The passage belongs to another revision than the one that searches see",
        "该段落不属于当前检索使用的文档版本",
    )
    CHUNK_DISABLED = "chunk_disabled", "The passage is switched off", "该段落已停用"
    FILTER = "filter", "The document does not meet the filters", "该文档不符合筛选条件"
    TEXT_NOT_FOUND = (
        "text_not_found",
        "No passage of the document holds these words",
        "该文档没有包含这些文字的段落",
    )
    NOT_INDEXED = (
        "not_indexed",
        "The index has no point of this passage",
        "索引中没有该段落",
    )
    NO_MATCH = (
        "no_match",
        "None of the query's words is in it, and this query is searched by words only",
        "段落中没有查询的任何词语，而该查询仅按词语检索",
    )
    BEYOND_DEPTH = (
        "beyond_depth",
        "It is among the best hundred neither by meaning nor by words",
        "按语义和按词语都不在前一百名之内",
    )
    THRESHOLD = (
        "threshold",
        "Its score is below the score threshold",
        "得分低于分数阈值",
    )
    DUPLICATE = (
        "duplicate",
        "A better placed passage has the same text",
        "排名更高的段落具有相同的文本",
    )
    TOP_K = "top_k", "Enough passages are placed better (top_k)", "排名在 top_k 之后"
    GONE = (
        "gone",
        "The passage or its document was deleted, or you may not see it any more",
        "该段落或其文档已删除，或您已无权查看",
    )


class Warned(Enum):
    """What an answer that succeeded should be read with."""

    code: str
    message: str
    message_zh: str

    def __init__(self, code: str, message: str, message_zh: str) -> None:
        self.code = code
        self.message = message
        self.message_zh = message_zh

    RERANKER_FAILED = (
        "reranker_failed",
        "The reranker did not answer: this is the order of the lexical rerank",
        "重排序服务未响应：当前为词法重排序的结果",
    )
    RERANKER_MISSING = (
        "reranker_not_configured",
        "This reranker is not configured here: this is the order of the lexical rerank",
        "未配置该重排序器：当前为词法重排序的结果",
    )
    KNOWLEDGE_BASE_MISSING = (
        "knowledge_base_missing",
        "A knowledge base of the recorded retrieval is gone, or you may not see it any more",
        "记录中的某个知识库已不存在或您已无权查看",
    )
