"""Digests that only the holder of a key can make or check."""

from __future__ import annotations

import hmac
from collections.abc import Iterable


def keyed_digest(key: bytes, chunks: Iterable[bytes]) -> str:
    """HMAC-SHA256 of the chunks one after the other, in hexadecimal."""
    digest = hmac.new(key, digestmod="sha256")
    for chunk in chunks:
        digest.update(chunk)
    return digest.hexdigest()
