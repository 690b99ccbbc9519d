// @anthropic-ai/sdk: whole and streamed answers, its stream helper, zod tools and toolRunner.
"use strict";

const Anthropic = require("@anthropic-ai/sdk").default;
const { betaZodTool } = require("@anthropic-ai/sdk/helpers/beta/zod");
const z = require("zod");
const { MOST_TURNS, TASK, TOOLS, plain, runChecks } = require("./workbench.cjs");

const tools = Object.entries(TOOLS).map(([name, { description, parameters }]) => ({
  name,
  description,
  input_schema: {
    type: "object",
    properties: Object.fromEntries(parameters.map((key) => [key, { type: "string" }])),
    required: parameters,
  },
}));

const runnable = Object.entries(TOOLS).map(([name, { description, parameters, execute }]) =>
  betaZodTool({
    name,
    description,
    inputSchema: z.object(Object.fromEntries(parameters.map((key) => [key, z.string()]))),
    run: (input) => execute(input),
  }),
);

const clientOf = ({ baseURL, apiKey }) =>
  new Anthropic({ baseURL: baseURL.replace(/\/v1$/, ""), apiKey, maxRetries: 0 });

const bodyOf = ({ model }, messages) => ({ model, max_tokens: 1000, messages, tools });

// Ask, run the calls, answer them, until the model stops calling.
async function loop(ask) {
  const messages = [{ role: "user", content: TASK }];
  for (let turn = 0; turn < MOST_TURNS; turn++) {
    const { content, stop_reason: reason } = await ask(messages);
    messages.push({ role: "assistant", content });
    if (reason !== "tool_use") return;
    const results = content
      .filter((block) => block.type === "tool_use")
      .map(({ id, name, input }) => ({
        type: "tool_result",
        tool_use_id: id,
        content: TOOLS[name].execute(input),
      }));
    messages.push({ role: "user", content: results });
  }
  throw new Error(`still calling after ${MOST_TURNS} turns`);
}

const runTools = (target, options) =>
  clientOf(target).beta.messages.toolRunner({
    model: target.model,
    max_tokens: 1000,
    messages: [{ role: "user", content: TASK }],
    tools: runnable,
    ...options,
  });

runChecks({
  create: (target) =>
    loop((messages) => clientOf(target).messages.create(bodyOf(target, messages))),

  stream_helper: (target) =>
    loop((messages) => clientOf(target).messages.stream(bodyOf(target, messages)).finalMessage()),

  raw_stream: (target) =>
    loop(async (messages) => {
      const body = { ...bodyOf(target, messages), stream: true };
      const events = await Array.fromAsync(await clientOf(target).messages.create(body));
      const kinds = events.map((event) => event.type);
      if (kinds[0] !== "message_start" || kinds.at(-1) !== "message_stop") throw new Error(kinds);
      return clientOf(target).messages.create(bodyOf(target, messages));
    }),

  tool_runner: (target) => runTools(target).runUntilDone(),

  tool_runner_streamed: async (target) => {
    for await (const stream of runTools(target, { stream: true })) await stream.finalMessage();
  },

  count_tokens: plain(async (target) => {
    const messages = [{ role: "user", content: TASK }];
    const { model } = target;
    const few = await clientOf(target).messages.countTokens({ model, messages });
    const more = await clientOf(target).messages.countTokens({ model, messages, tools });
    if (!(few.input_tokens > 0 && more.input_tokens > few.input_tokens)) throw new Error("count");
  }),

  an_error_is_its_own: plain(async (target) => {
    const body = { ...bodyOf(target, [{ role: "user", content: TASK }]), tools: [{ name: "x" }] };
    const error = await clientOf(target).messages.create(body).then(() => null, (e) => e);
    if (error?.status !== 400 || !error.requestID) throw new Error(`got ${error}`);
  }),
});
