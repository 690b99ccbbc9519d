// Requests to the server that this page is from, with the client key if it wants one.

import { $ } from "./dom.js";

const STORE = "toolwire-key";
let asking = null;

export class Problem extends Error {
  constructor(message, status) {
    super(message);
    this.status = status;
  }
}

export function headers() {
  const key = sessionStorage.getItem(STORE);
  return key ? { authorization: `Bearer ${key}` } : {};
}

export async function request(path, options = {}) {
  for (;;) {
    let answer;
    try {
      answer = await fetch(path, { ...options, headers: { ...headers(), ...options.headers } });
    } catch (error) {
      if (error.name === "AbortError") throw error;
      throw new Problem("The server does not answer. Is it running?", 0);
    }
    if (answer.status !== 401) return answer;
    await askForKey(sessionStorage.getItem(STORE) !== null);
  }
}

export async function get(path) {
  return read(await request(path));
}

export async function post(path, value, options = {}) {
  const body = JSON.stringify(value);
  const sent = { method: "POST", headers: { "content-type": "application/json" }, body };
  return read(await request(path, { ...sent, ...options }));
}

export async function read(answer) {
  let value = null;
  try {
    value = await answer.json();
  } catch {
    throw new Problem(`The server answered ${answer.status}, and no JSON.`, answer.status);
  }
  if (!answer.ok) throw new Problem(value?.error?.message ?? `Error ${answer.status}`, answer.status);
  return value;
}

export function forgetKey() {
  sessionStorage.removeItem(STORE);
}

function askForKey(wrong) {
  $("key-error").textContent = wrong ? "The server does not know this key." : "";
  $("change-key").hidden = false;
  asking ??= new Promise((resume) => {
    const dialog = $("key-dialog");
    const take = () => {
      sessionStorage.setItem(STORE, $("key").value.trim());
      $("key").value = "";
      asking = null;
      resume();
    };
    $("key-form").addEventListener("submit", take, { once: true });
    dialog.addEventListener("cancel", (event) => event.preventDefault());
    dialog.showModal();
  });
  return asking;
}
