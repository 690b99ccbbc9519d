// The page's frame: views, colours, and what is known of the server.

import { forgetKey, get } from "./api.js";
import { $ } from "./dom.js";
import { startLive } from "./live.js";
import { startParse } from "./parse.js";
import { startTry } from "./try.js";

const VIEWS = ["parse", "live", "try"];
const THEME = "toolwire-theme";
const views = {};

export function show(name, { focus = false } = {}) {
  for (const view of VIEWS) {
    const tab = $(`tab-${view}`);
    tab.setAttribute("aria-selected", String(view === name));
    tab.tabIndex = view === name ? 0 : -1;
    $(`view-${view}`).hidden = view !== name;
    views[view]?.shown?.(view === name);
  }
  if (focus) $(`tab-${name}`).focus();
  document.title = `${$(`tab-${name}`).textContent} · Toolwire Inspector`;
}

function go(name, rest = "") {
  location.hash = rest ? `${name}/${rest}` : name;
}

function followHash() {
  const [name, rest] = location.hash.slice(1).split("/");
  const view = VIEWS.includes(name) ? name : "parse";
  show(view);
  if (rest) views[view]?.open?.(decodeURIComponent(rest));
}

function startTabs() {
  for (const [index, view] of VIEWS.entries()) {
    const tab = $(`tab-${view}`);
    tab.addEventListener("click", () => go(view));
    tab.addEventListener("keydown", (event) => {
      const move = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!move) return;
      event.preventDefault();
      const next = VIEWS[(index + move + VIEWS.length) % VIEWS.length];
      go(next);
      $(`tab-${next}`).focus();
    });
  }
  addEventListener("hashchange", followHash);
}

function startTheme() {
  const use = (theme) => {
    document.documentElement.dataset.theme = theme;
    $("theme").value = theme;
  };
  use(localStorage.getItem(THEME) ?? "auto");
  $("theme").addEventListener("change", () => {
    localStorage.setItem(THEME, $("theme").value);
    use($("theme").value);
  });
}

export function complain(text = "") {
  $("problem").textContent = text;
  $("problem").hidden = !text;
}

async function start() {
  startTheme();
  startTabs();
  $("change-key").addEventListener("click", () => {
    forgetKey();
    location.reload();
  });
  addEventListener("unhandledrejection", (event) => complain(event.reason?.message ?? "Error"));
  const info = await get("inspector/api/info");
  $("version").textContent = `v${info.version}`;
  views.parse = startParse(info, complain);
  views.live = startLive(info, complain, {
    parse: (text, format, tools) => {
      go("parse");
      views.parse.take(text, format, tools);
    },
  });
  views.try = startTry(info, complain, { live: (id) => go("live", id) });
  followHash();
  document.body.dataset.ready = "yes";
}

start().catch((error) => complain(error.message));
