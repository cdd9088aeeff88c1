// Elements are made here and nowhere else. Stored text goes in as text nodes: it never becomes markup.
const SVG = "http://www.w3.org/2000/svg";

export const find = (id) => document.getElementById(id);

export function make(tag, attributes = {}, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

export function draw(tag, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, tag), attributes, children);
}

function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, value === true ? "" : value);
  }
  for (const child of children) {
    if (child === null || child === undefined) continue;
    element.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
  return element;
}

// A stored text among ours: its direction of writing stays its own business.
export function named(text, attributes = {}) {
  return make("bdi", attributes, text);
}

const letters = new Intl.Segmenter();

// How wide a text is, in units of its size; letters of wide scripts and pictures take a whole one.
export function span(text) {
  if (/^[\x20-\x7e]*$/.test(text)) return text.length * 0.57;
  return Array.from(letters.segment(text), ({ segment }) => (segment.codePointAt(0) > 0x1100 ? 1.1 : 0.57)).reduce((a, b) => a + b, 0);
}

export function shorten(text, most) {
  if (text.length <= most) return text;
  const all = Array.from(letters.segment(text.slice(0, most * 16)), (each) => each.segment);
  if (all.length <= most && text.length <= most * 16) return text;
  return all.slice(0, most - 1).join("").trimEnd() + "…";
}

export function counted(number, one, many) {
  return `${number.toLocaleString("en")} ${number === 1 ? one : many}`;
}

export function moment(text) {
  const when = new Date(text);
  return when.toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" });
}

export function since(text) {
  const seconds = Math.max(0, (Date.now() - new Date(text)) / 1000);
  for (const [unit, size] of [["day", 86400], ["hour", 3600], ["minute", 60]]) {
    if (seconds >= size) return counted(Math.floor(seconds / size), unit, unit + "s");
  }
  return counted(Math.floor(seconds), "second", "seconds");
}
