"""File uploads as multipart forms."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import BinaryIO

import httpx

from cli.commands.ingest.local_files import CountedFile


@dataclass(frozen=True)
class UploadBody:
    """A request with one file.

    Args:
        name: of the file, as the server sees it.
        timeout: if the usual one is too short.
    """

    path: str
    file: BinaryIO | CountedFile
    name: str
    query: Mapping[str, str | int] = field(default_factory=dict[str, str | int])
    fields: Mapping[str, str] = field(default_factory=dict[str, str])
    timeout: httpx.Timeout | None = None

    def request(self, http: httpx.AsyncClient, headers: Mapping[str, str]) -> httpx.Request:
        """The request, with the file rewound, so that it can be sent again."""
        self.file.seek(0)
        return http.build_request(
            "POST",
            self.path,
            # Even an empty query removes that of the path.
            params=self.query or None,
            files={"file": (self.name, self.file)},
            data=dict(self.fields),
            headers=dict(headers),
            timeout=http.timeout if self.timeout is None else self.timeout,
        )


@dataclass(frozen=True)
class BatchUploadBody:
    """A request with several files: names, as the server sees them, and open files, which the caller closes."""

    path: str
    files: Sequence[tuple[str, CountedFile]]
    query: Mapping[str, str | int]

    def request(self, http: httpx.AsyncClient, headers: Mapping[str, str]) -> httpx.Request:
        """The request, with the files rewound, so that it can be sent again."""
        for _, file in self.files:
            file.seek(0)
        return http.build_request(
            "POST", self.path, params=self.query, files=[("file", file) for file in self.files], headers=dict(headers)
        )
