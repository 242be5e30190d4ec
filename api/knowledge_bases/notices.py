"""Notices in the answers about knowledge bases."""

from api.http.responses import ResponseModel
from kb_service.knowledge_bases.service import ModelChoice
from kb_service.models import KnowledgeBase
from kb_service.reindex.offer import offered_model


class Notice(ResponseModel):
    """Something the caller should know about an answer that succeeded, in both languages."""

    code: str
    message: str
    message_zh: str = ""
    next_action: str = ""
    next_action_zh: str = ""


def replacement_notices(choice: ModelChoice) -> list[Notice]:
    """Whether a new knowledge base has another embedding model than was requested."""
    if choice.replaced is None:
        return []
    return [
        Notice(
            code="embedding_model_replaced",
            message=f"{choice.replaced} is not served here; {choice.model} is used instead",
            message_zh=f"此服务器不提供 {choice.replaced}，改用 {choice.model}",
        )
    ]


def reindex_notices(knowledge_base: KnowledgeBase) -> list[Notice]:
    """Whether a re-index with a better embedding model is offered, and how to start it."""
    model = offered_model(knowledge_base)
    if model is None:
        return []
    present, name, count = knowledge_base.embedding_model, model.name, len(model.languages)
    path = f"/api/v1/knowledge-bases/{knowledge_base.id}/reindex"
    body = f'{{"embedding_model": "{name}"}}'
    command = f"agentex kb reindex {knowledge_base.id} --model {name}"
    return [
        Notice(
            code="reindex_offered",
            message=f"{present} reads English only; {name}, the default of new knowledge bases, reads {count} languages",
            message_zh=f"{present} 只能理解英文；新知识库默认使用的 {name} 能理解 {count} 种语言",
            next_action=f"To switch, send POST {path} with {body}, or run {command}: searches go on meanwhile, saved "
            "questions are compared before it takes effect, and it can be rolled back",
            next_action_zh=f"要切换，请调用 POST {path}，请求体为 {body}，或运行 {command}："
            "期间搜索照常进行，生效前会用已保存的问题对比，之后可以回退",
        )
    ]
