// One query: its SQL, its results as they come, a chart over time, and the state that it uses.
import { drop, follow, get, setDraft } from "/console/api.js";
import { brief, bytes, clock, count, h, lines, paid, pill, queryLinks, refusal, seconds, table } from "/console/draw.js";
import { painted } from "/console/editor.js";
import { altered } from "/console/queries.js";

const ROWS = 200, CHARTED = 4000, SERIES = 6, EVERY = 2000;
const NUMBERS = /^(TINYINT|SMALLINT|INTEGER|BIGINT|FLOAT|DOUBLE|DECIMAL)/;

export async function query(main, { name, signal }) {
  const at = `/v1/queries/${encodeURIComponent(name)}`;
  let detail, first, added = null;
  try {
    [detail, first] = await Promise.all([get(at), get(`${at}/results?last=${CHARTED}`)]);
  } catch (error) {
    main.append(h("div", { class: "head" }, h("h1", {}, name)), refusal(error));
    return;
  }
  if (signal.aborted) return;
  const status = h("span", {}, pill(detail.query.status)), facts = h("dl", { class: "facts" }), state = h("div"), nodes = h("div"), said = h("div", { "aria-live": "polite" });
  const alter = () => { setDraft(altered(detail.query)); location.hash = "#/queries"; };
  const altering = h("button", { class: "quiet", type: "button", onclick: alter }, "Alter"), place = h("a", { class: "small", href: `#/plan/${encodeURIComponent(name)}` }, "Show it in the plan");
  const dropping = h("button", { class: "danger", type: "button", onclick: remove }, "Drop");
  main.append(h("div", { class: "head" }, h("h1", {}, name), status, h("span", { class: "quiet-text" }), ...(detail.query.status === "dropped" ? [] : [place, altering, dropping])), said,
    h("div", { class: "two" }, h("section", { class: "card" }, h("h2", {}, "SQL"), painted(detail.query.sql)), h("section", { class: "card" }, h("h2", {}, "Figures"), facts)));
  tell(detail);
  get(`${at}?marginal=true`).then((found) => { added = found.marginal; if (!signal.aborted) tell(found); }).catch(() => {});
  const rows = results(main, first, at, signal);
  main.append(h("section", { class: "card" }, h("h2", {}, "What is computed for it: expected, measured in the last batch, and who shares it"), nodes),
    h("section", { class: "card" }, h("h2", {}, "State that it uses, and who shares it"), state));
  let last = Date.now();
  addEventListener("news", async (event) => {
    if (event.detail === "batch" && Date.now() - last > EVERY) {
      last = Date.now();
      tell(await get(at).catch(() => detail));
    }
  }, { signal });
  follow(`${at}/follow?after=${first.next}`, signal, (kind, data) => { if (kind === "rows") rows.add(data.rows); });

  function tell(found) {
    detail = found;
    const q = found.query, begins = Object.entries(q.begins || {}).map(([s, t]) => `${s} ${t ? `from ${clock(t)}` : "from its first row"}`).join(", ");
    const told = [["Result rows", `${count(q.rows)}, ${brief(q.rows_per_second)} a second`], ["Late rows left out", count(q.late)], ["In force since", q.epoch === null ? "not yet" : `batch ${count(q.epoch)}`],
      ["Counts", begins || "–"], ["Predicted", found.cost ? `its part: ${paid(found.cost)}` : "–"], ...(added ? [["Without it", `${paid(added)} less`]] : []),
      ["Lag", q.lag === null ? "–" : `results up to ${seconds(Math.max(q.lag, 0))} ago`],
      ["Reads", [...q.streams, ...q.tables].join(", ")], ["Results in", q.results], ...(q.error ? [["Stopped by", `${q.error}${q.hint ? `: ${q.hint}` : ""}`]] : [])];
    facts.replaceChildren(...told.flatMap(([k, v]) => [h("dt", {}, k), h("dd", {}, v)]));
    status.replaceChildren(pill(q.status));
    state.replaceChildren(found.state.length ? table(["Of", "As", "Keys", "#Rows", "#Bytes", "Used by"], found.state.map((s) => [s.stream, s.window, s.keys.join(", ") || "–", count(s.rows), bytes(s.bytes), queryLinks(s.queries)]), "", "State that it uses")
      : h("div", { class: "quiet-text" }, "None now."));
    nodes.replaceChildren(found.nodes.length ? table(["Node", "As", "#Rows expected", "#measured", "#Kept, expected", "#measured", "#Work expected", "#measured", "Shared with"], found.nodes.map((n) => [n.what, n.kind,
      brief(n.expected_rows), figure(n.rows, brief), brief(n.expected_state_rows), figure(n.state_rows, brief), n.expected_work_ms ? `${brief(n.expected_work_ms)} ms/s` : "–", figure(n.milliseconds, (v) => `${brief(v)} ms`),
      n.queries.length > 1 ? queryLinks(n.queries.filter((q) => q !== name)) : "nobody"]), "", "Nodes of the plan") : h("div", { class: "quiet-text" }, "It is in no plan now."));
  }

  async function remove() {
    if (!confirm(`Drop query ${name}? Its results stay.`)) return;
    try {
      await drop(at);
      location.hash = "#/queries";
    } catch (error) { said.replaceChildren(refusal(error)); }
  }
}

// The last rows, newest first, and a chart of them.
function results(main, first, at, signal) {
  const { columns } = first, numbers = columns.filter((c) => NUMBERS.test(c.type)).map((c) => c.name);
  const time = columns.findIndex((c) => c.type === "TIMESTAMP" && c.name === "window_end"), when = time >= 0 ? time : columns.findIndex((c) => c.type === "TIMESTAMP");
  const groups = columns.filter((c, i) => i !== when && c.type !== "TIMESTAMP" && !c.type.startsWith("STRUCT")).map((c) => c.name);
  let kept = first.rows, held = [], paused = false, fresh = 0;
  const body = h("tbody"), chart = h("div"), pause = h("button", { class: "quiet", type: "button", "aria-pressed": "false", onclick: toggle }, "Pause");
  const told = h("span", { class: "quiet-text small", role: "status" });
  const pick = (options, label, chosen) => h("select", { "aria-label": label, onchange: () => draw() }, options.map((o) => h("option", { value: o, selected: o === chosen }, o || "one line")));
  const measure = pick(numbers, "Column to draw", numbers.filter((n) => !groups.includes(n) || n !== columns[0].name)[0]);
  const names = columns.filter((c) => c.type === "VARCHAR").map((c) => c.name), together = names.join(", ");
  const key = groups.includes(columns[0].name) && columns[0].name !== measure.value ? columns[0].name : "";
  const by = pick([...new Set(["", together, ...groups])], "One line per", together || key);
  if (when >= 0 && numbers.length) {
    main.append(h("section", { class: "card" }, h("div", { class: "head" }, h("h2", {}, `Over ${columns[when].name}`), h("span", { class: "quiet-text" }), h("label", { class: "small" }, "Draw ", measure), h("label", { class: "small" }, "by ", by)), chart));
  }
  main.append(h("section", { class: "card" }, h("div", { class: "head" }, h("h2", {}, "Results"), told, h("span", { class: "quiet-text" }), h("a", { class: "small", href: "#", onclick: save }, "CSV"), pause),
    h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Result rows" }, h("table", { class: "live" }, h("thead", {}, h("tr", {}, columns.map((c) => h("th", { scope: "col", class: NUMBERS.test(c.type) ? "number" : null }, c.name)))), body))));
  show();
  return { add(rows) { if (paused) held.push(...rows); else take(rows); if (paused) tell(); } };

  function take(rows) {
    kept = [...kept, ...rows].slice(-CHARTED);
    fresh = rows.length;
    show();
  }
  function toggle() {
    paused = !paused;
    pause.textContent = paused ? "Go on" : "Pause";
    pause.setAttribute("aria-pressed", String(paused));
    if (!paused && held.length) { take(held); held = []; }
    tell();
  }
  function tell() {
    const rows = Math.min(kept.length, ROWS);
    told.textContent = paused ? `paused, ${count(held.length)} more rows have come` : rows ? `the last ${count(rows)}, newest first` : "none yet";
  }
  function show() {
    const last = kept.slice(-ROWS).reverse();
    body.replaceChildren(...last.map((row, i) => h("tr", { class: i < fresh ? "new" : null }, row.map((v, c) => h("td", { class: NUMBERS.test(columns[c].type) ? "number" : null }, text(v, columns[c].type))))));
    tell();
    draw();
  }
  function draw() {
    if (when < 0 || !numbers.length) return;
    const y = columns.findIndex((c) => c.name === measure.value), keys = by.value ? by.value.split(", ").map((n) => columns.findIndex((c) => c.name === n)) : [], found = new Map();
    for (const row of kept) {
      const key = keys.map((k) => row[k]).join(", "), point = [Date.parse(row[when]?.replace(/(\.\d{3})\d*Z/, "$1Z")), Number(row[y])];
      if (Number.isFinite(point[0]) && Number.isFinite(point[1]) && row[y] !== null) { if (found.has(key)) found.get(key).push(point); else found.set(key, [point]); }
    }
    const all = [...found].sort((a, b) => b[1].length - a[1].length), series = all.slice(0, SERIES).map(([key, points]) => ({ name: key, points: points.sort((a, b) => a[0] - b[0]) }));
    const more = all.length - series.length;
    if (!all.length) return void chart.replaceChildren(h("div", { class: "quiet-text small" }, "Nothing to draw yet."));
    chart.replaceChildren(lines(series, `${measure.value} over ${columns[when].name}, ${series.length} lines`), h("div", { class: "legend" },
      !keys.length ? null : series.map((s, i) => h("span", { class: `l${i}` }, s.name)), more > 0 ? h("em", { class: "quiet-text" }, `and ${count(more)} more that are not drawn`) : null));
  }
  async function save(event) {
    event.preventDefault();
    const quoted = (v) => (v === null ? "" : /[",\n]/.test(String(v)) ? `"${String(v).replaceAll('"', '""')}"` : String(v));
    const data = [columns.map((c) => c.name), ...kept].map((r) => r.map((v) => quoted(typeof v === "object" && v ? JSON.stringify(v) : v)).join(",")).join("\n");
    const link = h("a", { href: URL.createObjectURL(new Blob([data], { type: "text/csv" })), download: "results.csv" });
    link.click();
  }
}

const figure = (value, shown) => (value === null ? "–" : shown(value));

function text(value, type) {
  if (value === null) return "NULL";
  if (type === "TIMESTAMP") return clock(value);
  if (typeof value === "object") return Object.values(value).map(clock).join(" – ");
  return typeof value === "number" && !Number.isInteger(value) ? String(+value.toPrecision(8)) : String(value);
}
