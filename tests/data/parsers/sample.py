"""A module."""

import os


@decorated
def first(value):
    total = 0

    return total + value


class Second:
    x = [
        1,

    ]
