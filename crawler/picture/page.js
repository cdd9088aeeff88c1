// Draws the graph in #data. Every stored text goes in through textContent: it never becomes markup.
const data = JSON.parse(document.getElementById("data").textContent);
const SVG = "http://www.w3.org/2000/svg";
const svg = document.getElementById("graph"), world = document.getElementById("world");
const layers = Object.fromEntries(["edges", "nodes", "labels"].map((name) => [name, document.getElementById(name)]));
const about = document.getElementById("about"), detail = document.getElementById("detail");
const nodes = data.nodes.map((node) => ({ ...node, degree: 0, ties: [], shown: true }));
const byKey = new Map(nodes.map((node) => [node.key, node]));
const edges = data.edges.map((edge) => ({ ...edge, source: byKey.get(edge.from), target: byKey.get(edge.to) }));
const view = { x: 0, y: 0, k: 1 };
const hidden = new Set();
let chosen = null;

for (const edge of edges) for (const end of [edge.source, edge.target]) { end.degree++; end.ties.push(edge); }
for (const node of nodes) node.r = 4 + 2.1 * Math.sqrt(node.degree);
const counted = new Map(), weight = new Map();
for (const node of nodes) {
  counted.set(node.kind, (counted.get(node.kind) || 0) + 1);
  weight.set(node.kind, (weight.get(node.kind) || 0) + node.degree);
}
const kinds = [...weight].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1)).map(([kind]) => kind);
const colour = (kind) => "k" + Math.min(kinds.indexOf(kind), 7);
const width = (confidence) => 0.35 + 2.2 * Math.pow(confidence, 4);

function make(tag, attributes, text) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) element.setAttribute(name, value);
  if (text !== undefined) element.textContent = text;
  return element;
}
function draw(tag, attributes, parent) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  parent.append(element);
  return element;
}

function drawAll() {
  for (const edge of edges) {
    edge.element = draw("path", { class: "edge", "stroke-width": width(edge.confidence).toFixed(2) }, layers.edges);
  }
  for (const node of [...nodes].sort((a, b) => b.degree - a.degree)) {
    node.element = draw("circle", { class: "node " + colour(node.kind), r: node.r.toFixed(1) }, layers.nodes);
    node.element.append(document.createElementNS(SVG, "title"));
    node.element.firstChild.textContent = node.name + " (" + node.kind + ")";
    node.element.addEventListener("pointerdown", (event) => drag(event, node));
    node.element.addEventListener("pointerenter", () => chosen || light(node));
    node.element.addEventListener("pointerleave", () => chosen || light(null));
  }
  nodes.forEach(place);
}

function place(node) {
  node.element.setAttribute("cx", node.x.toFixed(1));
  node.element.setAttribute("cy", node.y.toFixed(1));
  for (const edge of node.ties) {
    const { source: a, target: b } = edge;
    const dx = b.x - a.x, dy = b.y - a.y, distance = Math.hypot(dx, dy) || 1;
    const stop = 1 - (b.r + 2.5) / distance;
    const bend = 0.07, mx = a.x + dx / 2 - dy * bend, my = a.y + dy / 2 + dx * bend;
    edge.element.setAttribute("d", `M${a.x.toFixed(1)} ${a.y.toFixed(1)}Q${mx.toFixed(1)} ${my.toFixed(1)} ${(a.x + dx * stop).toFixed(1)} ${(a.y + dy * stop).toFixed(1)}`);
  }
}

// Labels by degree; one that would cover another or a large disc is left out until there is room.
function label() {
  layers.labels.replaceChildren();
  const size = 12 / view.k;
  const lit = chosen ? neighbours(chosen) : new Set();
  const taken = nodes.filter((node) => node.shown && node.degree > 3 && (!chosen || lit.has(node))).map(disc);
  const order = nodes.filter((node) => node.shown && (chosen ? lit.has(node) : node.degree > 1 || view.k > 1.4));
  order.sort((a, b) => (b === chosen) - (a === chosen) || b.degree - a.degree);
  for (const node of order) {
    const text = shorten(node.name);
    const big = Math.min(1.35, 0.9 + node.degree / 40) * size;
    const w = text.length * big * 0.56, y = node.y + node.r + big + 1;
    const box = [node.x - w / 2, y - big + 0.5, node.x + w / 2, y + big * 0.25];
    if (node !== chosen && taken.some((b) => box[0] < b[2] && b[0] < box[2] && box[1] < b[3] && b[1] < box[3])) continue;
    taken.push(box);
    draw("text", { class: "label", x: node.x.toFixed(1), y: y.toFixed(1), "font-size": big.toFixed(2) }, layers.labels).textContent = text;
  }
}

function disc(node) {
  return [node.x - node.r, node.y - node.r, node.x + node.r, node.y + node.r];
}
function shorten(name) {
  if (name.length < 28) return name;
  return name.includes("/") ? "…" + name.slice(-25) : name.slice(0, 26) + "…";
}

function neighbours(node) {
  const near = new Set([node]);
  for (const edge of node.ties) for (const end of [edge.source, edge.target]) if (end.shown) near.add(end);
  return near;
}

function light(node) {
  svg.classList.toggle("looking", Boolean(node));
  const near = node ? neighbours(node) : new Set();
  for (const each of nodes) {
    each.element.classList.toggle("near", near.has(each));
    each.element.classList.toggle("chosen", each === node);
  }
  for (const edge of edges) {
    const lit = Boolean(node) && (edge.source === node || edge.target === node);
    edge.element.classList.toggle("near", lit);
    lit ? edge.element.setAttribute("marker-end", "url(#arrow)") : edge.element.removeAttribute("marker-end");
  }
}

function choose(node) {
  chosen = node;
  light(node);
  label();
  detail.hidden = !node;
  if (node) { tell(node); bringIntoView(node); }
}

// Into the part of the window that no card covers.
function bringIntoView(node) {
  if (innerWidth <= 760) return;
  const left = 330, right = innerWidth - 390, x = view.x + node.x * view.k, y = view.y + node.y * view.k;
  if (x > left && x < right && y > 80 && y < innerHeight - 80) return;
  view.x += (left + right) / 2 - x;
  view.y += innerHeight / 2 - y;
  move();
}

function tell(node) {
  const close = make("button", { class: "close", "aria-label": "close" }, "×");
  close.addEventListener("click", () => choose(null));
  const kind = make("span", { class: "kind" });
  kind.append(make("span", { class: "dot " + colour(node.kind) }), node.kind);
  const parts = [close, make("h2", {}, node.name), kind];
  const others = node.aliases.filter((alias) => alias !== node.name);
  if (others.length) parts.push(make("p", {}, "also called " + others.join(", ")));
  for (const [title, own] of [["says", "source"], ["is said of it", "target"]]) {
    const ties = node.ties.filter((edge) => edge[own] === node);
    if (!ties.length) continue;
    const list = make("ul");
    ties.sort((a, b) => (a.predicate < b.predicate ? -1 : a.predicate > b.predicate ? 1 : b.confidence - a.confidence));
    for (const edge of ties.slice(0, 60)) list.append(statement(edge, own === "source" ? edge.target : edge.source, own));
    parts.push(make("h3", {}, title + " · " + ties.length), list);
  }
  detail.replaceChildren(...parts);
  detail.scrollTop = 0;
}

function statement(edge, other, own) {
  const item = make("li", { class: "statement" }), button = make("button"), bar = make("div", { class: "bar" });
  button.append(make("span", { class: "dot " + colour(other.kind) }), make("span", { class: "name" }, other.name));
  button.prepend(make("span", { class: "verb" }, own === "source" ? edge.predicate : "← " + edge.predicate));
  button.append(make("span", { class: "count" }, edge.confidence.toFixed(2)));
  button.addEventListener("click", () => choose(other));
  bar.append(make("b"));
  bar.firstChild.style.width = 100 * edge.confidence + "%";
  item.append(button, bar);
  for (const key of edge.evidence.slice(0, 3)) item.append(make("div", { class: "proof" }, key));
  if (edge.evidence.length > 3) item.append(make("div", { class: "proof" }, "and " + (edge.evidence.length - 3) + " more facts"));
  return item;
}

function legend() {
  const list = document.getElementById("kinds");
  for (const kind of kinds) {
    const item = make("li"), button = make("button", { "aria-pressed": "true", title: "show or hide" });
    button.append(make("span", { class: "dot " + colour(kind) }), make("span", {}, kind), make("span", { class: "count" }, counted.get(kind)));
    button.addEventListener("click", () => {
      hidden.has(kind) ? hidden.delete(kind) : hidden.add(kind);
      button.setAttribute("aria-pressed", String(!hidden.has(kind)));
      show();
    });
    item.append(button);
    list.append(item);
  }
  const scale = document.getElementById("scale");
  for (const confidence of [0.5, 0.8, 0.95, 1]) {
    const part = make("span"), line = make("i");
    line.style.height = Math.max(1, width(confidence)) + "px";
    part.append(line, make("span", {}, String(confidence)));
    scale.append(part);
  }
}

function show() {
  for (const node of nodes) {
    node.shown = !hidden.has(node.kind);
    node.element.style.display = node.shown ? "" : "none";
  }
  for (const edge of edges) edge.element.style.display = edge.source.shown && edge.target.shown ? "" : "none";
  chosen && !chosen.shown ? choose(null) : label();
}

function move() {
  world.setAttribute("transform", `translate(${view.x} ${view.y}) scale(${view.k})`);
}
function zoom(factor, x, y) {
  const k = Math.min(8, Math.max(0.08, view.k * factor));
  view.x = x - ((x - view.x) * k) / view.k;
  view.y = y - ((y - view.y) * k) / view.k;
  view.k = k;
  move();
  label();
}
function fit() {
  const left = innerWidth > 760 ? 300 : 0, w = innerWidth - left;
  const xs = nodes.map((node) => node.x).sort((a, b) => a - b), ys = nodes.map((node) => node.y).sort((a, b) => a - b);
  const span = (all) => [all[0] ?? 0, all[all.length - 1] ?? 0];
  const [x0, x1] = span(xs), [y0, y1] = span(ys);
  view.k = Math.min(2, 0.9 * Math.min(w / (x1 - x0 + 60), innerHeight / (y1 - y0 + 60)));
  view.x = left + w / 2 - (view.k * (x0 + x1)) / 2;
  view.y = innerHeight / 2 - (view.k * (y0 + y1)) / 2;
  move();
  label();
}

function drag(event, node) {
  event.stopPropagation();
  const start = { x: event.clientX, y: event.clientY }, from = { x: node ? node.x : view.x, y: node ? node.y : view.y };
  let far = false;
  svg.classList.add("held");
  const onMove = (to) => {
    const dx = to.clientX - start.x, dy = to.clientY - start.y;
    far = far || Math.hypot(dx, dy) > 4;
    if (node && far) { node.x = from.x + dx / view.k; node.y = from.y + dy / view.k; place(node); }
    if (!node) { view.x = from.x + dx; view.y = from.y + dy; move(); }
  };
  const onUp = () => {
    removeEventListener("pointermove", onMove);
    removeEventListener("pointerup", onUp);
    svg.classList.remove("held");
    far ? label() : choose(node);
  };
  addEventListener("pointermove", onMove);
  addEventListener("pointerup", onUp);
}

function search(text) {
  const wanted = text.trim().toLowerCase();
  const list = document.getElementById("found");
  list.replaceChildren();
  if (!wanted) return [];
  const hits = nodes.filter((node) => node.shown && [node.name, ...node.aliases].some((name) => name.toLowerCase().includes(wanted)));
  hits.sort((a, b) => b.name.toLowerCase().startsWith(wanted) - a.name.toLowerCase().startsWith(wanted) || b.degree - a.degree);
  for (const node of hits.slice(0, 6)) {
    const item = make("li"), button = make("button");
    button.append(make("span", { class: "dot " + colour(node.kind) }), make("span", { class: "name" }, node.name), make("span", { class: "count" }, node.degree));
    button.addEventListener("click", () => choose(node));
    item.append(button);
    list.append(item);
  }
  return hits;
}

function onKey(event) {
  if (event.key === "Escape") return choose(null);
  if (event.target.tagName === "INPUT") return undefined;
  const step = { ArrowLeft: [60, 0], ArrowRight: [-60, 0], ArrowUp: [0, 60], ArrowDown: [0, -60] }[event.key];
  if (step) { view.x += step[0]; view.y += step[1]; move(); }
  if (event.key === "+" || event.key === "-") zoom(event.key === "+" ? 1.25 : 0.8, innerWidth / 2, innerHeight / 2);
  if (event.key === "0") fit();
  if (event.key === "/") { event.preventDefault(); document.getElementById("search").focus(); }
  return undefined;
}

layOut(nodes, edges, nodes.length > 500 ? 180 : 320);
drawAll();
legend();
fit();
svg.addEventListener("pointerdown", (event) => drag(event, null));
svg.addEventListener("wheel", (event) => { event.preventDefault(); zoom(Math.exp(-event.deltaY / 500), event.clientX, event.clientY); }, { passive: false });
addEventListener("keydown", onKey);
addEventListener("resize", fit);
const box = document.getElementById("search");
box.addEventListener("input", () => search(box.value));
box.addEventListener("keydown", (event) => { if (event.key === "Enter") { const [first] = search(box.value); if (first) choose(first); } });
if (data.look && byKey.has(data.look) && location.hash === "#look") choose(byKey.get(data.look));
