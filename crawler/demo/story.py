"""The demo from first to last: ingest, harvest, look, edit and delete, harvest again, and check every edge."""

from __future__ import annotations

import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path

from rich.console import Console
from rich.text import Text

from crawler.demo import show
from crawler.demo.desk import SCOUT, DemoDesk, Sight
from crawler.demo.fold import Change, fold
from crawler.demo.plot import NOTE_KEY, Plot, choose
from crawler.errors import SourceFailed
from crawler.harvest import Harvester
from crawler.picture.page import render_page
from crawler.rules import RuleSet, read_rules
from crawler.settings import Settings
from crawler.sources.git import GitHistory
from crawler.sources.python_env import PythonEnvironment
from crawler.wiring import open_stores
from facts.errors import HarvesterError
from facts.scope_keys import scope_key
from graph.keys import node_key, predicate_key

PICTURE = Path(".harvester/demo.html")
# A demo shows the recent past of a long history; `harvester ingest git` takes all of it.
MOST_COMMITS = 400


def run_demo(*, picture: Path = PICTURE, checkout: Path | None = None, console: Console | None = None) -> None:
    """Run it all in a database of its own, which goes when the demo ends; only the picture stays.

    :param picture: where the HTML picture is written.
    :param checkout: a git repository whose history is ingested as well; the working directory unless given.
    :raises HarvesterError: the graph differs from the fold of the live facts.
    """
    started = time.monotonic()
    out = console or Console(highlight=False)
    out.print(Text("Starting a PostgreSQL with Apache AGE in a scratch folder ...", style="dim"))
    with tempfile.TemporaryDirectory(prefix="harvester-demo-") as folder:
        settings = Settings(data_dir=Path(folder))
        reserved = [each.prefix for each in settings.reserved_prefixes]
        rules = read_rules({"include": ["python-env", "git", "known-shapes"]}, reserved_prefixes=reserved)
        with open_stores(settings, create=True) as stores:
            _Story(DemoDesk(stores=stores), rules, out).tell(picture, checkout or Path())
    show.ending(out, picture, time.monotonic() - started)


@dataclass(frozen=True, slots=True)
class _Story:
    desk: DemoDesk
    rules: RuleSet
    out: Console

    def tell(self, picture: Path, checkout: Path) -> None:
        show.heading(self.out, 1, "Ingest: this Python environment and this repository's history")
        plot = self._gather(checkout)
        show.heading(self.out, 2, "Harvest: facts become a graph, and each statement keeps its evidence")
        before = self._harvest()
        show.counts(self.out, self.desk.call("graph_stats"), before.names)
        show.heading(self.out, 3, "The most depended-on packages")
        show.most_depended_on(self.out, before.edges, before.names)
        show.heading(self.out, 4, f"The neighbourhood of {plot.hub}")
        show.neighbourhood(self.out, self.desk.call("graph_neighbourhood", nodeKey=_package(plot.hub), maxNodes=500))
        show.heading(self.out, 5, "Why one edge is believed")
        self._explain(plot, before)
        show.heading(self.out, 6, "Edit one fact, delete another")
        self._edit_and_delete(plot)
        show.heading(self.out, 7, "Harvest again: exactly the right edges go")
        self._compare(before, self._harvest())
        self._draw(before, plot, picture)

    def _gather(self, checkout: Path) -> Plot:
        distributions = self.desk.ingest(PythonEnvironment())
        show.line(
            self.out,
            (f"{distributions:,}", "bold"),
            " facts from ",
            ("python-env", "cyan"),
            ", one for each installed distribution",
        )
        try:
            commits = self.desk.ingest(_recent(checkout))
            show.line(self.out, (f"{commits:,}", "bold"), " facts from ", ("git", "cyan"), ", one for each commit")
        except SourceFailed as failed:
            show.line(self.out, (f"no history: {failed.message}", "dim"))
        plot = choose(self.desk.live_facts())
        replace(self.desk, caller=SCOUT).call("store_fact", key=NOTE_KEY, value=plot.note(), shared=True)
        show.line(
            self.out, ("1", "bold"), f" fact from an agent, who saw {plot.edited} use {plot.hub}: ", (NOTE_KEY, "cyan")
        )
        return plot

    def _harvest(self) -> Sight:
        """Drain, then compare the graph with the fold of the live facts."""
        started = time.monotonic()
        tally = Harvester(self.desk.stores.facts, self.desk.stores.needed_graph(), self.rules, owner="demo").drain()
        spent = time.monotonic() - started
        if tally.failed:
            raise HarvesterError(f"{tally.failed} facts failed: {dict(tally.failures)}")
        show.line(
            self.out,
            (f"{tally.acked:,}", "bold"),
            f" facts harvested in {spent:.2f} s, {tally.withdrawn} statements withdrawn",
        )
        sight = self.desk.look()
        folded = fold(self.desk.live_facts(), self.rules)
        differences = folded.differences(sight.knowledge())
        if differences:
            raise HarvesterError(
                f"the graph is not the fold of the live facts, {len(differences)} differences: "
                + "; ".join(differences[:5])
            )
        show.line(
            self.out, ("✓", "bold green"),
            f" the graph equals the fold of the live facts, worked out apart: {len(folded.nodes):,} nodes,"
            f" {len(folded.edges):,} edges, their evidence and confidence",
        )  # fmt: skip
        return sight

    def _explain(self, plot: Plot, before: Sight) -> None:
        wanted = (_package(plot.edited), predicate_key("depends on"), _package(plot.hub))
        edge = next(each for each in before.edges if (each["fromKey"], each["predicateKey"], each["toKey"]) == wanted)
        facts = self.desk.call("read_facts", scopeKeys=list(edge["evidence"]), scope="all")["facts"]
        show.why(self.out, edge, facts, before.names)

    def _edit_and_delete(self, plot: Plot) -> None:
        read = self.desk.call("read_facts", scopeKeys=[scope_key(plot.edited_key, None)], scope="all")
        (fact,) = read["facts"]
        self.desk.call(
            "store_fact", key=plot.edited_key, value=plot.rewritten(fact["value"]), tags=fact["tags"], shared=True
        )
        show.line(
            self.out,
            ("edited ", "yellow"),
            (plot.edited_key, "cyan"),
            f": no longer requires {plot.hub} and {plot.other}",
        )
        self.desk.call("delete_fact", key=plot.deleted_key, shared=True)
        show.line(self.out, ("deleted ", "red"), (plot.deleted_key, "cyan"))

    def _compare(self, before: Sight, after: Sight) -> None:
        was, became = before.knowledge(), after.knowledge()
        change = Change.between(was, became)
        if change.come or not change.gone or not change.changed:
            raise HarvesterError(f"an edit and a delete should take edges away and weaken one, not {change}")
        show.change(self.out, change, was, became, before.names)
        show.verdict(self.out, change)

    def _draw(self, before: Sight, plot: Plot, picture: Path) -> None:
        picture.parent.mkdir(parents=True, exist_ok=True)
        page = render_page(before.picture().busiest(), title="What this machine knows", look=_package(plot.hub))
        picture.write_text(page, encoding="utf-8")


def _package(name: str) -> str:
    return node_key("package", name)


def _recent(checkout: Path) -> GitHistory:
    history = GitHistory(checkout)
    commits = history.size() or 0
    return history if commits <= MOST_COMMITS else GitHistory(checkout, revision=f"HEAD~{MOST_COMMITS // 4}..HEAD")
