"""Conflicts with the current state: 409xx."""

from core.errors.base import AgentexError


class McpNameTaken(AgentexError):
    """The owner has another MCP connection of this name."""

    code = 40990
    message = "You already have an MCP connection of this name"
    message_zh = "MCP 连接名称已存在"


class McpSwitchedOff(AgentexError):
    """The owner has switched the MCP connection off."""

    code = 40991
    message = "This MCP connection is switched off"
    message_zh = "该 MCP 连接已停用"


class ApiKeysFull(AgentexError):
    """The account has the maximum number of API keys."""

    code = 40995
    message = "You have as many API keys as are kept: revoke some first"
    message_zh = "您的 API 密钥数量已达上限，请先撤销一些"


class McpConnectionsFull(AgentexError):
    """The owner has the maximum number of MCP connections."""

    code = 40992
    message = "You have as many MCP connections as are kept: delete some first"
    message_zh = "您的 MCP 连接数量已达上限，请先删除一些"


class McpAuthorizationNotOpen(AgentexError):
    """The state belongs to no open authorization of this person: forged, somebody else's, used, or too old."""

    code = 40993
    message = "This authorisation is not yours, is over, or took too long: begin it again at the connection"
    message_zh = "此授权不属于您、已结束或已超时：请在连接页面重新发起授权"


class McpNotAuthorizable(AgentexError):
    """The connection has a token of its own, or a transport without OAuth."""

    code = 40994
    message = "This connection does not sign in with OAuth: give it the authentication oauth and the type standard"
    message_zh = "该连接不使用 OAuth 授权：请将认证方式设为 oauth，类型设为 standard"


class BackupFolderUnset(AgentexError):
    """The operator has named no folder for backups."""

    code = 40996
    message = "No folder for backups is set: ask your operator to set AGENTEX_BACKUP_FOLDER and to start Agentex again"
    message_zh = "未设置备份目录：请联系运维人员设置 AGENTEX_BACKUP_FOLDER 并重新启动 Agentex"


class BackupJobRunning(AgentexError):
    """Backups, checks and removals are done one at a time."""

    code = 40997
    message = "A backup, a check or a removal is under way: wait for its end, or cancel it"
    message_zh = "已有备份、检查或删除任务正在进行：请等待其结束或先取消"


class BackupUnusable(AgentexError):
    """The folder of backups can't be used as it is; the details say why."""

    code = 40998
    message = "The folder of backups can't be used"
    message_zh = "备份目录无法使用"


class ReindexRunning(AgentexError):
    """The knowledge base is being re-indexed."""

    code = 40910
    message = "A re-index towards other settings is under way: cut it over or cancel it first"
    message_zh = "正在按其他设置重建索引：请先切换或取消"


class ReindexNotReady(AgentexError):
    """Documents are left or failed; the details say how many."""

    code = 40911
    message = "The re-index can't come into force: documents are left or failed"
    message_zh = "重建索引尚不能切换：仍有文档未完成或失败"


class NoReindex(AgentexError):
    """Nothing to cut over, to cancel or to undo."""

    code = 40912
    message = "There is no re-index under way, and none to go back to"
    message_zh = "没有进行中的重建索引，也没有可回退的设置"


class ReindexOver(AgentexError):
    """Nothing to cut over or to cancel, but settings to go back to."""

    code = 40913
    message = "There is no re-index under way: the last one took effect, and can be rolled back"
    message_zh = "没有进行中的重建索引：上一次重建已生效，可以回退"


class NoQuestions(AgentexError):
    """The knowledge base has no saved questions to measure with; the details say what to do."""

    code = 40920
    message = "The knowledge base has no saved questions"
    message_zh = "知识库没有已保存的问题"

    def __init__(self) -> None:
        super().__init__(
            next_action="Save some first: POST /api/v1/knowledge-bases/{kb_id}/questions, or "
            "agentex eval NAME --questions FILE",
            next_action_zh="请先保存问题：POST /api/v1/knowledge-bases/{kb_id}/questions，或 "
            "agentex eval NAME --questions FILE",
        )


class SettingsChanged(AgentexError):
    """A re-index took effect while the knowledge base was being read."""

    code = 40921
    message = "The knowledge base was re-indexed meanwhile"
    message_zh = "知识库在此期间已重建索引"


class Conflict(AgentexError):
    """The object is not in the state the request needs."""

    code = 40901
    message = "The resource was changed or already exists"
    message_zh = "资源冲突"


class UsernameTaken(AgentexError):
    """Another account has this user name."""

    code = 40902
    message = "This user name is taken"
    message_zh = "用户名已被使用"


class EmailTaken(AgentexError):
    """Another account has this e-mail address."""

    code = 40903
    message = "This e-mail address is taken"
    message_zh = "邮箱已被使用"


class KnowledgeBaseNameTaken(AgentexError):
    """The owner has a knowledge base of this name already."""

    code = 40904
    message = "You already have a knowledge base of this name"
    message_zh = "知识库名称已存在"


class KnowledgeSourceNameTaken(AgentexError):
    """The knowledge base has another source of this name."""

    code = 40909
    message = "The knowledge base has another source of this name"
    message_zh = "知识库中已有同名来源"


class DocumentNameTaken(AgentexError):
    """Another document of the knowledge base has this name; the details say which."""

    code = 40907
    message = "The knowledge base has another document of this name"
    message_zh = "知识库中已有同名文档"


class ThreadBusy(AgentexError):
    """One run at a time per thread."""

    code = 40905
    message = "A run is already active on this thread"
    message_zh = "该会话已有运行中的任务"


class SessionArchived(AgentexError):
    """An archived session is read-only."""

    code = 40908
    message = "This session is archived: take it out of the archive to ask in it again"
    message_zh = "该会话已归档：取消归档后才能继续提问"


class RunIdTaken(AgentexError):
    """The caller's run id belongs to an earlier run."""

    code = 40906
    message = "This run id was already used"
    message_zh = "该运行 ID 已被使用"


class InterruptsOpen(AgentexError):
    """The details name the interrupts that wait for answers."""

    code = 40930
    message = "This thread waits for answers: answer or cancel each open interrupt in `resume`"
    message_zh = "该会话正在等待回复：请在 `resume` 中答复或取消每个未决的中断"


class InterruptNotOpen(AgentexError):
    """The interrupt was never opened on this thread, or has expired."""

    code = 40931
    message = "No such interrupt is open on this thread"
    message_zh = "该会话没有此未决中断"


class InterruptAnswered(AgentexError):
    """The interrupt already has another answer."""

    code = 40932
    message = "This interrupt was answered already"
    message_zh = "该中断已被答复"


class ModelNameTaken(AgentexError):
    """Another registered model has the name."""

    code = 40980
    message = "Another model has this name"
    message_zh = "已有同名模型"


class MemoryFull(AgentexError):
    """The user has the maximum number of memories."""

    code = 40940
    message = "No more memories are kept for you: delete some first"
    message_zh = "您的长期记忆已满，请先删除一些"


class LastAdministrator(AgentexError):
    """The account is the last administrator."""

    code = 40950
    message = "This is the last active administrator: make another one first"
    message_zh = "这是最后一位可用的管理员：请先指定另一位管理员"


class RoleBuiltIn(AgentexError):
    """Built-in roles can't be changed."""

    code = 40951
    message = "A built-in role can't be changed or deleted"
    message_zh = "内置角色不可修改或删除"


class RoleInUse(AgentexError):
    """Accounts have this role."""

    code = 40952
    message = "Accounts have this role: give them another one first"
    message_zh = "仍有账户使用该角色：请先为其更换角色"


class RoleNameTaken(AgentexError):
    """Another role has this name."""

    code = 40953
    message = "Another role has this name"
    message_zh = "角色名称已存在"


class UserOwnsThings(AgentexError):
    """The request does not say what becomes of the account's belongings; the details count them."""

    code = 40954
    message = "The account owns things: name who takes over its knowledge bases and skills with transfer_to, or erase everything with erase=true"
    message_zh = "该账户名下仍有内容：请用 transfer_to 指定知识库和技能的接手人，或用 erase=true 全部清除"


class SessionsFull(AgentexError):
    """The user has the maximum number of sessions."""

    code = 40970
    message = "You have as many sessions as are allowed: delete some first"
    message_zh = "您的会话数已达上限，请先删除一些"


class BranchesFull(AgentexError):
    """The conversation has the maximum number of branches."""

    code = 40971
    message = "This conversation has as many branches as are allowed: begin a new conversation"
    message_zh = "该会话的分支数已达上限，请新建会话"


class SkillSlugTaken(AgentexError):
    """The owner has another skill of this slug; the details say which."""

    code = 40960
    message = "You already have a skill of this slug: choose another one"
    message_zh = "您已有使用该标识的技能：请换一个"


class SkillChanged(AgentexError):
    """The skill has a newer version than the one that was edited."""

    code = 40961
    message = "The skill was changed since it was read: read it again"
    message_zh = "技能在读取后已被修改：请重新读取"

    def __init__(self, *, version: int) -> None:
        super().__init__(field="base_version", version=version)


class SkillNotPublishable(AgentexError):
    """The skill has errors; the details list where."""

    code = 40962
    message = "The skill has errors: mend them before others may see it"
    message_zh = "技能存在错误：修正后才能与他人共享"


class SkillReviewNeeded(AgentexError):
    """The skill was imported and nobody has reviewed it."""

    code = 40963
    message = "This skill was imported: review it before it is used or shared"
    message_zh = "该技能为导入的技能：请先审核再使用或共享"


class SkillNotPending(AgentexError):
    """No version of the skill waits for a review."""

    code = 40964
    message = "No version of this skill waits for a review"
    message_zh = "该技能没有待审核的版本"


class SkillsFull(AgentexError):
    """The user has the maximum number of skills."""

    code = 40965
    message = "You have as many skills as are allowed: delete some first"
    message_zh = "您的技能数已达上限，请先删除一些"


class SkillNotExportable(AgentexError):
    """The skill can't be written as a folder of the open standard; the details say why."""

    code = 40966
    message = "The skill can't be exported as a folder: see the problems"
    message_zh = "该技能无法导出为技能文件夹：请查看问题列表"


class RuleNameTaken(AgentexError):
    """The owner has another rule of this name."""

    code = 40985
    message = "You already have a rule of this name"
    message_zh = "规则名称已存在"


class RulesFull(AgentexError):
    """The owner has the maximum number of rules."""

    code = 40986
    message = "You have as many rules as are kept: delete some first"
    message_zh = "您的规则数量已达上限，请先删除一些"


class EventSourceNameTaken(AgentexError):
    """The owner has another event source of this name."""

    code = 40987
    message = "You already have an event source of this name"
    message_zh = "事件源名称已存在"


class EventSourcesFull(AgentexError):
    """The owner has the maximum number of event sources."""

    code = 40988
    message = "You have as many event sources as are kept: delete some first"
    message_zh = "您的事件源数量已达上限，请先删除一些"
