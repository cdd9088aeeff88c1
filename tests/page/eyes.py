"""Looking at the page: where its nodes and lines are, and whether what is there can be read."""

from __future__ import annotations

import re

from playwright.sync_api import Locator, Page, expect


def node(page: Page, key: str) -> Locator:
    return page.locator(f'.node[data-key="{key}"]')


def line(page: Page, said: str) -> Locator:
    """The part of a line that takes the mouse, found by its tooltip."""
    return page.locator(".touch", has=page.locator("title", has_text=said))


def press_line(page: Page, said: str) -> None:
    """In its middle: the box of a bent line is mostly empty."""
    x, y = line(page, said).evaluate(
        "e => { const p = e.getPointAtLength(e.getTotalLength() / 2).matrixTransform(e.getScreenCTM()); return [p.x, p.y] }"
    )
    page.mouse.click(x, y)


def shows(page: Page, *keys: str) -> None:
    """These nodes and no others, once the page is done."""
    expect(page.locator(".node")).to_have_count(len(keys))
    assert set(page.locator(".node").evaluate_all("all => all.map(e => e.dataset.key)")) == set(keys)


def walk(page: Page, wanted: str) -> bool:
    """Whether the arrow keys lead there, tried breadth first."""
    seen, waiting = {"package:typer"}, ["package:typer"]
    while waiting:
        start = waiting.pop(0)
        for arrow in ("ArrowUp", "ArrowRight", "ArrowDown", "ArrowLeft"):
            node(page, start).focus()
            page.keyboard.press(arrow)
            here = page.evaluate("document.activeElement.dataset.key")
            if here == wanted:
                return True
            if here not in seen:
                seen.add(here)
                waiting.append(here)
    return False


def overlap(a: dict[str, float], b: dict[str, float]) -> bool:
    across = min(a["right"], b["right"]) - max(a["left"], b["left"])
    return across > 2 and min(a["bottom"], b["bottom"]) - max(a["top"], b["top"]) > 6


def luminance(colour: str) -> float:
    parts = [int(number) / 255 for number in re.findall(r"\d+", colour)[:3]]
    linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    low, high = sorted([luminance(one), luminance(other)])
    return (high + 0.05) / (low + 0.05)
