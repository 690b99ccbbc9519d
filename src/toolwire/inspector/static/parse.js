// Paste or pick a text: what each character became, chunk by chunk, and under another format.

import { get, post } from "./api.js";
import { $, download, fill, h, later, options, plural, short, visible } from "./dom.js";
import { legend, Painting } from "./paint.js";
import { Rows } from "./rows.js";

const EXAMPLE = `<think>
The user wants the weather. One call will do.
</think>
I will look that up.
<tool_call>
{"name": "get_weather", "arguments": {"city": "Bern", "days": 3}}
</tool_call>`;
const EXAMPLE_TOOLS = [
  {
    name: "get_weather",
    description: "The weather in a city",
    parameters: {
      type: "object",
      properties: { city: { type: "string" }, days: { type: "integer" } },
      required: ["city"],
    },
  },
];
const MOST_EVENTS = 40;
const MOST_CALLS = 50;
const MOST_FORMATS = 6;

export function startParse(info, complain) {
  return new ParseView(info, complain);
}

class ParseView {
  constructor(info, complain) {
    this.complain = complain;
    this.paintings = [];
    this.samples = [];
    this.turn = 0;
    this.playing = 0;
    this.log = new Rows($("log"), {
      row: (event) => eventRow(event),
      choose: (event) => this.move(event.chunk + 1),
    });
    const names = info.formats.map(({ name }) => [name, name]);
    options($("format"), [["auto", "Detect (auto)"], ...names], "auto");
    options($("compare"), [["", "Nothing"], ...names], "");
    this.listen();
    this.take(EXAMPLE, "auto", EXAMPLE_TOOLS);
    this.pick();
  }

  listen() {
    const soon = later(350, () => this.read());
    $("parse-form").addEventListener("submit", (event) => {
      event.preventDefault();
      this.read();
    });
    $("parse-form").addEventListener("keydown", (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) this.read();
    });
    for (const id of ["text", "tools", "size"]) $(id).addEventListener("input", soon);
    $("format").addEventListener("change", () => {
      this.pick();
      this.read();
    });
    $("compare").addEventListener("change", () => this.read());
    $("sample").addEventListener("change", () => this.useSample());
    $("slider").addEventListener("input", () => this.move(Number($("slider").value)));
    $("step-back").addEventListener("click", () => this.move(this.at - 1));
    $("step-on").addEventListener("click", () => this.move(this.at + 1));
    $("play").addEventListener("click", () => this.play());
    $("save-case").addEventListener("click", () => this.save());
  }

  /** Shows a text from elsewhere. */
  take(text, format, tools) {
    $("text").value = text;
    $("format").value = format || "auto";
    $("tools").value = tools?.length ? JSON.stringify(tools, null, 2) : "";
    this.read();
  }

  async pick() {
    const format = $("format").value === "auto" ? "hermes" : $("format").value;
    const { samples } = await get(`inspector/api/samples?format=${encodeURIComponent(format)}`);
    this.samples = samples;
    const label = ({ name, calls }) => `${name.replaceAll("_", " ")} · ${plural(calls, "call")}`;
    const listed = samples.map((sample, index) => [String(index), label(sample)]);
    options($("sample"), [["", `${plural(samples.length, "text")} of ${format}…`], ...listed], "");
  }

  useSample() {
    const sample = this.samples[Number($("sample").value)];
    if ($("sample").value === "" || !sample) return;
    this.take(sample.text, $("format").value, sample.tools);
  }

  asked(format) {
    const written = $("tools").value.trim();
    let tools = null;
    try {
      tools = written ? JSON.parse(written) : null;
    } catch (error) {
      throw new Error(`The tools are not JSON: ${error.message}`);
    }
    const list = Array.isArray(tools) ? tools : (tools?.tools ?? []);
    $("tools-count").textContent = list.length ? String(list.length) : "none";
    const text = $("text").value.toWellFormed?.() ?? $("text").value;
    return { text, format, tools, chunk_size: Math.max(1, Number($("size").value) || 4) };
  }

  async read() {
    const turn = (this.turn += 1);
    this.stopPlaying();
    try {
      const asked = this.asked($("format").value);
      const other = $("compare").value;
      const [main, second] = await Promise.all([
        post("inspector/api/parse", asked),
        other ? post("inspector/api/parse", { ...asked, format: other }) : null,
      ]);
      if (turn !== this.turn) return;
      this.complain();
      await this.show(asked.text, main, second);
    } catch (error) {
      if (turn === this.turn) this.complain(error.message);
    }
  }

  async show(text, main, second) {
    for (const painting of this.paintings) painting.stop();
    const readings = [main, second].filter(Boolean);
    this.paintings = readings.map(
      (reading) => new Painting(text, reading.stretches, `The text as ${reading.format} reads it`),
    );
    fill($("readings"), readings.map((reading, index) => card(reading, this.paintings[index])));
    fill($("found"), readings.map(foundCard));
    for (const id of ["readings", "found"]) $(id).classList.toggle("two", readings.length > 1);
    this.main = main;
    this.text = text;
    $("stream").hidden = $("save").hidden = !main.chunks.length;
    $("slider").max = String(main.chunks.length);
    this.log.set(main.events);
    this.firsts = firstEvents(main.events, main.chunks.length);
    this.move(main.chunks.length, { mark: false });
    await Promise.all(this.paintings.map((painting) => painting.draw()));
    $("readings").dataset.drawn = String(this.turn);
  }

  /** Goes to where `count` chunks have been read. */
  move(count, { mark = true } = {}) {
    const { chunks, events } = this.main;
    this.at = Math.min(Math.max(count, 0), chunks.length);
    $("slider").value = String(this.at);
    $("slider").setAttribute("aria-valuetext", `${this.at} of ${chunks.length} chunks`);
    $("chunk-label").textContent = `${this.at} of ${plural(chunks.length, "chunk")}`;
    const start = this.at > 1 ? chunks[this.at - 2] : 0;
    const end = this.at ? chunks[this.at - 1] : 0;
    const [first, last] = this.at ? [this.firsts[this.at - 1], this.firsts[this.at]] : [0, 0];
    const over = this.at === chunks.length;
    fill($("now"), nowLine(this.text.slice(start, end), events.slice(first, last), this.at, over));
    if (!mark) return;
    this.log.mark(first, last);
    this.paintings[0].mark(start, end);
  }

  play() {
    if (this.playing) {
      this.stopPlaying();
      return;
    }
    if (this.at >= this.main.chunks.length) this.move(0);
    $("play").textContent = "Pause";
    const step = Math.max(1, Math.round(this.main.chunks.length / 400));
    this.playing = setInterval(() => {
      this.move(this.at + step);
      if (this.at >= this.main.chunks.length) this.stopPlaying();
    }, 60);
  }

  stopPlaying() {
    clearInterval(this.playing);
    this.playing = 0;
    $("play").textContent = "Play";
  }

  shown(visible) {
    if (!visible) this.stopPlaying();
  }

  async save() {
    try {
      const name = $("case-name").value.trim();
      const made = await post("inspector/api/case", { ...this.asked($("format").value), name });
      download(`${made.format}_${made.cases[0].name}.json`, `${JSON.stringify(made, null, 2)}\n`);
    } catch (error) {
      this.complain(error.message);
    }
  }
}

/** For each chunk the number of the first event that it made certain. */
function firstEvents(events, chunks) {
  const firsts = new Array(chunks + 1).fill(events.length);
  for (let index = events.length - 1; index >= 0; index -= 1) firsts[events[index].chunk] = index;
  for (let chunk = chunks - 1; chunk >= 0; chunk -= 1) {
    firsts[chunk] = Math.min(firsts[chunk], firsts[chunk + 1]);
  }
  return firsts;
}

function nowLine(chunk, events, at, over) {
  if (!at) return h("span", { class: "muted" }, "Nothing has been read yet.");
  const shown = events.slice(0, MOST_EVENTS).map(eventChip);
  const more = events.length - MOST_EVENTS;
  return [
    h("code", { class: "piece" }, visible(short(chunk, 80))),
    h("span", { class: "muted", "aria-hidden": "true" }, "→"),
    shown.length
      ? shown
      : h("span", { class: "muted" }, over ? "nothing new" : "held back: nothing is certain yet"),
    more > 0 && h("span", { class: "muted" }, `and ${more} more`),
  ];
}

const KIND = {
  TextDelta: "text",
  ReasoningDelta: "reasoning",
  CallStart: "name",
  ArgsDelta: "arguments",
  CallEnd: "marker",
};

function said(event) {
  if (event.event === "CallStart") return `#${event.index} ${event.name}`;
  if (event.event === "CallEnd") return `#${event.index} ${event.complete ? "complete" : "incomplete"}`;
  return event.text ?? event.json ?? "";
}

function eventChip(event) {
  return h(
    "span",
    { class: "event" },
    h("b", { class: `role ${KIND[event.event]}` }, event.event),
    h("code", {}, visible(short(said(event), 120))),
  );
}

function eventRow(event) {
  return [
    h("span", { class: "number" }, String(event.chunk + 1)),
    h("span", {}, h("b", { class: `role ${KIND[event.event]}` }, event.event)),
    h("code", {}, visible(short(said(event), 160))),
  ];
}

function card(reading, painting) {
  const calls = reading.calls.length;
  return h(
    "section",
    { class: "card reading", "aria-label": `Read as ${reading.format}` },
    h(
      "div",
      { class: "row head" },
      h("h2", {}, reading.format),
      h(
        "span",
        { class: calls ? "badge good" : "badge none" },
        calls ? plural(calls, "call") : "No call",
      ),
      reading.detected && h("span", { class: "badge" }, "Detected"),
      h("span", { class: "muted small" }, reading.why),
    ),
    painting.element,
    legend(reading.stretches),
    reasons(reading),
  );
}

function foundCard(reading) {
  const { content, reasoning, calls } = reading;
  const nothing = content === null && reasoning === null && !calls.length;
  return h(
    "section",
    { class: "card", "aria-label": `What ${reading.format} found` },
    h("h2", {}, "What the client gets"),
    reading.incomplete.length > 0 &&
      h(
        "p",
        { class: "note warn" },
        `This is the answer as a whole. In a stream, the name of ${reading.incomplete.join(", ")} `,
        "is sent before its arguments break off, so that the call ends incomplete.",
      ),
    nothing ? h("p", { class: "muted" }, "Nothing.") : found(reading),
  );
}

function reasons(reading) {
  if (!reading.reasons.length) return null;
  const item = ({ formats, why, text }) =>
    h(
      "li",
      {},
      text && h("code", {}, visible(text)),
      h("span", {}, why),
      h("span", { class: "muted" }, formats.slice(0, MOST_FORMATS).join(", ")),
      formats.length > MOST_FORMATS && h("span", { class: "muted" }, `and ${formats.length - MOST_FORMATS} more`),
    );
  return h(
    "div",
    { class: "reasons" },
    h("h3", {}, "Why there is no call"),
    h("ul", {}, reading.reasons.map(item)),
  );
}

export function found({ content, reasoning, calls }) {
  const part = (label, text, role) =>
    text !== null &&
    text !== undefined &&
    h("div", { class: "found" }, h("dt", {}, label), h("dd", { class: `mono ${role}` }, text));
  return h(
    "dl",
    { class: "parts" },
    part("Reasoning", reasoning, "reasoning"),
    part("Content", content, "text"),
    calls.slice(0, MOST_CALLS).map((call, index) =>
      h(
        "div",
        { class: "found" },
        h("dt", {}, `Call ${index}`),
        h(
          "dd",
          { class: "mono" },
          h("span", { class: "role name" }, call.name),
          call.id && h("span", { class: "muted" }, `  id ${call.id}`),
          h("div", { class: "json" }, pretty(call.arguments)),
        ),
      ),
    ),
    calls.length > MOST_CALLS && h("p", { class: "muted" }, `And ${calls.length - MOST_CALLS} more calls.`),
  );
}

export function pretty(json) {
  try {
    return JSON.stringify(JSON.parse(json), null, 2);
  } catch {
    return String(json);
  }
}
