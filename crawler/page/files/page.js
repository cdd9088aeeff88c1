// The page: who is signed in, which node is open, which filters hold. The address keeps all of it after the #.
import { actIn, currentSession, signIn, signOut, tool, whenSignedOut } from "./calls.js";
import { counted, find, make, named } from "./dom.js";
import { Knowledge, width } from "./knowledge.js";
import { showNumbers } from "./numbers.js";
import { Picture } from "./picture.js";
import { Search } from "./search.js";
import { Side } from "./side.js";

const MOST_AT_ONCE = 150;
const MOST_EXPANDED = 60;
const MOST_DRAWN = 600;
const READ_ALL = new Set(["crawler", "facts-manager", "agent-tuner"]); // roles that read_facts gives scope `all`
const FILTERS = { namespace: "", kind: "", direction: "any", depth: "1", confidence: "0" };

const knowledge = new Knowledge();
const side = new Side(knowledge, { node: expand, edge: chooseEdge, centre: open, fold: foldUp, close: chooseNothing });
const picture = new Picture(knowledge, { node: expand, edge: chooseEdge, nothing: chooseNothing });
const search = new Search({ ask: searchFilters, open, colour: (kind) => knowledge.colour(kind) });
let centre = null, turn = 0, again = null, session = null, counting = 0;

// ---- who ----------------------------------------------------------------------------------------------------------------

function showDoor(said) {
  session = null;
  actIn("");
  turn++;
  forget();
  find("room").hidden = true;
  find("door").hidden = false;
  find("door-error").hidden = !said;
  find("door-error").textContent = said ?? "";
  find("key").value = "";
  find("key").focus();
}

function forget() {
  knowledge.clear();
  centre = null;
  picture.chosen = null;
  picture.show();
  side.clear();
  search.reset();
  for (const name of ["namespace", "kind"]) find(name).replaceChildren(make("option", { value: "" }, "all"));
  find("numbers-body").replaceChildren();
  find("who").replaceChildren();
  for (const id of ["kinds", "scale", "blank"]) find(id).replaceChildren();
  for (const id of ["legend", "cut", "trouble", "busy", "numbers"]) find(id).hidden = true;
}

async function enter(found) {
  session = found;
  find("door").hidden = true;
  find("room").hidden = false;
  showWho(found);
  const may = (name) => found.tools.includes(name);
  find("numbers").hidden = !may("graph_stats");
  side.clear();
  if (!may("graph_neighbourhood")) return say(blank("There is no graph here", "This server keeps facts only: its database has no Apache AGE, or HARVESTER_GRAPH_URL is off."));
  readAddress();
  await Promise.all([listNamespaces(), may("graph_stats") ? showNumbers() : null, follow()]);
  return undefined;
}

// A key that is bound to several sessions reads as one of them at a time.
function showWho({ role, sessions, key }) {
  actIn(sessions[0] ?? "");
  side.scope = READ_ALL.has(role) ? "all" : "accessible";
  const one = sessions.length === 1 && make("span", { class: "soft" }, " in ", named(sessions[0]));
  const several = sessions.length > 1 && make("select", { "aria-label": "Session", onchange: (event) => { actIn(event.target.value); follow(); } }, ...sessions.map((each) => make("option", { value: each }, each)));
  find("who").replaceChildren(named(role), one || (several && make("span", { class: "acting" }, several)) || "");
  find("who").title = `signed in with ${key}`;
}

async function start() {
  try {
    const found = await currentSession();
    if (found.signedIn) await enter(found);
    else showDoor();
  } catch (error) {
    showDoor(error.message);
  }
}

find("sign-in").addEventListener("submit", async (event) => {
  event.preventDefault();
  const button = event.target.querySelector("button");
  button.disabled = true;
  try {
    await enter(await signIn(find("key").value.trim()));
  } catch (error) {
    showDoor(error.status === 401 ? "This key is unknown, expired or revoked." : error.message);
  } finally {
    button.disabled = false;
  }
});
find("sign-out").addEventListener("click", async () => {
  try {
    await signOut();
    showDoor("You are signed out.");
  } catch (error) {
    if (error.status === 401) showDoor("You are signed out.");
    else trouble(error, () => find("sign-out").click());
  }
});
whenSignedOut(() => session && showDoor("Your session has ended. Sign in again."));

// ---- address and filters ------------------------------------------------------------------------------------------------

function filter(name) {
  return find(name).value;
}

function walkFilters() {
  const least = Number(filter("confidence"));
  return { namespace: filter("namespace"), direction: filter("direction"), minConfidence: least || null };
}

function searchFilters() {
  return { namespace: filter("namespace"), kind: filter("kind") };
}

function writeAddress() {
  const said = new URLSearchParams();
  if (centre) said.set("node", centre);
  for (const [name, usual] of Object.entries(FILTERS)) if (filter(name) !== usual) said.set(name, filter(name));
  const address = said.size ? "#" + said : location.pathname;
  if (location.hash !== (said.size ? "#" + said : "")) history.pushState(null, "", address);
}

function readAddress() {
  const said = new URLSearchParams(location.hash.slice(1));
  for (const [name, usual] of Object.entries(FILTERS)) {
    const value = said.get(name) ?? usual, field = find(name);
    if ((name === "namespace" || name === "kind") && value) offer(name, [value]);
    field.value = value;
    if (!field.value) field.value = usual;
  }
  showFilters();
  picture.only = filter("kind");
  return said.get("node");
}

function showFilters() {
  const set = Object.entries(FILTERS).filter(([name, usual]) => filter(name) !== usual).length;
  find("filters-set").textContent = set ? `· ${set} set` : "";
  find("filters-clear").hidden = !set;
  const least = Number(filter("confidence"));
  find("confidence-said").textContent = least ? `≥ ${least.toFixed(2)}` : "any";
}

async function listNamespaces() {
  try {
    const { namespaces } = await tool("graph_list_namespaces", {});
    offer("namespace", namespaces.map((each) => each.namespace));
  } catch (error) {
    if (error.status !== 401) trouble(error, listNamespaces);
  }
}

// More to choose from; what is chosen stays so.
function offer(name, more) {
  const field = find(name), chosen = field.value;
  const values = new Set([...[...field.options].map((option) => option.value), ...more]);
  values.delete("");
  field.replaceChildren(make("option", { value: "" }, "all"), ...[...values].sort().map((value) => make("option", { value }, value)));
  field.value = chosen;
}

async function filtersChanged() {
  showFilters();
  picture.only = filter("kind");
  writeAddress();
  if (centre) await fetchAll([centre]);
}
for (const name of Object.keys(FILTERS)) {
  find(name).addEventListener("change", filtersChanged);
  find(name).addEventListener("input", showFilters);
}
find("skip").addEventListener("click", (event) => {
  event.preventDefault(); // the address is the graph's
  find("side").focus();
});
find("filters-clear").addEventListener("click", () => {
  for (const [name, usual] of Object.entries(FILTERS)) find(name).value = usual;
  find("filters").querySelector("summary").focus();
  filtersChanged();
});

// ---- what is open -------------------------------------------------------------------------------------------------------

async function open(key) {
  centre = key;
  writeAddress();
  await fetchAll([key]);
  if (centre) picture.focus(centre);
}

async function follow() {
  const key = readAddress();
  centre = key;
  if (key) await fetchAll([key]);
  else {
    turn++;
    knowledge.clear();
    chooseNothing();
    refresh();
  }
}

// A new picture around the centre.
async function fetchAll([key]) {
  picture.centre = key;
  say(null);
  const answer = await asked(() => tool("graph_neighbourhood", { nodeKey: key, depth: Number(filter("depth")), maxNodes: MOST_AT_ONCE, ...walkFilters() }), () => fetchAll([key]));
  if (!answer) return;
  knowledge.clear();
  if (answer.anchor) {
    knowledge.add(answer);
    picture.centre = centre = answer.anchor.nodeKey;
  }
  picture.chosen = answer.anchor ? { node: centre } : null;
  refresh({ centre: answer.anchor && centre });
  if (answer.anchor) tell(centre);
  else side.clear();
}

// One node more: chosen, and its neighbours beside those that are drawn.
async function expand(key) {
  chooseNode(key);
  if (knowledge.opened.has(key)) return;
  if (knowledge.nodes.size >= MOST_DRAWN) {
    cutNotice(`${MOST_DRAWN} nodes are drawn, which is as many as one can read. Start from here to go on.`);
    return;
  }
  const answer = await asked(() => tool("graph_neighbourhood", { nodeKey: key, depth: 1, maxNodes: MOST_EXPANDED, ...walkFilters() }), () => expand(key));
  if (!answer?.anchor) return;
  knowledge.add(answer);
  refresh({ around: key });
  if (picture.chosen?.node === key) tell(key);
}

function foldUp(key) {
  knowledge.fold(key);
  refresh();
  chooseNode(key);
}

function chooseNode(key) {
  picture.choose({ node: key });
  tell(key);
}

function tell(key) {
  side.node(knowledge.nodes.get(key), { starts: key !== centre, folds: key !== centre && knowledge.opened.has(key) });
}

function chooseEdge(id) {
  picture.choose({ edge: id });
  side.edge(knowledge.edges.get(id));
}

function chooseNothing() {
  picture.choose(null);
  side.clear();
}

// Ask, saying that we do; an answer that came too late is null, and so is one that never came.
async function asked(work, retry) {
  const mine = ++turn;
  find("trouble").hidden = true;
  find("busy").hidden = false;
  counting++;
  try {
    const answer = await work();
    return mine === turn ? answer : null;
  } catch (error) {
    if (mine === turn && session) trouble(error, retry);
    return null;
  } finally {
    counting--;
    find("busy").hidden = !counting;
  }
}

function trouble(error, retry) {
  const known = { busy: "The server is busy.", unavailable: "The database cannot be reached.", unreachable: "The server cannot be reached." };
  find("trouble-said").textContent = known[error.code] ?? error.message;
  find("trouble").hidden = false;
  again = retry;
}
find("trouble-again").addEventListener("click", () => { find("trouble").hidden = true; again?.(); });

// ---- what is shown ------------------------------------------------------------------------------------------------------

function refresh(how) {
  picture.show(how);
  legend();
  offer("kind", knowledge.kinds().keys());
  offer("namespace", [...knowledge.nodes.values()].flatMap((node) => node.namespaces));
  cutNotice();
  say(emptiness());
}

function emptiness() {
  if (knowledge.nodes.size > 1) return null;
  if (!centre) return blank("Search for something the graph knows", "Type a name, or part of one; / takes you to the search box. Then press a node to open it.");
  if (!knowledge.nodes.size) return blank("There is no such node", "It may have gone with the facts that named it, or this key may not see it. Search for another one.");
  return null;
}

function blank(title, text) {
  return [make("h2", {}, title), make("p", {}, text)];
}

function say(parts) {
  find("blank").replaceChildren(...(parts ?? []));
}

function cutNotice(said) {
  const cut = [...knowledge.opened.values()].some(Boolean);
  const alone = knowledge.nodes.size === 1 && "No relations under these filters.";
  const text = said ?? (cut ? `${counted(knowledge.nodes.size, "node is", "nodes are")} drawn; there are more. Filters narrow it down, and a press on a node opens it.` : alone || "");
  find("cut").textContent = text;
  find("cut").hidden = !text;
}

function legend() {
  const kinds = [...knowledge.kinds()].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1));
  find("legend").hidden = !kinds.length;
  find("kinds").replaceChildren(...kinds.map(([kind, many]) => kindButton(kind, many)));
  find("scale").replaceChildren(...[0.5, 0.8, 0.95, 1].map(scaleMark));
}

function kindButton(kind, many) {
  const dot = make("span", { class: "dot " + knowledge.colour(kind), "aria-hidden": "true" });
  const button = make("button", { type: "button", "aria-pressed": String(!picture.hidden.has(kind)) }, dot, named(kind, { class: "name" }), make("span", { class: "count" }, many));
  button.addEventListener("click", () => {
    if (!picture.hidden.delete(kind)) picture.hidden.add(kind);
    button.setAttribute("aria-pressed", String(!picture.hidden.has(kind)));
    picture.show();
  });
  return make("li", {}, button);
}

function scaleMark(confidence) {
  const line = make("i", { "aria-hidden": "true" });
  line.style.setProperty("height", `${width(confidence)}px`);
  return make("span", {}, line, make("span", {}, String(confidence)));
}

addEventListener("keydown", (event) => {
  if (!session || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "Escape") chooseNothing();
  if (event.key !== "/" || event.target.matches("input[type=search], input[type=password]")) return;
  event.preventDefault();
  search.focus();
});
addEventListener("popstate", () => session && follow());
if (matchMedia("(max-width: 860px)").matches) for (const id of ["filters", "legend", "numbers"]) find(id).open = false;
start();
