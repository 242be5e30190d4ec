"""Addresses of buckets, and the hosts that their credentials are for."""

from typing import Any

import pytest

from ingestion.connectors.bucket import BucketSettings


@pytest.mark.parametrize(
    ("settings", "url", "target"),
    [
        ({}, "https://animals.s3.us-east-1.amazonaws.com", "https://animals.s3.us-east-1.amazonaws.com:443"),
        (
            {"region": "cn-north-1", "addressing": "path"},
            "https://s3.cn-north-1.amazonaws.com.cn/animals",
            "https://s3.cn-north-1.amazonaws.com.cn:443",
        ),
        # No certificate of AWS is for two labels.
        ({"bucket": "a.b.c"}, "https://s3.us-east-1.amazonaws.com/a.b.c", "https://s3.us-east-1.amazonaws.com:443"),
        ({"endpoint": "http://minio.lan:9000/"}, "http://minio.lan:9000/animals", "http://minio.lan:9000"),
        (
            {"endpoint": "https://s3.example.org", "addressing": "virtual"},
            "https://animals.s3.example.org",
            "https://animals.s3.example.org:443",
        ),
        ({"endpoint": "https://example.org/s3"}, "https://example.org/s3/animals", "https://example.org:443"),
    ],
)
def test_bucket_stands_in_the_host_or_in_the_path(settings: dict[str, Any], url: str, target: str):
    bucket = BucketSettings.model_validate({"bucket": "animals", **settings})
    assert (bucket.bucket_url, bucket.credentials_target) == (url, target)
