// Queries: all of them, and the editor that makes more.
import { draft, drop, get, post, setDraft } from "/console/api.js";
import { brief, count, h, paid, percent, pill, queryLink, refusal, spark, table } from "/console/draw.js";
import { editor } from "/console/editor.js";

const EVERY = 1000, PRICES = 5000, PATIENCE = 500;

export function queries(main, { signal }) {
  const list = h("div"), said = h("div", { "aria-live": "polite" }), seen = h("div", { class: "small" }), head = h("span", { class: "quiet-text" });
  const text = editor("CREATE QUERY name AS\nSELECT ...", () => { setDraft(text.area.value); look(); });
  const run = h("button", { type: "button", onclick: () => send() }, "Run");
  main.append(h("div", { class: "head" }, h("h1", {}, "Queries"), head), h("section", { class: "card" }, list),
    h("section", { class: "card" }, h("h2", {}, "Write SQL"), text.element,
      h("div", { class: "row" }, run, h("span", { class: "quiet-text small" }, "Ctrl+Enter runs it. Any statement is taken: CREATE STREAM, ALTER QUERY, DROP, SET, SHOW.")), said, seen));
  text.area.addEventListener("keydown", (e) => { if (e.key === "Enter" && (e.ctrlKey || e.metaKey)) send(); });
  let waiting, asked = new AbortController(), last = 0, costs = new Map(), priced = 0;
  if (draft()) text.write(draft());

  async function refresh() {
    if (Date.now() - last < EVERY) return;
    last = Date.now();
    const found = await get("/v1/queries").catch(() => null);
    if (found && Date.now() - priced > PRICES) {
      priced = Date.now();
      costs = new Map((await get("/v1/costs").catch(() => [])).map((c) => [c.name, c]));
    }
    if (!found || signal.aborted) return;
    head.textContent = `${count(found.length)}, with results over the last batches`;
    const focused = list.contains(document.activeElement) && called(document.activeElement);
    list.replaceChildren(found.length ? table(["Query", "Status", "Reads", "#Rows", "#Rows a second", "Share of the cost", "Last batches", "Change"], found.map((q) => [
      queryLink(q.name), pill(q.status), [...q.streams, ...q.tables].join(", "), count(q.rows), brief(q.rows_per_second), share(costs.get(q.name)),
      spark(q.recent, `rows of the last ${q.recent.length} batches`), change(q)]), "", "All queries") : h("div", { class: "quiet-text" }, "There is none yet: write one below."));
    if (focused) [...list.querySelectorAll("a, button")].find((e) => called(e) === focused)?.focus();
  }

  const called = (e) => e.getAttribute("aria-label") || e.hash;
  const change = (q) => h("span", { class: "change" }, h("button", { class: "quiet", type: "button", "aria-label": `Alter ${q.name}`, onclick: () => alter(q) }, "Alter"),
    h("button", { class: "danger", type: "button", "aria-label": `Drop ${q.name}`, onclick: () => remove(q) }, "Drop"));

  function alter(q) {
    text.write(altered(q));
    said.replaceChildren();
    text.area.focus();
    text.element.scrollIntoView({ block: "center" });
  }

  async function remove(q) {
    if (!confirm(`Drop query ${q.name}? Its results stay.`)) return;
    try {
      await drop(`/v1/queries/${encodeURIComponent(q.name)}`);
      said.replaceChildren(h("div", { class: "fine" }, `query ${q.name} dropped`));
      last = priced = 0;
      refresh();
    } catch (error) { said.replaceChildren(refusal(error)); }
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
        const found = await post("/v1/explain?marginal=true", { sql: text.area.value }, asked.signal);
        seen.replaceChildren(h("h2", {}, `How ${found.query} would be computed`),
          h("p", { class: "adds" }, adds(found.marginal, [...costs.values()].filter((c) => c.name !== found.query))),
          h("div", { class: "chips" }, found.columns.map((c) => h("span", { class: "chip" }, `${c.name} ${c.type}`))),
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
      setDraft("");
      seen.replaceChildren();
      last = 0;
      priced = 0;
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

// The statement that gives a query another text, to be changed by whoever writes it.
export const altered = (q) => `ALTER QUERY ${q.name} AS\n${q.sql}`;

// The part of a query in what windows, or joins, are expected to cost.
function share(cost) {
  if (!cost) return "–";
  return h("span", { class: "share", title: `${paid(cost)}; what is shared is divided among those who share it` },
    h("meter", { min: 0, max: 1, value: cost.share, "aria-label": `${percent(cost.share)} of ${cost.kind}` }), ` ${percent(cost.share)} of ${cost.kind}`);
}

// What a query would add to what the others cost.
function adds(more, others) {
  const now = Object.fromEntries(["cost", "work_ms", "state_rows"].map((key) => [key, others.reduce((sum, c) => sum + c[key], 0)]));
  const of = (key, unit) => (Math.abs(more[key] || 0) <= 0.0005 * now[key] ? "" : `${more[key] < 0 ? "−" : "+"}${brief(Math.abs(more[key]))} ${unit}${now[key] ? ` (${more[key] < 0 ? "−" : "+"}${percent(Math.abs(more[key]) / now[key])})` : ""}`);
  const parts = [of("cost", "updates a batch"), of("work_ms", "ms of work a second"), of("state_rows", "rows kept")].filter(Boolean);
  return parts.length ? `Added to the cost of the other queries: ${parts.join(", ")}` : "It would add next to nothing: all that it needs is computed already.";
}

function outcome(o) {
  if (o.outcome === "listing") return table(o.header, o.rows.map((r) => r.map((v) => String(v ?? ""))));
  if (o.outcome === "explained") return h("pre", {}, o.text);
  const words = { created: () => `query ${o.query} ${o.replaced ? "replaced" : "created"}`, declared: () => `${o.kind} ${o.name} declared`, dropped: () => `${o.kind} ${o.name} dropped`, assigned: () => `${o.key} is now ${o.value}` };
  return h("div", { class: "fine" }, words[o.outcome]?.() ?? o.outcome);
}
