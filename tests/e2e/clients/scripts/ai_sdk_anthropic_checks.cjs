// Vercel AI SDK over its provider of Anthropic's messages: text, streams, objects.
"use strict";

const { createAnthropic } = require("@ai-sdk/anthropic");
const { generateText, Output, stepCountIs, streamText, tool } = require("ai");
const z = require("zod");
const { MOST_TURNS, TASK, TOOLS, plain, runChecks } = require("./workbench.cjs");

const tools = Object.fromEntries(
  Object.entries(TOOLS).map(([name, { description, parameters, execute }]) => {
    const inputSchema = z.object(Object.fromEntries(parameters.map((key) => [key, z.string()])));
    return [name, tool({ description, inputSchema, execute: async (input) => execute(input) })];
  }),
);

const modelOf = ({ baseURL, apiKey, model }) => createAnthropic({ baseURL, apiKey })(model);

const options = (target) => ({
  model: modelOf(target),
  tools,
  prompt: TASK,
  stopWhen: stepCountIs(MOST_TURNS),
  maxRetries: 0,
});

const thinking = { anthropic: { thinking: { type: "enabled", budgetTokens: 2000 } } };

async function generate(target, more = {}) {
  const { text, steps } = await generateText({ ...options(target), ...more });
  assertWhole(text, steps);
}

async function stream(target, more = {}) {
  const problems = [];
  const onError = ({ error }) => problems.push(error);
  const result = streamText({ ...options(target), ...more, onError });
  const pieces = await Array.fromAsync(result.fullStream);
  if (problems.length) throw problems[0];
  if (!pieces.some((piece) => piece.type === "tool-input-delta")) {
    throw new Error("no arguments were streamed");
  }
  assertWhole(await result.text, await result.steps);
}

function assertWhole(text, steps) {
  const called = steps.flatMap((step) => step.toolCalls.map((call) => call.toolName));
  const wanted = Object.keys(TOOLS);
  if (called.join() !== wanted.join()) throw new Error(`called ${called}, wanted ${wanted}`);
  if (!text) throw new Error("the run ended without a text");
}

async function object(target) {
  const output = Output.object({ schema: z.object({ title: z.string() }) });
  const made = await generateText({ model: modelOf(target), output, prompt: "A title.", maxRetries: 0 });
  if (typeof made.output.title !== "string") throw new Error(JSON.stringify(made.output));
}

async function choose(target) {
  const toolChoice = { type: "tool", toolName: "read_file" };
  const { execute, ...still } = tools.read_file;
  const given = { model: modelOf(target), tools: { ...tools, read_file: still }, toolChoice };
  const { toolCalls } = await generateText({ ...given, prompt: TASK, maxRetries: 0 });
  const names = toolCalls.map((call) => call.toolName);
  if (names.join() !== "read_file") throw new Error(`asked for read_file, got ${names}`);
}

runChecks({
  generate: (target) => generate(target),
  generate_with_thinking: (target) => generate(target, { providerOptions: thinking }),
  stream: (target) => stream(target),
  stream_with_thinking: (target) => stream(target, { providerOptions: thinking }),
  object: plain(object),
  named_tool_choice: plain(choose),
});
