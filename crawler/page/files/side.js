// The side panel: what a node or an edge is, and the facts that say so, as far as this key may see them.
import { tool } from "./calls.js";
import { counted, find, make, moment, named, shorten } from "./dom.js";

const FACTS_AT_ONCE = 10;
const VALUE_LETTERS = 1200;
const RELATIONS_AT_ONCE = 15;

export class Side {
  #panel = find("side");
  #turn = 0; // answers that come for a panel of the past are dropped

  // on: {node(key), edge(id), centre(key), fold(key), close()}
  constructor(knowledge, on) {
    this.knowledge = knowledge;
    this.on = on;
    this.scope = "accessible"; // where facts are looked for
  }

  clear() {
    this.#turn++;
    this.#panel.replaceChildren(
      make("p", { class: "soft hint" }, "Choose a node or a line to read what is known and which facts say so."),
    );
  }

  node(node, { starts, folds }) {
    const turn = ++this.#turn;
    this.#fill([
      make("h2", {}, named(node.name)),
      make("p", { class: "kind" }, this.#dot(node.kind), named(node.kind)),
      this.#actions(node, starts, folds),
      ...this.#about(node),
      ...this.#relations(node),
      ...this.#facts(node, turn, "No fact that you may see names this node."),
    ]);
  }

  #actions(node, starts, folds) {
    const row = make("div", { class: "actions" });
    if (starts) row.append(make("button", { type: "button", onclick: () => this.on.centre(node.nodeKey) }, "Start from here"));
    if (folds) row.append(make("button", { type: "button", onclick: () => this.on.fold(node.nodeKey) }, "Fold up"));
    return row;
  }

  #about(node) {
    const others = node.aliases.filter((alias) => alias !== node.name);
    return [rows([
      ["Key", make("code", {}, named(node.nodeKey))],
      others.length ? ["Also called", list(others)] : null,
      ["Namespaces", list(node.namespaces.length ? node.namespaces : ["default"])],
    ])];
  }

  #relations(node) {
    const ties = node.ties.toSorted((a, b) => compare(a.predicateKey, b.predicateKey) || b.confidence - a.confidence);
    const parts = [];
    for (const [title, mine, theirs] of [["Says", "source", "target"], ["Is said of it", "target", "source"]]) {
      const these = ties.filter((edge) => edge[mine] === node);
      if (!these.length) continue;
      const items = make("ul", { class: "relations" });
      let verb = null;
      paged(items, these, RELATIONS_AT_ONCE, (edge) => {
        const first = edge.predicateKey !== verb;
        verb = edge.predicateKey;
        return [...(first ? [make("li", { class: "verb" }, named(edge.predicate), theirs === "target" ? " →" : " ←")] : []), this.#relation(edge, edge[theirs])];
      });
      parts.push(heading(title, these.length), items);
    }
    return parts;
  }

  #relation(edge, other) {
    const why = `Why ${edge.predicate} ${shorten(other.name, 80)}: confidence ${edge.confidence.toFixed(2)}`;
    return make("li", {},
      make("button", { type: "button", class: "other", onclick: () => this.on.node(other.nodeKey) }, this.#dot(other.kind), named(other.name)),
      make("button", { type: "button", class: "why", title: "Why it is believed", "aria-label": why, onclick: () => this.on.edge(edge.id) }, strength(edge.confidence)));
  }

  edge(edge) {
    const turn = ++this.#turn;
    const end = (node) => make("button", { type: "button", class: "other", onclick: () => this.on.node(node.nodeKey) }, this.#dot(node.kind), named(node.name));
    this.#fill([
      make("h2", { class: "unseen" }, named(edge.source.name), " ", named(edge.predicate), " ", named(edge.target.name)),
      make("div", { class: "statement" }, end(edge.source), make("p", { class: "verb" }, named(edge.predicate), " →"), end(edge.target)),
      make("h3", {}, "Why it is believed"),
      make("p", { class: "belief" }, strength(edge.confidence), make("span", {}, ` from ${counted(edge.observations, "observation", "observations")}`)),
      make("p", { class: "soft small" }, edge.observations > 1 ? "Each one more makes it surer: 1 minus the product of their doubts." : "One observation, at its own confidence."),
      rows([
        ["Asserted by", list(edge.assertedBy)],
        edge.model ? ["Model", named(edge.model)] : null,
        ["Namespaces", list(edge.namespaces.length ? edge.namespaces : ["default"])],
        ["First seen", moment(edge.firstSeen)],
        ["Last seen", moment(edge.lastSeen)],
      ]),
      ...this.#facts(edge, turn, "No fact that you may see stands behind this; others' facts or a hand's word do."),
    ]);
  }

  // The facts behind it: the keys at once, the facts themselves when they arrive.
  #facts(shown, turn, none) {
    const body = make("div", { class: "facts" }), title = heading("Evidence", shown.evidence.length, shown.evidenceTruncated);
    if (!shown.evidence.length) body.append(make("p", { class: "soft" }, none));
    else this.#allFacts(title, body, shown, turn);
    return [title, body];
  }

  async #allFacts(title, body, shown, turn) {
    const all = shown.evidenceTruncated ? await listed(shown) : shown;
    if (turn !== this.#turn) return;
    title.replaceWith(heading("Evidence", all.evidence.length, all.evidenceTruncated));
    this.#moreFacts(body, all.evidence, new Set(all.staleEvidence ?? []), turn);
  }

  async #moreFacts(body, keys, stale, turn) {
    const now = keys.slice(0, FACTS_AT_ONCE), later = keys.slice(FACTS_AT_ONCE);
    const waiting = make("p", { class: "soft", role: "status" }, "Reading facts…");
    body.append(waiting);
    try {
      const facts = await readAll(now, this.scope);
      if (turn !== this.#turn) return;
      const byKey = new Map(facts.map((fact) => [fact.scopeKey, fact]));
      waiting.replaceWith(...now.map((key) => factCard(key, byKey.get(key), stale.has(key))));
    } catch (error) {
      if (turn !== this.#turn) return;
      const again = make("button", { type: "button", onclick: () => { waiting.remove(); this.#moreFacts(body, keys, stale, turn); } }, "Try again");
      waiting.replaceChildren(`The facts could not be read: ${error.message} `, again);
      return;
    }
    if (!later.length) return;
    const more = make("button", { type: "button", class: "quiet", onclick: () => { more.remove(); this.#moreFacts(body, later, stale, turn); } }, `${later.length} more`);
    body.append(more);
  }

  // What had the focus is gone with the panel of before; then the panel itself takes it.
  #fill(parts) {
    const held = this.#panel.contains(document.activeElement), close = make("button", { type: "button", class: "close", "aria-label": "Close", onclick: () => this.on.close() }, "×");
    this.#panel.replaceChildren(close, ...parts);
    this.#panel.scrollTop = 0;
    if (held) this.#panel.focus({ preventScroll: true });
  }

  #dot(kind) {
    return make("span", { class: "dot " + this.knowledge.colour(kind), "aria-hidden": "true" });
  }
}

// A neighbourhood lists a few facts of each; asked for by itself, a node or an edge lists all that fit into an answer.
async function listed(shown) {
  const { nodeKey, fromKey, toKey, predicateKey } = shown;
  try {
    const found = nodeKey
      ? (await tool("graph_search_nodes", { nameLike: shown.name, kind: shown.kind, limit: 20 })).nodes.find((node) => node.nodeKey === nodeKey)
      : (await tool("graph_search_edges", { fromKey, toKey, predicateKey, limit: 1 })).edges[0];
    return found ?? shown;
  } catch {
    return shown; // still marked as cut short; reading the facts says what is wrong
  }
}

// An answer holds what fits into it; the cursor gets the rest, and a value that fits into none comes as its beginning.
async function readAll(scopeKeys, scope) {
  const facts = [];
  let cursor;
  do {
    const answer = await tool("read_facts", { scopeKeys, scope, limit: scopeKeys.length, cursor });
    facts.push(...answer.facts);
    cursor = answer.cursor;
  } while (cursor);
  return facts;
}

function compare(a, b) {
  return a < b ? -1 : a > b ? 1 : 0;
}

function heading(title, count, more = false) {
  return make("h3", {}, title, " ", make("span", { class: "count" }, `${count}${more ? "+" : ""}`));
}

function list(texts) {
  const all = make("span", { class: "list" });
  texts.forEach((text, place) => all.append(place ? ", " : "", named(text)));
  return all;
}

function rows(pairs) {
  const table = make("dl", { class: "rows" });
  for (const pair of pairs) if (pair) table.append(make("dt", {}, pair[0]), make("dd", {}, pair[1]));
  return table;
}

function strength(confidence) {
  const bar = make("span", { class: "strength", role: "img", "aria-label": `confidence ${confidence.toFixed(2)}` });
  const filled = make("i");
  filled.style.setProperty("width", `${(100 * confidence).toFixed(1)}%`);
  bar.append(make("span", { class: "track" }, filled), make("b", {}, confidence.toFixed(2)));
  return bar;
}

function paged(holder, all, most, render) {
  holder.append(...all.slice(0, most).flatMap(render));
  if (all.length <= most) return;
  const rest = make("li", {}, make("button", { type: "button", class: "quiet", onclick: () => { rest.remove(); paged(holder, all.slice(most), most, render); } }, `${all.length - most} more`));
  holder.append(rest);
}

function factCard(key, fact, stale) {
  const card = make("article", { class: "fact" }, make("h4", {}, named(fact ? fact.key : key)));
  if (!fact) {
    card.append(make("p", { class: "soft small" }, "This fact is gone, or no longer for this key."));
    return card;
  }
  const where = fact.shared ? "shared" : `session ${shorten(fact.sessionId ?? "", 40)}`;
  const by = fact.agentId ? ` · by ${shorten(fact.agentId, 40)}` : "";
  card.append(make("p", { class: "soft small" }, `${where}${by} · ${moment(fact.updatedAt)}`));
  if (stale) card.append(make("p", { class: "small warn" }, "Cited in an older version of this fact."));
  if (fact.valueIsPiece) card.append(make("p", { class: "small warn" }, `A long value: the first ${fact.value.length.toLocaleString("en")} of ${fact.piece.total.toLocaleString("en")} characters.`));
  card.append(value(fact.value));
  return card;
}

function value(given) {
  const text = typeof given === "string" ? given : JSON.stringify(given, null, 2);
  const shown = make("pre", { dir: "auto", tabindex: 0, "aria-label": "value of the fact" }, shorten(text, VALUE_LETTERS));
  if (shown.textContent === text) return shown;
  const all = make("button", { type: "button", class: "quiet", onclick: () => { shown.textContent = text; all.remove(); } }, "Whole value");
  return make("div", {}, shown, all);
}
