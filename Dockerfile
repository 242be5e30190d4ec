# One image for every part: the command chooses (agentex api, worker, engine, migrate, serve).
FROM python:3.12-slim AS build
# A mirror of PyPI may be named at build time, and another index of PyTorch; none is needed.
ARG PIP_INDEX_URL
ARG PIP_EXTRA_INDEX_URL
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
WORKDIR /src
RUN python -m venv /opt/agentex
ENV PATH=/opt/agentex/bin:$PATH
# The dependencies first: these layers stay while only our own code changes.
COPY pyproject.toml constraints.txt requirements-multilingual.txt ./
ARG AGENTEX_TORCH_INDEX
COPY scripts/setup_torch.sh scripts/
RUN scripts/setup_torch.sh python
# With the extras that read scans and photos.
RUN python -c 'import tomllib; project = tomllib.load(open("pyproject.toml", "rb"))["project"]; \
extras = project["optional-dependencies"]; print(*project["dependencies"], *extras["ocr"], *extras["heic"], sep="\n")' > requirements.txt \
    && pip install -c constraints.txt -r requirements.txt
# On other processors than x86-64 the English encoder serves; the dictionary is for all.
RUN pip install --no-deps --require-hashes -r requirements-multilingual.txt
# The parser unstructured (AGENTEX_PARSERS=unstructured), with --build-arg UNSTRUCTURED=1; about 900 MB.
ARG UNSTRUCTURED
COPY requirements-unstructured.txt scripts/setup_unstructured.sh scripts/
RUN if [ -n "$UNSTRUCTURED" ]; then mv scripts/requirements-unstructured.txt . \
    && PYTHON=python scripts/setup_unstructured.sh /opt/agentex/unstructured; fi
COPY . .
RUN pip install --no-deps .
RUN export AGENTEX_CACHE_DIR=/opt/cache && python -m kb_service.embeddings.prepare && python -m kb_service.query_translation.prepare

FROM python:3.12-slim
# LibreOffice, which converts old Office files (AGENTEX_PARSERS=libreoffice), with --build-arg LIBREOFFICE=1.
ARG LIBREOFFICE
RUN if [ -n "$LIBREOFFICE" ]; then apt-get update \
    && apt-get install -y --no-install-recommends \
        libreoffice-writer-nogui libreoffice-calc-nogui libreoffice-impress-nogui \
    && rm -rf /var/lib/apt/lists/*; fi
# What unstructured recognises text with (its strategy ocr_only), where it was asked for above.
ARG UNSTRUCTURED
RUN if [ -n "$UNSTRUCTURED" ]; then apt-get update \
    && apt-get install -y --no-install-recommends tesseract-ocr poppler-utils \
    && rm -rf /var/lib/apt/lists/*; fi
# For Git over SSH, and the languages of text recognition.
RUN apt-get update \
    && apt-get install -y --no-install-recommends openssh-client tesseract-ocr-eng tesseract-ocr-chi-sim \
    && rm -rf /var/lib/apt/lists/*
RUN useradd --uid 10001 --create-home agentex \
    && install --directory --owner agentex --group agentex --mode 700 /data /run/agentex
COPY --from=build /opt/agentex /opt/agentex
# Writable: another kind of processor converts the encoder once more for itself.
COPY --from=build --chown=agentex:agentex /opt/cache /opt/cache
ENV PATH=/opt/agentex/bin:$PATH \
    AGENTEX_DATA_DIR=/data \
    AGENTEX_CACHE_DIR=/opt/cache \
    AGENTEX_HOST=0.0.0.0
WORKDIR /home/agentex
USER agentex
EXPOSE 8000
CMD ["agentex", "serve"]
