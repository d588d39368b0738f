"""The report of a study: one document for a record of processing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tacit.study.reports.limits import StandingLimit
from tacit.study.reports.receipts import Receipt
from tacit.study.reports.status import StudyStatus


@dataclass(frozen=True, slots=True)
class StudyReport:
    """All that a study has promised and released.

    Attributes:
        organisation: whose table it is, where the study says it.
        table: name of the table, where it is recorded.
        made: when the study began.
        columns: private column -> its levels.
        external: names of other columns that may be asked for.
        is_id_public: whether release files carry raw ids.
        status: how it stands.
        limits: every standing limit.
        releases: receipts of all releases, without seals.
    """

    organisation: str | None
    table: str | None
    made: str
    columns: dict[str, tuple[str, ...]]
    external: tuple[str, ...]
    is_id_public: bool
    status: StudyStatus
    limits: tuple[StandingLimit, ...]
    releases: tuple[Receipt, ...]

    def as_dict(self) -> dict[str, Any]:
        """For machines."""
        return {
            "organisation": self.organisation,
            "table": self.table,
            "made": self.made,
            "columns": {name: list(levels) for name, levels in self.columns.items()},
            "external": list(self.external),
            "is_id_public": self.is_id_public,
            "status": self.status.as_dict(),
            "limits": [each.as_dict() for each in self.limits],
            "releases": [each.model_dump(mode="json") for each in self.releases],
        }

    def as_html(self) -> str:
        """One page that opens anywhere and can be printed."""
        from tacit.study.reports.page import render

        return render("report.html", report=self)
