// What is different between two JSON values, line by line.

import { h, plural } from "./dom.js";

const FIRST = ["model", "messages", "tools", "tool_choice"];
const MOST_CHANGES = 600;
const MOST_SHOWN = 400;
const AROUND = 3;

/** A value as lines. A text of several lines is shown as such, and not as one line with `\n`. */
export function lines(value, indent = "", key = "") {
  const head = key ? `${indent}${key}: ` : indent;
  if (typeof value === "string" && value.includes("\n")) {
    const inner = value.split("\n").map((line) => `${indent}  │ ${line}`);
    return [`${head}"""`, ...inner, `${indent}"""`];
  }
  if (value === null || typeof value !== "object") return [head + JSON.stringify(value)];
  const isList = Array.isArray(value);
  const entries = isList ? value.map((one) => ["", one]) : ordered(value);
  if (!entries.length) return [head + (isList ? "[]" : "{}")];
  const inner = entries.flatMap(([name, one]) => lines(one, `${indent}  `, name));
  return [head + (isList ? "[" : "{"), ...inner, indent + (isList ? "]" : "}")];
}

function ordered(value) {
  const rank = (name) => (FIRST.indexOf(name) + 1 || FIRST.length + 1);
  return Object.entries(value).sort(([a], [b]) => rank(a) - rank(b) || (a < b ? -1 : 1));
}

/** [sign, line] for every line of both: "-" is in the first only, "+" in the second only. */
export function difference(before, after) {
  let start = 0;
  while (start < before.length && start < after.length && before[start] === after[start]) start += 1;
  let end = 0;
  const most = Math.min(before.length, after.length) - start;
  while (end < most && before.at(-1 - end) === after.at(-1 - end)) end += 1;
  const same = (line) => [" ", line];
  return [
    ...before.slice(0, start).map(same),
    ...middle(before.slice(start, before.length - end), after.slice(start, after.length - end)),
    ...before.slice(before.length - end).map(same),
  ];
}

/** Myers' shortest edit; past `MOST_CHANGES`, all of the one and then all of the other. */
function middle(before, after) {
  const [n, m] = [before.length, after.length];
  const reach = new Map([[1, 0]]);
  const steps = [];
  for (let d = 0; d <= Math.min(n + m, MOST_CHANGES); d += 1) {
    steps.push(new Map(reach));
    for (let k = -d; k <= d; k += 2) {
      const down = k === -d || (k !== d && reach.get(k - 1) < reach.get(k + 1));
      let x = down ? reach.get(k + 1) : reach.get(k - 1) + 1;
      let y = x - k;
      while (x < n && y < m && before[x] === after[y]) [x, y] = [x + 1, y + 1];
      reach.set(k, x);
      if (x >= n && y >= m) return trace(steps, before, after);
    }
  }
  return [...before.map((line) => ["-", line]), ...after.map((line) => ["+", line])];
}

function trace(steps, before, after) {
  let [x, y] = [before.length, after.length];
  const found = [];
  for (let d = steps.length - 1; d >= 0; d -= 1) {
    const reach = steps[d];
    const k = x - y;
    const down = k === -d || (k !== d && reach.get(k - 1) < reach.get(k + 1));
    const from = down ? k + 1 : k - 1;
    const oldX = reach.get(from);
    const oldY = oldX - from;
    while (x > oldX && y > oldY) found.push([" ", before[((x -= 1), (y -= 1), x)]]);
    if (d > 0) found.push(down ? ["+", after[(y -= 1)]] : ["-", before[(x -= 1)]]);
  }
  return found.reverse();
}

export function diffView(before, after) {
  const all = difference(lines(before), lines(after));
  const added = all.filter(([sign]) => sign === "+").length;
  const removed = all.filter(([sign]) => sign === "-").length;
  const view = h("pre", { class: "diff mono", tabindex: "0", role: "region", "aria-label": "Difference" });
  if (!added && !removed) return { view: null, added, removed };
  let at = 0;
  while (at < all.length) {
    let end = at;
    while (end < all.length && all[end][0] === " ") end += 1;
    const run = all.slice(at, end);
    const lead = at === 0 ? 0 : AROUND;
    const tail = end === all.length ? 0 : AROUND;
    if (run.length > lead + tail + 2) {
      view.append(...run.slice(0, lead).map(line));
      view.append(folded(run.slice(lead, run.length - tail)));
      view.append(...run.slice(run.length - tail).map(line));
    } else view.append(...run.map(line));
    at = end;
    while (end < all.length && all[end][0] !== " ") end += 1;
    view.append(...all.slice(at, Math.min(end, at + MOST_SHOWN)).map(line));
    if (end > at + MOST_SHOWN) view.append(folded(all.slice(at + MOST_SHOWN, end), "more line"));
    at = end;
  }
  return { view, added, removed };
}

const WORDS = { "+": "added", "-": "removed", " ": null };

function line([sign, text]) {
  const said = WORDS[sign] && h("span", { class: "hidden" }, `${WORDS[sign]}: `);
  const mark = h("span", { class: "sign", "aria-hidden": "true" }, sign);
  return h("span", { class: `line ${WORDS[sign] ?? "same"}` }, said, mark, text, "\n");
}

function folded(run, what = "unchanged line") {
  const button = h("button", { type: "button", class: "fold" }, `⋯ ${plural(run.length, what)}`);
  button.addEventListener("click", () => button.replaceWith(...run.map(line)));
  return button;
}
