// The search box: a combobox over graph_search_nodes. Arrow keys walk the list, Enter opens, Escape closes.
import { tool } from "./calls.js";
import { counted, find, make, named } from "./dom.js";

const PAUSE = 140;
const PAGE = 20;

export class Search {
  #box = find("search");
  #list = find("found");
  #frame = find("found-box");
  #note = find("found-note");
  #more = find("found-more");
  #asked = null;
  #timer = 0;
  #at = -1;
  #found = [];

  // ask() gives the filters that narrow a search; open(key) opens a node; colour(kind) is a class.
  constructor({ ask, open, colour }) {
    Object.assign(this, { ask, open, colour });
    this.#box.addEventListener("input", () => this.#soon());
    this.#box.addEventListener("focus", () => this.#now());
    this.#box.addEventListener("keydown", (event) => this.#key(event));
    this.#more.addEventListener("click", () => this.#next());
    document.addEventListener("pointerdown", (event) => event.target.closest(".search") || this.close());
    this.#frame.parentElement.addEventListener("focusout", (event) => event.relatedTarget && !event.currentTarget.contains(event.relatedTarget) && this.close());
  }

  focus() {
    this.#box.focus();
    this.#box.select();
  }

  close() {
    this.#asked?.abort();
    clearTimeout(this.#timer);
    this.#frame.hidden = true;
    this.#box.setAttribute("aria-expanded", "false");
    this.#point(-1);
  }

  reset() {
    this.close();
    this.#box.value = "";
    this.#found = [];
    this.#list.replaceChildren();
  }

  #soon() {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#now(), PAUSE);
  }

  async #now() {
    clearTimeout(this.#timer);
    await this.#page(null);
  }

  #next() {
    this.#box.focus({ preventScroll: true });
    this.#page(this.#more.dataset.cursor);
  }

  async #page(cursor) {
    this.#asked?.abort();
    const mine = (this.#asked = new AbortController());
    this.#show(this.#found, "Searching…");
    try {
      const answer = await tool("graph_search_nodes", { nameLike: this.#box.value.trim(), ...this.ask(), limit: PAGE, cursor }, mine.signal);
      if (mine.signal.aborted) return;
      const nodes = cursor ? [...this.#found, ...answer.nodes] : answer.nodes;
      this.#show(nodes, nodes.length ? counted(nodes.length, "node", "nodes") + (answer.cursor ? " so far" : "") : this.#nothing(), answer.cursor);
    } catch (error) {
      if (!mine.signal.aborted) this.#show([], `The search failed: ${error.message}`);
    }
  }

  #nothing() {
    return this.#box.value.trim() ? "Nothing is called that here." : "The graph holds nothing that you may see yet.";
  }

  #show(nodes, note, cursor) {
    this.#found = nodes;
    this.#frame.hidden = false;
    this.#box.setAttribute("aria-expanded", "true");
    this.#list.replaceChildren(...nodes.map((node, place) => this.#item(node, place)));
    this.#note.textContent = note;
    this.#more.hidden = !cursor;
    this.#more.dataset.cursor = cursor ?? "";
    this.#point(Math.min(this.#at, nodes.length - 1));
  }

  #item(node, place) {
    const item = make("li", { id: `found-${place}`, role: "option", "aria-selected": "false", onclick: () => this.#choose(place) },
      make("span", { class: "dot " + this.colour(node.kind), "aria-hidden": "true" }),
      named(node.name, { class: "name" }), named(node.kind, { class: "soft" }));
    const wanted = this.#box.value.trim().toLowerCase();
    const alias = wanted && !node.name.toLowerCase().includes(wanted) && node.aliases.find((each) => each.toLowerCase().includes(wanted));
    if (alias) item.append(make("span", { class: "soft small alias" }, "also ", named(alias)));
    return item;
  }

  #point(place) {
    this.#at = place;
    [...this.#list.children].forEach((item, each) => item.setAttribute("aria-selected", String(each === place)));
    const item = this.#list.children[place];
    if (!item) return this.#box.removeAttribute("aria-activedescendant");
    item.scrollIntoView({ block: "nearest" });
    return this.#box.setAttribute("aria-activedescendant", item.id);
  }

  async #key(event) {
    if (event.key === "Escape") {
      event.stopPropagation();
      event.preventDefault(); // a browser would empty the box
      return this.#frame.hidden ? this.#box.blur() : this.close();
    }
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      if (this.#frame.hidden) return this.#now();
      const many = this.#found.length;
      return many && this.#point((this.#at + (event.key === "ArrowDown" ? 1 : -1) + many) % many);
    }
    if (event.key !== "Enter") return undefined;
    event.preventDefault();
    if (this.#at < 0) await this.#now(); // what was typed last counts, not what an earlier search found
    return this.#choose(Math.max(this.#at, 0));
  }

  #choose(place) {
    const node = this.#found[place];
    if (!node) return;
    this.close();
    this.open(node.nodeKey);
  }
}
