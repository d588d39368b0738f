"""Public data that ships with tacit, as tables of counts."""

from tacit.datasets.adult import EDUCATION_GROUPS, CountTable, adult

__all__ = ["EDUCATION_GROUPS", "CountTable", "adult"]
