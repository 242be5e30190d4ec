"""Errors of request fields, for validators."""


class FieldValueError(ValueError):
    """An invalid field value; ``error`` says what is wrong or what is allowed."""

    def __init__(self, error: str, error_zh: str) -> None:
        super().__init__(error)
        self.error_zh = error_zh
