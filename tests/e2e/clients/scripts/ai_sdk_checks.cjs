// Vercel AI SDK: generateText and streamText, over its two providers of chat completions.
"use strict";

const { createOpenAI } = require("@ai-sdk/openai");
const { createOpenAICompatible } = require("@ai-sdk/openai-compatible");
const { generateText, stepCountIs, streamText, tool } = require("ai");
const z = require("zod");
const { MOST_TURNS, TASK, TOOLS, plain, runChecks } = require("./workbench.cjs");

const tools = Object.fromEntries(
  Object.entries(TOOLS).map(([name, { description, parameters, execute }]) => {
    const inputSchema = z.object(Object.fromEntries(parameters.map((key) => [key, z.string()])));
    return [name, tool({ description, inputSchema, execute: async (input) => execute(input) })];
  }),
);

const compatible = ({ baseURL, apiKey, model }) =>
  createOpenAICompatible({ name: "scripted", baseURL, apiKey, includeUsage: true })(model);
const chat = ({ baseURL, apiKey, model }) => createOpenAI({ baseURL, apiKey }).chat(model);

const options = (model) => ({
  model,
  tools,
  prompt: TASK,
  stopWhen: stepCountIs(MOST_TURNS),
  maxRetries: 0,
});

async function generate(model) {
  const { text, steps } = await generateText(options(model));
  assertWhole(text, steps);
}

async function stream(model) {
  const problems = [];
  const result = streamText({ ...options(model), onError: ({ error }) => problems.push(error) });
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

async function choose(model) {
  const toolChoice = { type: "tool", toolName: "read_file" };
  const { execute, ...still } = tools.read_file;
  const given = { model, tools: { ...tools, read_file: still }, toolChoice, maxRetries: 0 };
  const { toolCalls } = await generateText({ ...given, prompt: TASK });
  const names = toolCalls.map((call) => call.toolName);
  if (names.join() !== "read_file") throw new Error(`asked for read_file, got ${names}`);
}

runChecks({
  generate_compatible: (target) => generate(compatible(target)),
  generate_chat: (target) => generate(chat(target)),
  stream_compatible: (target) => stream(compatible(target)),
  stream_chat: (target) => stream(chat(target)),
  named_tool_choice: plain((target) => choose(compatible(target))),
});
