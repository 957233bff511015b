// The frame of all pages: which one is shown, whether the service answers, and what every page is told of batches.
import { follow, get, setToken, takeToken } from "/console/api.js";
import { h } from "/console/draw.js";
import { overview } from "/console/overview.js";
import { queries } from "/console/queries.js";
import { query } from "/console/query.js";
import { plan } from "/console/plan.js";
import { streams } from "/console/streams.js";

const PAGES = { overview, queries, query, plan, streams };
const main = document.getElementById("main"), state = document.getElementById("state");
export const live = { batches: [], status: null };
const KEPT = 300;
let leave = new AbortController();

function show() {
  leave.abort();
  leave = new AbortController();
  const [name, rest] = location.hash.replace(/^#\/?/, "").split(/\/(.*)/);
  const page = PAGES[name] || overview;
  for (const link of document.querySelectorAll("nav a")) {
    const mine = link.hash === `#/${name}` || (name === "query" && link.hash === "#/queries");
    link.toggleAttribute("aria-current", mine);
    if (mine) link.setAttribute("aria-current", "page");
  }
  main.replaceChildren();
  document.title = `${rest ? decodeURIComponent(rest) : name || "overview"} – Thalweg`;
  page(main, { live, signal: leave.signal, name: rest && decodeURIComponent(rest) });
  dispatchEvent(new Event("news"));
}

function tellState(status, words = status) {
  state.className = `pill ${status}`;
  state.textContent = words;
}

async function listen() {
  const stop = new AbortController();
  addEventListener("no-token", () => stop.abort(), { once: true });
  live.batches = (await get("/v1/batches")).slice(-KEPT);
  live.status = await get("/v1/status");
  dispatchEvent(new Event("news"));
  await follow("/v1/events", stop.signal, (name, data) => {
    if (name === "batch" && data.batch > (live.batches.at(-1)?.batch ?? -1)) live.batches = [...live.batches, data].slice(-KEPT);
    if (name === "status") {
      live.status = data;
      tellState(data.problems.some((p) => p.severity === "error") ? "error" : data.status, data.status);
    }
    dispatchEvent(new CustomEvent("news", { detail: name }));
  }, (up) => { if (!up) tellState("warning", "no connection"); });
}

function ask() {
  tellState("waiting", "no token");
  const input = h("input", { type: "password", "aria-label": "Token", placeholder: "Token", autocomplete: "off", required: true });
  const enter = (event) => {
    event.preventDefault();
    setToken(input.value.trim());
    location.hash = "#/overview";
    location.reload();
  };
  main.replaceChildren(h("section", { class: "card gate" }, h("h1", {}, "This console needs a token"),
    h("div", { class: "quiet-text" }, "Open the link that the service printed at its start, or give the token that is in the file ", h("code", {}, "token"), " of its directory."),
    h("form", { onsubmit: enter }, input, h("button", {}, "Open"))));
  input.focus();
}

function themes() {
  const button = document.getElementById("theme"), order = ["auto", "light", "dark"];
  const set = (theme) => {
    document.documentElement.style.colorScheme = theme === "auto" ? "light dark" : theme;
    button.textContent = `Theme: ${theme}`;
    localStorage.setItem("thalweg.theme", theme);
  };
  set(localStorage.getItem("thalweg.theme") || "auto");
  button.addEventListener("click", () => set(order[(order.indexOf(localStorage.getItem("thalweg.theme")) + 1) % 3]));
}

themes();
addEventListener("no-token", () => { leave.abort(); ask(); });
if (takeToken()) {
  addEventListener("hashchange", () => { show(); main.focus(); });
  show();
  listen().catch(() => tellState("warning", "no connection"));
} else ask();
