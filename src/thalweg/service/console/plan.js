// Plan: the shared plan as it is drawn for EXPLAIN, a query in it, what else it could be, and what changed in it.
import { get, getText } from "/console/api.js";
import { brief, clock, count, h, lines, refusal, table } from "/console/draw.js";

const EVERY = 5000, LEAST = 0.55;
// The picture in the colours of the page; boxes that are filled stay as they are.
const DARK = `svg > rect[fill], .factor, .kept { fill: var(--card) } text { fill: var(--ink) } .quiet, .label { fill: var(--quiet) } .line { stroke: var(--line) }
  .on { fill: #ffffff } .count { fill: #1f2937 } .rows, .results { fill: light-dark(#334155, #47586e) } .chosen { fill: light-dark(#1d4ed8, #4f7df3) } .bar { fill: light-dark(#93c5fd, #2c4a7c) }`;

export async function plan(main, { live, name, signal }) {
  const paper = h("div", { class: "paper", tabindex: "0", role: "region", "aria-label": "The plan, drawn; its words are below. Plus, minus and 0 change its size, arrows move it" });
  const changes = h("div"), others = h("div"), zoom = h("span", { class: "small", role: "status" }), head = h("div", { class: "head" }, h("h1", {}, "Plan"));
  const said = h("details", { class: "card" }, h("summary", {}, "The plan in words"));
  main.append(head, paper, h("section", { class: "card" }, h("h2", {}, "What else it could be, and at what cost"), others), h("section", { class: "card" }, h("h2", {}, "What changed"), changes), said);
  try {
    const [picture, words, found, done] = await Promise.all([getText("/v1/plan.svg"), getText("/v1/explain"), get("/v1/plan"), get("/v1/changes")]);
    if (signal.aborted) return;
    const drawn = drawing(paper, picture, (percent) => { zoom.textContent = `${percent} %`; });
    const inner = new Map((found.nested || []).map((n) => [n.name, n.readers])), names = Object.keys(found.shares).filter((n) => !inner.has(n)), pick = h("select", { "aria-label": "Query to highlight", onchange: () => { location.hash = pick.value ? `#/plan/${encodeURIComponent(pick.value)}` : "#/plan"; } },
      h("option", { value: "" }, "all queries"), names.map((n) => h("option", { value: n, selected: n === name }, n)));
    const button = (label, title, act) => h("button", { class: "quiet", type: "button", "aria-label": title, onclick: act }, label);
    head.append(h("span", { class: "quiet-text" }, `${count(names.length)} queries together`), h("label", { class: "small" }, "Highlight ", pick), zoom,
      button("−", "smaller", () => drawn.scale(0.8)), button("+", "larger", () => drawn.scale(1.25)), button("Fit", "fit to the width", () => drawn.fit()));
    const serves = (user) => user === name || (inner.get(user) || []).some(serves);
    if (name) drawn.highlight(serves);
    said.append(h("pre", {}, words));
    others.replaceChildren(...alternatives(found, name));
    const show = () => changes.replaceChildren(...changed(done, live.batches));
    show();
    let last = Date.now();
    addEventListener("news", async (event) => {
      if (event.detail !== "batch" || Date.now() - last < EVERY) return;
      last = Date.now();
      const now = await get("/v1/changes").catch(() => done);
      if (signal.aborted) return;
      if (now.at(-1)?.batch !== done.at(-1)?.batch) dispatchEvent(new Event("hashchange"));  // another plan: all of the page is drawn anew
      else show();
    }, { signal });
  } catch (error) { main.append(refusal(error)); }
}

// The picture in a tree of its own, with its own style: zoomed by buttons, keys and Ctrl+wheel, moved by dragging.
function drawing(paper, text, told) {
  const style = /<style>([\s\S]*?)<\/style>/, root = paper.attachShadow({ mode: "open" }), sheet = new CSSStyleSheet();
  const svg = new DOMParser().parseFromString(text.replace(style, ""), "image/svg+xml").documentElement;
  sheet.replaceSync(`${text.match(style)?.[1] ?? ""} svg { display: block } g[data-queries] { transition: opacity .2s } .dim { opacity: .16 } .mine > rect:first-of-type { stroke: #f59e0b; stroke-width: 3; stroke-dasharray: none } ${DARK}`);
  root.adoptedStyleSheets = [sheet];
  root.append(svg);
  const wide = svg.viewBox.baseVal.width, high = svg.viewBox.baseVal.height;
  let size = 1, held = null;
  const set = (to) => {
    size = Math.min(3, Math.max(0.2, to));
    svg.setAttribute("width", Math.round(wide * size));
    svg.setAttribute("height", Math.round(high * size));
    told(Math.round(size * 100));
  };
  const fit = (least = 0.2) => set(Math.max(least, Math.min(1, (paper.clientWidth - 2) / wide)));
  paper.addEventListener("wheel", (e) => { if (e.ctrlKey || e.metaKey) { e.preventDefault(); set(size * (e.deltaY < 0 ? 1.1 : 0.9)); } }, { passive: false });
  paper.addEventListener("keydown", (e) => { if (["+", "=", "-", "0"].includes(e.key) && !e.ctrlKey) { e.preventDefault(); if (e.key === "0") fit(); else set(size * (e.key === "-" ? 0.8 : 1.25)); } });
  paper.addEventListener("pointerdown", (e) => { if (e.pointerType === "mouse" && e.button === 0) { held = { x: e.clientX + paper.scrollLeft, y: e.clientY + paper.scrollTop }; paper.setPointerCapture(e.pointerId); } });
  paper.addEventListener("pointermove", (e) => { if (held) paper.scrollTo(held.x - e.clientX, held.y - e.clientY); });
  for (const end of ["pointerup", "pointercancel"]) paper.addEventListener(end, () => { held = null; });
  fit(LEAST);  // small enough to be seen whole, but not too small to be read
  return { scale: (by) => set(size * by), fit, highlight };

  function highlight(serves) {
    let first = null;
    for (const box of svg.querySelectorAll("g[data-queries]")) {
      const mine = box.dataset.queries.split(" ").some(serves);
      box.classList.toggle("mine", mine);
      box.classList.toggle("dim", !mine);
      first = first || (mine ? box : null);
    }
    if (first) paper.scrollTop = Math.max(0, first.getBoundingClientRect().top - paper.getBoundingClientRect().top - 120);
  }
}

// The costs of other plans: of windows by mode, of joins by how they are evaluated.
function alternatives(plan, query) {
  const groups = plan.windows.groups.filter((g) => !query || g.queries.includes(query)), joins = (plan.joins || []).filter((j) => !query || j.query === query), tables = [];
  if (groups.length) {
    const modes = Object.keys(groups[0].engine_costs);
    tables.push(h("div", { class: "small quiet-text" }, `Windows: expected hash-table updates a batch, by the way they are planned. ${plan.mode} is used.`),
      table(["Windows of", "For", ...modes.map((m) => `#${m}`)], groups.map((g) => [[g.stream, ...(g.keys.length ? [`by ${g.keys.join(", ").replaceAll('"', "")}`] : [])].join(" "), g.queries.join(", "),
        ...modes.map((m) => (m === plan.mode ? h("strong", {}, brief(g.engine_costs[m])) : brief(g.engine_costs[m])))]), "", "Plans of windows"));
  }
  for (const j of joins.slice(0, 20)) {
    const best = [...j.plans].sort((a, b) => a.work_ms - b.work_ms).slice(0, 6);
    tables.push(h("div", { class: "small quiet-text" }, `Join ${j.query}: ${j.reason || `${j.plan.name} is used`}`),
      table(["Plan", "#Work", "#Rows kept", "#Pairs a second"], best.map((p) => [p.name === j.plan.name ? h("strong", {}, `${p.name} (used)`) : p.name, `${brief(p.work_ms)} ms/s`, brief(p.state_rows), brief(p.pairs)]), "", `Plans of ${j.query}`));
  }
  return tables.length ? tables : [h("div", { class: "quiet-text" }, "There is nothing to choose.")];
}

// The time of batches with a line where the plan changed, then the changes, newest first.
function changed(done, batches) {
  const pair = ([a, b], unit) => (a || b ? `${brief(a)} → ${brief(b)} ${unit}` : "–"), time = (ms) => (ms === null ? "?" : `${brief(ms)} ms`);
  if (!done.length) return [h("div", { class: "quiet-text" }, "Nothing yet.")];
  const marks = done.map((c) => ({ at: Date.parse(c.at), text: `batch ${c.batch}: ${c.what}` })), points = batches.map((b) => [b.at * 1000, b.seconds]);
  const rows = done.slice(-30).reverse().map((c) => [count(c.batch), clock(c.at), c.what, pair(c.updates, "updates"), pair(c.join_ms, "ms/s"), c.before_ms === null && c.after_ms === null ? "–" : `${time(c.before_ms)} → ${time(c.after_ms)}`]);
  return [...(points.length > 1 ? [h("div", { class: "small quiet-text" }, "Seconds of a batch; a dashed line is a change of the plan"), lines([{ name: "batch time", points }], "Seconds of the last batches, and when the plan changed", marks)] : []),
    table(["Batch", "At (UTC)", "What", "Windows", "Joins", "Batch time"], rows, "", "Changes of the plan")];
}
