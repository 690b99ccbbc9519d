// What the Node scripts share: the tools of the file task, and the running of checks.
// A script is `node SCRIPT BASE_URL KEY MODEL [CHECK ...]`, with NODE_PATH at its library.
"use strict";

const { execSync } = require("node:child_process");
const fs = require("node:fs");
const path = require("node:path");

const TASK = "Create hello.py so that running it prints hello. Then read it, run it, and finish.";
const CONTENT = 'print("hello")';
const FILE = "hello.py";
const MOST_TURNS = 30;

// name -> what it does, the names of its (string) parameters, and the doing.
const TOOLS = {
  write_file: {
    description: "Write a text file.",
    parameters: ["path", "content"],
    execute({ path: file, content }) {
      fs.writeFileSync(file, content);
      return `wrote ${content.length} characters to ${file}`;
    },
  },
  read_file: {
    description: "Read a text file.",
    parameters: ["path"],
    execute: ({ path: file }) => fs.readFileSync(file, "utf8"),
  },
  run_command: {
    description: "Run a shell command and return what it prints.",
    parameters: ["command"],
    execute: ({ command }) => execSync(command, { encoding: "utf8" }),
  },
};

function assertFileWritten() {
  if (!fs.existsSync(FILE)) throw new Error(`${FILE} was not written`);
  const text = fs.readFileSync(FILE, "utf8");
  if (text.trim() !== CONTENT) throw new Error(`${FILE} holds ${JSON.stringify(text)}`);
}

async function runCheck(name, check, target) {
  const here = process.cwd();
  fs.mkdirSync(name);
  process.chdir(path.join(here, name));
  try {
    await check(target);
    if (!check.plain) assertFileWritten();
    console.log(`ok ${name}`);
    return true;
  } catch (error) {
    console.log(`FAIL ${name}\n${error?.stack ?? error}\n`);
    return false;
  } finally {
    process.chdir(here);
  }
}

// Mark a check that judges for itself, without a file.
const plain = (check) => Object.assign(check, { plain: true });

// Run the checks named on the command line, or all; exit with 1 if any fails.
async function runChecks(checks) {
  const [baseURL, apiKey, model, ...names] = process.argv.slice(2);
  let passed = true;
  for (const name of names.length ? names : Object.keys(checks)) {
    passed = (await runCheck(name, checks[name], { baseURL, apiKey, model })) && passed;
  }
  process.exit(passed ? 0 : 1);
}

module.exports = { MOST_TURNS, TASK, TOOLS, plain, runChecks };
