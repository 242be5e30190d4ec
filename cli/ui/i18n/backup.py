"""Messages of ``agentex backup`` in English and Chinese."""

from cli.ui.i18n.common import Message
from kb_service.backup.errors import BackupFault
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
PASSPHRASE_SHORT = Message(
    "A passphrase needs at least {least} characters: five random words are easy to type.",
    "口令至少需要 {least} 个字符：五个随机单词便于输入。",
)
PASSPHRASE_FILE = Message(
    "The passphrase can't be read from {path}: name a text file whose first line it is.",
    "无法从 {path} 读取口令：请指定首行为口令的文本文件。",
)

FAULTS = {
    BackupFault.FOLDER_NOT_EMPTY: Message(
        "{folder} holds other things than backups. Name an empty folder, or one with earlier backups.",
        "{folder} 中有备份以外的内容。请指定空目录或已有备份的目录。",
    ),
    BackupFault.NO_REPOSITORY: Message(
        "There are no backups in {folder}: name the folder that agentex backup create wrote to.",
        "{folder} 中没有备份：请指定 agentex backup create 写入的目录。",
    ),
    BackupFault.REPOSITORY_UNREADABLE: Message(
        "{folder}/repository.json can't be read. Put it back from a copy of the folder: without it the backups can't be opened.",
        "无法读取 {folder}/repository.json。请从该目录的副本恢复此文件，否则无法打开备份。",
    ),
    BackupFault.NEWER_FORMAT: Message(
        "The backups in {folder} were made by a later version of Agentex: use that version.",
        "{folder} 中的备份由更新版本的 Agentex 生成：请使用该版本。",
    ),
    BackupFault.IN_USE: Message(
        "Another process is making or removing a backup in {folder}: wait until it is done.",
        "另一个进程正在 {folder} 中创建或删除备份：请等待其完成。",
    ),
    BackupFault.BEING_READ: Message(
        "Another process is checking or restoring a backup of {folder}: wait until it is done, then remove.",
        "另一个进程正在检查或恢复 {folder} 中的备份：请等待其完成后再删除。",
    ),
    BackupFault.NO_BACKUP: Message(
        "No backup in {folder} is whole: the first was stopped. Run agentex backup create again.",
        "{folder} 中没有完整的备份：首次备份被中断。请重新运行 agentex backup create。",
    ),
    BackupFault.UNKNOWN_BACKUP: Message(
        "There is no backup {backup}. Those there are: {backups}", "备份 {backup} 不存在。现有备份：{backups}"
    ),
    BackupFault.PASSPHRASE_MISSING: Message(
        "The backups are encrypted: give the passphrase with AGENTEX_BACKUP_PASSPHRASE or --passphrase-file.",
        "备份已加密：请用 AGENTEX_BACKUP_PASSPHRASE 或 --passphrase-file 提供口令。",
    ),
    BackupFault.PASSPHRASE_WRONG: Message(
        "The passphrase is not the one of these backups. Nobody can recover it.", "口令不正确。口令无法找回。"
    ),
    BackupFault.NOT_ENCRYPTED: Message(
        "The backups in {folder} are not encrypted, and one folder holds one kind: name an empty folder for encrypted "
        "backups, or leave the passphrase out.",
        "{folder} 中的备份未加密，同一目录只能有一种：请为加密备份指定空目录，或不提供口令。",
    ),
    BackupFault.MANIFEST_DAMAGED: Message(
        "The manifest of the backup {backup} is damaged: use another backup, or a copy of the folder. Nothing can "
        "be removed beside it; it itself can.",
        "备份 {backup} 的清单已损坏：请使用其他备份或该目录的副本。其他备份无法删除，但可删除该备份本身。",
    ),
    BackupFault.BLOB_MISSING: Message(
        "The blob {blob} is missing. Put it back from a copy of the folder; the next backup writes it again if its content is still there.",
        "缺少数据块 {blob}。请从该目录的副本恢复；若其内容仍存在，下次备份会重新写入。",
    ),
    BackupFault.BLOB_DAMAGED: Message(
        "The blob {blob} is damaged. Put it back from a copy of the folder; or delete the file, and the next backup "
        "writes it again if its content is still there.",
        "数据块 {blob} 已损坏。请从该目录的副本恢复；或删除该文件，若其内容仍存在，下次备份会重新写入。",
    ),
    BackupFault.COUNTS_DIFFER: Message(
        "{blob} should hold {expected} and holds {actual}: use another backup.",
        "{blob} 应有 {expected} 项，实有 {actual} 项：请使用其他备份。",
    ),
    BackupFault.DISK_FAILED: Message(
        "{path} can't be used: {reason}. Make room or choose another folder, and run the command again.",
        "无法使用 {path}：{reason}。请清理空间或更换目录后重新运行。",
    ),
    BackupFault.NO_INSTALLATION: Message(
        "There is no database at {path}: name the data folder with --data-dir or AGENTEX_DATA_DIR.",
        "{path} 没有数据库：请用 --data-dir 或 AGENTEX_DATA_DIR 指定数据目录。",
    ),
    BackupFault.SCHEMA_DIFFERS: Message(
        "The database is at migration {actual}, this version of Agentex needs {expected}: run the version that uses the "
        "database, or agentex migrate after stopping the server.",
        "数据库的迁移版本为 {actual}，当前 Agentex 需要 {expected}：请使用与数据库对应的版本，或停止服务器后运行 agentex migrate。",
    ),
    BackupFault.NEVER_QUIET: Message(
        "Documents changed faster than they could be copied, so no backup was made. Run it again when less is uploaded "
        "and deleted.",
        "文档变化过快，未能生成备份。请在上传和删除较少时重试。",
    ),
    BackupFault.NEWER_SCHEMA: Message(
        "The backup was made by a later version of Agentex ({product}, migration {revision}): install that version.",
        "该备份由更新版本的 Agentex 生成（{product}，迁移 {revision}）：请安装该版本。",
    ),
    BackupFault.DATA_FOLDER_IN_USE: Message(
        "Agentex runs on {folder}: stop it, or restore into another folder with --data-dir.",
        "Agentex 正在使用 {folder}：请先停止，或用 --data-dir 恢复到其他目录。",
    ),
    BackupFault.DATA_FOLDER_NOT_EMPTY: Message(
        "The data folder {folder} is not empty ({present}): a restore never writes over data. Name another folder with "
        "--data-dir, or move these away.",
        "数据目录 {folder} 不为空（{present}）：恢复不会覆盖数据。请用 --data-dir 指定其他目录，或移走这些内容。",
    ),
    BackupFault.DATABASE_NOT_EMPTY: Message(
        "The database is not empty (table {table} has rows): a restore never writes over data. Name an empty database "
        "in AGENTEX_DATABASE_URL, or drop this one and create it again.",
        "数据库不为空（表 {table} 有数据）：恢复不会覆盖数据。请在 AGENTEX_DATABASE_URL 中指定空数据库，或删除后重建该数据库。",
    ),
    BackupFault.FILES_NOT_EMPTY: Message(
        "The object store is not empty ({count} files): name an empty bucket or prefix in AGENTEX_OBJECT_STORE_URL.",
        "对象存储不为空（{count} 个文件）：请在 AGENTEX_OBJECT_STORE_URL 中指定空的桶或前缀。",
    ),
    BackupFault.VECTORS_NOT_EMPTY: Message(
        "The vector index of {model} is not empty ({count} points): use an empty Qdrant server, or delete the collection agentex-{model}.",
        "{model} 的向量索引不为空（{count} 个点）：请使用空的 Qdrant 服务器，或删除集合 agentex-{model}。",
    ),
    BackupFault.OTHER_RESTORE: Message(
        "In {folder} the restore of another backup ({backup}) broke off: go on with --backup {backup}, or empty the folder.",
        "{folder} 中另一个备份（{backup}）的恢复被中断：请用 --backup {backup} 继续，或清空该目录。",
    ),
    BackupFault.MODEL_NOT_SERVED: Message(
        "The backup has vectors of embedding models that these settings do not serve: {models}. Set "
        "AGENTEX_EMBEDDING_MODELS as it was, and restore again.",
        "备份中有当前设置未提供的嵌入模型的向量：{models}。请按原样设置 AGENTEX_EMBEDDING_MODELS 后重新恢复。",
    ),
    BackupFault.SECRET_KEY_MISSING: Message(
        "The backup does not hold the secret key that its database needs: put the file secret-key of the old data folder "
        "into {folder}, or set AGENTEX_SECRET_KEY as it was, and restore again.",
        "备份中不包含数据库所需的密钥：请把原数据目录的 secret-key 文件放入 {folder}，或按原样设置 AGENTEX_SECRET_KEY，然后重新恢复。",
    ),
    BackupFault.SECRET_KEY_DIFFERS: Message(
        "The secret key here ({source}) is not the one that the backup's database needs: put the old one there, and restore again.",
        "此处的密钥（{source}）不是备份数据库所需的密钥：请换成原来的密钥后重新恢复。",
    ),
    BackupFault.UNFIT_ROW: Message(
        "The database refuses a row of the table {table}; nothing was written to it. Report this with both database versions.",
        "数据库拒绝了表 {table} 的一行数据；数据库未写入任何内容。请报告此问题并注明两个数据库的版本。",
    ),
}
