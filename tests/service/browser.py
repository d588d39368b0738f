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
_HINTS = ("GL Driver Message (OpenGL, Performance", "willReadFrequently")
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
        self._check(self.page, name)

    def look_at_document(self, path: str, name: str) -> None:
        """The same of a document that runs no scripts, axe's neither: of a copy that may."""
        answer = self.page.context.request.get(self.url + path)
        assert answer.ok, answer.status_text
        copy = self.page.context.new_page()
        copy.set_content(answer.text())
        self._check(copy, name)
        copy.close()

    def _check(self, page: Page, name: str) -> None:
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        for chart in page.locator("img").all():
            assert chart.evaluate("each => each.naturalWidth") > 0
        page.screenshot(path=SCREENSHOTS / f"{self.label}-{name}.jpg", type="jpeg", full_page=True)
        found = grave_violations(page)
        assert not found, found
        assert overflow(page) <= 0, f"{name} is {overflow(page)} pixels too wide"

    def wait_for_job(self, state: str) -> None:
        """Until the page of a job was loaded again and says how it ended.

        The text says so before: going elsewhere then meets the page that is still being loaded.
        """
        expect(self.page.get_by_role("status").first).to_have_attribute(
            "data-state", state, timeout=1000 * JOB_SECONDS
        )

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
    """What the console says, if it is an error or a warning; not how to draw faster."""
    is_hint = kind == "warning" and any(hint in text for hint in _HINTS)
    return [f"{kind}: {text}"] if kind in ("error", "warning") and not is_hint else []


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
