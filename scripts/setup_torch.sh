#!/bin/sh
# Installs PyTorch without CUDA from PyTorch's own index, on Linux. PyPI's build for Linux downloads 2.5 GB more, for
# graphics cards that Agentex does not use. Where that index can't be reached, the next step installs PyPI's.
# usage: scripts/setup_torch.sh PYTHON      AGENTEX_TORCH_INDEX=URL names another index; empty: PyPI alone
set -eu
cd "$(dirname "$0")/.."
python=$1
index=${AGENTEX_TORCH_INDEX-https://download.pytorch.org/whl/cpu}
pip="$python -m pip --disable-pip-version-check --no-input"
[ "$(uname -s)" = Linux ] && [ -n "$index" ] || exit 0
if [ -z "${AGENTEX_TORCH_INDEX-}" ]; then
    case $($pip config list) in
        # A mirror of PyPI is there because other places are slow or closed.
        *.index-url=*) exit 0 ;;
    esac
fi
if ! $pip install -qq --no-deps --retries 0 --timeout 10 --index-url "$index" -c constraints.txt torch 2>/dev/null; then
    printf '%s\n' "$index can't be reached; PyPI's PyTorch is installed instead, which downloads 2.5 GB more." \
        "To name another index: AGENTEX_TORCH_INDEX=https://…" \
        "无法访问 $index，将改为安装 PyPI 的 PyTorch，多下载 2.5 GB；可用 AGENTEX_TORCH_INDEX=https://… 指定其他索引。" >&2
fi
