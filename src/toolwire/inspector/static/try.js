// A chat with tools, with two ways of giving a model its tools side by side.

import { get, Problem, read, request } from "./api.js";
import { $, fill, h, options, seconds } from "./dom.js";
import { pretty } from "./parse.js";

const MODES = [
  ["configured", "As configured"],
  ["native", "Native"],
  ["hybrid", "Hybrid"],
  ["prompted", "Prompted"],
];
const SHOWN = new Set(["toolwire-mode", "toolwire-backend"]);
const WARNED = new Set(["toolwire-repairs", "toolwire-findings", "toolwire-ignored-params"]);
const TOOLS = [
  {
    type: "function",
    function: {
      name: "get_weather",
      description: "The weather in a city",
      parameters: {
        type: "object",
        properties: { city: { type: "string" }, days: { type: "integer" } },
        required: ["city"],
      },
    },
  },
];

export function startTry(info, complain, { live }) {
  return new TryView(complain, live);
}

class TryView {
  constructor(complain, live) {
    this.complain = complain;
    this.columns = [new Column("native", live, "First chat"), new Column("prompted", live, "Second chat")];
    $("chats").append(...this.columns.map((column) => column.element));
    $("try-tools").value = JSON.stringify(TOOLS, null, 2);
    $("try-form").addEventListener("submit", (event) => {
      event.preventDefault();
      this.send();
    });
    $("try-form").addEventListener("keydown", (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) this.send();
    });
    $("try-clear").addEventListener("click", () => this.columns.forEach((column) => column.clear()));
    this.known = false;
  }

  async shown(visible) {
    if (!visible || this.known) return;
    this.known = true;
    try {
      const { data } = await get("v1/models");
      $("models").replaceChildren(...data.map(({ id }) => h("option", { value: id })));
      if (!$("try-model").value) $("try-model").value = data[0]?.id ?? "";
    } catch (error) {
      this.complain(`The models cannot be listed: ${error.message}`);
    }
  }

  send() {
    try {
      const common = this.common();
      const text = $("try-message").value.trim();
      if (!text) throw new Error("Write a message first.");
      this.complain();
      $("try-message").value = "";
      for (const column of this.columns) column.say({ role: "user", content: text }, () => this.common());
      return common;
    } catch (error) {
      this.complain(error.message);
      return null;
    }
  }

  common() {
    const written = $("try-tools").value.trim();
    let tools = [];
    try {
      tools = written ? JSON.parse(written) : [];
    } catch (error) {
      throw new Error(`The tools are not JSON: ${error.message}`);
    }
    tools = (Array.isArray(tools) ? tools : (tools.tools ?? [])).map((tool) =>
      tool.type ? tool : { type: "function", function: tool },
    );
    const body = { model: $("try-model").value.trim(), stream: true, stream_options: { include_usage: true } };
    if (!body.model) throw new Error("Choose a model first.");
    if (tools.length) Object.assign(body, { tools, tool_choice: $("try-choice").value });
    return { body, system: $("try-system").value.trim() };
  }
}

class Column {
  constructor(mode, live, name) {
    this.live = live;
    this.history = [];
    this.mode = h("select", { "aria-label": `How the model gets its tools, ${name}` });
    options(this.mode, MODES, mode);
    this.chat = h("div", { class: "chat", tabindex: "0", role: "log", "aria-label": `Conversation, ${name}` });
    this.element = h(
      "section",
      { class: "card column", "aria-label": name },
      h("div", { class: "row head" }, h("h2", {}, "Tools"), this.mode),
      this.chat,
    );
    this.clear();
  }

  clear() {
    this.abort?.abort();
    this.history = [];
    fill(this.chat, h("p", { class: "muted hint" }, "No messages yet."));
  }

  say(message, common) {
    if (!this.history.length) this.chat.replaceChildren();
    this.history.push(message);
    if (message.role === "user") this.chat.append(h("div", { class: "said user" }, message.content));
    if (message.role === "tool") this.chat.append(h("div", { class: "said tool mono" }, message.content));
    return this.ask(common);
  }

  async ask(common) {
    const { body, system } = common();
    const messages = system ? [{ role: "system", content: system }, ...this.history] : this.history;
    const path = this.mode.value === "configured" ? "v1/chat/completions" : `inspector/api/try/${this.mode.value}`;
    const answer = new Answering(this.chat);
    this.abort?.abort();
    this.abort = new AbortController();
    try {
      const response = await request(path, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ ...body, messages }),
        signal: this.abort.signal,
      });
      answer.headers(response.headers);
      if (!response.ok) await read(response);
      await answer.stream(response.body);
      this.history.push(answer.message());
      answer.end(this.live, (results) => this.results(results, common));
    } catch (error) {
      if (error.name !== "AbortError") answer.fail(error.message, this.live);
    }
  }

  results(results, common) {
    results.slice(0, -1).forEach((result) => {
      this.history.push(result);
      this.chat.append(h("div", { class: "said tool mono" }, result.content));
    });
    this.say(results.at(-1), common);
  }
}

/** One answer while it streams. */
class Answering {
  constructor(chat) {
    this.chat = chat;
    this.began = performance.now();
    this.text = "";
    this.thought = "";
    this.calls = [];
    this.facts = [];
    this.warnings = [];
    this.first = null;
    this.thoughtBox = h("div", { class: "quote reasoning", hidden: true });
    this.textBox = h("div", { class: "said model" });
    this.callsBox = h("div", {});
    this.foot = h("p", { class: "muted small foot" }, "Waiting for the first token…");
    chat.append(h("div", { class: "answer" }, this.thoughtBox, this.textBox, this.callsBox, this.foot));
    this.scroll();
  }

  headers(headers) {
    this.id = headers.get("toolwire-request-id");
    for (const [name, value] of headers) {
      if (SHOWN.has(name)) this.facts.push(value);
      if (WARNED.has(name)) this.warnings.push(...value.split(", "));
    }
  }

  async stream(body) {
    const reader = body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    for (;;) {
      const { value, done } = await reader.read();
      rest += value ?? "";
      const parts = rest.split("\n\n");
      rest = parts.pop();
      for (const part of parts) this.event(part);
      this.draw();
      if (done) return;
    }
  }

  event(part) {
    const data = part.split("\n").find((line) => line.startsWith("data: "))?.slice("data: ".length);
    if (!data || data === "[DONE]") return;
    const chunk = JSON.parse(data);
    if (chunk.error) throw new Problem(chunk.error.message, 0);
    if (chunk.usage) this.usage = chunk.usage;
    this.warnings.push(...(chunk.toolwire?.repairs ?? []));
    this.warnings.push(...(chunk.toolwire?.findings ?? []).map((one) => one.code ?? String(one)));
    const choice = chunk.choices?.[0];
    if (!choice) return;
    this.finish = choice.finish_reason ?? this.finish;
    const { content, reasoning_content: thought, tool_calls: calls } = choice.delta;
    if (content || thought || calls) this.first ??= performance.now() - this.began;
    this.text += content ?? "";
    this.thought += thought ?? "";
    for (const delta of calls ?? []) this.call(delta);
  }

  call({ index, id, function: called }) {
    const call = (this.calls[index] ??= { id: "", name: "", arguments: "" });
    call.id ||= id ?? "";
    call.name += called?.name ?? "";
    call.arguments += called?.arguments ?? "";
  }

  draw() {
    this.textBox.textContent = this.text;
    this.thoughtBox.hidden = !this.thought;
    this.thoughtBox.textContent = this.thought;
    fill(this.callsBox, this.calls.map((call) => callCard(call)));
    if (this.first !== null) this.foot.textContent = `First token after ${seconds(this.first / 1000)}…`;
    this.scroll();
  }

  message() {
    const message = { role: "assistant", content: this.text || null };
    if (this.calls.length) {
      message.tool_calls = this.calls.map(({ id, name, arguments: args }) => ({
        id,
        type: "function",
        function: { name, arguments: args },
      }));
    }
    return message;
  }

  end(live, results) {
    const total = (performance.now() - this.began) / 1000;
    const { prompt_tokens: sent, completion_tokens: made } = this.usage ?? {};
    fill(
      this.foot,
      [
        this.finish,
        `first token ${seconds((this.first ?? 0) / 1000)}`,
        `total ${seconds(total)}`,
        made !== undefined && `${sent} + ${made} tokens`,
        ...this.facts,
      ].filter(Boolean).join(" · "),
      [...new Set(this.warnings)].map((word) => h("span", { class: "badge warn" }, word)),
      this.link(live),
    );
    if (this.calls.length) this.askResults(results);
    this.scroll();
  }

  askResults(results) {
    const boxes = this.calls.map((call) =>
      h("textarea", { class: "mono", rows: "2", "aria-label": `Result of ${call.name}`, placeholder: "Result, as the tool would give it" }),
    );
    const send = h("button", { type: "button" }, boxes.length > 1 ? "Send results" : "Send result");
    fill(this.callsBox, this.calls.map((call, index) => callCard(call, boxes[index])), send);
    send.addEventListener("click", () => {
      for (const box of boxes) box.replaceWith();
      send.remove();
      results(this.calls.map((call, index) => ({ role: "tool", tool_call_id: call.id, content: boxes[index].value })));
    });
  }

  fail(message, live) {
    fill(this.foot, this.link(live));
    this.callsBox.append(h("p", { class: "note bad", role: "alert" }, message));
    this.scroll();
  }

  link(live) {
    return this.id && h("button", { type: "button", class: "quiet", onclick: () => live(this.id) }, "Show request");
  }

  scroll() {
    this.chat.scrollTop = this.chat.scrollHeight;
  }
}

function callCard(call, box = null) {
  return h(
    "div",
    { class: "call-card mono" },
    h("span", { class: "role name" }, call.name),
    h("div", { class: "json" }, pretty(call.arguments)),
    box,
  );
}
