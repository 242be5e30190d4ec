"""How long the first event and the first text take, beside the model's own first byte."""

import statistics

from benchmarks.runs.client import hear
from benchmarks.runs.model import Script
from benchmarks.runs.setting import Setting, chat_body, run_body
from benchmarks.table import Row

_ROUNDS = 20
_WAIT_MS = 300


async def measure(setting: Setting) -> list[Row]:
    """p50 in milliseconds from the request on, one request at a time, all three in turn."""
    script = Script(3, wait_ms=_WAIT_MS)
    events, texts, passed, alone = (list[float]() for _ in range(4))
    for _ in range(_ROUNDS):
        ours = await hear(setting.ours, run_body(script))
        theirs = await hear(setting.theirs, chat_body(script))
        model = await hear(setting.model, chat_body(script))
        events.append(1000 * (ours.first_event - ours.asked))
        texts.append(1000 * (ours.first_text - ours.asked))
        passed.append(1000 * (theirs.first_text - theirs.asked))
        alone.append(1000 * (model.first_text - model.asked))
    event, text, through, own = map(statistics.median, (events, texts, passed, alone))
    what = f"first text, p50, above the model's own first byte (after {own:.0f} ms)"
    return [
        Row(
            "first event of a run, p50",
            f"{event:.1f} ms",
            f"the model's own first byte {own:.1f} ms",
            own / event,
        ),
        Row(
            what,
            f"{text - own:.1f} ms",
            f"pass-through {through - own:.1f} ms",
            (through - own) / (text - own),
        ),
    ]
