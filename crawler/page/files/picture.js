// The picture: discs and lines in an SVG, moved and zoomed with d3, walked with the arrow keys.
import { draw, find, shorten, span } from "./dom.js";
import { layOut, width } from "./knowledge.js";

const FEW_EDGES = 14;
const calm = matchMedia("(prefers-reduced-motion: reduce)");

export class Picture {
  #svg = find("picture");
  #layers = { edges: find("edges"), nodes: find("nodes"), labels: find("labels") };
  #view = d3.zoomIdentity;
  #zoom;
  #drawn = new Map(); // node key -> element
  #lines = new Map(); // edge id -> {line, touch}
  #here = null; // node key that holds the tab stop
  #moved = false; // the person has chosen a view of their own

  // on: {node(key), edge(id), nothing()}
  constructor(knowledge, on) {
    this.knowledge = knowledge;
    this.on = on;
    this.hidden = new Set(); // kinds that the legend leaves out
    this.only = ""; // the one kind that a filter lets through
    this.centre = null; // node key; always drawn
    this.chosen = null;
    this.#zoom = d3.zoom().scaleExtent([0.08, 6]).on("zoom", (event) => this.#look(event)).on("end", () => this.#label());
    d3.select(this.#svg).call(this.#zoom).on("dblclick.zoom", null);
    this.#svg.addEventListener("click", (event) => event.target === this.#svg && this.on.nothing());
    this.#svg.addEventListener("keydown", (event) => this.#key(event));
    find("zoom-in").addEventListener("click", () => this.#scale(1.4));
    find("zoom-out").addEventListener("click", () => this.#scale(1 / 1.4));
    find("zoom-fit").addEventListener("click", () => this.fit());
    new ResizeObserver(() => this.#moved || this.fit(false)).observe(this.#svg);
  }

  #shows(node) {
    return node.nodeKey === this.centre || (!this.hidden.has(node.kind) && (!this.only || node.kind === this.only));
  }

  get nodes() {
    return [...this.knowledge.nodes.values()].filter((node) => this.#shows(node));
  }

  get edges() {
    return [...this.knowledge.edges.values()].filter((edge) => this.#shows(edge.source) && this.#shows(edge.target));
  }

  // Lay out what is new, draw what is there. `centre`: a new picture around this node; else the old one is moved gently.
  show({ centre = null, around = null } = {}) {
    const nodes = this.nodes, from = new Map(nodes.filter((node) => node.x !== undefined).map((node) => [node, [node.x, node.y]]));
    layOut(nodes, this.edges, this.knowledge.nodes.get(around ?? centre));
    this.#redraw(nodes);
    if (centre) {
      this.#here = centre;
      this.#moved = false;
      this.#place();
      this.fit(false);
    } else if (around && from.size < nodes.length) this.#glide(nodes, from, around);
    else this.#place();
    this.choose(this.chosen);
  }

  #redraw(nodes) {
    const focused = document.activeElement?.closest?.(".node")?.dataset.key;
    this.#layers.edges.replaceChildren();
    this.#layers.nodes.replaceChildren();
    this.#drawn.clear();
    this.#lines.clear();
    for (const edge of this.edges) this.#drawEdge(edge);
    if (!nodes.some((node) => node.nodeKey === this.#here)) this.#here = nodes[0]?.nodeKey ?? null;
    for (const node of nodes) this.#drawNode(node);
    if (focused) this.focus(this.#drawn.has(focused) ? focused : this.#here);
  }

  #drawEdge(edge) {
    const line = draw("path", { class: "edge", "marker-end": "url(#arrow)" });
    line.style.setProperty("--width", width(edge.confidence).toFixed(2));
    const touch = draw("path", { class: "touch", onclick: () => this.on.edge(edge.id) });
    touch.append(draw("title", {}, `${edge.source.name} ${edge.predicate} ${edge.target.name} (${edge.confidence.toFixed(2)})`));
    this.#layers.edges.append(line, touch);
    this.#lines.set(edge.id, { line, touch });
  }

  #drawNode(node) {
    const more = this.knowledge.opened.has(node.nodeKey) ? "" : ", not opened yet";
    const element = draw("g", {
      class: "node" + (more ? "" : " opened"), role: "button", tabindex: node.nodeKey === this.#here ? 0 : -1,
      "aria-label": `${shorten(node.name, 120)}, ${node.kind}, ${node.ties.length} relations shown${more}`,
      onclick: () => this.on.node(node.nodeKey), onfocus: () => this.#stopAt(node.nodeKey),
    });
    element.dataset.key = node.nodeKey;
    element.append(
      draw("circle", { class: "ring " + this.knowledge.colour(node.kind), r: (node.r + 3.5).toFixed(1) }),
      draw("circle", { class: "halo", r: (node.r + 5).toFixed(1) }),
      draw("circle", { class: "disc " + this.knowledge.colour(node.kind), r: node.r.toFixed(1) }),
      draw("title", {}, `${shorten(node.name, 200)} (${node.kind})`),
    );
    const drag = d3.drag().clickDistance(4).on("drag", (event) => {
      [node.x, node.y] = [event.x, event.y];
      this.#place([node]);
    }).on("end", () => this.#label()).subject(() => ({ x: node.x, y: node.y }));
    d3.select(element).call(drag);
    this.#layers.nodes.append(element);
    this.#drawn.set(node.nodeKey, element);
  }

  #place(moved = this.nodes, settled = true) {
    const lines = new Set();
    for (const node of moved) {
      this.#drawn.get(node.nodeKey)?.setAttribute("transform", `translate(${node.x.toFixed(1)} ${node.y.toFixed(1)})`);
      for (const edge of node.ties) lines.add(edge);
    }
    for (const edge of lines) this.#placeEdge(edge);
    if (settled) this.#label();
  }

  #placeEdge(edge) {
    const drawn = this.#lines.get(edge.id);
    if (!drawn) return;
    const path = curve(edge);
    drawn.line.setAttribute("d", path);
    drawn.touch.setAttribute("d", path);
  }

  // From where they were to where they go; new ones start at the node that brought them in.
  #glide(nodes, from, around) {
    const start = from.get(this.knowledge.nodes.get(around)) ?? [0, 0];
    const ways = nodes.map((node) => ({ node, a: from.get(node) ?? start, b: [node.x, node.y] }));
    const step = (t) => {
      for (const { node, a, b } of ways) [node.x, node.y] = [a[0] + (b[0] - a[0]) * t, a[1] + (b[1] - a[1]) * t];
      this.#place(nodes, t === 1);
    };
    const done = () => { step(1); this.#moved = false; this.fit(); };
    if (calm.matches) return done();
    this.#layers.labels.replaceChildren();
    const began = performance.now();
    const frame = () => {
      if (nodes.some((node) => !this.#drawn.has(node.nodeKey))) return;
      const t = Math.min(1, (performance.now() - began) / 380);
      if (t === 1) return done();
      step(d3.easeCubicInOut(t));
      requestAnimationFrame(frame);
    };
    return frame();
  }

  // chosen: {node: key} or {edge: id} or null
  choose(chosen) {
    this.chosen = chosen;
    const edge = chosen?.edge && this.knowledge.edges.get(chosen.edge);
    const node = chosen?.node && this.knowledge.nodes.get(chosen.node);
    const lit = new Set(edge ? [edge] : node ? node.ties : []);
    const near = new Set([...lit].flatMap((each) => [each.fromKey, each.toKey]));
    if (node) near.add(node.nodeKey);
    this.#svg.classList.toggle("looking", Boolean(edge || node));
    for (const [key, element] of this.#drawn) {
      element.classList.toggle("near", near.has(key));
      element.classList.toggle("chosen", key === chosen?.node);
      element.setAttribute("aria-pressed", String(key === chosen?.node));
    }
    for (const [id, { line }] of this.#lines) {
      const on = [...lit].some((each) => each.id === id);
      line.classList.toggle("near", on);
      line.setAttribute("marker-end", on ? "url(#arrow-lit)" : "url(#arrow)");
    }
    this.#label();
  }

  // Names, the chosen and the busy ones first; one that would cover another or a disc waits until there is room.
  #label() {
    const k = this.#view.k, size = 12.5 / k, all = this.nodes;
    this.#layers.labels.replaceChildren();
    const near = (node) => this.#drawn.get(node.nodeKey)?.classList.contains("near");
    const taken = all.map((node) => [node.x - node.r, node.y - node.r, node.x + node.r, node.y + node.r]);
    const [x0, y0] = this.#view.invert([0, 0]), [x1, y1] = this.#view.invert([this.#svg.clientWidth, this.#svg.clientHeight]);
    const seen = [x0, y0, x1, y1], edges = this.edges, said = edges.find((edge) => edge.id === this.chosen?.edge);
    if (said) taken.push(this.#predicate(said, size * 0.88).box);
    const first = (node) => (node.nodeKey === this.chosen?.node ? 2 : 0) + (near(node) ? 1 : 0);
    for (const node of [...all].sort((a, b) => first(b) - first(a) || b.ties.length - a.ties.length)) {
      const text = shorten(node.name, 28), ways = places(node, span(text) * size, size);
      const free = ways.find(({ box }) => inside(box, seen) && !taken.some((other) => meet(box, other))) ?? (first(node) >= 2 ? ways[0] : null);
      if (!free) continue;
      taken.push(free.box);
      const faded = this.#svg.classList.contains("looking") && !near(node) ? " faded" : "";
      this.#write(text, free.x, free.y, size, "label" + faded);
    }
    for (const edge of edges.length <= FEW_EDGES ? edges : []) if (edge !== said) this.#sayWhereFree(edge, taken, size * 0.88);
    if (said) this.#sayPredicate(this.#predicate(said, size * 0.88), " lit");
  }

  #predicate(edge, size) {
    const [x, y] = middle(edge), text = shorten(edge.predicate, 24), w = span(text) * size;
    return { text, x, y, w, size, box: [x - w / 2, y - size * 0.8, x + w / 2, y + size * 0.4] };
  }

  // Only on a line that is long enough to stay seen beside it.
  #sayWhereFree(edge, taken, size) {
    const way = this.#predicate(edge, size), { source: a, target: b } = edge;
    if (Math.hypot(b.x - a.x, b.y - a.y) - a.r - b.r < way.w * 1.25 || taken.some((other) => meet(way.box, other))) return;
    taken.push(way.box);
    this.#sayPredicate(way, "");
  }

  #sayPredicate({ text, x, y, size }, lit) {
    this.#write(text, x, y + size * 0.3, size, "label verb" + lit);
  }

  #write(text, x, y, size, kind) {
    this.#layers.labels.append(draw("text", { class: kind, x: x.toFixed(1), y: y.toFixed(1), "font-size": size.toFixed(2) }, text));
  }

  #look(event) {
    this.#view = event.transform;
    if (event.sourceEvent) this.#moved = true;
    find("world").setAttribute("transform", this.#view.toString());
    this.#svg.style.setProperty("--close", Math.max(1, this.#view.k).toFixed(3)); // lines grow no thicker than the legend says
  }

  #scale(by) {
    this.#moved = true;
    this.#go((where) => this.#zoom.scaleBy(where, by));
  }

  #go(how, gently = true) {
    const where = d3.select(this.#svg);
    how(gently && !calm.matches ? where.transition().duration(260) : where);
  }

  fit(gently = true) {
    const nodes = this.nodes, w = this.#svg.clientWidth, h = this.#svg.clientHeight;
    if (!nodes.length || !w || !h) return;
    const pad = (node) => Math.max(node.r, Math.min(span(shorten(node.name, 28)) * 6, 70));
    const x0 = d3.min(nodes, (node) => node.x - pad(node)), x1 = d3.max(nodes, (node) => node.x + pad(node));
    const y0 = d3.min(nodes, (node) => node.y - node.r), y1 = d3.max(nodes, (node) => node.y + node.r + 20);
    const k = Math.min(1.6, (w - 56) / (x1 - x0), (h - 72) / (y1 - y0));
    const to = d3.zoomIdentity.translate(w / 2 - (k * (x0 + x1)) / 2, h / 2 - (k * (y0 + y1)) / 2).scale(k);
    this.#moved = false;
    this.#go((where) => this.#zoom.transform(where, to), gently);
  }

  // Arrow keys go to the nearest node on that side.
  #key(event) {
    const side = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
    const here = this.knowledge.nodes.get(event.target.closest?.(".node")?.dataset.key);
    if (!here) return;
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      this.on.node(here.nodeKey);
    }
    if (!side) return;
    event.preventDefault();
    const cost = (node) => {
      const dx = node.x - here.x, dy = node.y - here.y, along = dx * side[0] + dy * side[1];
      return along <= 0 ? Infinity : along + 2.2 * Math.abs(dx * side[1] - dy * side[0]);
    };
    const next = d3.least(this.nodes.filter((node) => node !== here && cost(node) < Infinity), cost);
    if (next) this.focus(next.nodeKey);
  }

  focus(key) {
    this.#drawn.get(key)?.focus({ preventScroll: true });
  }

  #stopAt(key) {
    this.#drawn.get(this.#here)?.setAttribute("tabindex", "-1");
    this.#here = key;
    this.#drawn.get(key)?.setAttribute("tabindex", "0");
  }
}

function meet(a, b) {
  return a[0] < b[2] && b[0] < a[2] && a[1] < b[3] && b[1] < a[3];
}

// Where the name of a node may stand: below, above, right, left.
function places(node, w, size) {
  const away = node.r + 6, at = (x, y) => ({ x, y, box: [x - w / 2, y - size * 0.8, x + w / 2, y + size * 0.22] });
  const { x, y } = node, side = away + 2 + w / 2;
  return [at(x, y + away + size * 0.85), at(x, y - away - size * 0.25), at(x + side, y + size * 0.3), at(x - side, y + size * 0.3)];
}

function inside(a, b) {
  return a[0] >= b[0] && a[1] >= b[1] && a[2] <= b[2] && a[3] <= b[3];
}

function control({ source: a, target: b, bend }) {
  return [(a.x + b.x) / 2 - (b.y - a.y) * bend * 2, (a.y + b.y) / 2 + (b.x - a.x) * bend * 2];
}

function curve(edge) {
  const { source: a, target: b } = edge, [cx, cy] = control(edge);
  const from = rim(a, cx, cy, 1), to = rim(b, cx, cy, 3);
  return `M${from[0].toFixed(1)} ${from[1].toFixed(1)}Q${cx.toFixed(1)} ${cy.toFixed(1)} ${to[0].toFixed(1)} ${to[1].toFixed(1)}`;
}

function rim(node, x, y, gap) {
  const dx = x - node.x, dy = y - node.y, away = Math.hypot(dx, dy) || 1, r = node.r + gap;
  return [node.x + (dx / away) * r, node.y + (dy / away) * r];
}

function middle(edge) {
  const { source: a, target: b } = edge, [cx, cy] = control(edge);
  return [(a.x + 2 * cx + b.x) / 4, (a.y + 2 * cy + b.y) / 4];
}
