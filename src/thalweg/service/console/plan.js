// Plan: the shared plan as it is drawn for EXPLAIN, and what changed in it.
import { get, getText } from "/console/api.js";
import { brief, clock, count, h, refusal, table } from "/console/draw.js";

export async function plan(main, { signal }) {
  const image = h("img", { alt: "The shared plan; its words are below." }), said = h("details", { class: "card" }, h("summary", {}, "The plan in words"));
  const changes = h("div"), zoom = h("span", { class: "small", role: "status" });
  let size = 1;
  const scale = (factor) => {
    size = factor === 0 ? Math.min(1, (image.parentElement.clientWidth - 2) / image.naturalWidth) : Math.min(3, Math.max(0.2, size * factor));
    image.style.width = `${Math.round(image.naturalWidth * size)}px`;
    zoom.textContent = `${Math.round(size * 100)} %`;
  };
  const button = (label, words, factor) => h("button", { class: "quiet", type: "button", "aria-label": words, onclick: () => scale(factor) }, label);
  main.append(h("div", { class: "head" }, h("h1", {}, "Plan"), h("span", { class: "quiet-text" }, "all queries together"), zoom, button("−", "smaller", 0.8), button("+", "larger", 1.25), button("Fit", "fit to the width", 0)),
    h("div", { class: "paper", tabindex: "0", role: "region", "aria-label": "The plan, drawn" }, image), h("section", { class: "card" }, h("h2", {}, "What changed"), changes), said);
  try {
    const [picture, words, done] = await Promise.all([getText("/v1/plan.svg"), getText("/v1/explain"), get("/v1/changes")]);
    if (signal.aborted) return;
    image.src = URL.createObjectURL(new Blob([picture], { type: "image/svg+xml" }));
    signal.addEventListener("abort", () => URL.revokeObjectURL(image.src));
    image.addEventListener("load", () => scale(0));
    said.append(h("pre", {}, words));
    const pair = ([a, b], unit) => (a || b ? `${brief(a)} → ${brief(b)} ${unit}` : "–");
    const time = (ms) => (ms === null ? "?" : `${brief(ms)} ms`);
    changes.replaceChildren(done.length ? table(["Batch", "At (UTC)", "What", "Windows", "Joins", "Batch time"], done.slice(-30).reverse().map((c) => [count(c.batch), clock(c.at), c.what,
      pair(c.updates, "updates"), pair(c.join_ms, "ms/s"), c.before_ms === null && c.after_ms === null ? "–" : `${time(c.before_ms)} → ${time(c.after_ms)}`])) : h("div", { class: "quiet-text" }, "Nothing yet."));
  } catch (error) { main.append(refusal(error)); }
}
