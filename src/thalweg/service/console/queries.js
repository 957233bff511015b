// Queries: all of them, and the editor that makes more.
import { get, post } from "/console/api.js";
import { brief, count, h, pill, refusal, spark, table } from "/console/draw.js";
import { editor } from "/console/editor.js";

const EVERY = 1000, PATIENCE = 500;

export function queries(main, { signal }) {
  const list = h("div"), said = h("div", { "aria-live": "polite" }), seen = h("div", { class: "small" }), head = h("span", { class: "quiet-text" });
  const text = editor("CREATE QUERY name AS\nSELECT ...", () => look());
  const run = h("button", { type: "button", onclick: () => send() }, "Run");
  main.append(h("div", { class: "head" }, h("h1", {}, "Queries"), head), h("section", { class: "card" }, list),
    h("section", { class: "card" }, h("h2", {}, "New query"), text.element,
      h("div", { class: "row" }, run, h("span", { class: "quiet-text small" }, "Ctrl+Enter runs it. Any statement is taken: CREATE STREAM, ALTER QUERY, DROP, SET, SHOW.")), said, seen));
  text.area.addEventListener("keydown", (e) => { if (e.key === "Enter" && (e.ctrlKey || e.metaKey)) send(); });
  let waiting, asked = new AbortController(), last = 0;

  async function refresh() {
    if (Date.now() - last < EVERY) return;
    last = Date.now();
    const found = await get("/v1/queries").catch(() => null);
    if (!found || signal.aborted) return;
    head.textContent = `${count(found.length)}, with results over the last batches`;
    const focused = document.activeElement?.closest?.("td a")?.hash;
    list.replaceChildren(found.length ? table(["Query", "Status", "Reads", "#Rows", "#Rows a second", "Last batches"], found.map((q) => [
      h("a", { href: `#/query/${encodeURIComponent(q.name)}` }, q.name), pill(q.status), [...q.streams, ...q.tables].join(", "), count(q.rows), brief(q.rows_per_second),
      spark(q.recent, `rows of the last ${q.recent.length} batches`)])) : h("div", { class: "quiet-text" }, "There is none yet: write one below."));
    if (focused) [...list.querySelectorAll("a")].find((a) => a.hash === focused)?.focus();
  }

  // What EXPLAIN says while one writes; an error is marked at its place.
  function look() {
    clearTimeout(waiting);
    waiting = setTimeout(async () => {
      asked.abort();
      asked = new AbortController();
      text.mark(null);
      seen.replaceChildren();
      if (!/\bselect\b/i.test(text.area.value)) return;
      try {
        const found = await post("/v1/explain", { sql: text.area.value }, asked.signal), cost = found.plan.shares[found.query];
        seen.replaceChildren(h("h2", {}, `How ${found.query} would be computed`),
          h("div", { class: "chips" }, found.columns.map((c) => h("span", { class: "chip" }, `${c.name} ${c.type}`)),
            cost ? h("span", { class: "chip" }, `its part: ${cost.cost ? `${brief(cost.cost)} updates a batch` : `${brief(cost.work_ms)} ms of work a second`}, ${brief(cost.state_rows)} rows kept`) : null),
          h("pre", {}, found.text));
      } catch (error) {
        if (error.name === "AbortError") return;
        if (error.line) text.mark(error);
        if (error.line) seen.replaceChildren(refusal(error));
      }
    }, PATIENCE);
  }

  async function send() {
    run.disabled = true;
    clearTimeout(waiting);
    said.replaceChildren();
    try {
      const { outcomes } = await post("/v1/statements", { sql: text.area.value });
      said.replaceChildren(...outcomes.map(outcome));
      text.mark(null);
      seen.replaceChildren();
      last = 0;
      refresh();
    } catch (error) {
      seen.replaceChildren();
      said.replaceChildren(refusal(error));
      if (error.line) text.mark(error, true);
    }
    run.disabled = false;
  }

  addEventListener("news", refresh, { signal });
}

function outcome(o) {
  if (o.outcome === "listing") return table(o.header, o.rows.map((r) => r.map((v) => String(v ?? ""))));
  if (o.outcome === "explained") return h("pre", {}, o.text);
  const words = { created: () => `query ${o.query} ${o.replaced ? "replaced" : "created"}`, declared: () => `${o.kind} ${o.name} declared`, dropped: () => `${o.kind} ${o.name} dropped`, assigned: () => `${o.key} is now ${o.value}` };
  return h("div", { class: "fine" }, words[o.outcome]?.() ?? o.outcome);
}
