import base64
import hashlib
import json
import re

import pytest

from crawler.picture.page import Picture, PicturedEdge, PicturedNode, render_page

HOSTILE = "</script><script>alert(1)</script><!-- <b>&amp;"


def node(name: str) -> PicturedNode:
    return PicturedNode(key=f"thing:{name}", kind="thing", name=name)


def edge(source: str, target: str) -> PicturedEdge:
    return PicturedEdge(source=f"thing:{source}", target=f"thing:{target}", predicate="knows", confidence=0.9)


def data_of(page: str) -> dict:
    block = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert block is not None
    return json.loads(block[1])


def test_stored_text_arrives_whole_and_never_as_markup():
    page = render_page(Picture(nodes=(node(HOSTILE),), edges=()), title="Graph")
    assert data_of(page)["nodes"][0]["name"] == HOSTILE
    assert "alert(1)</script>" not in page
    assert page.count("<script") == 2


def test_a_title_is_text():
    assert "<b>" not in render_page(Picture(nodes=(), edges=()), title="<b>")


def test_the_policy_lets_exactly_the_two_inline_blocks_run():
    page = render_page(Picture(nodes=(node("a"),), edges=()), title="Graph")
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)
    style = re.search(r"<style>(.*?)</style>", page, re.DOTALL)
    script = re.search(r"<script>(.*?)</script>", page, re.DOTALL)
    assert policy is not None
    assert style is not None
    assert script is not None
    hashes = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in (style[1], script[1])]
    assert policy[1] == f"default-src 'none'; style-src 'sha256-{hashes[0]}'; script-src 'sha256-{hashes[1]}'"


def test_the_page_needs_nothing_from_elsewhere():
    page = render_page(Picture(nodes=(node("a"),), edges=()), title="Graph")
    assert re.findall(r"""(?:src|href)=["'](?!#)|@import|url\((?!#)""", page) == []


def test_the_busiest_nodes_stay_with_the_edges_between_them():
    picture = Picture(
        nodes=(node("hub"), node("a"), node("b"), node("lone")),
        edges=(edge("a", "hub"), edge("b", "hub"), edge("a", "b")),
    )
    small = picture.busiest(2)
    assert [each.name for each in small.nodes] == ["a", "b"]
    assert small.edges == (edge("a", "b"),)
    assert small.left_out == 2
    assert "2 nodes with fewer edges are left out" in render_page(small, title="Graph")


@pytest.mark.parametrize("most", [4, 600])
def test_a_picture_that_fits_stays_whole(most):
    picture = Picture(nodes=(node("a"), node("b")), edges=(edge("a", "b"),))
    assert set(picture.busiest(most).nodes) == set(picture.nodes)
    assert picture.busiest(most).left_out == 0
