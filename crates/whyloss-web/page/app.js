// The playground: simulates one run with the settings of a form and plays it on a canvas. The
// address bar contains every setting.

import { call } from "whyloss/program";
import { Run } from "whyloss/run";
import * as draw from "whyloss/draw";
import * as diagnosis from "whyloss/diagnosis";
import { DURATION, PRESETS, RANGES, classifiers, flows, fromHash, repair, scenario, toHash } from "whyloss/state";

const $ = (id) => document.getElementById(id);
const element = (name, properties = {}, ...children) => {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
};

let choices;
let state;
let run;
let plots = [];
let colours;
let now = 0;
let playing = !matchMedia("(prefers-reduced-motion: reduce)").matches;
let last;
let rows = [];
let marked;
/** For tests: the frames drawn, the milliseconds they took, and the most packets on one of them. */
const drawn = { frames: 0, milliseconds: 0, packets: 0 };
window.whyloss = { drawn, get results() { return run?.text; }, get scenario() { return scenario(state); } };

function form() {
  const ranges = RANGES.map(({ key, label, unit, min, max, step }) =>
    element("label", {}, `${label} `, element("output", { id: `${key}-value` }),
      element("input", { type: "range", id: key, name: key, min, max, step, title: unit })));
  const groups = Object.entries(flows(choices)).map(([label, options]) =>
    element("optgroup", { label }, ...options.map(([value, text]) => element("option", { value, textContent: text }))));
  $("settings").append(
    element("label", {}, "Flow ", element("select", { id: "by", name: "by" }, ...groups), element("small", { id: "by-summary" })),
    element("label", {}, "Classifier ", element("select", { id: "classifier", name: "classifier" }), element("small", { id: "classifier-summary" })),
    ...ranges,
    element("label", {}, element("input", { type: "checkbox", id: "cubic", name: "cubic" }), " A CUBIC flow competes"),
  );
  for (const name of Object.keys(PRESETS)) {
    const button = element("button", { type: "button", textContent: name });
    button.addEventListener("click", () => change({ ...PRESETS[name] }, 0));
    document.querySelector(".presets").append(button);
  }
}

/** Shows the state in the form. */
function show() {
  for (const { key, unit } of RANGES) {
    $(key).value = state[key];
    $(`${key}-value`).textContent = `${state[key]} ${unit}`;
    $(key).setAttribute("aria-valuetext", `${state[key]} ${unit}`);
  }
  $("by").value = state.by;
  $("cubic").checked = state.cubic;
  const fit = classifiers(choices, state.by);
  const options = fit.map(({ id, name }) => element("option", { value: id, textContent: name }));
  if (fit.length === 0) options.push(element("option", { value: "", textContent: "part of the scheme" }));
  $("classifier").replaceChildren(...options);
  $("classifier").disabled = fit.length === 0;
  $("classifier").value = state.classifier;
  const summary = Object.values(flows(choices)).flat().find(([id]) => id === state.by);
  $("by-summary").textContent = summary?.[2] ?? "";
  $("classifier-summary").textContent = fit.find(({ id }) => id === state.classifier)?.summary ?? "";
  for (const button of document.querySelectorAll(".presets button")) {
    const preset = PRESETS[button.textContent];
    button.setAttribute("aria-pressed", Object.keys(preset).every((key) => preset[key] === state[key]));
  }
  const text = scenario(state);
  $("scenario").textContent = text;
  $("command").textContent = `whyloss run playground.toml --seed ${state.seed}`;
}

let held;
/** Writes the state into the address bar, as a link to this moment. */
function remember() {
  held = toHash(state, now);
  if (location.hash !== held) location.replace(held);
}

let asked = 0;
async function change(changes, moment = now) {
  state = repair({ ...state, ...changes }, choices);
  now = moment;
  show();
  const number = (asked += 1);
  try {
    const file = new TextEncoder().encode(scenario(state));
    const parts = await call({ name: "whyloss_play", file, number: state.seed });
    // A later change has replaced this run.
    if (number !== asked) return;
    run = new Run(parts);
  } catch (error) {
    problem(error);
    return;
  }
  $("problem").hidden = true;
  tell();
  remember();
}

function problem(error) {
  $("problem").hidden = false;
  $("problem").textContent = error.message;
}

const NAMES = ["yours", "CUBIC"];

/**
 * Returns whether a classifier judges the flow's losses. Some schemes judge losses in their
 * controller.
 */
function judges() {
  const scheme = choices.schemes.find(({ id }) => state.by === `scheme:${id}`);
  return scheme?.classifies ?? true;
}

/** Shows a new run: its summary, its curves, and its losses. */
function tell() {
  const verdicts = run.verdicts();
  const mine = verdicts.filter(({ flow }) => flow === 0);
  const radio = mine.filter(({ cause }) => cause === "wireless").length;
  const right = mine.filter(({ cause, verdict }) => cause === verdict).length;
  const speed = ` Throughput: ${(run.results.flows[0].throughput_bps / 1e6).toFixed(2)} Mbit/s.`;
  const blame = radio * 2 > mine.length ? "The radio, not the queue" : radio * 2 < mine.length ? "The queue, not the radio" : "As much the radio as the queue";
  $("verdict").textContent = mine.length === 0
    ? `No loss was judged.${speed}`
    : `${blame}: of ${mine.length} losses, the radio corrupted ${radio} and the queue dropped ${mine.length - radio}. ` +
      `${judges() ? `The sender was told the right cause of ${right}.` : "This scheme asks no classifier, so it has no verdicts."}${speed}`;
  const both = state.cubic ? [0, 1] : [0];
  const windows = both.map((flow) => ({ ...run.window(flow), colour: colours.flows[flow], dashed: flow === 1, name: NAMES[flow] }));
  const queue = { ...run.queue(), colour: colours.soft, name: "waiting" };
  const losses = mine;
  // Curves with different units cannot share an axis, so only those with the flow's unit are drawn.
  const curves = windows.filter(({ unit }) => unit === windows[0].unit);
  plots = [
    [$("window-plot"), { title: `${curves[0].unit === "kB" ? "Window" : "Rate"}, ${curves[0].unit}`, curves, losses, end: DURATION }],
    [$("queue-plot"), { title: "Packets waiting in the queue", curves: [queue], losses: [], end: DURATION }],
  ];
  $("moment").max = DURATION;
  rows = verdicts;
  $("losses").replaceChildren(...verdicts.map(row));
  marked = undefined;
  stale = true;
}

function row({ at, flow, sequence, cause, verdict }) {
  const go = element("button", { type: "button", textContent: at.toFixed(3), title: "Go to this loss" });
  go.addEventListener("click", () => seek(at - 0.02));
  const mark = (word) => element("td", {}, icon(word), word);
  if (flow === 0 && !judges()) {
    return element("tr", {}, element("td", {}, go), element("td", { textContent: NAMES[flow] }),
      element("td", { textContent: `${sequence}` }), mark(cause), element("td", { textContent: "–" }), element("td", { textContent: "–" }));
  }
  const right = cause === verdict;
  return element("tr", { className: right ? "" : "out" },
    element("td", {}, go), element("td", { textContent: NAMES[flow] }), element("td", { textContent: `${sequence}` }),
    mark(cause), mark(verdict), element("td", { textContent: right ? "✓ right" : "✗ wrong" }));
}

/** Returns a small picture of the sign of a cause. */
function icon(word) {
  const shape = word === "congestion" ? '<rect x="2" y="2" width="8" height="8"/>' : '<path d="M6 1l5 9H1z"/>';
  const holder = element("span", { ariaHidden: "true" });
  holder.innerHTML = `<svg width="12" height="12" fill="${colours[word]}" style="display:inline-block;margin-right:.35rem">${shape}</svg>`;
  return holder;
}

function seek(moment) {
  now = Math.min(DURATION, Math.max(0, moment));
  dirty = true;
  remember();
}

function setPlaying(on) {
  playing = on;
  $("toggle").textContent = on ? "Pause" : "Play";
  remember();
}

/** Whether the moment changed, and whether the curves did. */
let dirty = true;
let stale = true;
function frame(time) {
  requestAnimationFrame(frame);
  const passed = last === undefined ? 0 : Math.min(0.1, (time - last) / 1000);
  last = time;
  if (!run) return;
  if (playing) now = (now + passed * Number($("speed").value)) % DURATION;
  if (!playing && !dirty && !stale) return;
  dirty = false;
  const began = performance.now();
  const speed = Number($("speed").value);
  const packets = draw.network($("network"), run, { ...state, speed }, now, colours);
  for (const [canvas, what] of plots) {
    if (stale) draw.plot(canvas, what, colours);
    draw.mark(canvas, DURATION, now);
  }
  stale = false;
  drawn.frames += 1;
  drawn.packets = Math.max(drawn.packets, packets);
  $("moment").value = now;
  $("moment-value").textContent = `${now.toFixed(2)} s`;
  const current = run.losses.after(now) - 1;
  if (current !== marked) {
    $("losses").children[marked]?.removeAttribute("aria-current");
    $("losses").children[current]?.setAttribute("aria-current", "true");
    marked = current;
  }
  drawn.milliseconds += performance.now() - began;
}

/** Returns a curve's value at a moment. */
function valueAt({ points }, moment) {
  let [low, high] = [0, points.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (points[middle][0] > moment) high = middle;
    else low = middle + 1;
  }
  return points[low - 1]?.[1];
}

function listen() {
  $("settings").addEventListener("input", ({ target }) => {
    change({ [target.name]: target.type === "checkbox" ? target.checked : target.value });
  });
  $("settings").addEventListener("submit", (event) => event.preventDefault());
  $("toggle").addEventListener("click", () => setPlaying(!playing));
  $("next").addEventListener("click", () => {
    const next = rows.find(({ at }) => at > now + 0.021) ?? rows[0];
    setPlaying(false);
    if (next) seek(next.at - 0.02);
  });
  $("moment").addEventListener("input", ({ target }) => seek(Number(target.value)));
  for (const canvas of [$("window-plot"), $("queue-plot")]) {
    canvas.addEventListener("pointermove", (event) => {
      const moment = draw.momentAt(canvas, event, DURATION);
      const values = plots.flatMap(([, { curves }]) => curves.map((curve) => {
        const value = valueAt(curve, moment);
        return value === undefined ? "" : `${curve.name} ${value.toFixed(1)} ${curve.unit}`;
      }));
      $("hover").textContent = `${moment.toFixed(2)} s: ${values.filter(Boolean).join(", ")}`;
    });
    canvas.addEventListener("click", (event) => seek(draw.momentAt(canvas, event, DURATION)));
  }
  const save = (name, text) => {
    const link = element("a", { href: URL.createObjectURL(new Blob([text()])), download: name });
    link.click();
    URL.revokeObjectURL(link.href);
  };
  $("save-scenario").addEventListener("click", () => save("playground.toml", () => scenario(state)));
  $("save-results").addEventListener("click", () => save("results.json", () => run.text));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    colours = draw.palette(choices);
    if (run) tell();
  });
  new ResizeObserver(() => { stale = true; }).observe($("network"));
  addEventListener("hashchange", () => {
    const hash = decodeURI(location.hash);
    if (hash === decodeURI(held ?? "") || ["#play", "#diagnose"].includes(hash)) return;
    const { at, ...wanted } = fromHash(location.hash);
    change(wanted, Number(at) || 0);
  });
}

function legend() {
  const entry = (word, text) => element("li", {}, icon(word), text);
  $("legend").append(
    entry("congestion", "lost in the full queue (congestion)"),
    entry("wireless", "lost on the radio (wireless)"),
    element("li", { textContent: "Curves: the colour is the true cause, the shape the verdict." }),
  );
}

async function start() {
  const [part] = await call({ name: "whyloss_choices" });
  choices = JSON.parse(new TextDecoder().decode(part));
  $("version").textContent = choices.version;
  colours = draw.palette(choices);
  form();
  legend();
  listen();
  diagnosis.setUp();
  const { at, ...wanted } = fromHash(location.hash);
  $("toggle").textContent = playing ? "Pause" : "Play";
  await change(wanted, Math.min(DURATION, Math.max(0, Number(at) || 0)));
  requestAnimationFrame(frame);
}

start().catch(problem);
