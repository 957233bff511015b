// Streams and tables: how they are declared, what has come, how late, what was set aside.
import { get } from "/console/api.js";
import { clock, count, h, seconds } from "/console/draw.js";

const EVERY = 1000;

export function streams(main, { signal }) {
  const list = h("div", { class: "two" }), head = h("span", { class: "quiet-text" });
  main.append(h("div", { class: "head" }, h("h1", {}, "Streams"), head), list);
  let last = 0;
  addEventListener("news", async () => {
    if (Date.now() - last < EVERY) return;
    last = Date.now();
    const found = await Promise.all([get("/v1/streams"), get("/v1/tables")]).catch(() => null);
    if (!found || signal.aborted) return;
    const [all, tables] = found;
    head.textContent = `${count(all.length)}, and ${count(tables.length)} static tables`;
    list.replaceChildren(...all.map(stream), ...tables.map(relation));
    if (!all.length) list.replaceChildren(h("div", { class: "card quiet-text" }, "There is none yet. ", h("a", { href: "#/queries" }, "CREATE STREAM"), " declares one."), ...tables.map(relation));
  }, { signal });
}

const facts = (pairs) => h("dl", { class: "facts" }, pairs.flatMap(([k, v]) => [h("dt", {}, k), h("dd", {}, v)]));
const columns = (of) => h("div", { class: "chips" }, of.map((c) => h("span", { class: "chip" }, `${c.name} ${c.type}`)));

function stream(s) {
  const share = s.rows ? ` (${(100 * s.late / s.rows).toPrecision(2)} %)` : "";
  return h("section", { class: "card" }, h("h2", {}, s.name), facts([["Rows", count(s.rows)], ["Late", `${count(s.late)}${share}`], ["All known up to", s.frontier ? `${clock(s.frontier)} UTC, ${seconds(Math.max(s.lag, 0))} ago` : "nothing has come"],
    ["Without time", count(s.untimed)], ["Set aside", `${count(s.bad_rows)} rows, ${count(s.bad_files)} files`], ["Time, watermark", `${s.time}, ${s.watermark}`], ["Read from", `${s.path ?? "a DataFrame"} (${s.format})`],
    ["Read by", s.queries.length ? h("span", {}, s.queries.flatMap((q, i) => [i ? ", " : "", h("a", { href: `#/query/${encodeURIComponent(q)}` }, q)])) : "no query"]]),
    columns(s.columns), s.set_aside.length ? h("details", {}, h("summary", { class: "small" }, "The first that was set aside"), h("pre", { class: "wrap small" }, s.set_aside.join("\n"))) : null);
}

const relation = (t) => h("section", { class: "card" }, h("h2", {}, `${t.name} (table)`), facts([["Read from", `${t.path} (${t.format})`]]), columns(t.columns));
