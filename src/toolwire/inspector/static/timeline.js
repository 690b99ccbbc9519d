// One request as a timeline, from its trace.

import { diffView, lines } from "./diff.js";
import { h, plural, seconds } from "./dom.js";
import { Painting } from "./paint.js";
import { found } from "./parse.js";

const ROLE_OF = { text: "text", reasoning: "reasoning", call: "call", markup: "marker", layout: "layout" };

/** The steps of a request. `parse` opens a text in the other view. */
export function timeline(record, parse) {
  const steps = [received(record)];
  record.attempts.forEach((attempt, index) => steps.push(...attempted(record, attempt, index, parse)));
  steps.push(ended(record));
  return h("ol", { class: "timeline" }, steps);
}

function step(at, kind, title, ...body) {
  return h(
    "li",
    { class: `step ${kind}` },
    h("span", { class: "at" }, at === null || at === undefined ? "" : `+${seconds(at)}`),
    h("div", { class: "what" }, h("h3", {}, title), body),
  );
}

function facts(...words) {
  return h("p", { class: "muted" }, words.filter(Boolean).join(" · "));
}

function decoded(text) {
  try {
    return typeof text === "string" ? JSON.parse(text) : null;
  } catch {
    return null;
  }
}

function more(label, content) {
  return h("details", {}, h("summary", {}, label), content);
}

function code(value) {
  return h("pre", { class: "code mono", tabindex: "0" }, lines(value).join("\n"));
}

function received({ request, plan }) {
  const body = decoded(request.body);
  return step(
    0,
    "client",
    "The client sent a request",
    facts(
      plan && plural(plan.messages, "message"),
      plan && plural(plan.tools.length, "tool"),
      plan && `tool_choice ${plan.tool_choice}`,
      plan && (plan.stream ? "streamed" : "not streamed"),
      `${request.bytes.toLocaleString("en")} bytes`,
      request.profile && request.profile !== "default" && `profile ${request.profile}`,
    ),
    plan?.repairs.length > 0 && chips("Repaired in the request", plan.repairs),
    body && more("Request", code(body)),
  );
}

function attempted(record, attempt, index, parse) {
  const { kind, format } = attempt.strategy;
  const number = record.attempts.length > 1 ? ` (attempt ${index + 1})` : "";
  const steps = [
    step(
      attempt.at,
      "backend",
      `${attempt.backend} was asked${number}`,
      facts(`tools are ${kind}`, format && `text is read as ${format}`),
      told(attempt.told),
      sentToBackend(record, index),
    ),
  ];
  if (attempt.heard.length) steps.push(heard(record, attempt, parse));
  if (attempt.findings.length || attempt.repairs.length) steps.push(checked(attempt));
  if (attempt.error) {
    const at = attempt.heard.at(-1)?.at ?? attempt.at;
    steps.push(step(at, "bad", "The attempt failed", facts(attempt.error.code), message(attempt.error)));
  }
  return steps;
}

function told(messages) {
  if (!messages.length) return null;
  const one = ([role, text]) =>
    h("li", {}, h("b", {}, role), typeof text === "number" ? ` ${text} characters` : ` ${text}`);
  return h("div", {}, h("h4", {}, "Added to the conversation"), h("ul", { class: "told" }, messages.map(one)));
}

function sentToBackend(record, index) {
  const attempt = record.attempts[index];
  const before = record.attempts[index - 1];
  const asked = decoded(attempt.asked);
  if (!asked) {
    const size = typeof attempt.asked === "number" ? attempt.asked : null;
    return size !== null && facts(`${size.toLocaleString("en")} bytes were sent`);
  }
  const base = decoded(before ? before.asked : record.request.body);
  const { view, added, removed } = diffView(base ?? {}, asked);
  if (!view) return facts(before ? "sent once more" : "sent as the client wrote it");
  return h(
    "details",
    { open: true },
    h(
      "summary",
      {},
      before ? "What changed since the attempt before " : "What changed on the way to the backend ",
      h("span", { class: "plus" }, `+${added}`),
      " ",
      h("span", { class: "minus" }, `−${removed}`),
    ),
    view,
  );
}

function heard(record, attempt, parse) {
  const fragments = attempt.heard.flatMap((block) => block.fragments);
  const first = attempt.heard[0].at;
  const last = attempt.heard.at(-1).at;
  const native = nativeCalls(fragments);
  const choices = [...new Set(fragments.map((fragment) => fragment.choice ?? 0))];
  return step(
    first,
    "model",
    "The model answered",
    facts(
      `${plural(attempt.heard.length, "chunk")} in ${seconds(last - first)}`,
      native.length > 0 && plural(native.length, "native call"),
    ),
    native.length > 0 && h("ul", { class: "told mono" }, native.map(nativeCall)),
    record.bodies && choices.map((choice) => rawText(record, attempt, fragments, choice, parse)),
  );
}

/** Native calls as the backend wrote them, put together. */
function nativeCalls(fragments) {
  const calls = [];
  for (const fragment of fragments) {
    for (const { index, name, arguments: piece } of fragment.calls ?? []) {
      const last = calls.at(-1);
      const own = calls.findLast((call) => call.index === index && index !== undefined);
      const call = name && !(own && !own.name) ? null : (own ?? last);
      if (call) {
        call.name ||= name;
        call.arguments = call.arguments === undefined ? piece : call.arguments + (piece ?? "");
      } else calls.push({ index, name, arguments: piece });
    }
  }
  return calls;
}

function nativeCall({ name, arguments: args }) {
  const written = typeof args === "number" ? ` ${args} characters of arguments` : ` ${args ?? ""}`;
  return h("li", {}, h("span", { class: "role name" }, name ?? "without a name"), written);
}

function rawText(record, attempt, fragments, choice, parse) {
  const own = fragments.filter((fragment) => (fragment.choice ?? 0) === choice);
  const text = own.map((fragment) => fragment.text ?? "").join("");
  const thought = own.map((fragment) => fragment.reasoning ?? "").join("");
  if (!text && !thought) return null;
  const painting = new Painting(...spansOf(text, attempt.spans[String(choice)]), "The model's text");
  painting.draw();
  const tools = decoded(record.request.body)?.tools ?? [];
  return [
    thought && h("div", { class: "quote reasoning" }, thought),
    text && painting.element,
    text &&
      h(
        "button",
        { type: "button", class: "quiet", onclick: () => parse(text, attempt.strategy.format, tools) },
        "Open in Parse",
      ),
  ];
}

/** Spans count characters, and JavaScript counts UTF-16 code units. */
function spansOf(text, spans) {
  if (!spans?.length) return [text, [[0, text.length, "text", ""]]];
  const places = [0];
  for (const character of text) places.push(places.at(-1) + character.length);
  const place = (offset) => places[Math.min(offset, places.length - 1)];
  return [text, spans.map(([start, end, kind, why]) => [place(start), place(end), ROLE_OF[kind], why])];
}

function checked(attempt) {
  const finding = ({ code: name, tool, message: text }) =>
    h("li", {}, h("b", {}, name), ` ${tool}`, typeof text === "string" && `: ${text}`);
  return step(
    attempt.heard.at(-1)?.at,
    attempt.findings.length ? "bad" : "mended",
    attempt.findings.length ? "Calls that do not match their schema" : "Repaired",
    attempt.findings.length > 0 && h("ul", { class: "told" }, attempt.findings.map(finding)),
    attempt.repairs.length > 0 && chips("Repairs", attempt.repairs),
  );
}

function chips(label, words) {
  return h(
    "p",
    { class: "chips" },
    h("span", { class: "muted" }, `${label}: `),
    words.map((word) => h("span", { class: "badge warn" }, word)),
  );
}

function message({ message: text }) {
  return typeof text === "string" && h("p", { class: "quote" }, text);
}

function ended(record) {
  if (record.error) {
    const { code: name, status } = record.error;
    return step(record.took, "bad", `The client got an error ${status ?? ""}`, facts(name), message(record.error));
  }
  const wholes = Object.values(record.attempts.at(-1)?.sent ?? {});
  return step(
    record.took,
    record.gone ? "bad" : "client",
    record.gone ? "The client left before the end" : "The client got the answer",
    facts(
      wholes.map((whole) => whole.finish).filter(Boolean).join(", "),
      record.usage && `${record.usage[0]} + ${record.usage[1]} tokens`,
      record.retries.length > 0 && `asked again: ${record.retries.join(", ")}`,
    ),
    wholes.map(record.bodies ? answered : measured),
  );
}

function answered({ content, reasoning, calls }) {
  const made = calls.map(([id, name, args]) => ({ id, name, arguments: args }));
  return found({ content, reasoning, calls: made });
}

function measured({ content, reasoning, calls }) {
  const size = (label, value) => value !== null && `${label} ${value} characters`;
  return facts(
    size("reasoning", reasoning),
    size("content", content),
    ...calls.map(([, name, args]) => `${name} with ${args} characters of arguments`),
  );
}
