"""Messages of ``agentex backup`` in English and Chinese."""

from cli.ui.i18n.common import Message
from kb_service.backup.fault_texts import FAULT_TEXTS
from kb_service.backup.progress import BackupStep

STEPS = {
    BackupStep.FILES: Message("files", "文件"),
    BackupStep.VECTORS: Message("vectors", "向量"),
    BackupStep.ROWS: Message("rows", "数据行"),
    BackupStep.BLOBS: Message("checked", "已检查"),
    BackupStep.MANIFESTS: Message("backups that stay", "保留的备份"),
    BackupStep.DELETED: Message("deleted blobs", "已删除的数据块"),
}
CREATED = Message(
    "Backup {id} is whole: {documents} documents, {files} files, {points} points, {rows} rows; {added} MiB new in {folder}.",
    "备份 {id} 已完成：{documents} 个文档、{files} 个文件、{points} 个向量点、{rows} 行数据；{folder} 中新增 {added} MiB。",
)
NOT_ENCRYPTED_NOTE = Message(
    "It is not encrypted: whoever reads {folder} reads all documents and password hashes. To encrypt, begin an empty "
    "folder with --encrypt.",
    "该备份未加密：能读取 {folder} 的人可以读到全部文档和密码哈希。如需加密，请用空目录并加上 --encrypt。",
)
KEY_INSIDE = Message(
    "It holds the secret key, so nothing else is needed to restore it{passphrase}.",
    "备份中包含密钥文件，恢复时不需要其他内容{passphrase}。",
)
WITH_PASSPHRASE = Message(" but the passphrase, which nobody can recover", "，但需要口令；口令丢失后无法找回")
KEY_OUTSIDE = Message(
    "It does NOT hold the secret key, without which it can't be restored: keep a copy of {file} elsewhere, or make the "
    "backup with --encrypt or --with-secret-key.",
    "备份中不包含密钥，没有密钥就无法恢复：请另行保存 {file} 的副本，或用 --encrypt 或 --with-secret-key 备份。",
)
KEY_IN_SETTING = Message(
    "It does NOT hold AGENTEX_SECRET_KEY, without which it can't be restored: keep that setting elsewhere.",
    "备份中不包含 AGENTEX_SECRET_KEY，没有它就无法恢复：请另行保存该设置。",
)
UNINDEXED = Message(
    "The vectors of {count} documents are incomplete: a restore indexes these documents again, and edits of their passages are lost.",
    "{count} 个文档的向量不完整：恢复后会重新索引这些文档，其段落的手工编辑会丢失。",
)
UNSERVED = Message(
    "The vectors of {count} documents are not in the backup, because their embedding model is not served: after a "
    "restore, run agentex kb reindex NAME --force for their knowledge bases.",
    "{count} 个文档的嵌入模型当前未提供，其向量不在备份中：恢复后请对相应知识库运行 agentex kb reindex NAME --force。",
)
VERIFIED = Message(
    "All is well: {backups} backups, {blobs} blobs, {size} MiB before compression.",
    "一切正常：{backups} 个备份，{blobs} 个数据块，压缩前 {size} MiB。",
)
FINDING = Message("Backup {backup}, {part}: {problem}", "备份 {backup}，{part}：{problem}")
BAD_BACKUPS = Message("{count} things are wrong.", "发现 {count} 处问题。")
RESTORED = Message(
    "Restored backup {id} of {moment}: {documents} documents, {files} files, {points} points, {rows} rows. Start it: "
    "agentex serve{data_dir}",
    "已恢复 {moment} 的备份 {id}：{documents} 个文档、{files} 个文件、{points} 个向量点、{rows} 行数据。启动：agentex serve{data_dir}",
)
BROKEN_OFF = Message(
    "The restore broke off: {folder} holds a part of the data only, and agentex serve refuses it. Run the same command "
    "again to go on, or empty the folder.",
    "恢复中断：{folder} 中的数据不完整，agentex serve 会拒绝启动。请重新运行同一命令继续，或清空该目录。",
)
CANCELLED = Message(
    "Stopped: no backup was made, and those before are as they were.", "已停止：没有生成新的备份，已有的备份不受影响。"
)
LIST_HEADINGS = (
    Message("id", "编号"),
    Message("made", "时间"),
    Message("documents", "文档"),
    Message("MiB", "MiB"),
    Message("new MiB", "新增 MiB"),
    Message("checked", "检查"),
)
DAMAGED = Message("manifest damaged", "清单已损坏")
UNCHECKED = Message("never", "未检查")
CHECKED = Message("whole at {moment}", "{moment} 检查完好")
CHECKED_BAD = Message("{count} faults at {moment}", "{moment} 发现 {count} 处问题")
EMPTY = Message("There are no backups in {folder} yet.", "{folder} 中还没有备份。")
CONFIRM_REMOVAL = Message(
    "Remove {backups}? What only these backups hold is gone for good.",
    "删除 {backups}？仅存在于这些备份中的内容将无法恢复。",
)
NOTHING_KEPT = Message(
    "Say how many backups to keep: --keep 7, --keep-daily 7 or --keep-weekly 4, or several of them.",
    "请指定保留的数量：--keep 7、--keep-daily 7 或 --keep-weekly 4，也可同时使用。",
)
REMOVED = Message(
    "{count} backups are gone, {remaining} remain; {freed} MiB are free again.",
    "已删除 {count} 个备份，剩余 {remaining} 个；释放 {freed} MiB。",
)
ASK_PASSPHRASE = Message("Passphrase of the backups", "备份口令")
ASK_AGAIN = Message("The same passphrase again", "请再次输入口令")
PASSPHRASES_DIFFER = Message("The two passphrases differ. Try again.", "两次输入的口令不同，请重试。")
PASSPHRASE_FILE = Message(
    "The passphrase can't be read from {path}: name a text file whose first line it is.",
    "无法从 {path} 读取口令：请指定首行为口令的文本文件。",
)

FAULTS = {fault: Message(*texts) for fault, texts in FAULT_TEXTS.items()}
