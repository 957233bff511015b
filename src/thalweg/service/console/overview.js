// Overview: how much, how fast, how late, how large, and what is wrong.
import { save } from "/console/api.js";
import { bytes, brief, clock, count, h, percent, problem, seconds, table, tile } from "/console/draw.js";

const SHOWN = 120, OVER = 5;

export function overview(main, { live, signal }) {
  const tiles = Object.fromEntries(["Events a second", "Batch time", "Lag", "State", "Late rows"].map((name) => [name, tile(name)]));
  const wrong = h("div", { "aria-live": "polite" }), head = h("span", { class: "quiet-text" }), last = h("div");
  main.append(h("div", { class: "head" }, h("h1", {}, "Overview"), head,
    h("button", { class: "quiet", type: "button", title: "Plan, status, settings, changes and errors in one file: no rows, no tokens", onclick: () => save("/v1/support", "thalweg-support.json") }, "Support bundle")),
    h("div", { class: "tiles" }, Object.values(tiles).map((t) => t.card)),
    h("section", { class: "card" }, h("h2", {}, "What is wrong now"), wrong), h("section", { class: "card" }, h("h2", {}, "Last batches"), last));
  let told = "";
  addEventListener("news", () => {
    const s = live.status, batches = live.batches.slice(-SHOWN);
    if (!s) return;
    head.textContent = `${s.directory} · ${count(s.queries)} ${s.queries === 1 ? "query" : "queries"} over ${count(s.streams)} ${s.streams === 1 ? "stream" : "streams"} · Thalweg ${s.version}`;
    tiles["Events a second"].show(brief(s.events_per_second), `over the last minute; ${brief(s.rows)} in all`, rates(batches));
    tiles["Batch time"].show(s.batch_seconds === null ? "–" : seconds(s.batch_seconds), s.batch === null ? "no batch yet" : `batch ${count(s.batch)}`, batches.map((b) => b.seconds));
    tiles.Lag.show(s.lag === null ? "–" : seconds(Math.max(s.lag, 0)), "behind the frontier of event time", batches.map((b) => Math.max(b.lag ?? 0, 0)));
    tiles.State.show(bytes(s.state_bytes), `${brief(s.state_rows)} rows`, batches.map((b) => b.state_bytes));
    tiles["Late rows"].show(brief(s.late), s.rows ? `${percent(s.late / s.rows)} of all rows` : "", batches.map((b) => b.late));
    const now = JSON.stringify(s.problems);
    if (now !== told) wrong.replaceChildren(s.problems.length ? h("ul", { class: "problems" }, s.problems.map(problem)) : h("div", { class: "fine" }, "Nothing. All queries run."));
    told = now;
    const rows = batches.slice(-8).reverse().map((b) => [count(b.batch), clock(new Date(b.at * 1000).toISOString()).slice(11, 19), count(b.rows), seconds(b.seconds),
      count(Object.values(b.results).reduce((a, n) => a + n, 0)), count(b.late), bytes(b.state_bytes)]);
    last.replaceChildren(rows.length ? table(["Batch", "Ended (UTC)", "#Rows", "#Time", "#Result rows", "#Late", "#State"], rows, "", "The last batches") : h("div", { class: "quiet-text" }, "None since the service was started."));
  }, { signal });
}

// Rows a second over the last seconds of each batch, or over the time that it took.
function rates(batches) {
  return batches.map((b, i) => {
    const since = b.at - Math.max(OVER, b.seconds), near = batches.slice(0, i + 1).filter((o) => o.at > since), known = b.at - batches[0].at + batches[0].seconds;
    return near.reduce((sum, o) => sum + o.rows, 0) / Math.max(Math.min(b.at - since, known), 0.001);
  });
}
