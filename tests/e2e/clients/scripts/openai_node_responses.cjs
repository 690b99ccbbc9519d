// openai-node: its Responses API, whole, streamed, with its stream helper and chained.
"use strict";

const OpenAI = require("openai").default;
const { zodTextFormat } = require("openai/helpers/zod");
const z = require("zod");
const { MOST_TURNS, TASK, TOOLS, plain, runChecks } = require("./workbench.cjs");

const tools = Object.entries(TOOLS).map(([name, { description, parameters }]) => ({
  type: "function",
  name,
  description,
  strict: false,
  parameters: {
    type: "object",
    properties: Object.fromEntries(parameters.map((key) => [key, { type: "string" }])),
    required: parameters,
  },
}));

const responsesOf = ({ baseURL, apiKey }) => new OpenAI({ baseURL, apiKey, maxRetries: 0 }).responses;

const outputs = (response) =>
  response.output
    .filter((item) => item.type === "function_call")
    .map((item) => ({
      type: "function_call_output",
      call_id: item.call_id,
      output: TOOLS[item.name].execute(JSON.parse(item.arguments)),
    }));

// Ask, run the calls, send everything again, until the model stops calling.
async function loop(ask) {
  const input = [{ role: "user", content: TASK }];
  for (let turn = 0; turn < MOST_TURNS; turn++) {
    const response = await ask(input);
    const results = outputs(response);
    if (!results.length) return;
    input.push(...response.output, ...results);
  }
  throw new Error(`still calling after ${MOST_TURNS} turns`);
}

const create = (target) =>
  loop((input) => responsesOf(target).create({ model: target.model, input, tools }));

const stream = (target) =>
  loop(async (input) => {
    const events = await responsesOf(target).create({
      model: target.model,
      input,
      tools,
      stream: true,
    });
    let last;
    for await (const event of events) last = event;
    if (last.type !== "response.completed") throw new Error(`ended with ${last.type}`);
    return last.response;
  });

const helper = (target) =>
  loop((input) =>
    responsesOf(target).stream({ model: target.model, input, tools }).finalResponse(),
  );

async function chained(target) {
  const responses = responsesOf(target);
  let response = await responses.create({ model: target.model, input: TASK, tools });
  for (let turn = 0; turn < MOST_TURNS; turn++) {
    const input = outputs(response);
    if (!input.length) return;
    const previous_response_id = response.id;
    response = await responses.create({ model: target.model, input, previous_response_id, tools });
  }
  throw new Error(`still calling after ${MOST_TURNS} turns`);
}

async function parse(target) {
  const format = zodTextFormat(z.object({ city: z.string() }), "weather");
  const parsed = await responsesOf(target).parse({
    model: target.model,
    input: "The weather in Paris?",
    text: { format },
  });
  if (typeof parsed.output_parsed.city !== "string") throw new Error("nothing was parsed");
}

runChecks({ create, stream, helper, chained, parse: plain(parse) });
