"""A real browser, what is watched while it is used, and what people do with pages."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import (
    Browser,
    BrowserContext,
    Locator,
    Page,
    ViewportSize,
    expect,
    sync_playwright,
)

from tests.service.server import JOB_SECONDS

SCREENSHOTS = Path(__file__).parents[2] / "build" / "screenshots"

DESKTOP = ViewportSize(width=1280, height=900)
PHONE = ViewportSize(width=390, height=844)

_GRAVE = ("serious", "critical")
_MOST_TABS = 100
_OFFLINE = "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE localhost"


@contextmanager
def open_browser() -> Iterator[Browser]:
    """Debian's Chromium, without a window; it cannot find any other machine."""
    found = shutil.which("chromium")
    if found is None:
        pytest.fail(
            "these tests need Chromium, and no program `chromium` is on the PATH: install it with "
            "`apt-get install chromium`, as `make test` does where it may"
        )
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=[_OFFLINE])
        yield browser
        browser.close()


@dataclass(slots=True)
class Visitor:
    """Somebody who looks at pages.

    Attributes:
        page: what is shown.
        url: of the server.
        label: begins the names of screenshots.
        requests: addresses that the browser asked for.
        complaints: errors and warnings on the console, and errors of scripts.
    """

    page: Page
    url: str
    label: str
    requests: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)

    def go(self, path: str) -> None:
        """Show a page by its path."""
        self.page.goto(self.url + path)

    def look(self, name: str) -> None:
        """Keep a picture of the page; nothing grave is wrong with it, and it fits in width."""
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        self.page.screenshot(path=SCREENSHOTS / f"{self.label}-{name}.png", full_page=True)
        found = grave_violations(self.page)
        assert not found, found
        assert overflow(self.page) <= 0, f"{name} is {overflow(self.page)} pixels too wide"

    def wait_for_job(self, state: str) -> None:
        """Until the page of a job says how it ended."""
        expect(self.page.get_by_role("status")).to_contain_text(state, timeout=1000 * JOB_SECONDS)

    def send(self, path: str, **order: Any) -> dict[str, Any]:
        """Send an order to the API from within the page, and show its job."""
        csrf = self.page.locator("input[name=csrf]").first.input_value()
        job: dict[str, Any] = self.page.evaluate(_SEND, [path, csrf, order])
        self.go(f"/jobs/{job['id']}")
        return job

    def save(self, link: Locator, place: Path) -> Path:
        """Download what a link leads to."""
        with self.page.expect_download() as download:
            link.click()
        path = place / download.value.suggested_filename
        download.value.save_as(path)
        return path

    def reach(self, target: Locator) -> None:
        """Move the focus to an element by the Tab key alone."""
        for _ in range(_MOST_TABS):
            if target.evaluate("each => each === document.activeElement"):
                assert is_focus_seen(target), target
                return
            self.page.keyboard.press("Tab")
        raise AssertionError(f"the Tab key does not lead to {target}")


_SEND = """async ([path, csrf, order]) => {
    const headers = {"Content-Type": "application/json", "X-CSRF-Token": csrf};
    const sent = {method: "POST", headers, body: JSON.stringify(order)};
    return (await fetch(path, sent)).json();
}"""


@contextmanager
def visiting(
    browser: Browser, url: str, label: str, viewport: ViewportSize, **options: Any
) -> Iterator[Visitor]:
    """A visitor with no cookies. Afterwards: no complaint, and no request to another machine."""
    context: BrowserContext = browser.new_context(viewport=viewport, **options)
    visitor = Visitor(context.new_page(), url, label)
    page = visitor.page
    context.on("request", lambda request: visitor.requests.append(request.url))
    page.on("websocket", lambda socket: visitor.requests.append(socket.url))
    page.on("pageerror", lambda error: visitor.complaints.append(str(error)))
    page.on("console", lambda said: visitor.complaints.extend(complaints(said.type, said.text)))
    try:
        yield visitor
    finally:
        context.close()
    assert_local(visitor.requests, url)
    assert not visitor.complaints, visitor.complaints


def complaints(kind: str, text: str) -> list[str]:
    """What the console says, if it is an error or a warning."""
    return [f"{kind}: {text}"] if kind in ("error", "warning") else []


def assert_local(requests: list[str], url: str) -> None:
    """Every request went to this server, or nowhere."""
    assert requests
    elsewhere = [each for each in requests if not each.startswith((f"{url}/", "data:", "blob:"))]
    assert not elsewhere, elsewhere


def grave_violations(page: Page) -> list[tuple[str, str]]:
    """Rules that axe-core finds broken, where that keeps people out; and where."""
    found = Axe().run(page).response["violations"]
    return [
        (rule["id"], node["html"])
        for rule in found
        if rule["impact"] in _GRAVE
        for node in rule["nodes"]
    ]


def overflow(page: Page) -> int:
    """Pixels that the page is wider than the window."""
    found: int = page.evaluate(
        "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    )
    return found


def is_focus_seen(target: Locator) -> bool:
    """Whether an outline or a shadow shows where the focus is."""
    style = "each => [getComputedStyle(each).outlineStyle, getComputedStyle(each).boxShadow]"
    outline, shadow = target.evaluate(style)
    return outline != "none" or shadow != "none"
