"""Journeys through the pages with a real browser, as custodians and parties make them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tacit.service.access import PARTY
from tacit.service.failures import REFUSED
from tacit.service.routes import documentation
from tacit.study import Certificate, Study
from tests.service.browser import (
    DESKTOP,
    PHONE,
    Visitor,
    open_browser,
    visiting,
)
from tests.service.server import Server, answering, ask

pytestmark = pytest.mark.slow

WIDTHS = pytest.mark.parametrize(
    "place",
    [
        {"label": "desktop", "viewport": DESKTOP, "color_scheme": "light"},
        {"label": "phone", "viewport": PHONE, "color_scheme": "dark", "has_touch": True},
    ],
    ids=["desktop", "phone"],
)


CUSTODIANS_PAGES = ("Limits", "Ledger", "Records", "Approvals", "Audit", "Tokens", "Jobs")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with open_browser() as found:
        yield found


def log_in(visitor: Visitor, server: Server) -> None:
    """Follow an address that works once."""
    visitor.go(f"/login/{server.access.invite('anna')}")
    visitor.page.get_by_role("button", name="Log in").click()
    expect(visitor.page).to_have_url(f"{visitor.url}/study")


def log_out(visitor: Visitor) -> None:
    visitor.page.get_by_role("button", name="Log out").click()
    expect(visitor.page).to_have_url(f"{visitor.url}/login")
    visitor.go("/study")
    expect(visitor.page).to_have_url(f"{visitor.url}/login")


def follow(page: Page, name: str) -> None:
    """Go to one of the pages in the navigation."""
    page.get_by_role("navigation").first.get_by_role("link", name=name, exact=True).click()


# -- the custodian --------------------------------------------------------------------------------


def test_the_printed_address_logs_in_once(clinic: Server, browser: Browser) -> None:
    with visiting(browser, clinic.url, "printed", DESKTOP) as visitor:
        visitor.page.goto(clinic.login)
        visitor.look("login")
        visitor.page.get_by_role("button", name="Log in").click()
        expect(visitor.page).to_have_url(f"{clinic.url}/study")
        log_out(visitor)
    with browser.new_context() as context:
        page = context.new_page()
        page.goto(clinic.login)
        page.get_by_role("button", name="Log in").click()
        expect(page.get_by_role("alert")).to_be_visible()


@WIDTHS
def test_a_custodians_journey(
    clinic: Server, browser: Browser, place: dict, tmp_path: Path
) -> None:
    party = f"hospital-{place['label']}"
    with visiting(browser, clinic.url, **place) as visitor:
        page = visitor.page
        log_in(visitor, clinic)
        let_in(visitor, party)
        follow(page, "Release")
        visitor.look("custodian-release")
        page.get_by_label("Party").select_option(party)
        page.get_by_label("Compare").check()
        ask_for(page, "smoker", "0.05", "Quote")
        visitor.wait_for_job("done")
        visitor.look("quote")
        page.get_by_label("Reason").fill("agreed with the ethics board")
        page.get_by_role("button", name="Release it").click()
        visitor.wait_for_job("done")
        visitor.look("release")
        page.get_by_role("link", name="its receipt and files").click()
        expect(page.get_by_role("main")).to_contain_text("agreed with the ethics board")
        download(visitor, clinic, tmp_path)
        for name in ("Verify", "Audit"):
            visitor.go("/study")
            page.get_by_role("button", name=name).first.click()
            visitor.wait_for_job("done")
            visitor.look(name.lower())
        log_out(visitor)


def let_in(visitor: Visitor, party: str) -> None:
    """Create a party by the form; the list of limits shows it."""
    page = visitor.page
    page.get_by_label("Whom").first.fill(party)
    page.get_by_label("Bits", exact=True).first.fill("0.2")
    page.get_by_role("button", name="Set", exact=True).click()
    expect(page.get_by_role("main")).to_contain_text(party)
    visitor.look("limits")


def download(visitor: Visitor, server: Server, place: Path) -> None:
    """The file of a release, from its page: as the study delivers it."""
    number = int(visitor.page.url.rpartition("/")[2])
    with Study.open(server.folder) as study:
        study.deliver(number, place / "again.csv")
    visitor.look("receipt")
    saved = visitor.save(visitor.page.get_by_role("link", name="CSV").first, place)
    assert saved.read_bytes() == (place / "again.csv").read_bytes()
    assert Certificate.beside(place / "again.csv").entry == number
    visitor.look_at_document(f"/study/ledger/{number}/receipt.html", "receipt-page")


def test_people_are_erased_by_a_list_that_is_sent(
    clinic: Server, browser: Browser, tmp_path: Path
) -> None:
    (tmp_path / "leaving.csv").write_text("patient\np000011\n")
    with visiting(browser, clinic.url, "erasure", DESKTOP) as visitor:
        page = visitor.page
        log_in(visitor, clinic)
        follow(page, "Records")
        page.get_by_label("File", exact=True).set_input_files(tmp_path / "leaving.csv")
        page.get_by_role("button", name="Send").click()
        expect(page.get_by_role("rowheader", name="leaving.csv")).to_be_visible()
        visitor.look("sent")
        form = page.locator("form", has=page.get_by_role("button", name="Count them"))
        form.get_by_role("combobox").select_option(index=1)
        page.get_by_role("button", name="Count them").click()
        visitor.wait_for_job("done")
        expect(page.get_by_role("main")).to_contain_text("1 record to erase")
        visitor.look("counted")
        page.get_by_role("button", name="Erase them for good").click()
        visitor.wait_for_job("done")
        expect(page.get_by_role("main")).to_contain_text("1 record erased, 199 left")
        visitor.look("done")
        follow(page, "Records")
        expect(page.get_by_role("rowheader", name="leaving.csv")).to_have_count(0)


@WIDTHS
def test_what_other_limits_would_buy(clinic: Server, browser: Browser, place: dict) -> None:
    with visiting(browser, clinic.url, **place) as visitor:
        page = visitor.page
        log_in(visitor, clinic)
        follow(page, "What if")
        visitor.look("what-if")
        page.get_by_label("Columns").select_option("diagnosis")
        page.get_by_label("Limit of the party").fill("0.3")
        page.get_by_role("button", name="See what they buy").click()
        visitor.wait_for_job("done")
        slider, field = page.get_by_role("slider").first, page.get_by_role("textbox").first
        expect(field).to_have_value("0.3")
        expect(page.locator("output")).not_to_be_empty()  # once the script has run
        before = page.locator("output").inner_text()
        slider.press("ArrowRight")
        expect(field).to_have_value("0.301")
        box = slider.bounding_box()
        page.mouse.click(box["x"] + 0.9 * box["width"], box["y"] + box["height"] / 2)
        expect(page.locator("output")).not_to_have_text(before)
        assert right_of_100(page.locator("output").inner_text()) > right_of_100(before)
        expect(page.get_by_role("img", name="A map of D(ε, δ)")).to_be_visible()
        visitor.look("surface")
        limit = field.input_value()
        page.get_by_role("button", name="Design it exactly").click()
        visitor.wait_for_job("done")
        expect(page.get_by_role("main")).to_contain_text(f"with {limit} bits for lab-a")


def right_of_100(said: str) -> float:
    """The share that a sentence on the page tells."""
    [found] = re.findall(r"about ([0-9.]+) of 100 right", said)
    return float(found)


@WIDTHS
def test_what_parties_would_know_together(clinic: Server, browser: Browser, place: dict) -> None:
    with visiting(browser, clinic.url, **place) as visitor:
        log_in(visitor, clinic)
        follow(visitor.page, "What if")
        expect(visitor.page.get_by_role("checkbox", name="lab-a")).to_be_checked()
        visitor.page.get_by_role("button", name="Tell").click()
        main = visitor.page.get_by_role("main")
        for name in ("age", "diagnosis", "smoker", "outcome"):
            expect(main.get_by_role("rowheader", name=name)).to_be_visible()
        visitor.look("risk")


@WIDTHS
def test_every_page_of_a_custodian(clinic: Server, browser: Browser, place: dict) -> None:
    with visiting(browser, clinic.url, **place) as visitor:
        log_in(visitor, clinic)
        for name in (*CUSTODIANS_PAGES, "Overview"):
            follow(visitor.page, name)
            expect(visitor.page.get_by_role("heading", level=1)).to_have_count(1)
            visitor.look(f"custodian-{name.lower()}")
        visitor.go("/study/cells?below=40")
        visitor.look("custodian-cells")
        visitor.look_at_document("/study/report", "custodian-report")
        visitor.go("/nothing-here")
        visitor.look("failure")
        assert len(visitor.complaints) == 1  # the browser's own word for a page that is not there
        assert "404" in visitor.complaints.pop()


def test_the_description_of_the_api_needs_no_other_machine(
    clinic: Server, browser: Browser
) -> None:
    with visiting(browser, clinic.url, "api", DESKTOP) as visitor:
        log_in(visitor, clinic)
        visitor.go("/api/docs")
        expect(visitor.page.get_by_text("/api/own/quotes")).to_be_visible()
        visitor.look("api")


@pytest.mark.slow
def test_the_documentation_needs_no_other_machine(
    clinic: Server, browser: Browser, site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(documentation, "find_site", lambda: site)
    with answering(clinic) as url, visiting(browser, url, "help", DESKTOP) as visitor:
        log_in(visitor, clinic)
        follow(visitor.page, "Help")
        expect(visitor.page.get_by_role("heading", level=1)).to_be_visible()
        visitor.look("start")
        visitor.go("/help/explanation/mathematics.html")
        assert visitor.page.locator("math").count() > 0
        assert visitor.page.locator(".arithmatex:not(:has(math))").count() == 0
        visitor.look("mathematics")
        for path in sorted(site.rglob("*.html")):
            if "arithmatex" in path.read_text(encoding="utf-8"):
                visitor.go(f"/help/{path.relative_to(site)}")
                assert visitor.page.locator(".arithmatex:not(:has(math))").count() == 0, path


def test_a_custodian_with_a_keyboard_alone(clinic: Server, browser: Browser) -> None:
    with visiting(browser, clinic.url, "keyboard", DESKTOP) as visitor:
        page, keys = visitor.page, visitor.page.keyboard
        visitor.go(f"/login/{clinic.access.invite('anna')}")
        visitor.reach(page.get_by_role("button", name="Log in"))
        keys.press("Enter")
        expect(page).to_have_url(f"{clinic.url}/study")
        visitor.reach(page.get_by_label("Whom").first)
        keys.type("typist")
        visitor.reach(page.get_by_label("Bits", exact=True).first)
        keys.type("0.1")
        keys.press("Enter")
        expect(page.get_by_role("main")).to_contain_text("typist")
        visitor.reach(page.get_by_role("link", name="Release", exact=True))
        keys.press("Enter")
        visitor.reach(page.get_by_label("Party").first)
        keys.type("typist")
        visitor.reach(page.get_by_label("Columns"))
        keys.press("ArrowDown")
        visitor.reach(page.get_by_label("Bits", exact=True))
        keys.type("0.05")
        visitor.reach(page.get_by_role("button", name="Quote"))
        keys.press("Space")
        visitor.wait_for_job("done")
        expect(page.get_by_role("main")).to_contain_text("age for typist")
        visitor.reach(page.get_by_role("button", name="Release it"))
        keys.press("Enter")
        visitor.wait_for_job("done")
        expect(page.get_by_role("link", name="its receipt and files")).to_be_visible()
        visitor.reach(page.get_by_role("button", name="Log out"))
        keys.press("Enter")
        expect(page).to_have_url(f"{clinic.url}/login")


def test_the_first_tab_skips_the_navigation(clinic: Server, browser: Browser) -> None:
    with visiting(browser, clinic.url, "skip", DESKTOP) as visitor:
        log_in(visitor, clinic)
        visitor.page.keyboard.press("Tab")
        focused = visitor.page.locator(":focus")
        assert focused.get_attribute("href") == "#content"
        assert focused.bounding_box()["y"] >= 0


# -- a party --------------------------------------------------------------------------------------


@WIDTHS
def test_a_partys_journey(clinic: Server, browser: Browser, place: dict, tmp_path: Path) -> None:
    with visiting(browser, clinic.url, **place) as visitor:
        page = visitor.page
        log_in_with_token(visitor, clinic.access.issue_token(PARTY, "lab-a"))
        expect(page.get_by_role("main")).to_contain_text("lab-a")
        visitor.look("party-account")
        ask_for(page, "smoker", "0.02", "Quote")
        visitor.wait_for_job("done")
        visitor.look("party-quote")
        visitor.go("/own")
        ask_for(page, "diagnosis", "0.02", "Ask for it")
        visitor.wait_for_job("done")
        visitor.go("/own")
        saved = visitor.save(page.get_by_role("link", name="CSV").last, tmp_path)
        assert saved.read_text().startswith("record,")
        page.get_by_role("row").last.get_by_role("link").first.click()
        visitor.look("party-certificate")
        page.get_by_role("button", name="Estimate from my file").click()
        visitor.wait_for_job("done")
        visitor.look("party-estimate")
        follow(page, "Jobs")
        visitor.look("party-jobs")
        assert "hospital" not in page.content()
        log_out(visitor)


def log_in_with_token(visitor: Visitor, token: str) -> None:
    visitor.go("/")
    visitor.page.get_by_label("Token").fill(token)
    visitor.page.get_by_role("button", name="Log in").click()
    expect(visitor.page).to_have_url(f"{visitor.url}/own")


def ask_for(page: Page, column: str, bits: str, button: str) -> None:
    page.get_by_label("Columns").first.select_option(column)
    page.get_by_label("Bits", exact=True).fill(bits)
    page.get_by_role("button", name=button).first.click()


def test_a_refusal_is_the_same_for_every_reason(clinic: Server, browser: Browser) -> None:
    token = clinic.access.issue_token(PARTY, "lab-a")
    with visiting(browser, clinic.url, "refused", PHONE) as visitor:
        log_in_with_token(visitor, token)
        said = []
        for column, bits in (("age", "0.9"), ("diagnosis", "0.399")):
            visitor.go("/own")
            ask_for(visitor.page, column, bits, "Ask for it")
            visitor.wait_for_job("failed")
            said.append(visitor.page.get_by_role("alert").inner_text())
            visitor.look(column)
        assert said == [f"{REFUSED.message.capitalize()}."] * 2


def test_approval_by_the_custodian(clinic: Server, browser: Browser) -> None:
    with (
        clinic.party("lab-a") as party,
        visiting(browser, clinic.url, "approval", DESKTOP) as visitor,
    ):
        log_in(visitor, clinic)
        follow(visitor.page, "Limits")
        visitor.page.get_by_role("button", name="Let them wait, lab-a").click()
        jobs = [ask(party, "/api/own/requests", asked=["outcome"], bits=b) for b in (0.01, 0.02)]
        follow(visitor.page, "Approvals")
        visitor.look("waiting")
        decisions = {"Decline": "declined", "Approve": "done"}  # the newest is listed first
        for button, state in decisions.items():
            follow(visitor.page, "Approvals")
            visitor.page.get_by_role("link", name="Release").nth(1).click()
            visitor.page.get_by_role("button", name=button).click()
            visitor.wait_for_job(state)
        states = [party.get(f"/api/jobs/{each['id']}").json()["state"] for each in jobs]
        assert states == ["done", "declined"]
        follow(visitor.page, "Limits")
        visitor.page.get_by_role("button", name="Grant at once, lab-a").click()
        expect(visitor.page.get_by_role("main")).to_contain_text("are granted at once")
