// Vercel AI SDK: its default provider for OpenAI, which speaks the Responses API. It refers to
// earlier text and reasoning by ids alone, unless it is told that nothing is stored.
"use strict";

const { createOpenAI } = require("@ai-sdk/openai");
const { Output, generateText, stepCountIs, streamText, tool } = require("ai");
const z = require("zod");
const { MOST_TURNS, TASK, TOOLS, plain, runChecks } = require("./workbench.cjs");

const tools = Object.fromEntries(
  Object.entries(TOOLS).map(([name, { description, parameters, execute }]) => {
    const inputSchema = z.object(Object.fromEntries(parameters.map((key) => [key, z.string()])));
    return [name, tool({ description, inputSchema, execute: async (input) => execute(input) })];
  }),
);

const modelOf = ({ baseURL, apiKey, model }) => createOpenAI({ baseURL, apiKey })(model);

const options = (target, more = {}) => ({
  model: modelOf(target),
  tools,
  prompt: TASK,
  stopWhen: stepCountIs(MOST_TURNS),
  maxRetries: 0,
  ...more,
});

const stateless = { providerOptions: { openai: { store: false } } };

function assertWhole(text, steps) {
  const called = steps.flatMap((step) => step.toolCalls.map((call) => call.toolName));
  const wanted = Object.keys(TOOLS);
  if (called.join() !== wanted.join()) throw new Error(`called ${called}, wanted ${wanted}`);
  if (!text) throw new Error("the run ended without a text");
}

async function generate(target, more) {
  const { text, steps } = await generateText(options(target, more));
  assertWhole(text, steps);
}

async function stream(target, more) {
  const problems = [];
  const onError = ({ error }) => problems.push(error);
  const result = streamText({ ...options(target, more), onError });
  await Array.fromAsync(result.fullStream);
  if (problems.length) throw problems[0];
  assertWhole(await result.text, await result.steps);
}

async function structured(target) {
  const output = Output.object({ schema: z.object({ city: z.string() }) });
  const made = await generateText({ model: modelOf(target), prompt: "Where?", output, maxRetries: 0 });
  if (typeof made.output.city !== "string") throw new Error("nothing was parsed");
}

runChecks({
  generate: (target) => generate(target),
  stream: (target) => stream(target),
  generate_stateless: (target) => generate(target, stateless),
  stream_stateless: (target) => stream(target, stateless),
  structured: plain(structured),
});
