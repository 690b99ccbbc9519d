// openai-node: whole and streamed answers, its stream helper, zod tools and runTools.
"use strict";

const OpenAI = require("openai").default;
const { zodFunction } = require("openai/helpers/zod");
const z = require("zod");
const { MOST_TURNS, TASK, TOOLS, plain, runChecks } = require("./workbench.cjs");

const tools = Object.entries(TOOLS).map(([name, { description, parameters }]) => ({
  type: "function",
  function: {
    name,
    description,
    parameters: {
      type: "object",
      properties: Object.fromEntries(parameters.map((key) => [key, { type: "string" }])),
      required: parameters,
    },
  },
}));

const zodTools = Object.entries(TOOLS).map(([name, tool]) =>
  zodFunction({
    name,
    description: tool.description,
    parameters: z.object(Object.fromEntries(tool.parameters.map((key) => [key, z.string()]))),
    function: tool.execute,
  }),
);

const completionsOf = ({ baseURL, apiKey }) =>
  new OpenAI({ baseURL, apiKey, maxRetries: 0 }).chat.completions;

// Ask, run the calls, answer them, until the model stops calling.
async function loop(ask) {
  const messages = [{ role: "user", content: TASK }];
  for (let turn = 0; turn < MOST_TURNS; turn++) {
    const message = await ask(messages);
    messages.push(message);
    if (!message.tool_calls?.length) return;
    for (const call of message.tool_calls) {
      const content = TOOLS[call.function.name].execute(JSON.parse(call.function.arguments));
      messages.push({ role: "tool", tool_call_id: call.id, content });
    }
  }
  throw new Error(`still calling after ${MOST_TURNS} turns`);
}

function putTogether(chunks) {
  const calls = [];
  let text = "";
  for (const { delta } of chunks.flatMap((chunk) => chunk.choices)) {
    text += delta.content ?? "";
    for (const { index, ...piece } of delta.tool_calls ?? []) {
      if (calls[index]) calls[index].function.arguments += piece.function.arguments;
      else calls[index] = piece;
    }
  }
  const message = { role: "assistant", content: text || null };
  return calls.length ? { ...message, tool_calls: calls } : message;
}

function assertParsed(message) {
  for (const call of message.tool_calls ?? []) {
    if (!call.function.parsed_arguments) throw new Error(`not parsed: ${JSON.stringify(call)}`);
  }
  return message;
}

async function finish(runner) {
  const text = await runner.finalContent();
  if (!text) throw new Error("the run ended without a text");
}

runChecks({
  create: (target) =>
    loop(async (messages) => {
      const made = await completionsOf(target).create({ model: target.model, messages, tools });
      return made.choices[0].message;
    }),

  stream: (target) =>
    loop(async (messages) => {
      const body = { model: target.model, messages, tools, stream: true };
      return putTogether(await Array.fromAsync(await completionsOf(target).create(body)));
    }),

  stream_helper: (target) =>
    loop((messages) =>
      completionsOf(target).stream({ model: target.model, messages, tools }).finalMessage(),
    ),

  parse: (target) =>
    loop(async (messages) => {
      const body = { model: target.model, messages, tools: zodTools };
      return assertParsed((await completionsOf(target).parse(body)).choices[0].message);
    }),

  stream_helper_with_zod: (target) =>
    loop(async (messages) => {
      const body = { model: target.model, messages, tools: zodTools };
      return assertParsed(await completionsOf(target).stream(body).finalMessage());
    }),

  run_tools: (target) => {
    const messages = [{ role: "user", content: TASK }];
    const body = { model: target.model, messages, tools: zodTools };
    return finish(completionsOf(target).runTools(body));
  },

  run_tools_streamed: (target) => {
    const messages = [{ role: "user", content: TASK }];
    const body = { model: target.model, messages, tools: zodTools, stream: true };
    return finish(completionsOf(target).runTools(body));
  },

  models: plain(async ({ baseURL, apiKey }) => {
    const client = new OpenAI({ baseURL, apiKey, maxRetries: 0 });
    const [first] = (await client.models.list()).data;
    const found = await client.models.retrieve(first.id);
    if (found.id !== first.id) throw new Error(`${first.id} is listed but not found`);
  }),
});
