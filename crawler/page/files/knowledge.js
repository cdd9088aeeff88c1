// What has been fetched and how it is laid out: nodes by key, edges by their three keys. Nothing here touches the page.
const COLOURS = 8;

export const edgeId = (edge) => JSON.stringify([edge.fromKey, edge.predicateKey, edge.toKey]);
export const width = (confidence) => 0.6 + 2.8 * confidence ** 3;

export class Knowledge {
  nodes = new Map();
  edges = new Map();
  opened = new Map(); // node key -> whether its neighbourhood was cut short
  colours = new Map();

  clear() {
    this.nodes.clear();
    this.edges.clear();
    this.opened.clear();
  }

  // One answer of graph_neighbourhood. Returns how many nodes are new.
  add(answer) {
    const before = this.nodes.size;
    for (const node of [answer.anchor, ...answer.nodes]) this.#node(node, answer.anchor.nodeKey);
    for (const edge of answer.edges) {
      if (this.nodes.has(edge.fromKey) && this.nodes.has(edge.toKey)) this.edges.set(edgeId(edge), { ...edge, id: edgeId(edge) });
    }
    this.opened.set(answer.anchor.nodeKey, answer.truncated);
    this.#tie();
    return this.nodes.size - before;
  }

  // As the one in the middle a node lists all its facts, as a neighbour only a few.
  #node(given, by) {
    const known = this.nodes.get(given.nodeKey);
    if (known && given.nodeKey === by) Object.assign(known, { evidenceTruncated: false, staleEvidence: [] }, given);
    if (known) return;
    this.nodes.set(given.nodeKey, { ...given, by, ties: [] });
  }

  // Take back what only the opening of this node brought in.
  fold(key) {
    this.opened.delete(key);
    for (const node of [...this.nodes.values()]) {
      if (node.by === key && node.nodeKey !== key && !this.opened.has(node.nodeKey) && !this.#heldBesides(node, key)) this.nodes.delete(node.nodeKey);
    }
    for (const [id, edge] of this.edges) {
      if (!this.nodes.has(edge.fromKey) || !this.nodes.has(edge.toKey)) this.edges.delete(id);
    }
    this.#tie();
  }

  #heldBesides(node, key) {
    return node.ties.some((edge) => [edge.fromKey, edge.toKey].some((end) => end !== key && end !== node.nodeKey && this.opened.has(end)));
  }

  #tie() {
    for (const node of this.nodes.values()) node.ties = [];
    const beside = new Map();
    for (const edge of this.edges.values()) {
      edge.source = this.nodes.get(edge.fromKey);
      edge.target = this.nodes.get(edge.toKey);
      edge.source.ties.push(edge);
      edge.target.ties.push(edge);
      const pair = [edge.fromKey, edge.toKey].sort().join("\n");
      beside.set(pair, [...(beside.get(pair) || []), edge]);
    }
    for (const edges of beside.values()) edges.forEach((edge, place) => { edge.bend = bend(edge, place, edges.length); });
    for (const node of this.nodes.values()) node.r = Math.min(22, 5.5 + 1.7 * Math.sqrt(node.ties.length));
    this.#colour();
  }

  // A kind keeps its colour for as long as the page is open; the busiest kinds choose first, the ninth shares grey.
  #colour() {
    const busy = [...this.kinds()].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1));
    for (const [kind] of busy) this.colour(kind);
  }

  colour(kind) {
    if (!this.colours.has(kind)) this.colours.set(kind, Math.min(this.colours.size, COLOURS - 1));
    return "k" + this.colours.get(kind);
  }

  kinds() {
    const counts = new Map();
    for (const node of this.nodes.values()) counts.set(node.kind, (counts.get(node.kind) || 0) + 1);
    return counts;
  }
}

// Edges between one pair fan out; the sign turns so that both directions bow apart.
function bend(edge, place, many) {
  const side = edge.fromKey < edge.toKey ? 1 : -1;
  return many === 1 ? 0.05 : side * (place - (many - 1) / 2) * Math.min(0.26, 0.7 / many);
}

// Positions for those that have none yet, then a settling of all; the same answers give the same picture.
export function layOut(nodes, edges, held) {
  const fresh = nodes.filter((node) => node.x === undefined);
  if (!fresh.length) return;
  const perParent = new Map();
  for (const node of fresh) {
    const parent = nodes.find((each) => each.nodeKey === node.by && each.x !== undefined);
    const place = perParent.get(node.by) || 0;
    perParent.set(node.by, place + 1);
    const angle = place * Math.PI * (3 - Math.sqrt(5)), away = 26 * Math.sqrt(place + 1);
    node.x = (parent?.x ?? 0) + (node === held ? 0 : away * Math.cos(angle));
    node.y = (parent?.y ?? 0) + (node === held ? 0 : away * Math.sin(angle));
  }
  const size = (node) => Math.min(node.ties.length, 12);
  const links = edges.map((edge) => ({ source: edge.source, target: edge.target }));
  if (held) [held.fx, held.fy] = [held.x, held.y];
  const settling = d3.forceSimulation(nodes)
    .force("pull", d3.forceLink(links).distance((link) => 62 + 5 * Math.max(size(link.source), size(link.target))))
    .force("push", d3.forceManyBody().strength((node) => -230 - 14 * size(node)).distanceMax(900))
    .force("room", d3.forceCollide((node) => node.r + 11).strength(0.9))
    .force("across", d3.forceX(held?.x ?? 0).strength(0.035))
    .force("down", d3.forceY(held?.y ?? 0).strength(0.05))
    .stop();
  settling.tick(nodes.length > 300 ? 160 : 320);
  if (held) [held.fx, held.fy] = [null, null];
}
