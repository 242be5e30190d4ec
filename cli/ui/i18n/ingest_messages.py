"""What ``agentex ingest`` says became of documents that were there, in English and Chinese."""

from cli.ui.i18n.common import Message

REPLACED = Message(
    "{count} documents were replaced by their new versions.", "已用新版本替换 {count} 个文档。"
)
AT_REST = Message("Not being worked on ({count}): {why}", "未在处理（{count}）：{why}")
RETRIED = Message(
    "{count} documents that had failed or been cancelled were tried again.",
    "已重试 {count} 个此前失败或已取消的文档。",
)
