// The state of the playground: its settings, its link, and its scenario.

/** Settings with a range: name, label, unit, least, most, step, and what to show of a value. */
export const RANGES = [
  { key: "rate", label: "Rate", unit: "kbit/s", min: 500, max: 50000, step: 100 },
  { key: "delay", label: "One-way delay", unit: "ms", min: 2, max: 400, step: 1 },
  { key: "buffer", label: "Buffer", unit: "packets", min: 1, max: 1000, step: 1 },
  { key: "loss", label: "Loss on the radio", unit: "%", min: 0, max: 20, step: 0.1 },
  { key: "burst", label: "Mean burst of losses", unit: "packets", min: 1, max: 20, step: 0.5 },
  { key: "seed", label: "Seed", unit: "", min: 1, max: 99, step: 1 },
];

export const PRESETS = {
  "Wi-Fi video": { rate: 4000, delay: 20, buffer: 40, loss: 3, burst: 2, seed: 1, by: "tfrc", classifier: "trees", cubic: false },
  "Satellite download": {
    rate: 12000, delay: 300, buffer: 720, loss: 1, burst: 6, seed: 1, by: "scheme:whyloss", classifier: "", cubic: false,
  },
  "Shared bottleneck": {
    rate: 10000, delay: 20, buffer: 60, loss: 0.1, burst: 1, seed: 1, by: "tfrc", classifier: "trees", cubic: true,
  },
};

/** Simulated seconds. */
export const DURATION = 30;

/**
 * Returns the classifiers for a flow: a list of the choices, or none for a scheme, which has its
 * own.
 */
export function classifiers(choices, by) {
  if (by === "tfrc") return choices.receivers;
  return by.startsWith("tcp:") ? choices.senders : [];
}

/** Returns every flow that can be chosen, as groups of `[value, label, summary]`. */
export function flows(choices) {
  const of = (kind) => ({ id, name, summary }) => [`${kind}:${id}`, name, summary];
  return {
    Media: [["tfrc", "TFRC (RFC 5348)", "a rate that is fair to TCP; its classifier sits at the receiver"]],
    "Schemes with a classifier of their own": choices.schemes.map(of("scheme")),
    "TCP controllers": choices.controllers.map(of("tcp")),
  };
}

/** Returns the nearest valid state: numbers in their ranges, and known names. */
export function repair(state, choices) {
  const first = Object.values(PRESETS)[0];
  const whole = { ...first, ...state };
  for (const { key, min, max, step } of RANGES) {
    const value = Number(whole[key]);
    const near = Math.round((Number.isFinite(value) ? value : first[key]) / step) * step;
    whole[key] = Number(Math.min(max, Math.max(min, near)).toFixed(3));
  }
  const known = Object.values(flows(choices)).flat();
  if (!known.some(([id]) => id === whole.by)) whole.by = first.by;
  const fit = classifiers(choices, whole.by);
  if (!fit.some(({ id }) => id === whole.classifier)) {
    whole.classifier = (fit.find(({ id }) => id === "trees") ?? fit[0])?.id ?? "";
  }
  whole.cubic = whole.cubic === true || whole.cubic === "true";
  return whole;
}

/** Returns the state in a link. Unknown keys are dropped. */
export function fromHash(hash) {
  const entries = [...new URLSearchParams(hash.replace(/^#/, ""))];
  const keys = [...Object.keys(Object.values(PRESETS)[0]), "at"];
  return Object.fromEntries(entries.filter(([key]) => keys.includes(key)));
}

export function toHash(state, at) {
  return `#${new URLSearchParams({ ...state, at: at.toFixed(3) })}`;
}

/** Returns the scenario file of a state, with registered names and numbers in their ranges. */
export function scenario(state) {
  const { rate, delay, buffer, loss, burst, by, classifier, cubic } = state;
  const share = loss / 100;
  // A loss must not be more likely in a good state than in a bad one.
  const stay = Math.max(1 - 1 / burst, share);
  const channel =
    loss === 0 ? "" : burst === 1
      ? `channel = { kind = "bernoulli", loss = ${share.toFixed(4)} }\n`
      : `channel = { kind = "gilbert-elliott", loss = ${share.toFixed(4)}, stay = ${stay.toFixed(4)} }\n`;
  const [kind, name] = by.split(":");
  const transport =
    kind === "tfrc" ? 'transport = "tfrc"\n'
      : kind === "tcp" ? `transport = { kind = "tcp", controller = "${name}" }\n`
        : `transport = "tcp"\nscheme = "${name}"\n`;
  const flow = (label, lines) => `\n[[flow]]\nname = "${label}"\nfrom = "sender"\nto = "receiver"\npacket = "1000 B"\n${lines}`;
  return (
    `title = "Playground"\nduration = "${DURATION} s"\n` +
    `\n[[link]]\nname = "queue"\nfrom = "sender"\nto = "radio"\nrate = "${rate} kbit/s"\ndelay = "1 ms"\n` +
    `queue = { packets = ${buffer} }\n` +
    `\n[[link]]\nname = "radio"\nfrom = "radio"\nto = "receiver"\nrate = "${10 * rate} kbit/s"\ndelay = "${delay - 1} ms"\n` +
    `queue = "unlimited"\n${channel}` +
    flow("yours", transport + (classifier ? `classifier = "${classifier}"\n` : "")) +
    (cubic ? flow("cubic", 'transport = { kind = "tcp", controller = "cubic" }\n') : "")
  );
}
