#!/bin/sh
# Makes .venv with the pinned dependencies, and does nothing when it is up to date.
# usage: scripts/setup.sh run|dev      PYTHON=/path/to/python chooses the interpreter
set -eu
cd "$(dirname "$0")/.."
kind=${1:-run}
venv=.venv

say() { printf '%s\n' "$*" >&2; }

works() {
    "$1" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' 2>/dev/null
}

has_venv() { "$1" -c 'import ensurepip, venv' 2>/dev/null; }

find_python() {
    without_venv=
    # 3.12 and 3.11 first: for them a private Redis server comes as a package.
    for name in ${PYTHON:-python3.12 python3.11 python3.13 python3}; do
        works "$name" || continue
        if has_venv "$name"; then
            command -v "$name"
            return
        fi
        without_venv=$name
    done
    if [ -n "$without_venv" ]; then
        say "$without_venv lacks the modules venv and ensurepip. On Debian or Ubuntu:"
        say "    sudo apt install $(basename "$without_venv")-venv"
        say "$without_venv 缺少 venv 和 ensurepip 模块，请先安装（如上）。"
    else
        say "Agentex needs Python 3.11, 3.12 or 3.13 and finds none."
        say "Install one, or name it: make run PYTHON=/path/to/python3.12"
        say "需要 Python 3.11、3.12 或 3.13，请先安装，或用 PYTHON=路径 指定。"
    fi
    return 1
}

if ! works "$venv/bin/python"; then
    python=$(find_python)
    say "Creating $venv with $python"
    rm -rf "$venv"
    "$python" -m venv "$venv"
fi

# As the product reads it, of the environment or of .env, there also in quotes.
in_env_file() { sed -n "s/^$1=//p" .env 2>/dev/null | tail -n 1 | tr -d "\"'"; }

case ",${AGENTEX_PARSERS-$(in_env_file AGENTEX_PARSERS)}," in
    *[\ ,]unstructured[\ ,]*) wants_unstructured=1 ;;
    *) wants_unstructured= ;;
esac

# The parser has an environment of its own, also where everything else is up to date.
set_up_parsers() {
    if [ -n "$wants_unstructured" ] && [ -z "${AGENTEX_UNSTRUCTURED_DIR-$(in_env_file AGENTEX_UNSTRUCTURED_DIR)}" ]; then
        scripts/setup_unstructured.sh
    fi
}

wanted=$(cat pyproject.toml constraints.txt requirements-multilingual.txt requirements-s3-server.txt \
    requirements-dav-server.txt | cksum)
stamp="$venv/.installed-$kind"
# What develops also runs.
for file in "$stamp" "$venv/.installed-dev"; do
    if [ -f "$file" ] && [ "$(cat "$file")" = "$wanted" ]; then
        set_up_parsers
        exit 0
    fi
done

say "Installing the pinned dependencies; the first time this takes a few minutes."
say "正在安装依赖，首次需要几分钟。"
pip="$venv/bin/python -m pip --disable-pip-version-check --no-input"
install="$pip install --quiet"
group=
if [ "$kind" = dev ]; then
    group="--group dev"
    # A third of the time, and most of it is never imported: Python compiles what is.
    install="$install --no-compile"
fi
# Dependency groups came with pip 25.1.
$install --upgrade 'pip>=25.1'
scripts/setup_torch.sh "$venv/bin/python"
# shellcheck disable=SC2086
$install -c constraints.txt -e . $group
# Where these packages can't be had, the product works without them, as the next steps say.
$install --no-deps --require-hashes -r requirements-multilingual.txt || true
if [ "$kind" = dev ]; then
    $install --no-deps --upgrade --target "$venv/s3-server" -r requirements-s3-server.txt
    $install --no-deps --upgrade --target "$venv/dav-server" -r requirements-dav-server.txt
fi
say "Preparing the encoders / 正在准备编码模型"
"$venv/bin/python" -m kb_service.embeddings.prepare
"$venv/bin/python" -m kb_service.query_translation.prepare
set_up_parsers
printf '%s' "$wanted" >"$stamp"
