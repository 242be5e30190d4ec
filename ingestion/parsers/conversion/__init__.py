"""Conversion by LibreOffice of the formats that no parser here reads, where the operator asks for it."""
