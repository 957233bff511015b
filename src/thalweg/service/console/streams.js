// Streams and tables: how they are declared, what has come, how late, what was set aside, and some of the last rows.
import { get } from "/console/api.js";
import { brief, bytes, clock, count, h, percent, queryLinks, refusal, seconds, table } from "/console/draw.js";

const EVERY = 1000, OVER = 60000;

export function streams(main, { signal }) {
  const list = h("div", { class: "two" }), head = h("span", { class: "quiet-text" }), cards = new Map();
  main.append(h("div", { class: "head" }, h("h1", {}, "Streams"), head), list);
  let last = 0;
  addEventListener("news", async () => {
    if (Date.now() - last < EVERY) return;
    last = Date.now();
    const found = await Promise.all([get("/v1/streams"), get("/v1/tables")]).catch(() => null);
    if (!found || signal.aborted) return;
    const [all, tables] = found;
    head.textContent = `${count(all.length)}, and ${count(tables.length)} static tables`;
    const names = JSON.stringify([all.map((s) => s.name), tables.map((t) => t.name)]);
    if (names !== list.dataset.names) {
      list.dataset.names = names;
      cards.clear();
      for (const s of all) cards.set(s.name, stream(s));
      const none = h("div", { class: "card quiet-text" }, "There is none yet. ", h("a", { href: "#/queries" }, "CREATE STREAM"), " declares one.");
      list.replaceChildren(...(all.length ? [...cards.values()].map((c) => c.card) : [none]), ...tables.map(relation));
    }
    for (const s of all) cards.get(s.name)?.tell(s);
  }, { signal });
}

const facts = (pairs) => pairs.flatMap(([k, v]) => [h("dt", {}, k), h("dd", {}, v)]);
const columns = (of) => h("div", { class: "chips" }, of.map((c) => h("span", { class: "chip" }, `${c.name} ${c.type}`)));

function stream(first) {
  const figures = h("dl", { class: "facts" }), aside = h("div"), rows = h("div"), seen = [];
  const sample = h("details", { ontoggle: () => { if (sample.open) look(); } }, h("summary", { class: "small" }, "Some of the last rows"), rows);
  const card = h("section", { class: "card", "aria-label": `Stream ${first.name}` }, h("h2", {}, first.name), figures, columns(first.columns), aside, sample);
  return { card, tell };

  function tell(s) {
    seen.push([Date.now(), s.rows]);
    while (seen.length > 2 && seen[0][0] < Date.now() - OVER) seen.shift();
    const span = (seen.at(-1)[0] - seen[0][0]) / 1000, rate = span > 1 ? `, ${brief((s.rows - seen[0][1]) / span)} a second` : "", share = s.rows ? ` (${percent(s.late / s.rows)})` : "";
    figures.replaceChildren(...facts([["Rows", `${count(s.rows)}${rate}`], ["Late", `${count(s.late)}${share}`], ["All known up to", s.frontier ? `${clock(s.frontier)} UTC, ${seconds(Math.max(s.lag, 0))} ago` : "nothing has come"],
      ["Without time", count(s.untimed)], ["Set aside", `${count(s.bad_rows)} rows, ${count(s.bad_files)} files`], ["Time, watermark", `${s.time}, ${s.watermark}`], ["Read from", `${s.path ?? (s.format === "push" ? "what is pushed" : "a DataFrame")} (${s.format})`],
      ...(s.waiting === null ? [] : [["Pushed, not read yet", bytes(s.waiting)]]), ["Read by", s.queries.length ? queryLinks(s.queries) : "no query"]]));
    if (s.set_aside.length && !aside.childElementCount) aside.append(h("details", {}, h("summary", { class: "small" }, "The first that was set aside"), h("pre", { class: "wrap small" }, s.set_aside.join("\n"))));
  }
  async function look() {
    try {
      const found = await get(`/v1/streams/${encodeURIComponent(first.name)}/sample`);
      rows.replaceChildren(found.columns ? table(found.columns.map((c) => c.name), found.rows.map((r) => r.map((v) => (v === null ? "NULL" : String(v)))), "live", `Rows of ${first.name}`)
        : h("div", { class: "quiet-text small" }, "None can be shown: there is no file, or it can't be read as declared."));
    } catch (error) { rows.replaceChildren(refusal(error)); }
  }
}

const relation = (t) => h("section", { class: "card", "aria-label": `Table ${t.name}` }, h("h2", {}, `${t.name} (table)`), h("dl", { class: "facts" }, facts([["Read from", `${t.path} (${t.format})`]])), columns(t.columns));
