"""Why a value of a request can't be used, for validators of its shape."""


class FieldValueError(ValueError):
    """A value that its field can't have.

    Args:
        error: what is wrong, or what can be used.
    """

    def __init__(self, error: str, error_zh: str) -> None:
        super().__init__(error)
        self.error_zh = error_zh
