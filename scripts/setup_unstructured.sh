#!/bin/sh
# Makes the environment of the parser unstructured (AGENTEX_PARSERS=unstructured), and does nothing when it is up to date.
# usage: scripts/setup_unstructured.sh [FOLDER]      PYTHON=/path/to/python chooses the interpreter
set -eu
cd "$(dirname "$0")/.."
folder=${1:-.venv/unstructured}
python=${PYTHON:-.venv/bin/python}
stamp="$folder/.installed"
wanted=$(cksum <requirements-unstructured.txt)
if [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$wanted" ]; then
    exit 0
fi
printf '%s\n' "Installing the parser unstructured into $folder (about 900 MB, a few minutes)." "正在将解析器 unstructured 安装到 $folder（约 900 MB，需要几分钟）。" >&2
# An environment that people have added to (unstructured[local-inference]) stays.
[ -x "$folder/bin/python" ] || "$python" -m venv "$folder"
"$folder/bin/python" -m pip --disable-pip-version-check --no-input install --quiet --no-deps -r requirements-unstructured.txt
printf '%s' "$wanted" >"$stamp"
for program in tesseract pdfinfo; do
    command -v "$program" >/dev/null && continue
    printf '%s\n' "For its strategy ocr_only and for pictures $program is missing. On Debian or Ubuntu:" \
        "    sudo apt install tesseract-ocr tesseract-ocr-chi-sim poppler-utils" \
        "策略 ocr_only 和图片还需要 $program，请先安装（如上）。" >&2
    break
done
