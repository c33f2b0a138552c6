"""The page on a phone, in the dark, by keyboard alone; and that hostile tables do nothing."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import expect

from e2e.visiting import Visitor, visiting
from http_server.served import Served

AIRPORTS = "vega_datasets/airports.csv"
PHONE = {"viewport": {"width": 390, "height": 844}, "is_mobile": True, "has_touch": True}
HOSTILE = [
    "<img src=x onerror=alert(1)>",
    "<script>alert(2)</script>",
    "javascript:alert(3)",
    '"><svg onload=alert(4)>',
    "{{constructor.constructor('alert(5)')()}}",
    "</textarea><iframe srcdoc='<script>alert(6)</script>'>",
    "\u202egnp.exe",
    "a" * 4_000,
]


def overflows(visitor: Visitor) -> bool:
    """Whether the page as a whole can be pushed sideways, which nobody expects."""
    wide = "document.documentElement.scrollWidth > document.documentElement.clientWidth + 1"
    return bool(visitor.page.evaluate(wide))


def test_on_a_phone(browser: Any, demo_served: Served) -> None:
    with visiting(browser, demo_served, **PHONE) as visitor:
        visitor.open()
        visitor.page.wait_for_timeout(500)
        assert not overflows(visitor)
        visitor.shot("phone-home")
        visitor.the("find").fill(AIRPORTS)
        visitor.the("found").first.tap()
        visitor.the("tab-table").tap()
        visitor.the("grid").wait_for()
        assert not overflows(visitor)
        visitor.shot("phone-table")
        visitor.the("tab-search").tap()
        visitor.the("search-start").tap()
        visitor.searched()
        assert not overflows(visitor)
        visitor.shot("phone-search")
        visitor.the("result-join").first.tap()
        visitor.the("join-grid").wait_for()
        assert not overflows(visitor)
        visitor.shot("phone-join")


def test_in_the_dark(browser: Any, demo_served: Served) -> None:
    with visiting(browser, demo_served, color_scheme="dark") as visitor:
        visitor.start_from(AIRPORTS)
        visitor.search()
        visitor.shot("dark-search")
        colour = visitor.page.evaluate("getComputedStyle(document.body).backgroundColor")
        light = sum(int(part) for part in colour.strip("rgba()").split(",")[:3]) / 3
        assert light < 80, colour


def test_by_keyboard_alone(visitor: Visitor) -> None:
    """From the first page to a joined table without a mouse."""
    keyboard = visitor.page.keyboard
    visitor.open()
    visitor.the("find").wait_for()
    keyboard.press("/")
    expect(visitor.the("find")).to_be_focused()
    keyboard.type(AIRPORTS)
    visitor.the("found").first.wait_for()
    keyboard.press("ArrowDown")
    keyboard.press("Enter")
    visitor.the("grid").wait_for()
    _tab_to(visitor, "tab-search")
    keyboard.press("Enter")
    _tab_to(visitor, "search-start")
    keyboard.press("Enter")
    visitor.searched()
    _tab_to(visitor, "result-join")
    keyboard.press("Enter")
    visitor.the("join-grid").wait_for()
    _tab_to(visitor, "join-run")
    keyboard.press("Enter")
    expect(visitor.the("chain-step")).to_have_count(2)
    keyboard.press("?")
    expect(visitor.the("shortcuts")).to_be_visible()
    keyboard.press("Escape")
    expect(visitor.the("shortcuts")).to_have_count(0)


def _tab_to(visitor: Visitor, name: str) -> None:
    """Presses Tab until something of that name has the focus, which must be seen to have it."""
    focused = "document.activeElement?.closest('[data-testid]')?.dataset.testid ?? ''"
    for _ in range(150):
        if visitor.page.evaluate(focused) == name:
            return
        visitor.page.keyboard.press("Tab")
    pytest.fail(f"{name} cannot be reached by Tab")


def test_hostile_texts_are_only_texts(visitor: Visitor) -> None:
    """In names of columns, in cells, in the name of the file, and in a state from outside."""
    heads = "\t".join(one.replace("\t", " ") for one in HOSTILE[:6])
    rows = ["\t".join(HOSTILE[(n + k) % len(HOSTILE)] for k in range(6)) for n in range(20)]
    text = "\n".join([heads, *rows])
    visitor.open()
    visitor.the("paste-open").click()
    visitor.the("paste-box").fill(text)
    visitor.the("paste-go").click()
    expect(visitor.the("grid")).to_contain_text("onerror=alert(1)")
    visitor.the("tab-search").click()
    visitor.the("search-start").click()
    visitor.searched()
    visitor.the("tab-sql").click()
    visitor.the("export").click()
    visitor.the("code-python").click()
    expect(visitor.the("code")).to_contain_text("lakejoin")
    visitor.page.wait_for_timeout(500)
    injected = "document.querySelectorAll('img[src=x], svg[onload], iframe').length"
    assert visitor.page.evaluate(injected) == 0
    visitor.open("#v1.<img src=x onerror=alert(7)>")
    visitor.page.wait_for_timeout(500)
    visitor.open("#lake")
    assert visitor.page.evaluate(injected) == 0
