"""The encoder against sentence-transformers on the same weights: ``python -m benchmarks.encoder``.

Both run in this process and take turns. A backend named behind it (``openvino-int8``) is measured
instead of the one that suits this processor: what machines without bf16 have.
"""

import sys

from benchmarks import baseline
from benchmarks.alone import Alone
from benchmarks.generated import paragraphs, questions
from benchmarks.table import Row, median_ms, seconds, show, taking_turns
from kb_service.embeddings.builtin.runtime import Backend

_ROUNDS = 8
_TEXTS = 96
_QUERIES = 25


def run(backend: Backend | None = None) -> list[Row]:
    """Passages per second, and the median time of one question."""
    ours = Alone(backend)
    texts = paragraphs(_TEXTS)
    asked = questions(texts, _QUERIES)
    cosines = (ours.encode(texts) * baseline.encode(texts)).sum(axis=1)
    fast, slow = taking_turns(
        lambda: seconds(lambda: ours.encode(texts)),
        lambda: seconds(lambda: baseline.encode(texts)),
        rounds=_ROUNDS,
    )
    quick, late = taking_turns(
        lambda: median_ms(ours.encode_question, asked),
        lambda: median_ms(lambda text: baseline.encode([text]), asked),
        rounds=_ROUNDS,
    )
    return [
        Row(
            f"encode {_TEXTS} passages, {ours.backend} (least cosine {cosines.min():.4f})",
            f"{_TEXTS / fast:.0f}/s",
            f"sentence-transformers {_TEXTS / slow:.0f}/s",
            slow / fast,
        ),
        Row(
            "encode one question, p50",
            f"{quick:.1f} ms",
            f"sentence-transformers {late:.1f} ms",
            late / quick,
        ),
    ]


if __name__ == "__main__":
    show(run(*[Backend(name) for name in sys.argv[1:2]]))
