"""What a person does with the page, done in a browser."""

from __future__ import annotations

import re
from itertools import pairwise
from urllib.parse import quote

import pytest
from playwright.sync_api import expect

from facts.access import Role
from tests.page.eyes import contrast, line, luminance, node, overlap, press_line, shows, walk
from tests.page.world import CANARY, CROWD, HOSTILE

TYPER = "#node=package%3Atyper"
AROUND_TYPER = ("package:typer", "package:rich", "package:click", "person:sebastian", "project:app", "team:atlas")


# ---- signing in -----------------------------------------------------------------------------------------------------


def test_a_wrong_key_is_told_so_and_a_right_one_opens_the_page(site, tab):
    tab.refused, page = 401, tab.page
    page.goto(site.url)
    page.get_by_label("Key", exact=True).fill("hv_wrong")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_have_text("This key is unknown, expired or revoked.")
    page.get_by_label("Key", exact=True).fill(f"  {site.key()} ")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("heading", name="Search for something the graph knows")).to_be_visible()
    expect(page.locator("#who")).to_have_text("agent in s1")


def test_signing_out_ends_the_session_on_the_server_too(site, signed_in):
    tab = signed_in()
    stolen = tab.page.context.cookies(site.url + "page")
    tab.page.get_by_role("button", name="Sign out").click()
    expect(tab.page.get_by_role("alert")).to_have_text("You are signed out.")
    tab.page.context.add_cookies(stolen)
    tab.page.reload()
    expect(tab.page.get_by_label("Key", exact=True)).to_be_visible()


@pytest.mark.parametrize("end", ["revoked", "expired"])
def test_a_session_ends_with_its_key_and_with_its_week(site, signed_in, end):
    key = site.new_key()
    tab = signed_in(TYPER, key=key.token)
    tab.refused = 401
    expect(tab.page.locator("#side article").first).to_be_visible()
    site.keys.revoke(key.key.key_id) if end == "revoked" else site.end_sessions()
    node(tab.page, "package:rich").click()
    expect(tab.page.get_by_role("alert")).to_have_text("Your session has ended. Sign in again.")
    expect(tab.page.locator(".node")).to_have_count(0)


def test_the_session_outlives_a_reload_and_the_address_holds_what_is_open(signed_in):
    page = signed_in(TYPER + "&direction=in").page
    expect(node(page, "project:app")).to_be_visible()
    page.reload()
    expect(node(page, "project:app")).to_be_visible()
    shows(page, "package:typer", "project:app")
    assert page.get_by_label("Direction").input_value() == "in"


# ---- looking around -------------------------------------------------------------------------------------------------


def test_a_node_is_found_and_opened_with_its_facts_beside_it(signed_in):
    page = signed_in().page
    page.get_by_role("combobox", name="Find a node").fill("typ")
    page.locator("#found").get_by_role("option", name="typer package").click()
    expect(node(page, "package:typer")).to_have_attribute("aria-pressed", "true")
    shows(page, *AROUND_TYPER)
    side = page.locator("#side")
    expect(side.get_by_role("heading", level=2)).to_have_text("typer")
    expect(side.locator(".rows")).to_contain_text("team/atlas")
    expect(side.get_by_role("heading", name="deps/typer", exact=True)).to_be_visible()
    expect(side.locator("pre", has_text="0.95")).to_be_visible()
    assert page.url.endswith(TYPER)


def test_a_press_on_a_node_opens_it_beside_the_others_and_folds_up_again(signed_in):
    page = signed_in(TYPER).page
    expect(node(page, "package:rich")).to_have_attribute("aria-label", re.compile("not opened yet"))
    node(page, "package:rich").click()
    expect(node(page, "package:pygments")).to_be_visible()
    expect(node(page, "package:click")).to_be_visible()
    expect(page.locator("#side").get_by_role("heading", level=2)).to_have_text("rich")
    page.get_by_role("button", name="Fold up").click()
    expect(node(page, "package:pygments")).to_have_count(0)
    expect(node(page, "package:rich")).to_be_visible()
    node(page, "package:rich").click()
    page.get_by_role("button", name="Start from here").click()
    expect(node(page, "package:click")).to_have_count(0)
    page.go_back()
    expect(node(page, "package:click")).to_be_visible()


def test_an_edge_says_why_it_is_believed(signed_in):
    page = signed_in(TYPER).page
    expect(node(page, "package:rich")).to_be_visible()
    press_line(page, "typer depends on rich")
    side = page.locator("#side")
    expect(side.locator(".belief")).to_contain_text("0.99")  # 1 - 0.05 x 0.4 x 0.5, the third not shown
    expect(side.locator(".belief")).to_contain_text("from 3 observations")
    expect(side.locator(".rows")).to_contain_text("triples")
    expect(side.get_by_role("article")).to_have_count(2)
    expect(side.get_by_role("heading", name="notes/typer")).to_be_visible()


def test_thickness_is_confidence_and_colour_is_kind(signed_in):
    page = signed_in(TYPER).page
    expect(node(page, "package:rich")).to_be_visible()
    width = "e => parseFloat(getComputedStyle(e.previousElementSibling).strokeWidth)"
    weak, strong = (line(page, said).evaluate(width) for said in ("depends on click", "depends on rich"))
    assert strong > 2 * weak
    fill = "e => getComputedStyle(e).fill"
    colours = {key: node(page, key).locator(".disc").evaluate(fill) for key in AROUND_TYPER}
    assert colours["package:rich"] == colours["package:typer"] != colours["person:sebastian"]
    expect(page.get_by_role("button", name="package 3")).to_be_visible()


def test_filters_narrow_what_is_drawn(signed_in):
    page = signed_in(TYPER).page
    expect(node(page, "package:click")).to_be_visible()
    page.get_by_role("slider", name="Confidence").fill("0.75")
    expect(node(page, "package:click")).to_have_count(0)
    expect(node(page, "person:sebastian")).to_be_visible()
    page.get_by_role("button", name="Clear filters").click()
    expect(node(page, "package:click")).to_be_visible()

    page.get_by_label("Namespace").select_option("team/atlas")
    shows(page, "package:typer", "team:atlas")
    page.get_by_role("button", name="Clear filters").click()
    shows(page, *AROUND_TYPER)

    page.get_by_label("Direction").select_option("in")
    shows(page, "package:typer", "project:app")
    page.get_by_label("Direction").select_option("any")
    shows(page, *AROUND_TYPER)

    page.get_by_label("Steps").select_option("3")
    expect(node(page, "package:pycolor")).to_be_visible()
    page.get_by_label("Steps").select_option("1")
    expect(node(page, "package:pycolor")).to_have_count(0)

    page.get_by_label("Kind", exact=True).select_option("person")
    shows(page, "package:typer", "person:sebastian")
    assert "kind=person" in page.url


def test_the_legend_hides_a_kind_and_brings_it_back(signed_in):
    page = signed_in(TYPER).page
    person = page.get_by_role("button", name="person 1")
    person.click()
    expect(node(page, "person:sebastian")).to_have_count(0)
    expect(person).to_have_attribute("aria-pressed", "false")
    person.click()
    expect(node(page, "person:sebastian")).to_be_visible()


def test_a_neighbourhood_that_was_cut_short_says_so(signed_in):
    page = signed_in("#node=package%3Acrowd").page
    expect(page.locator("#cut")).to_contain_text("151 nodes are drawn; there are more")
    assert page.locator(".node").count() == 151 < CROWD
    labels = page.locator("#labels text").evaluate_all("all => all.map(e => e.getBoundingClientRect().toJSON())")
    assert len(labels) > 20
    assert not [(a, b) for i, a in enumerate(labels) for b in labels[:i] if overlap(a, b)]


# ---- what one may see -----------------------------------------------------------------------------------------------


def test_facts_of_another_session_are_not_shown(site, signed_in):
    page = signed_in(TYPER).page
    expect(node(page, "package:rich")).to_be_visible()
    press_line(page, "typer depends on rich")
    expect(page.locator("#side article")).to_have_count(2)
    page.get_by_role("combobox", name="Find a node").fill(CANARY)
    expect(page.locator("#found-note")).to_have_text("Nothing is called that here.")
    page.get_by_role("combobox", name="Find a node").fill("")
    expect(page.locator("#found li").first).to_be_visible()
    assert CANARY not in page.content()

    own = signed_in(TYPER, key=site.key(Role.AGENT, "s2")).page
    expect(node(own, "package:rich")).to_be_visible()
    press_line(own, "typer depends on rich")
    expect(own.locator("#side article")).to_have_count(3)
    expect(own.locator("#side")).to_contain_text(CANARY)


def test_who_reads_everything_reads_the_facts_of_any_session(site, signed_in):
    page = signed_in(TYPER, key=site.key(Role.FACTS_MANAGER)).page
    expect(node(page, "package:rich")).to_be_visible()
    press_line(page, "typer depends on rich")
    expect(page.locator("#side article pre")).to_have_count(3)
    expect(page.locator("#side")).to_contain_text(CANARY)


def test_a_value_that_fits_into_no_answer_is_begun_and_says_so(signed_in):
    page = signed_in("#node=book%3Ascroll").page
    expect(page.locator("#side article pre")).to_have_count(2)
    expect(page.locator("#side .warn")).to_contain_text(
        re.compile(r"A long value: the first [\d,]+ of 500,\d+ characters")
    )


def test_a_key_of_several_sessions_chooses_one(site, signed_in):
    page = signed_in(TYPER, key=site.key(Role.AGENT, "s1", "s2")).page
    expect(node(page, "package:rich")).to_be_visible()
    press_line(page, "typer depends on rich")
    expect(page.locator("#side article")).to_have_count(2)
    page.get_by_label("Session").select_option("s2")
    expect(page.locator("#side h2")).to_have_text("typer")
    press_line(page, "typer depends on rich")
    expect(page.locator("#side article")).to_have_count(3)


def test_numbers_are_for_those_who_may_have_them(site, signed_in):
    page = signed_in().page
    expect(page.locator("#numbers")).to_be_hidden()
    page = signed_in(key=site.key(Role.FACTS_MANAGER)).page
    expect(page.locator("#numbers .health")).to_contain_text("1 fact waiting, the oldest for")
    expect(page.locator("#numbers")).to_contain_text("1 that no rule covers")
    expect(page.locator("#numbers dl").first).to_contain_text("nodes")


def test_stored_text_is_never_markup(signed_in):
    page = signed_in("#node=thing%3Ahostile").page
    expect(page.locator("#blank")).to_contain_text("There is no such node")
    page.get_by_role("combobox", name="Find a node").fill("Hostile")
    page.keyboard.press("Enter")
    expect(page.locator(".node")).to_have_count(len(HOSTILE) + 1)
    expect(page.locator("#side article")).to_have_count(len(HOSTILE))
    for name in HOSTILE[:4]:
        expect(page.locator("#side .relations bdi", has_text=name).first).to_be_visible()
    page.locator(".relations .why").first.click()
    expect(page.locator("#side .belief")).to_be_visible()
    page.get_by_role("combobox", name="Find a node").fill("<")
    expect(page.locator("#found li")).to_have_count(3)
    foreign = "img, iframe, u, script:not([src^='/page/']), #side i:not(.track i)"
    expect(page.locator(foreign)).to_have_count(0)
    assert page.title() == "Harvester"
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


# ---- states ---------------------------------------------------------------------------------------------------------


def test_a_node_that_is_not_there_says_what_to_do(signed_in):
    page = signed_in("#node=" + quote("package:nonesuch", safe="")).page
    expect(page.get_by_role("heading", name="There is no such node")).to_be_visible()


def test_a_busy_server_is_named_and_can_be_asked_again(signed_in):
    tab = signed_in()
    tab.refused, page = 503, tab.page
    page.route("**/page/tools/graph_neighbourhood", lambda route: route.fulfill(
        status=503, content_type="application/json", body='{"code": "busy", "message": "try again"}'), times=1)  # fmt: skip
    page.goto(page.url + TYPER)
    expect(page.locator("#trouble")).to_contain_text("The server is busy.")
    expect(page.locator("#busy")).to_be_hidden()
    page.get_by_role("button", name="Try again").click()
    expect(node(page, "package:rich")).to_be_visible()
    expect(page.locator("#trouble")).to_be_hidden()


def test_while_it_waits_it_says_so(signed_in):
    page = signed_in().page
    held = []
    page.route("**/page/tools/graph_neighbourhood", lambda route: held.append(route), times=1)  # noqa: PLW0108 - playwright wraps it
    page.goto(page.url + TYPER)
    expect(page.locator("#busy")).to_be_visible()
    held[0].continue_()
    expect(node(page, "package:rich")).to_be_visible()
    expect(page.locator("#busy")).to_be_hidden()


# ---- hands and eyes -------------------------------------------------------------------------------------------------


def test_everything_is_reached_from_the_keyboard(site, tab):
    page, keys = tab.page, tab.page.keyboard
    page.goto(site.url)
    expect(page.get_by_label("Key", exact=True)).to_be_focused()
    keys.type(site.key())
    keys.press("Enter")
    expect(page.locator("#room")).to_be_visible()
    keys.press("/")
    box = page.get_by_role("combobox", name="Find a node")
    expect(box).to_be_focused()
    keys.type("t")
    expect(page.locator("#found li").nth(1)).to_be_visible()
    keys.press("ArrowDown")
    expect(box).to_have_attribute("aria-activedescendant", "found-0")
    keys.press("Escape")
    expect(box).to_have_attribute("aria-expanded", "false")
    expect(box).to_have_value("t")
    box.fill("typer")
    keys.press("Enter")
    expect(node(page, "package:typer")).to_be_focused()
    outline = node(page, "package:typer").locator(".halo").evaluate("e => getComputedStyle(e).stroke")
    assert outline not in ("none", "rgba(0, 0, 0, 0)")

    assert walk(page, "package:rich")
    keys.press("Enter")
    expect(node(page, "package:pygments")).to_be_visible()
    expect(node(page, "package:rich")).to_be_focused()
    page.get_by_role("link", name="Skip to what is chosen").focus()
    keys.press("Enter")
    expect(page.locator("#side")).to_be_focused()
    keys.press("Tab")
    keys.press("Tab")
    expect(page.get_by_role("button", name="Start from here")).to_be_focused()
    page.get_by_role("button", name="Why depends on pygments").focus()
    keys.press("Enter")
    expect(page.locator("#side .belief")).to_be_visible()
    expect(page.locator("#side")).to_be_focused()
    keys.press("Escape")
    expect(page.locator("#side h2")).to_have_count(0)
    expect(page.locator(".node[tabindex='0']")).to_have_count(1)


def test_a_phone_shows_all_of_it_in_one_column(signed_in):
    tab = signed_in(TYPER, viewport={"width": 360, "height": 740}, has_touch=True, is_mobile=True)
    page = tab.page
    expect(node(page, "package:rich")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") == 360
    boxes = [page.locator(each).bounding_box() for each in (".bar", ".left", ".middle", ".side")]
    assert [box["x"] for box in boxes] == [0] * 4
    assert all(above["y"] + above["height"] <= below["y"] + 1 for above, below in pairwise(boxes))
    node(page, "package:rich").tap()
    expect(node(page, "package:pygments")).to_be_visible()
    page.get_by_text("Filters", exact=True).tap()
    expect(page.get_by_label("Namespace")).to_be_visible()
    heights = page.locator("button:visible").evaluate_all("all => all.map(e => e.getBoundingClientRect().height)")
    assert min(heights) >= 36


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_is_readable_in_light_and_dark(signed_in, scheme):
    page = signed_in(TYPER, color_scheme=scheme).page
    expect(page.locator("#side article").first).to_be_visible()
    paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (luminance(paper) < 0.2) == (scheme == "dark")
    for place in ("#side h2", "#side .soft", "#side pre", "#who", ".figures dt, .fields label", ".verb", "summary"):
        pair = page.locator(place).first.evaluate("""e => {
          let back = e;
          while (getComputedStyle(back).backgroundColor === "rgba(0, 0, 0, 0)") back = back.parentElement;
          return [getComputedStyle(e).color, getComputedStyle(back).backgroundColor] }""")
        assert contrast(*pair) >= 4.5, place
