// A long list of which only the rows in view are elements.

import { h } from "./dom.js";

const HEIGHT = 28;
const MORE = 8;

export class Rows {
  constructor(box, { row, choose }) {
    this.box = box;
    this.make = row;
    this.choose = choose;
    this.items = [];
    this.current = [-1, -1];
    this.inner = h("div", { class: "rows", role: "list" });
    box.replaceChildren(this.inner);
    box.addEventListener("scroll", () => this.draw(), { passive: true });
  }

  set(items) {
    this.items = items;
    this.inner.style.height = `${items.length * HEIGHT}px`;
    this.box.scrollTop = 0;
    this.current = [-1, -1];
    this.draw();
  }

  /** Marks the rows from `first` up to `last`, and scrolls to them. */
  mark(first, last) {
    this.current = [first, last];
    const top = first * HEIGHT;
    const { scrollTop, clientHeight } = this.box;
    if (top < scrollTop || top + HEIGHT > scrollTop + clientHeight) {
      this.box.scrollTop = top - clientHeight / 2;
    }
    this.draw();
  }

  draw() {
    const first = Math.max(0, Math.floor(this.box.scrollTop / HEIGHT) - MORE);
    const last = Math.min(
      this.items.length,
      Math.ceil((this.box.scrollTop + this.box.clientHeight) / HEIGHT) + MORE,
    );
    const made = [];
    for (let index = first; index < last; index += 1) {
      const marked = index >= this.current[0] && index < this.current[1];
      const row = h(
        "div",
        {
          class: marked ? "line current" : "line",
          role: "listitem",
          "aria-posinset": index + 1,
          "aria-setsize": this.items.length,
          onclick: () => this.choose(this.items[index]),
        },
        this.make(this.items[index]),
      );
      row.style.top = `${index * HEIGHT}px`;
      made.push(row);
    }
    this.inner.replaceChildren(...made);
  }
}
