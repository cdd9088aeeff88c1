"""The page as people get it: a real server over a real database, in a real browser.

One server and one browser a module. A playwright that runs keeps an event loop in this thread, so it ends with the module.
"""

from __future__ import annotations

import itertools
import os
import shutil
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Dialog, Page, expect, sync_playwright

from facts.embedded import EmbeddedServer
from tests.conftest import TEMPLATE
from tests.page.site import Site, serving
from tests.page.world import fill

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
MISSING = "the page is tested in a browser: install the Debian package `chromium` (apt-get install chromium)"
PATIENCE_MS = 10_000
_numbers = itertools.count(1)


@pytest.fixture(scope="module")
def site(server: EmbeddedServer, template_url: str) -> Iterator[Site]:
    """Served from a database of the module's own, with the world in it."""
    assert template_url
    name = f"page_{os.getpid()}_{next(_numbers)}"
    url = server.create_database(name, template=TEMPLATE)
    with serving(url) as running:
        fill(running.stores)
        yield running
    server.drop_database(name)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        if os.environ.get("CI") == "true":
            pytest.fail(MISSING)
        pytest.skip(MISSING)
    expect.set_options(timeout=PATIENCE_MS)
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield running
        running.close()


class Watched:
    """A tab, and everything it complained about. ``refused``: the status of a refusal that the test provokes."""

    def __init__(self, context: BrowserContext) -> None:
        context.set_default_timeout(PATIENCE_MS)
        self.page: Page = context.new_page()
        self.refused: int | None = None
        self._complaints: list[str] = []
        self.page.on("console", lambda message: self._complaints.append(f"{message.type}: {message.text}"))
        self.page.on("pageerror", lambda error: self._complaints.append(f"error: {error}"))
        self.page.on("dialog", self._dialog)

    @property
    def complaints(self) -> list[str]:
        """The browser logs each refused request itself; only those that were provoked are forgiven."""
        forgiven = f"status of {self.refused} "
        return [each for each in self._complaints if self.refused is None or forgiven not in each]

    def _dialog(self, dialog: Dialog) -> None:
        self._complaints.append(f"dialog: {dialog.message}")
        dialog.dismiss()


@pytest.fixture
def tabs(browser: Browser) -> Iterator[Callable[..., Watched]]:
    """Opens tabs in fresh profiles: `tabs(color_scheme="dark")`. What a tab complains about fails the test."""
    opened: list[tuple[BrowserContext, Watched]] = []

    def open_tab(**how: Any) -> Watched:
        how = {"viewport": {"width": 1280, "height": 800}, "reduced_motion": "reduce"} | how
        context = browser.new_context(**how)
        opened.append((context, Watched(context)))
        return opened[-1][1]

    yield open_tab
    complaints = [complaint for _, tab in opened for complaint in tab.complaints]
    for context, _ in opened:
        context.close()
    assert complaints == []


@pytest.fixture
def tab(tabs: Callable[..., Watched]) -> Watched:
    return tabs()


@pytest.fixture
def signed_in(site: Site, tabs: Callable[..., Watched]) -> Callable[..., Watched]:
    """A tab that is signed in, on an address: `signed_in("#node=package:typer", key=..., color_scheme="dark")`."""

    def sign_in(where: str = "", *, key: str | None = None, **how: Any) -> Watched:
        tab = tabs(**how)
        asked = tab.page.context.request
        done = asked.post(f"{site.url}page/session", headers={"X-Harvester-Page": "1"}, data={"key": key or site.key()})
        assert done.ok, done.text()
        tab.page.goto(site.url + where)
        tab.page.wait_for_selector("#room:visible")
        return tab

    return sign_in
