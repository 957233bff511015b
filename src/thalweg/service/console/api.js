// Requests with the token of this tab, and server-sent events that are taken up again where they stopped.
const KEY = "thalweg.token";

export function takeToken() {
  const found = location.hash.match(/^#token=(.+)$/);
  if (found) {
    sessionStorage.setItem(KEY, decodeURIComponent(found[1]));
    history.replaceState(null, "", "#/overview");
  }
  return sessionStorage.getItem(KEY);
}

export const setToken = (token) => sessionStorage.setItem(KEY, token);

export class Refused extends Error {
  constructor(status, error) {
    super(error.message);
    Object.assign(this, { status, hint: error.hint, line: error.line, column: error.column, length: error.length });
  }
}

async function answered(path, options = {}) {
  const headers = { authorization: `Bearer ${sessionStorage.getItem(KEY) || ""}`, ...options.headers };
  const answer = await fetch(path, { ...options, headers });
  if (answer.ok) return answer;
  let error = { message: `${answer.status} ${answer.statusText}` };
  try { error = (await answer.json()).error; } catch { /* no JSON: the status says it */ }
  if (answer.status === 401) dispatchEvent(new Event("no-token"));
  throw new Refused(answer.status, error);
}

export const get = async (path) => (await answered(path)).json();
export async function save(path, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(await (await answered(path)).blob());
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}
export const getText = async (path) => (await answered(path)).text();
export const drop = async (path) => (await answered(path, { method: "DELETE" })).json();
export const post = async (path, data, signal) => (await answered(path, {
  method: "POST", body: JSON.stringify(data), headers: { "content-type": "application/json" }, signal })).json();

// What is being written in the editor, kept over reloads of this tab.
const DRAFT = "thalweg.draft";
export const draft = () => sessionStorage.getItem(DRAFT) || "";
export const setDraft = (text) => sessionStorage.setItem(DRAFT, text);

// Calls take(name, data) for every event until `stop.signal` is aborted; told(true | false) says whether the line is up.
export async function follow(path, stop, take, told = () => {}) {
  let last = null, wait = 1000;
  while (!stop.aborted) {
    try {
      const answer = await answered(path, { signal: stop, headers: last === null ? {} : { "last-event-id": last } });
      told(true);
      wait = 1000;
      await read(answer.body.getReader(), (event) => {
        if (event.id !== undefined) last = event.id;
        if (event.data) take(event.event, JSON.parse(event.data));
        if (event.event === "end") stop.ended = true;
      });
      if (stop.ended) return;
    } catch (error) {
      if (stop.aborted || (error instanceof Refused && [401, 404].includes(error.status))) return;
    }
    told(false);
    await new Promise((done) => setTimeout(done, wait));
    wait = Math.min(wait * 2, 10000);
  }
}

async function read(reader, take) {
  const decoder = new TextDecoder();
  let text = "", event = {};
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    text += decoder.decode(value, { stream: true });
    const lines = text.split(/\r?\n/);
    text = lines.pop();
    for (const line of lines) {
      if (line === "") { take(event); event = {}; continue; }
      const colon = line.indexOf(":");
      if (colon > 0) event[line.slice(0, colon)] = line.slice(colon + 1).replace(/^ /, "");
    }
  }
}
