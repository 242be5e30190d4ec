"""Errors of authentication and access: 401xx, 403xx and 404xx."""

from core.errors.base import AgentexError


class NotAuthenticated(AgentexError):
    """The request has no usable credential."""

    code = 40101
    message = "Authentication is required"
    message_zh = "需要认证"


class InvalidCredentials(AgentexError):
    """User name and password do not belong together."""

    code = 40102
    message = "Wrong user name or password"
    message_zh = "用户名或密码错误"


class InvalidToken(AgentexError):
    """A token or API key that was not issued here, is revoked or is of the wrong type."""

    code = 40103
    message = "The token is not valid"
    message_zh = "令牌无效"


class TokenExpired(AgentexError):
    """An expired token."""

    code = 40104
    message = "The token has expired"
    message_zh = "令牌已过期"


class TokenReused(AgentexError):
    """A refresh token was used twice: its whole family is revoked."""

    code = 40105
    message = "The refresh token was already used"
    message_zh = "刷新令牌已被使用"


class AccountDisabled(AgentexError):
    """The account exists but may not be used."""

    code = 40106
    message = "The account is disabled"
    message_zh = "账户已停用"


class PermissionDenied(AgentexError):
    """The caller's role lacks the permission in the details."""

    code = 40301
    message = "You do not have this permission"
    message_zh = "没有该权限"


class McpConnectionNotFound(AgentexError):
    """The caller has no MCP connection of this id."""

    code = 40490
    message = "MCP connection not found"
    message_zh = "MCP 连接不存在"


class McpToolNotFound(AgentexError):
    """The server of an MCP connection lists no tool of this name."""

    code = 40491
    message = "The MCP server has no such tool"
    message_zh = "MCP 服务器没有该工具"


class EventRefused(AgentexError):
    """A signed event whose signature, time or source does not count: they look the same."""

    code = 40120
    message = "The event's signature does not match: sign webhook-id.webhook-timestamp.body with the source's secret"
    message_zh = "事件签名不匹配：请使用事件源的密钥对 webhook-id.webhook-timestamp.正文 签名"


class RegistrationDisabled(AgentexError):
    """The operator switched registration off."""

    code = 40302
    message = "Registration is switched off"
    message_zh = "注册已关闭"


class ReadOnly(AgentexError):
    """The caller may see the object but not change it."""

    code = 40303
    message = "You may read this but not change it"
    message_zh = "只读，无法修改"


class OwnerOnly(AgentexError):
    """The caller may change the object, but only its owner may share or delete it."""

    code = 40310
    message = "Only the owner decides who may see this, and whether it stays"
    message_zh = "只有所有者可以决定共享范围或删除"


class InvalidLink(AgentexError):
    """A signed link that is forged, altered, or not for this caller."""

    code = 40304
    message = "This link is not valid"
    message_zh = "链接无效"


class LinkExpired(AgentexError):
    """An expired signed link."""

    code = 40305
    message = "This link has expired"
    message_zh = "链接已过期"


class ToolPolicyFixed(AgentexError):
    """The operator's bound on a tool: a person may be stricter, not freer."""

    code = 40306
    message = "The administrator allows no freer use of this tool"
    message_zh = "管理员不允许更宽松地使用该工具"


class OriginNotAllowed(AgentexError):
    """The request comes from a web page whose origin the operator did not allow."""

    code = 40307
    message = "Pages of this origin may not call this"
    message_zh = "不允许该来源的网页调用"


class NotFound(AgentexError):
    """The object does not exist, or not for this caller: the two look the same."""

    code = 40401
    message = "Not found"
    message_zh = "资源不存在"


class UserNotFound(NotFound):
    """No such user."""

    code = 40402
    message = "User not found"
    message_zh = "用户不存在"


class ApiKeyNotFound(NotFound):
    """No such API key of the caller."""

    code = 40403
    message = "API key not found"
    message_zh = "API 密钥不存在"


class KnowledgeBaseNotFound(NotFound):
    """No such knowledge base for the caller."""

    code = 40404
    message = "Knowledge base not found"
    message_zh = "知识库不存在"


class DocumentNotFound(NotFound):
    """No such document in this knowledge base."""

    code = 40405
    message = "Document not found"
    message_zh = "文档不存在"


class SessionNotFound(NotFound):
    """No such session of the caller."""

    code = 40406
    message = "Session not found"
    message_zh = "会话不存在"


class MessageNotFound(NotFound):
    """The session has no such message."""

    code = 40413
    message = "The session has no such message"
    message_zh = "会话没有该消息"


class ChunkNotFound(NotFound):
    """No such passage in this knowledge base."""

    code = 40408
    message = "Passage not found"
    message_zh = "段落不存在"


class RunNotFound(NotFound):
    """No such run of the caller."""

    code = 40407
    message = "Run not found"
    message_zh = "运行不存在"


class QuestionNotFound(NotFound):
    """No such saved question in this knowledge base."""

    code = 40420
    message = "Saved question not found"
    message_zh = "已保存的问题不存在"


class EvaluationNotFound(NotFound):
    """No such evaluation of this knowledge base."""

    code = 40421
    message = "Evaluation not found"
    message_zh = "评测不存在"


class TransferNotFound(NotFound):
    """No such import or copy of the caller's."""

    code = 40422
    message = "Import or copy not found"
    message_zh = "导入或复制任务不存在"


class KnowledgeSourceNotFound(NotFound):
    """The knowledge base has no such source."""

    code = 40423
    message = "Knowledge source not found"
    message_zh = "知识来源不存在"


class KnowledgeSourceSyncNotFound(NotFound):
    """The source has no such sync."""

    code = 40424
    message = "Sync not found"
    message_zh = "同步记录不存在"


class BackupNotFound(NotFound):
    """The folder of backups has no such backup."""

    code = 40492
    message = "Backup not found"
    message_zh = "备份不存在"


class BackupJobNotFound(NotFound):
    """There is no such job, or it is forgotten."""

    code = 40493
    message = "Backup job not found"
    message_zh = "备份任务不存在"


class ModelNotFound(NotFound):
    """No such model that the caller may use."""

    code = 40480
    message = "Model not found"
    message_zh = "模型不存在"


class MemoryNotFound(NotFound):
    """No such memory of the caller's."""

    code = 40440
    message = "Memory not found"
    message_zh = "记忆不存在"


class RetrievalNotFound(NotFound):
    """The caller has no recorded retrieval of this id."""

    code = 40430
    message = "Recorded retrieval not found"
    message_zh = "搜索记录不存在"


class CalendarEventNotFound(NotFound):
    """No such event in the caller's calendar."""

    code = 40460
    message = "Calendar event not found"
    message_zh = "日程不存在"


class ConfigKeyNotFound(NotFound):
    """No setting of this name can be changed at run time; the details list those that can."""

    code = 40470
    message = "There is no such configuration key"
    message_zh = "没有该配置项"


class CalendarFeedNotFound(NotFound):
    """The caller has no feed, or no feed has this token."""

    code = 40461
    message = "There is no calendar feed"
    message_zh = "没有日历订阅"


class RoleNotFound(NotFound):
    """No such role."""

    code = 40450
    message = "Role not found"
    message_zh = "角色不存在"


class SkillNotFound(NotFound):
    """No such skill for the caller."""

    code = 40410
    message = "Skill not found"
    message_zh = "技能不存在"


class SkillVersionNotFound(NotFound):
    """The skill has no such version, or none that this caller may read."""

    code = 40411
    message = "The skill has no such version"
    message_zh = "技能没有该版本"


class SkillFileNotFound(NotFound):
    """The version has no such file; the details name a similar one."""

    code = 40412
    message = "The skill has no such file"
    message_zh = "技能没有该文件"


class RuleNotFound(NotFound):
    """No such rule of the caller's."""

    code = 40485
    message = "Rule not found"
    message_zh = "规则不存在"


class RuleLogNotFound(NotFound):
    """The rule's log has no such entry."""

    code = 40486
    message = "The rule's log has no such entry"
    message_zh = "规则日志中没有该条目"


class RuleVersionNotFound(NotFound):
    """The rule has no such version."""

    code = 40487
    message = "The rule has no such version"
    message_zh = "规则没有该版本"


class EventSourceNotFound(NotFound):
    """No such event source, or MCP connection as a source, of the caller's."""

    code = 40488
    message = "Event source not found"
    message_zh = "事件源不存在"


class NotificationNotFound(NotFound):
    """No such notification of the caller's."""

    code = 40489
    message = "Notification not found"
    message_zh = "通知不存在"
