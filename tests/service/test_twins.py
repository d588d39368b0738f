"""Every command and every option has its twin in the service, or is for the shell alone."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest

from tacit.cli.app import COMMANDS
from tests.service.server import Server

COMMON = {"folder", "as_json"}
"""The study is the server's, and JSON is below ``/api``."""

QUESTION = {
    **{name: name for name in ("party", "sql", "utility", "analysable", "bits", "again", "cohort")},
    "request": "asked",
    "worst_level": "objective",
    "ceiling": "ceilings",
}
ROLLBACK = "the ledger lost entries: whoever goes on looks at the machine first"
OUT = "files are downloaded"
PICTURE = "pages draw it"


@dataclass(frozen=True)
class Twin:
    """What does the same as a command.

    Attributes:
        path: of the order or the page, below ``/api``.
        options: option of the command -> field of the order, or parameter of the page.
        page: that has the form; ``None`` for a page that only shows.
        shell: options for the shell alone -> why.
        elsewhere: options that other paths do -> which.
    """

    path: str
    options: Mapping[str, str] = field(default_factory=dict)
    page: str | None = None
    shell: Mapping[str, str] = field(default_factory=dict)
    elsewhere: Mapping[str, str] = field(default_factory=dict)


TOKEN = {"name": "name", "expires": "days"}
REVOKE = {"revoke": "/study/tokens/revoke"}

TWINS = {
    "extend": Twin(
        "/study/cohorts",
        {
            each: each
            for each in (
                "table",
                "min_cohort",
                "skip_known",
                "accept_corrections",
                "readmit",
                "accept_reset",
                "accept",
            )
        },
        "/study/records",
        {"accept_rollback": ROLLBACK, "min_cell": "small counts have a page of their own"},
    ),
    "erase": Twin(
        "/study/erasures",
        {"ids": "ids", "skip_unknown": "skip_unknown"},
        "/study/records",
        {
            "dry_run": "without `confirm` records are counted",
            "yes": "`confirm` says so",
            "accept_rollback": ROLLBACK,
        },
    ),
    "limit": Twin(
        "/study/limits",
        {name: name for name in ("whom", "bits", "times", "title")},
        "/study/limits",
        {"accept_rollback": ROLLBACK},
    ),
    "party approval": Twin(
        "/study/parties/approval",
        {"name": "name", "setting": "is_required"},
        "/study/limits",
        {"accept_rollback": ROLLBACK},
    ),
    "party token": Twin("/study/tokens", TOKEN, "/study/tokens", elsewhere=REVOKE),
    "custodian token": Twin("/study/tokens", TOKEN, "/study/tokens", elsewhere=REVOKE),
    "plan": Twin(
        "/study/plans",
        {
            **{each: each for each in ("sql", "correct", "parties", "times")},
            "request": "asked",
            "bits": "limit",
            "limit": "limits",
        },
        "/study/what-if",
        {"plot": PICTURE},
    ),
    "what-if": Twin(
        "/study/surfaces",
        {name: each for name, each in QUESTION.items() if name not in ("bits", "again", "cohort")}
        | {"limit": "limit", "everyone": "everyone"},
        "/study/what-if",
    ),
    "quote": Twin(
        "/study/quotes",
        QUESTION | {"compare": "compare"},
        "/study/release",
        {"plot": PICTURE},
    ),
    "release": Twin(
        "/study/requests",
        QUESTION | {"max_error": "max_error", "reason": "reason", "accept": "accept"},
        None,  # the page of a quote has the form, with its fields hidden
        {"out": OUT, "force": OUT, "accept_rollback": ROLLBACK},
    ),
    "status": Twin("/study"),
    "log": Twin("/study/ledger"),
    "report": Twin("/study/report", shell={"html": "the page is the document"}),
    "audit": Twin(
        "/study/audits",
        {"records": "records"},
        "/study/audits",
        elsewhere={"parties": "/study/risk"},
    ),
    "receipt": Twin(
        "/study/ledger/{number}", {"number": "number"}, shell={"html": "the page is the document"}
    ),
    "verify": Twin("/study/verifications", {"receipt": "receipt"}, "/study/records"),
    "link": Twin("/study/links", {"party": "party", "ids": "ids"}, "/study/records", {"out": OUT}),
    "estimate": Twin(
        "/own/releases/{number}/estimates",
        {"confidence": "confidence"},
        shell={"file": "the service has the party's file"},
    ),
    "close": Twin(
        "/study/close", {"yes": "confirm"}, "/study/records", {"accept_rollback": ROLLBACK}
    ),
}

SHELL = {
    "init": "there is no study to serve yet",
    "crosstab": "it reads the recipient's own columns, which are nobody else's business",
    "backup": "a backup holds the secret key",
    "restore": "what was lost is put back on the machine, before a study is served",
    "serve": "is the service",
    "doctor": "is about the machine",
    "demo": "makes a study of its own",
    "docs": "are served at /help",
    "measure": "needs no study, and reads files where it runs",
    "reproduce": "has nothing to do with a study",
}
"""Commands for the shell alone, and why."""


@pytest.fixture(scope="module")
def described(server: Server) -> dict[str, Any]:
    with server.custodian() as client:
        found: dict[str, Any] = client.get("/api/openapi.json").json()
    return found


@pytest.fixture(scope="module")
def browser(server: Server) -> Iterator[httpx.Client]:
    with server.browser() as client:
        yield client


def test_every_command_has_a_twin_or_a_reason() -> None:
    assert set(TWINS) | set(SHELL) == set(COMMANDS)
    assert not set(TWINS) & set(SHELL)
    assert all(SHELL.values())


@pytest.mark.parametrize("command", TWINS)
def test_every_option_has_a_twin(described: dict[str, Any], command: str) -> None:
    twin = TWINS[command]
    options = set(inspect.signature(COMMANDS[command]).parameters) - COMMON
    assert options == set(twin.options) | set(twin.shell) | set(twin.elsewhere)
    assert set(twin.options.values()) <= fields_of(described, twin.path)
    for path in twin.elsewhere.values():
        assert fields_of(described, path)


def fields_of(described: dict[str, Any], path: str) -> set[str]:
    """What a path takes: fields of its body, and parameters."""
    found = set[str]()
    for verb in described["paths"][f"/api{path}"].values():
        found |= {each["name"] for each in verb.get("parameters", ())}
        body = verb.get("requestBody", {}).get("content", {}).get("application/json", {})
        schema = body.get("schema", {})
        for each in schema.get("anyOf", [schema]):
            name = each.get("$ref", "").rpartition("/")[2]
            found |= set(described["components"]["schemas"].get(name, {}).get("properties", {}))
    return found


@pytest.mark.parametrize("command", [name for name, each in TWINS.items() if each.page])
def test_every_option_has_a_field_in_a_form(browser: httpx.Client, command: str) -> None:
    twin = TWINS[command]
    shown = browser.get(twin.page or "").text
    form = form_of(shown, twin.path)
    assert form
    names = set(re.findall(r'name="([^"]+)"', form))
    missing = set(twin.options.values()) - names
    assert not missing - {"cohort"}  # which a study of one cohort does not ask for


def form_of(page: str, path: str) -> str:
    """All forms of a page that are sent to a path."""
    return "".join(re.findall(rf'<form[^>]*action="{re.escape(path)}".*?</form>', page, re.DOTALL))
