"""Paths of the console, which is served without a credential."""

CONSOLE_FILES = ("/assets/", "/favicon.svg")
"""Where the paths of its files begin; they hold nothing of anyone's."""
CONSOLE_PAGES = (
    "/admin",
    "/chat",
    "/connections",
    "/knowledge-bases",
    "/models",
    "/profile",
    "/retrievals",
    "/rules",
    "/search",
    "/sign-in",
    "/skills",
)
"""Where the addresses of its pages begin, beside ``/``; its own router knows the rest."""


def is_console_page(path: str) -> bool:
    """Whether the console shows something at this path."""
    return path == "/" or any(path == page or path.startswith(f"{page}/") for page in CONSOLE_PAGES)
