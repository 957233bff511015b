// Elements, numbers in words, and small charts.
const SVG = "http://www.w3.org/2000/svg";

export function h(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (value !== null && value !== undefined && value !== false) made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...children.flat().filter((c) => c !== null && c !== undefined && c !== false));
  return made;
}

export function svg(tag, attributes = {}, ...children) {
  const made = document.createElementNS(SVG, tag);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

const whole = new Intl.NumberFormat("en");
export const count = (n) => whole.format(Math.round(n));
export function brief(n) {
  const size = Math.abs(n);
  for (const [least, unit] of [[1e9, "G"], [1e6, "M"], [1e4, "k"]]) {
    if (size >= least) return `${(n / (least === 1e4 ? 1e3 : least)).toPrecision(3)} ${unit}`;
  }
  return size >= 100 || Number.isInteger(n) ? count(n) : String(+n.toPrecision(2));
}
export const percent = (part) => `${part >= 0.995 ? Math.round(100 * part) : +(100 * part).toPrecision(part < 0.1 ? 1 : 2)} %`;
export function bytes(n) {
  for (const [least, unit] of [[1e9, "GB"], [1e6, "MB"], [1e3, "kB"]]) if (n >= least) return `${+(n / least).toPrecision(3)} ${unit}`;
  return `${n} bytes`;
}
export function seconds(n) {
  if (n < 1) return `${Math.round(n * 1000)} ms`;
  if (n < 120) return `${+n.toPrecision(3)} s`;
  if (n < 7200) return `${Math.round(n / 60)} min`;
  return n < 172800 ? `${Math.round(n / 3600)} h` : `${count(n / 86400)} days`;
}
export const clock = (text) => (text === null ? "–" : text.replace("T", " ").replace(/(\.\d*?)0*Z$/, "$1").replace(/\.$|Z$/, ""));

// A line over its area; values are evenly spaced.
export function spark(values, label, name = "spark") {
  const made = svg("svg", { class: name, viewBox: "0 0 100 30", preserveAspectRatio: "none", role: "img", "aria-label": label });
  if (values.length < 2) return made;
  const most = Math.max(...values) || 1;
  const points = values.map((v, i) => `${(i * 100 / (values.length - 1)).toFixed(2)},${(28 - 24 * v / most).toFixed(2)}`);
  made.append(svg("path", { class: "area", d: `M0,30 L${points.join(" L")} L100,30 Z` }), svg("path", { class: "stroke", d: `M${points.join(" L")}` }));
  return made;
}

export function tile(name) {
  const value = h("div", { class: "value" }, "–"), more = h("div", { class: "more" }), chart = h("div");
  const card = h("section", { class: "card tile", "aria-label": name }, h("div", { class: "name" }, name), value, more, chart);
  const show = (text, detail, values) => {
    value.textContent = text;
    more.textContent = detail;
    const least = Math.min(...values), most = Math.max(...values);
    chart.replaceChildren(spark(values, values.length > 1 ? `${name}: now ${text}, between ${brief(least)} and ${brief(most)}` : name, ""));
  };
  return { card, show };
}

// Round numbers that cover what lies between two, as many as fit well: [ticks, how many decimals they have].
function ticks(low, high) {
  const least = (high - low) / 4, power = 10 ** Math.floor(Math.log10(least)), step = power * [1, 2, 2.5, 5, 10].find((m) => m * power >= least * 0.999);
  const from = Math.floor(low / step + 1e-9), to = Math.ceil(high / step - 1e-9), whole = Math.floor(Math.log10(step));
  const decimals = Math.min(9, Math.max(0, -whole + (Math.abs(step / 10 ** whole - 2.5) < 1e-6 ? 1 : 0)));
  return [Array.from({ length: to - from + 1 }, (_, i) => (from + i) * step), decimals];
}

// Lines over time, as wide as the page; series are { name, points: [[millis, value], ...] }, marks are { at: millis, text }.
export function lines(series, label, marks = []) {
  const all = series.flatMap((s) => s.points), W = Math.min(1400, Math.max(300, innerWidth - 70)), H = W < 600 ? 190 : 230, left = 56, bottom = 26;
  const made = svg("svg", { class: "chart", viewBox: `0 0 ${W} ${H}`, role: "img", "aria-label": label });
  if (!all.length) return made;
  let [low, high] = [Math.min(...all.map((p) => p[1])), Math.max(...all.map((p) => p[1]))];
  if (high === low) [low, high] = [low - 1, high + 1];
  else if (low <= 0.6 * high) low = Math.min(low, 0);
  const [round, decimals] = ticks(low, high);
  [low, high] = [round[0], round.at(-1)];
  const [from, to] = [Math.min(...all.map((p) => p[0])), Math.max(...all.map((p) => p[0]))];
  const x = (t) => left + (W - left - 12) * (to === from ? 0.5 : (t - from) / (to - from));
  const y = (v) => 10 + (H - bottom - 10) * (1 - (v - low) / (high - low));
  for (const v of round) {
    made.append(svg("line", { class: "grid", x1: left, x2: W - 12, y1: y(v), y2: y(v) }),
      svg("text", { x: left - 8, y: y(v) + 4, "text-anchor": "end" }, Math.abs(v) >= 1e4 ? brief(v) : v.toFixed(decimals)));
  }
  for (const [t, anchor] of [[from, "start"], ...(W < 500 ? [] : [[(from + to) / 2, "middle"]]), [to, "end"]]) {
    made.append(svg("text", { x: x(t), y: H - 6, "text-anchor": anchor }, new Date(t).toISOString().slice(5, 19).replace("T", " ")));
  }
  for (const { at, text } of marks.filter((m) => m.at >= from && m.at <= to)) {
    made.append(svg("line", { class: "mark", x1: x(at), x2: x(at), y1: 10, y2: H - bottom }, svg("title", {}, text)));
  }
  series.forEach((s, i) => made.append(s.points.length > 1 ? svg("path", { class: `l${i % 6}`, d: `M${s.points.map(([t, v]) => `${x(t).toFixed(1)},${y(v).toFixed(1)}`).join(" L")}` })
    : svg("circle", { class: `l${i % 6}`, cx: x(s.points[0][0]), cy: y(s.points[0][1]), r: 3, fill: "currentColor" })));
  return made;
}

export function table(headers, rows, name = "", label = "Table") {
  const cell = (kind) => (v, i) => h(kind, { class: headers[i].startsWith("#") ? "number" : i === 0 ? "name" : null, scope: kind === "th" ? "col" : null }, v);
  return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": label }, h("table", { class: name },
    h("thead", {}, h("tr", {}, headers.map((v, i) => cell("th")(v.replace("#", ""), i)))), h("tbody", {}, rows.map((r) => h("tr", {}, r.map(cell("td")))))));
}

export const pill = (status) => h("span", { class: `pill ${status.startsWith("catching") ? "waiting" : status}` }, status);
export const queryLink = (name) => h("a", { href: `#/query/${encodeURIComponent(name)}` }, name);
export const queryLinks = (names) => h("span", {}, names.flatMap((n, i) => [i ? ", " : "", queryLink(n)]));
export const problem = (p) => h("li", { class: `problem ${p.severity}` }, h("div", {}, h("strong", {}, { error: "Error: ", warning: "Warning: " }[p.severity] || ""), p.text,
  p.query ? h("span", { class: "small" }, " (", h("a", { href: `#/query/${encodeURIComponent(p.query)}` }, "look at it"), ")") : p.stream ? h("span", { class: "small" }, " (", h("a", { href: "#/streams" }, "look at it"), ")") : null),
  p.hint ? h("div", { class: "hint" }, p.hint) : null);
export const paid = (c) => [c.cost ? `${brief(c.cost)} updates a batch` : "", c.work_ms ? `${brief(c.work_ms)} ms of work a second` : "", `${brief(c.state_rows)} ${c.state_rows === 1 ? "row" : "rows"} kept`].filter(Boolean).join(", ");
export const refusal = (error) => h("div", { class: "problem error", role: "alert" }, h("div", {},
  error.line ? `${error.message} (line ${error.line}, column ${error.column})` : error.message), error.hint ? h("div", { class: "hint" }, error.hint) : null);
