"""Messages of ``agentex kb`` and ``search`` in English and Chinese."""

from cli.ui.i18n.common import Message

STARTED = Message(
    "Making {count} documents of {name} anew. Searches go on with the present passages until all are done.",
    "正在重建 {name} 的 {count} 个文档。全部完成之前，搜索继续使用现有段落。",
)
APPLIED = Message("{name} has no documents: the settings hold at once.", "{name} 没有文档：设置立即生效。")
UNCHANGED = Message(
    "{name} has these settings already. To make its documents anew all the same: --force",
    "{name} 已是这些设置。如仍需重建：--force",
)
EDITS_LOST = Message(
    "{count} passages were edited by hand; their edits are not carried over.",
    "有 {count} 个段落经过手工编辑；这些编辑不会保留。",
)
HOW_TO_WATCH = Message(
    "See how far it is: agentex kb reindex {quoted} status", "查看进度：agentex kb reindex {quoted} status"
)
PROGRESS = Message("{done} of {total} documents", "{done} / {total} 个文档")
IN_FORCE = Message("{name} is searched with its new settings: {settings}", "{name} 已启用新设置：{settings}")
WAY_BACK = Message(
    "Back to the settings before, until {until}: agentex kb reindex {quoted} rollback",
    "在 {until} 之前可回退到原设置：agentex kb reindex {quoted} rollback",
)
READY = Message(
    "All documents are done. Put them in force: agentex kb reindex {quoted} cutover",
    "全部文档已完成。启用：agentex kb reindex {quoted} cutover",
)
BLOCKED = Message(
    "{count} documents could not be made anew; they stay searchable as they are. Retry or delete "
    "them, or go on without them: agentex kb reindex {quoted} cutover --without-failed",
    "有 {count} 个文档重建失败，仍可按原样搜索。请重试或删除它们，"
    "或放弃它们继续：agentex kb reindex {quoted} cutover --without-failed",
)
RECALL = Message(
    "{count} saved questions, present settings -> new: recall@5 {recall}, MRR {mrr}",
    "{count} 个已保存的问题，当前设置 -> 新设置：recall@5 {recall}，MRR {mrr}",
)
HELD = Message(
    "The new settings find less. Put them in force all the same: agentex kb reindex {quoted} "
    "cutover, or give them up: agentex kb reindex {quoted} cancel",
    "新设置找到的更少。仍要启用：agentex kb reindex {quoted} cutover；放弃：agentex kb reindex {quoted} cancel",
)
CANCELLED = Message("The re-index of {name} was given up.", "已取消 {name} 的重建索引。")
GOING_BACK = Message(
    "{left} documents came or changed since: they are made anew first.",
    "此后有 {left} 个新增或变更的文档：将先重建它们。",
)
NONE = Message("{name} is not being re-indexed.", "{name} 没有进行中的重建索引。")
PAUSED = Message("Processing is paused.", "处理已暂停。")
EDITS = Message("Edits that go", "将丢失的编辑")
STATE = Message("State", "状态")
DOCUMENTS = Message("Documents", "文档")
PRESENT = Message("Present settings", "当前设置")
TARGET = Message("New settings", "新设置")


REPLACED = Message("{count} documents were replaced by their new versions.", "已用新版本替换 {count} 个文档。")
AT_REST = Message("Not being worked on ({count}): {why}", "未在处理（{count}）：{why}")
RETRIED = Message(
    "{count} documents that had failed or been cancelled were tried again.", "已重试 {count} 个此前失败或已取消的文档。"
)


LEG_DEEP = Message("{leg}: behind the first 10,000, score {score}", "{leg}：一万名之后，得分 {score}")
LEG_UNUSED = Message("dense: not used for this query", "dense：该查询不使用语义搜索")
DROPPED = Message("Not shown: {reasons}", "未显示：{reasons}")
WHY_PLACE = Message(
    "place {place} after the rerank, score {score}; lowest score shown: {lowest}",
    "重排序后第 {place} 名，得分 {score}；结果中的最低分：{lowest}",
)
WHY_ONE_BASE = Message(
    "--why looks at one knowledge base: give --kb exactly once.", "--why 只针对一个知识库：请只给出一个 --kb。"
)
FILTER_UNREADABLE = Message(
    "Write a filter as team=ops, year>=2020, type:pdf or name:guide*.",
    "筛选条件的写法：team=ops、year>=2020、type:pdf 或 name:guide*。",
)
