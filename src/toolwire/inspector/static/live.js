// The last requests, each as a timeline, and replayed through today's code.

import { get, post } from "./api.js";
import { lines } from "./diff.js";
import { $, fill, h, options, plural, seconds } from "./dom.js";
import { timeline } from "./timeline.js";

const EVERY = 2000;
const OUTCOMES = {
  ok: ["OK", "good"],
  repaired: ["Repaired", "warn"],
  retried: ["Asked again", "warn"],
  invalid: ["Invalid call", "bad"],
  error: ["Error", "bad"],
  gone: ["Client left", "none"],
};

export function startLive(info, complain, { parse }) {
  return new LiveView(info, complain, parse);
}

class LiveView {
  constructor(info, complain, parse) {
    this.info = info;
    this.complain = complain;
    this.parse = parse;
    this.turns = [];
    this.timer = 0;
    this.chosen = "";
    this.drawn = "";
    this.lost = false;
    for (const id of ["by-model", "by-key", "by-outcome"]) {
      $(id).addEventListener("change", () => this.list());
    }
    document.addEventListener("visibilitychange", () => this.shown(!$("view-live").hidden));
    this.empty();
  }

  shown(visible) {
    clearTimeout(this.timer);
    if (visible && !document.hidden) this.poll();
  }

  open(id) {
    if (id !== this.chosen) this.show(id);
  }

  async poll() {
    clearTimeout(this.timer);
    try {
      const { turns } = await get("inspector/api/turns");
      this.turns = turns;
      this.list();
      if (this.lost) this.complain();
      this.lost = false;
    } catch (error) {
      this.lost = true;
      this.complain(error.message);
    }
    this.timer = setTimeout(() => this.poll(), EVERY);
  }

  list() {
    this.filters();
    const kept = this.turns.filter(
      (turn) =>
        is("by-model", turn.model) && is("by-key", turn.key) && is("by-outcome", turn.outcome),
    );
    this.note(kept.length);
    const drawn = JSON.stringify([kept.map((turn) => turn.id), this.chosen]);
    if (drawn === this.drawn) return;
    this.drawn = drawn;
    const focused = document.activeElement?.dataset?.id;
    fill($("turns"), kept.map((turn) => this.row(turn)));
    if (focused) $("turns").querySelector(`[data-id="${CSS.escape(focused)}"]`)?.focus();
  }

  filters() {
    const values = (name) => [...new Set(this.turns.map((turn) => turn[name]))].sort();
    const listed = (name, label = (value) => value || "none") =>
      [["", "All"], ...values(name).map((value) => [`=${value}`, label(value)])];
    const set = (id, made) => {
      if ($(id).dataset.made === JSON.stringify(made)) return;
      $(id).dataset.made = JSON.stringify(made);
      options($(id), made);
    };
    set("by-model", listed("model"));
    set("by-key", listed("key"));
    set("by-outcome", listed("outcome", (value) => OUTCOMES[value]?.[0] ?? value));
  }

  note(count) {
    const record = this.info.lasting ? "" : "Requests are recorded while this view is open. ";
    const bodies = this.info.bodies ? "" : "Bodies are not recorded (trace.bodies).";
    const text = `${plural(count, "request")}. ${record}${bodies}`;
    if ($("live-note").textContent !== text) $("live-note").textContent = text;
  }

  row(turn) {
    const [label, tone] = OUTCOMES[turn.outcome] ?? [turn.outcome, "none"];
    const when = new Date(turn.at * 1000).toLocaleTimeString("en-GB");
    const what = turn.calls.length ? turn.calls.join(", ") : turn.error || "text";
    return h(
      "li",
      {},
      h(
        "button",
        {
          type: "button",
          class: "turn",
          "data-id": turn.id,
          "aria-current": turn.id === this.chosen ? "true" : null,
          onclick: () => this.show(turn.id),
        },
        h("span", { class: "row" }, h("b", {}, turn.model || "no model"), h("span", { class: `badge ${tone}` }, label)),
        h("span", { class: "mono small calls" }, what),
        h(
          "span",
          { class: "muted small" },
          [when, seconds(turn.took), turn.strategy, turn.key].filter(Boolean).join(" · "),
        ),
      ),
    );
  }

  empty() {
    fill(
      $("turn"),
      h(
        "div",
        { class: "card hint" },
        h("h2", {}, "Choose a request"),
        h("p", { class: "muted" }, "Send a request to this server, with your own client or in Try. It appears on the left."),
      ),
    );
  }

  async show(id) {
    this.chosen = id;
    this.list();
    let record;
    try {
      record = await get(`inspector/api/turn?id=${encodeURIComponent(id)}`);
    } catch (error) {
      this.complain(error.message);
      return;
    }
    this.complain();
    const result = h("div", { role: "status", "aria-live": "polite" });
    const replay = h("button", { type: "button", onclick: () => this.replay(id, result) }, "Replay through today's code");
    if (!record.bodies) replay.disabled = true;
    fill(
      $("turn"),
      h(
        "section",
        { class: "card", "aria-label": "Request" },
        h(
          "div",
          { class: "row head" },
          h("h2", {}, record.plan?.model ?? "Refused request"),
          h("code", { class: "muted small" }, record.request_id),
          h("span", { class: "gap" }),
          replay,
        ),
        !record.bodies &&
          h("p", { class: "muted small" }, "Recorded without bodies: texts are lengths, and it cannot be replayed. Set bodies = true in [trace]."),
        result,
        timeline(record, this.parse),
      ),
    );
  }

  async replay(id, result) {
    fill(result, h("p", { class: "muted" }, "Replaying…"));
    try {
      const { differences } = await post("inspector/api/replay", { id });
      fill(result, differences.length ? differences.map(changed) : same());
    } catch (error) {
      fill(result, h("p", { class: "note bad" }, error.message));
    }
  }
}

function is(id, value) {
  return $(id).value === "" || $(id).value === `=${value}`;
}

function same() {
  return h("p", { class: "note good" }, "Replayed: the same as then.");
}

function changed({ attempt, what, then, now }) {
  const side = (label, value) =>
    h("div", {}, h("h4", {}, label), h("pre", { class: "code mono" }, lines(value ?? null).join("\n")));
  return h(
    "div",
    { class: "note warn" },
    h("h3", {}, `Attempt ${attempt}: ${what} is different`),
    h("div", { class: "columns" }, side("Then", then), side("Now", now)),
  );
}
