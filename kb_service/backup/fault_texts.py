"""What each fault of backups says: the fact and the next step, in English and Chinese."""

from kb_service.backup.errors import BackupError, BackupFault

FAULT_TEXTS = {
    BackupFault.FOLDER_NOT_EMPTY: (
        "{folder} holds other things than backups. Name an empty folder, or one with earlier backups.",
        "{folder} 中有备份以外的内容。请指定空目录或已有备份的目录。",
    ),
    BackupFault.NO_REPOSITORY: (
        "There are no backups in {folder}: name the folder that agentex backup create wrote to.",
        "{folder} 中没有备份：请指定 agentex backup create 写入的目录。",
    ),
    BackupFault.REPOSITORY_UNREADABLE: (
        "{folder}/repository.json can't be read. Put it back from a copy of the folder: without it the backups can't be opened.",
        "无法读取 {folder}/repository.json。请从该目录的副本恢复此文件，否则无法打开备份。",
    ),
    BackupFault.NEWER_FORMAT: (
        "The backups in {folder} were made by a later version of Agentex: use that version.",
        "{folder} 中的备份由更新版本的 Agentex 生成：请使用该版本。",
    ),
    BackupFault.IN_USE: (
        "Another process is making or removing a backup in {folder}: wait until it is done.",
        "另一个进程正在 {folder} 中创建或删除备份：请等待其完成。",
    ),
    BackupFault.BEING_READ: (
        "Another process is checking or restoring a backup of {folder}: wait until it is done, then remove.",
        "另一个进程正在检查或恢复 {folder} 中的备份：请等待其完成后再删除。",
    ),
    BackupFault.NO_BACKUP: (
        "No backup in {folder} is whole: the first was stopped. Run agentex backup create again.",
        "{folder} 中没有完整的备份：首次备份被中断。请重新运行 agentex backup create。",
    ),
    BackupFault.UNKNOWN_BACKUP: (
        "There is no backup {backup}. Those there are: {backups}",
        "备份 {backup} 不存在。现有备份：{backups}",
    ),
    BackupFault.PASSPHRASE_MISSING: (
        "The backups are encrypted: give the passphrase with AGENTEX_BACKUP_PASSPHRASE or --passphrase-file.",
        "备份已加密：请用 AGENTEX_BACKUP_PASSPHRASE 或 --passphrase-file 提供口令。",
    ),
    BackupFault.PASSPHRASE_WRONG: (
        "The passphrase is not the one of these backups. Nobody can recover it.",
        "口令不正确。口令无法找回。",
    ),
    BackupFault.NOT_ENCRYPTED: (
        "The backups in {folder} are not encrypted, and one folder holds one kind: name an empty folder for encrypted "
        "backups, or leave the passphrase out.",
        "{folder} 中的备份未加密，同一目录只能有一种：请为加密备份指定空目录，或不提供口令。",
    ),
    BackupFault.MANIFEST_DAMAGED: (
        "The manifest of the backup {backup} is damaged: use another backup, or a copy of the folder. Nothing can "
        "be removed beside it; it itself can.",
        "备份 {backup} 的清单已损坏：请使用其他备份或该目录的副本。其他备份无法删除，但可删除该备份本身。",
    ),
    BackupFault.BLOB_MISSING: (
        "The blob {blob} is missing. Put it back from a copy of the folder; the next backup writes it again if its content is still there.",
        "缺少数据块 {blob}。请从该目录的副本恢复；若其内容仍存在，下次备份会重新写入。",
    ),
    BackupFault.BLOB_DAMAGED: (
        "The blob {blob} is damaged. Put it back from a copy of the folder; or delete the file, and the next backup "
        "writes it again if its content is still there.",
        "数据块 {blob} 已损坏。请从该目录的副本恢复；或删除该文件，若其内容仍存在，下次备份会重新写入。",
    ),
    BackupFault.COUNTS_DIFFER: (
        "{blob} should hold {expected} and holds {actual}: use another backup.",
        "{blob} 应有 {expected} 项，实有 {actual} 项：请使用其他备份。",
    ),
    BackupFault.DISK_FAILED: (
        "{path} can't be used: {reason}. Make room or choose another folder, and run the command again.",
        "无法使用 {path}：{reason}。请清理空间或更换目录后重新运行。",
    ),
    BackupFault.NO_INSTALLATION: (
        "There is no database at {path}: name the data folder with --data-dir or AGENTEX_DATA_DIR.",
        "{path} 没有数据库：请用 --data-dir 或 AGENTEX_DATA_DIR 指定数据目录。",
    ),
    BackupFault.SCHEMA_DIFFERS: (
        "The database is at migration {actual}, this version of Agentex needs {expected}: run the version that uses the "
        "database, or agentex migrate after stopping the server.",
        "数据库的迁移版本为 {actual}，当前 Agentex 需要 {expected}：请使用与数据库对应的版本，或停止服务器后运行 agentex migrate。",
    ),
    BackupFault.NEVER_QUIET: (
        "Documents changed faster than they could be copied, so no backup was made. Run it again when less is uploaded "
        "and deleted.",
        "文档变化过快，未能生成备份。请在上传和删除较少时重试。",
    ),
    BackupFault.NEWER_SCHEMA: (
        "The backup was made by a later version of Agentex ({product}, migration {revision}): install that version.",
        "该备份由更新版本的 Agentex 生成（{product}，迁移 {revision}）：请安装该版本。",
    ),
    BackupFault.DATA_FOLDER_IN_USE: (
        "Agentex runs on {folder}: stop it, or restore into another folder with --data-dir.",
        "Agentex 正在使用 {folder}：请先停止，或用 --data-dir 恢复到其他目录。",
    ),
    BackupFault.DATA_FOLDER_NOT_EMPTY: (
        "The data folder {folder} is not empty ({present}): a restore never writes over data. Name another folder with "
        "--data-dir, or move these away.",
        "数据目录 {folder} 不为空（{present}）：恢复不会覆盖数据。请用 --data-dir 指定其他目录，或移走这些内容。",
    ),
    BackupFault.DATABASE_NOT_EMPTY: (
        "The database is not empty (table {table} has rows): a restore never writes over data. Name an empty database "
        "in AGENTEX_DATABASE_URL, or drop this one and create it again.",
        "数据库不为空（表 {table} 有数据）：恢复不会覆盖数据。请在 AGENTEX_DATABASE_URL 中指定空数据库，或删除后重建该数据库。",
    ),
    BackupFault.FILES_NOT_EMPTY: (
        "The object store is not empty ({count} files): name an empty bucket or prefix in AGENTEX_OBJECT_STORE_URL.",
        "对象存储不为空（{count} 个文件）：请在 AGENTEX_OBJECT_STORE_URL 中指定空的桶或前缀。",
    ),
    BackupFault.VECTORS_NOT_EMPTY: (
        "The vector index of {model} is not empty ({count} points): use an empty Qdrant server, or delete the collection agentex-{model}.",
        "{model} 的向量索引不为空（{count} 个点）：请使用空的 Qdrant 服务器，或删除集合 agentex-{model}。",
    ),
    BackupFault.OTHER_RESTORE: (
        "In {folder} the restore of another backup ({backup}) broke off: go on with --backup {backup}, or empty the folder.",
        "{folder} 中另一个备份（{backup}）的恢复被中断：请用 --backup {backup} 继续，或清空该目录。",
    ),
    BackupFault.MODEL_NOT_SERVED: (
        "The backup has vectors of embedding models that these settings do not serve: {models}. Set "
        "AGENTEX_EMBEDDING_MODELS as it was, and restore again.",
        "备份中有当前设置未提供的嵌入模型的向量：{models}。请按原样设置 AGENTEX_EMBEDDING_MODELS 后重新恢复。",
    ),
    BackupFault.SECRET_KEY_MISSING: (
        "The backup does not hold the secret key that its database needs: put the file secret-key of the old data folder "
        "into {folder}, or set AGENTEX_SECRET_KEY as it was, and restore again.",
        "备份中不包含数据库所需的密钥：请把原数据目录的 secret-key 文件放入 {folder}，或按原样设置 AGENTEX_SECRET_KEY，然后重新恢复。",
    ),
    BackupFault.SECRET_KEY_DIFFERS: (
        "The secret key here ({source}) is not the one that the backup's database needs: put the old one there, and restore again.",
        "此处的密钥（{source}）不是备份数据库所需的密钥：请换成原来的密钥后重新恢复。",
    ),
    BackupFault.UNFIT_ROW: (
        "The database refuses a row of the table {table}; nothing was written to it. Report this with both database versions.",
        "数据库拒绝了表 {table} 的一行数据；数据库未写入任何内容。请报告此问题并注明两个数据库的版本。",
    ),
    BackupFault.PASSPHRASE_SHORT: (
        "A passphrase needs at least {least} characters: five random words are easy to type.",
        "口令至少需要 {least} 个字符：五个随机单词便于输入。",
    ),
}
"""English and Chinese, with placeholders for the facts; a test keeps it complete."""


def fault_texts(error: BackupError) -> tuple[str, str]:
    """What an error says in English and in Chinese."""
    english, chinese = FAULT_TEXTS[error.fault]
    return english.format(**error.facts), chinese.format(**error.facts)
