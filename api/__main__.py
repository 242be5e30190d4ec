"""The API process: ``python -m api``."""

import gc
from importlib import import_module

if __name__ == "__main__":
    # Loading makes what stays; to look for garbage in it takes a sixth of a start. It is switched
    # on again with what is loaded left out (core/garbage.py).
    gc.disable()
    import_module("api.serving").main()
