"use strict";
// A force layout, deterministic: the same graph gives the same picture. Forces as in the usual velocity Verlet scheme:
// every pair repels, edges pull, a weak pull to the middle keeps components together, discs do not overlap.
function layOut(nodes, edges, steps) {
  const n = nodes.length;
  const golden = Math.PI * (3 - Math.sqrt(5));
  nodes.forEach((node, i) => {
    const r = 14 * Math.sqrt(i + 0.5);
    Object.assign(node, { x: r * Math.cos(i * golden), y: r * Math.sin(i * golden), vx: 0, vy: 0 });
  });
  const pulls = edges.map((edge) => {
    const a = edge.source.degree, b = edge.target.degree;
    return { edge, strength: 1 / Math.min(Math.max(a, 1), Math.max(b, 1)), share: a / (a + b), length: 34 + 5 * Math.sqrt(Math.min(a, b)) };
  });
  let alpha = 1;
  for (let step = 0; step < steps; step++) {
    alpha += -alpha * (1 - Math.pow(0.001, 1 / steps));
    for (const { edge, strength, share, length } of pulls) pull(edge.source, edge.target, strength * alpha, share, length);
    for (let i = 0; i < n; i++) for (let j = i + 1; j < n; j++) repel(nodes[i], nodes[j], alpha);
    for (const node of nodes) {
      node.vx -= node.x * 0.034 * alpha;
      node.vy -= node.y * 0.062 * alpha;
      node.vx *= 0.6; node.vy *= 0.6;
      node.x += node.vx; node.y += node.vy;
    }
    if (step > steps * 0.6) for (let i = 0; i < n; i++) for (let j = i + 1; j < n; j++) part(nodes[i], nodes[j]);
  }
}

function pull(a, b, strength, share, length) {
  const dx = b.x + b.vx - a.x - a.vx || 0.01, dy = b.y + b.vy - a.y - a.vy || 0.01;
  const distance = Math.hypot(dx, dy);
  const force = ((distance - length) / distance) * strength;
  b.vx -= dx * force * share; b.vy -= dy * force * share;
  a.vx += dx * force * (1 - share); a.vy += dy * force * (1 - share);
}

function repel(a, b, alpha) {
  const dx = b.x - a.x || 0.01, dy = b.y - a.y || 0.01;
  const square = Math.max(dx * dx + dy * dy, 30);
  if (square > 360000) return;
  const force = (-alpha / square) * 42;
  a.vx += dx * force * (2 + b.r * 0.28); a.vy += dy * force * (2 + b.r * 0.28);
  b.vx -= dx * force * (2 + a.r * 0.28); b.vy -= dy * force * (2 + a.r * 0.28);
}

function part(a, b) {
  const dx = b.x - a.x, dy = b.y - a.y, room = a.r + b.r + 3;
  if (Math.abs(dx) > room || Math.abs(dy) > room) return;
  const distance = Math.hypot(dx, dy) || 0.01;
  if (distance >= room) return;
  const shift = ((room - distance) / distance) * 0.5;
  a.x -= dx * shift; a.y -= dy * shift;
  b.x += dx * shift; b.y += dy * shift;
}
