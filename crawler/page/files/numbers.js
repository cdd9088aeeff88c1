// The graph and its queue in numbers, for the roles that have graph_stats.
import { tool } from "./calls.js";
import { counted, find, make, named, since } from "./dom.js";

export async function showNumbers() {
  const body = find("numbers-body");
  body.replaceChildren(make("p", { class: "soft", role: "status" }, "Counting…"));
  try {
    body.replaceChildren(...told(await tool("graph_stats", {})));
  } catch (error) {
    body.replaceChildren(make("p", { class: "error" }, `The numbers could not be read: ${error.message}`));
  }
  body.append(make("button", { type: "button", class: "quiet", onclick: showNumbers }, "Count again"));
}

function told(stats) {
  const table = make("dl", { class: "figures" });
  for (const name of ["nodes", "edges", "evidence"]) table.append(make("dt", {}, name), make("dd", {}, stats[name].toLocaleString("en")));
  const parts = [table, make("p", { class: "health " + health(stats.queue) }, verdict(stats.queue))];
  const { leased, tombstones, noRule } = stats.queue;
  const details = [[leased, "being worked on"], [tombstones, "deletes among them"], [noRule, "that no rule covers"]].filter(([many]) => many);
  if (details.length) parts.push(make("p", { class: "soft small" }, details.map(([many, what]) => `${many.toLocaleString("en")} ${what}`).join(", ")));
  if (stats.lastCrawledAt) parts.push(make("p", { class: "soft small" }, `Last harvest ${since(stats.lastCrawledAt)} ago`));
  parts.push(...tops("Relations", stats.byPredicate), ...tops("Namespaces", stats.byNamespace));
  return parts;
}

function health(queue) {
  return queue.parked ? "bad" : queue.pending ? "waiting" : "good";
}

function verdict(queue) {
  if (queue.parked) return `${counted(queue.parked, "fact", "facts")} parked after failing; see harvester queue`;
  if (!queue.pending) return "The queue is empty: the graph says what the facts say";
  return `${counted(queue.pending, "fact", "facts")} waiting, the oldest for ${since(queue.oldestPendingAt)}`;
}

function tops(title, counts) {
  const best = Object.entries(counts).sort((a, b) => b[1] - a[1]).slice(0, 5);
  if (!best.length) return [];
  const table = make("dl", { class: "figures" });
  for (const [name, many] of best) table.append(make("dt", {}, named(name)), make("dd", {}, many.toLocaleString("en")));
  return [make("h3", {}, title), table];
}
