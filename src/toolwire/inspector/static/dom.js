// Builds elements. Text is always a text node: nothing here makes HTML of a string.

export const $ = (id) => document.getElementById(id);

export function h(tag, props = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") element.addEventListener(name.slice(2), value);
    else if (name === "class") element.className = value;
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  append(element, children);
  return element;
}

export function append(element, children) {
  for (const child of children.flat(3)) {
    if (child !== null && child !== undefined && child !== false) element.append(child);
  }
}

export function fill(element, ...children) {
  element.replaceChildren();
  append(element, children);
}

export function options(select, values, chosen = select.value) {
  const made = values.map(([value, label]) => h("option", { value }, label));
  select.replaceChildren(...made);
  if (values.some(([value]) => value === chosen)) select.value = chosen;
}

/** Lets the browser draw and answer the user before the work goes on. */
export const breathe = () => new Promise((resume) => setTimeout(resume));

export function later(milliseconds, act) {
  let timer = 0;
  return () => {
    clearTimeout(timer);
    timer = setTimeout(act, milliseconds);
  };
}

export const plural = (count, word) => `${count} ${word}${count === 1 ? "" : "s"}`;

export function short(text, limit = 200) {
  return text.length <= limit ? text : `${text.slice(0, limit)}…`;
}

/** White space that can be seen. */
export const visible = (text) => text.replaceAll("\n", "↵").replaceAll("\t", "⇥");

export function seconds(value) {
  if (value === null || value === undefined) return "";
  return value < 1 ? `${Math.round(value * 1000)} ms` : `${value.toFixed(value < 10 ? 2 : 1)} s`;
}

export function download(name, text) {
  const url = URL.createObjectURL(new Blob([text], { type: "application/json" }));
  h("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}
