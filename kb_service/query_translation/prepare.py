"""``python -m kb_service.query_translation.prepare``: make the table of the dictionary now, at installation."""

import sys
import time

from core.settings import get_settings
from kb_service.query_translation.cedict import PACKAGE
from kb_service.query_translation.term_table import prepare


def main() -> None:
    """Make the table where it is missing, and print the result."""
    started = time.monotonic()
    path = prepare(get_settings().cache_dir)
    if path is None:
        sys.stdout.write(
            f"{PACKAGE} is not installed, or not in the pinned version: search does not translate words between Chinese and English. / "
            f"未安装 {PACKAGE} 或版本不符：搜索时不会在中英文之间翻译词语。\n"
        )
        return
    sys.stdout.write(f"The Chinese-English dictionary is ready in {path} ({time.monotonic() - started:.1f} s)\n")


if __name__ == "__main__":
    main()
