"""Cells of a CSV file that a spreadsheet would run as formulas."""

BEGINNINGS = ("=", "+", "-", "@", "\t", "\r")


def escape_cell(cell: str) -> str:
    """The cell with an apostrophe before it where a spreadsheet would run it (CWE-1236)."""
    return f"'{cell}" if cell.startswith(BEGINNINGS) else cell


def unescape_cell(cell: str) -> str:
    """The counterpart of :func:`guarded`."""
    return cell[1:] if cell[:1] == "'" and cell[1:].startswith(BEGINNINGS) else cell
