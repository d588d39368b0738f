"""The table of engines. To add one, write a class with the methods of ``Engine`` and a row here."""

from __future__ import annotations

from typing import Any

from tacit.errors import InvalidInputError
from tacit.similar_names import nearest_first
from tacit.tables.delivery.engine import Engine
from tacit.tables.delivery.local import LocalEngine
from tacit.tables.delivery.spark.engine import SparkEngine

LOCAL, SPARK = "local", "spark"


class _Engines(dict[str, Engine[Any]]):
    """Name -> engine."""

    def __missing__(self, name: str) -> Engine[Any]:
        raise InvalidInputError(f"{name!r} is no engine: there is {nearest_first(name, self)}")


ENGINES = _Engines({LOCAL: LocalEngine(), SPARK: SparkEngine()})
