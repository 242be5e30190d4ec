"""Escaping of CSV cells that a spreadsheet would run as formulas."""

BEGINNINGS = ("=", "+", "-", "@", "\t", "\r")


def escape_cell(cell: str) -> str:
    """The cell with an apostrophe before it if a spreadsheet would run it (CWE-1236)."""
    return f"'{cell}" if cell.startswith(BEGINNINGS) else cell


def unescape_cell(cell: str) -> str:
    """The counterpart of :func:`escape_cell`."""
    return cell[1:] if cell[:1] == "'" and cell[1:].startswith(BEGINNINGS) else cell
