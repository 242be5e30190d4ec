"""What can be wrong with a Git source, and what to do about it."""

from collections.abc import Sequence

from ingestion.connectors.base import ReadFailure, SourceUnavailable

_SHOWN_BRANCHES = 10
_MEBIBYTE = 2**20


class FetchStopped(Exception):
    """The sync was cancelled or lost its lease, or its time is over; what a thread does for it ends."""


def no_access(status: int) -> SourceUnavailable:
    """The server refuses the credentials, or has no such repository: servers hide which."""
    return _unavailable(
        "no_access",
        f"There is no repository at this address, or it may not be read with these credentials (status {status})",
        f"该地址没有仓库，或这些凭据无权读取（状态码 {status}）",
        "Check the address; for a private repository give a token that may read it as the password of the credentials",
        "请检查地址；若为私有仓库，请将有读取权限的令牌作为凭据中的 password 填写",
    )


def not_git() -> SourceUnavailable:
    """What answers is no Git server."""
    return _unavailable(
        "not_git",
        "What answers at this address is not a Git repository over smart HTTP or SSH",
        "该地址不是可通过智能 HTTP 或 SSH 协议访问的 Git 仓库",
        "Give the address that you would clone, such as https://example.org/team/manuals.git",
        "请填写克隆时使用的地址，例如 https://example.org/team/manuals.git",
    )


def unreachable(what: str) -> SourceUnavailable:
    """There is no answer, or one that says to come again later."""
    return _unavailable(
        "no_answer",
        f"The Git server does not answer ({what})",
        f"Git 服务器没有响应（{what}）",
        "See that the address is right and reachable from the server; the next sync tries again",
        "请确认地址正确且服务器可以访问；下次同步会重试",
    )


def too_slow(seconds: float) -> SourceUnavailable:
    """The repository did not arrive in time."""
    minutes = round(seconds / 60)
    return _unavailable(
        "too_slow",
        f"The repository did not arrive within {minutes} minutes",
        f"{minutes} 分钟内未能获取仓库",
        "Synchronize again when the Git server is less busy, or move what is needed into a smaller repository",
        "请在 Git 服务器空闲时重试，或将所需文件移到较小的仓库",
    )


def too_big(limit: int) -> SourceUnavailable:
    """The repository, or an object in it, is beyond what a worker takes."""
    size = f"{limit // _MEBIBYTE} MiB"
    return _unavailable(
        "too_large",
        f"The repository has more than {size} at once to fetch, or unpacks beyond what the server takes",
        f"仓库一次需获取的数据超过 {size}，或解压后超过服务器的上限",
        "Move what is needed into a smaller repository, or ask your operator for a larger AGENTEX_MAX_SOURCE_CACHE_BYTES",
        "请将所需文件移到较小的仓库，或请管理员提高 AGENTEX_MAX_SOURCE_CACHE_BYTES",
    )


def no_branch(branch: str, branches: Sequence[str]) -> SourceUnavailable:
    """There is no such branch, or no default one; some that there are get named."""
    names = ", ".join(sorted(branches)[:_SHOWN_BRANCHES])
    if not branches:
        return _unavailable(
            "empty",
            "The repository has no branches yet",
            "仓库还没有任何分支",
            "Push a first commit, and synchronize again",
            "请先推送一次提交，然后重新同步",
        )
    return _unavailable(
        "no_branch",
        f"There is no branch {branch}" if branch else "The repository has no default branch",
        f"分支 {branch} 不存在" if branch else "仓库没有默认分支",
        f"Set the branch to one of these: {names}",
        f"请将 branch 设为其中之一：{names}",
    )


def no_folder(folder: str) -> SourceUnavailable:
    """There is no such folder in the branch."""
    return _unavailable(
        "no_folder",
        f"There is no folder {folder} in this branch",
        f"该分支中没有文件夹 {folder}",
        "Check the setting folder; upper and lower case matter",
        "请检查 folder 设置，注意区分大小写",
    )


def unsupported_hash() -> SourceUnavailable:
    """The repository uses SHA-256 for its objects."""
    return _unavailable(
        "unsupported",
        "The repository names its objects with SHA-256, which is not supported",
        "仓库使用 SHA-256 对象格式，暂不支持",
        "Use a repository with SHA-1 objects, the usual kind",
        "请使用常见的 SHA-1 对象格式的仓库",
    )


def cache_lost() -> SourceUnavailable:
    """What was fetched is not there any more."""
    return _unavailable(
        "cache_lost",
        "The fetched repository disappeared from the server's cache",
        "已获取的仓库从服务器缓存中消失",
        "Synchronize again: it is fetched anew",
        "请重新同步：将重新获取仓库",
    )


def no_private_key() -> SourceUnavailable:
    """A repository over SSH has no key to log in with."""
    return _unavailable(
        "no_credentials",
        "The source has no private key for this server",
        "该来源没有用于该服务器的私钥",
        "Give private_key as the credential: the private part of a deploy key, made with ssh-keygen -t ed25519 -N ''",
        "请将 private_key 作为凭据填写：部署密钥的私钥，可用 ssh-keygen -t ed25519 -N '' 生成",
    )


def no_ssh_program() -> SourceUnavailable:
    """The machine of the worker can't speak SSH."""
    return _unavailable(
        "no_ssh",
        "There is no ssh program on the server that runs Agentex's worker",
        "运行 Agentex 工作进程的服务器上没有 ssh 程序",
        "Ask your operator to install OpenSSH's client on Linux (apt install openssh-client), or use the address with https",
        "请联系管理员在 Linux 上安装 OpenSSH 客户端（apt install openssh-client），或改用 https 地址",
    )


def no_ssh_repository() -> SourceUnavailable:
    """The server knows the key, and gives no repository."""
    return _unavailable(
        "no_access",
        "There is no repository at this address, or this key may not read it",
        "该地址没有仓库，或该密钥无权读取",
        "Check the path in the address, and add the key to the repository as a deploy key that may read",
        "请检查地址中的路径，并将该密钥添加为仓库的只读部署密钥",
    )


def key_refused() -> SourceUnavailable:
    """The server does not know the key."""
    return _unavailable(
        "no_access",
        "The server does not accept the private key",
        "服务器不接受该私钥",
        "Add its public part to the repository as a deploy key, or give the source another private_key; "
        "the user in the address is mostly git",
        "请将其公钥添加为仓库的部署密钥，或为该来源填写其他 private_key；地址中的用户通常为 git",
    )


def unknown_host_key(line: str, fingerprint: str) -> SourceUnavailable:
    """The settings do not say which key the server has; ``line`` is the one that it shows, if any."""
    return _unavailable(
        "unknown_host_key",
        f"The settings name no key of this server, which shows {fingerprint or 'none that could be read'}",
        f"设置中没有该服务器的主机密钥；服务器出示的是 {fingerprint or '无法读取的密钥'}",
        f"Compare the fingerprint with the one that the server's operator publishes, then set known_hosts to: {line}",
        f"请与服务器运营方公布的指纹核对，然后将 known_hosts 设为：{line}",
    )


def host_key_changed(line: str, fingerprint: str) -> SourceUnavailable:
    """The server has another key than the settings say, or somebody else answers in its place."""
    return _unavailable(
        "host_key_changed",
        f"The server shows another key than known_hosts says, or somebody else answers in its place: {fingerprint}",
        f"服务器的主机密钥与 known_hosts 不符，也可能是他人冒充：{fingerprint}",
        f"Ask the server's operator whether its key was changed; if it was, set known_hosts to: {line}",
        f"请向服务器运营方确认是否更换了密钥；若确已更换，请将 known_hosts 设为：{line}",
    )


def lfs_failure(reason: str, detail: str = "") -> ReadFailure:
    """Why the contents of a file in Git LFS can't be read: ``lfs_gone``, ``lfs_no_access``, ``lfs_unavailable`` or others."""
    message, message_zh, action, action_zh = _LFS[reason]
    suffix, suffix_zh = (f" ({detail})", f"（{detail}）") if detail else ("", "")
    return ReadFailure(reason, message + suffix, message_zh + suffix_zh, action, action_zh)


_LFS = {
    "lfs_gone": (
        "The server of Git LFS does not have the contents of this file",
        "Git LFS 服务器上没有该文件的内容",
        "Push them there: git lfs push --all",
        "请推送其内容：git lfs push --all",
    ),
    "lfs_no_access": (
        "The server of Git LFS refuses these credentials",
        "Git LFS 服务器拒绝这些凭据",
        "Give a token that may read the repository and its LFS objects",
        "请填写有权读取仓库及其 LFS 对象的令牌",
    ),
    "lfs_unavailable": (
        "The server of the repository offers no Git LFS for this file, or does not answer",
        "仓库服务器未为该文件提供 Git LFS，或没有响应",
        "See that LFS is switched on for the repository; the next sync tries again",
        "请确认仓库已启用 LFS；下次同步会重试",
    ),
    "lfs_damaged": (
        "What came from the server of Git LFS is not what the repository points to",
        "Git LFS 服务器发来的内容与仓库中的指针不符",
        "Push the contents again: git lfs push --all",
        "请重新推送其内容：git lfs push --all",
    ),
    "lfs_not_allowed": (
        "The contents are at an address that is not connected to",
        "内容所在的地址不允许连接",
        "Ask your operator to list host:port of that storage in AGENTEX_ALLOWED_PRIVATE_TARGETS",
        "请联系管理员将该存储的 host:port 加入 AGENTEX_ALLOWED_PRIVATE_TARGETS",
    ),
    "lfs_pointer": (
        "The repository's pointer to this file in Git LFS can't be understood",
        "无法理解仓库中该文件的 Git LFS 指针",
        "Add the file again with git lfs, or exclude it",
        "请用 git lfs 重新添加该文件，或将其排除",
    ),
}


def _unavailable(reason: str, message: str, message_zh: str, action: str, action_zh: str) -> SourceUnavailable:
    return SourceUnavailable(ReadFailure(reason, message, message_zh, action, action_zh))
