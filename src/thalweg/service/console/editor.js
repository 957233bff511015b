// A text area over the same text in colours, with an error underlined at its place.
import { h } from "/console/draw.js";

const WORDS = "select from where group by having as and or not in is null between like case when then else end join inner on using with create replace alter drop query stream table view into set show explain analyze queries streams views plan statistics changes windows window tumble hop session range unbounded every emit filter distinct interval true false union all left right full outer semi anti exists over partition order qualify grouping sets rollup cube second seconds minute minutes hour hours day days";
const KEYWORDS = new Set(WORDS.split(" "));
const TOKEN = /(--[^\n]*|\/\*[\s\S]*?(?:\*\/|$))|('(?:[^']|'')*'?)|(\b\d+(?:\.\d+)?\b)|([A-Za-z_]\w*)|([\s\S])/g;

export function editor(hint, changed) {
  const shown = h("pre", { "aria-hidden": "true" });
  const area = h("textarea", { "aria-label": "SQL", spellcheck: "false", autocapitalize: "off", autocomplete: "off", placeholder: hint });
  let wrong = null;
  const paint = () => {
    const [from, to] = wrong ? [wrong.from, wrong.to] : [-1, -1];
    shown.replaceChildren(...pieces(area.value).flatMap(({ text, kind, at }) => {
      const cuts = [at, ...[from, to].filter((c) => c > at && c < at + text.length), at + text.length];
      return cuts.slice(1).map((end, i) => h("span", { class: `${kind}${cuts[i] >= from && end <= to ? " wrong" : ""}` }, area.value.slice(cuts[i], end)));
    }), "\n");
    shown.scrollTop = area.scrollTop;
  };
  const mark = (error, select = false) => {
    wrong = error && placed(area.value, error);
    area.toggleAttribute("aria-invalid", Boolean(wrong));
    paint();
    if (select && wrong) {
      area.focus();
      area.setSelectionRange(wrong.from, wrong.to);
    }
  };
  area.addEventListener("input", () => { wrong = null; paint(); changed(); });
  area.addEventListener("scroll", () => { shown.scrollTop = area.scrollTop; });
  const write = (text) => { area.value = text; wrong = null; paint(); changed(); };
  paint();
  return { element: h("div", { class: "editor" }, shown, area), area, mark, write };
}

// The place of an error in the units of a text area: columns are counted in characters, of which some are two units.
function placed(text, { line, column, length }) {
  const lines = text.split("\n"), units = (from, to) => [...lines.slice(line - 1).join("\n")].slice(from, to).join("").length;
  const from = lines.slice(0, line - 1).reduce((sum, l) => sum + l.length + 1, 0) + units(0, column - 1);
  return { from, to: Math.min(from + Math.max(units(column - 1, column - 1 + length), 1), Math.max(text.length, from + 1)) };
}

function pieces(text) {
  return [...text.matchAll(TOKEN)].map((m) => ({
    text: m[0], at: m.index, kind: m[1] ? "c" : m[2] ? "s" : m[3] ? "n" : m[4] && KEYWORDS.has(m[4].toLowerCase()) ? "k" : "" }));
}

export function painted(text) {
  return h("pre", { class: "wrap" }, pieces(text).map((p) => (p.kind ? h("span", { class: p.kind }, p.text) : p.text)));
}
