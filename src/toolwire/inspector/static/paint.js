// A text coloured by what each character became. The read part is marked with the browser's own
// highlights, so that moving through ten thousand chunks changes no element.

import { breathe, h } from "./dom.js";

export const ROLES = [
  ["text", "Text"],
  ["reasoning", "Reasoning"],
  ["marker", "Marker"],
  ["name", "Name"],
  ["arguments", "Arguments"],
];
const AT_ONCE = 400;
const highlights = globalThis.CSS?.highlights;

export function legend(stretches) {
  const counts = {};
  for (const [start, end, role] of stretches) {
    const shown = role === "layout" ? "marker" : role;
    counts[shown] = (counts[shown] ?? 0) + end - start;
  }
  const item = ([role, label]) =>
    h("li", {}, h("span", { class: `role ${role}` }, label), ` ${counts[role] ?? 0}`);
  return h("ul", { class: "legend", "aria-label": "Characters by what they became" }, ROLES.map(item));
}

export class Painting {
  constructor(text, stretches, label) {
    this.text = text;
    this.stretches = stretches;
    this.nodes = [];
    this.element = h("pre", { class: "painted mono", tabindex: "0", role: "region", "aria-label": label });
    this.stopped = false;
  }

  /** Draws the text, a part at a time. */
  async draw() {
    for (let at = 0; at < this.stretches.length && !this.stopped; at += AT_ONCE) {
      const part = document.createDocumentFragment();
      for (const stretch of this.stretches.slice(at, at + AT_ONCE)) part.append(this.span(stretch));
      this.element.append(part);
      if (at + AT_ONCE < this.stretches.length) await breathe();
    }
  }

  span([start, end, role, why]) {
    const node = document.createTextNode(this.text.slice(start, end));
    this.nodes.push([start, node]);
    if (role === "text" && !why) return node;
    const title = why || null;
    return h("span", { class: why && role === "text" ? "role text why" : `role ${role}`, title }, node);
  }

  /** Marks what was read up to `end`, of which the last chunk began at `start`. */
  mark(start, end) {
    if (!highlights || !this.nodes.length) return;
    highlights.set("unread", new Highlight(this.range(end, this.text.length)));
    highlights.set("chunk", new Highlight(this.range(start, end)));
    this.reveal(end);
  }

  range(start, end) {
    const range = new Range();
    range.setStart(...this.place(start));
    range.setEnd(...this.place(end));
    return range;
  }

  place(offset) {
    let low = 0;
    let high = this.nodes.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.nodes[middle][0] <= offset) low = middle;
      else high = middle - 1;
    }
    const [start, node] = this.nodes[low];
    return [node, Math.min(offset - start, node.length)];
  }

  reveal(offset) {
    const box = this.range(Math.max(offset - 1, 0), offset).getBoundingClientRect();
    const own = this.element.getBoundingClientRect();
    if (box.bottom > own.bottom) this.element.scrollTop += box.bottom - own.bottom + 40;
    if (box.top < own.top) this.element.scrollTop -= own.top - box.top + 40;
  }

  stop() {
    this.stopped = true;
    highlights?.clear();
  }
}
