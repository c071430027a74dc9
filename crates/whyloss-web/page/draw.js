// Draws on canvases: the network with its packets, and curves over time.

const style = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

/** The colours of the page, read again when light and dark change. */
export function palette(choices) {
  const causes = Object.fromEntries(choices.causes.map(({ name, colour }) => [name, colour]));
  return {
    ...causes, ink: style("--ink"), soft: style("--soft"), grid: style("--grid"), paper: style("--paper"),
    // From the palette of all pictures: bluish green and reddish purple.
    flows: ["#009E73", "#CC79A7"],
  };
}

/** Draws the sign of a verdict: a square is congestion, a triangle wireless. */
export function sign(context, shape, x, y, radius) {
  context.beginPath();
  if (shape === "congestion") {
    context.rect(x - radius, y - radius, 2 * radius, 2 * radius);
  } else if (shape === "wireless") {
    context.moveTo(x, y - 1.35 * radius);
    context.lineTo(x + 1.2 * radius, y + 0.9 * radius);
    context.lineTo(x - 1.2 * radius, y + 0.9 * radius);
    context.closePath();
  } else {
    context.arc(x, y, radius, 0, 2 * Math.PI);
  }
}

/** Returns a context in CSS pixels, and its size. */
export function prepare(canvas) {
  const { clientWidth: width, clientHeight: height } = canvas;
  const ratio = window.devicePixelRatio || 1;
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
  }
  const context = canvas.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  return { context, width, height };
}

/** Draws the network at `now`. Returns how many packets are on it. */
export function network(canvas, run, state, now, colours) {
  const { context, width, height } = prepare(canvas);
  const middle = height * 0.45;
  const places = { sender: 34, queue: width * 0.2, full: width * 0.48, radio: width * 0.56, receiver: width - 36 };
  context.font = "12px system-ui, sans-serif";
  context.textAlign = "center";
  context.strokeStyle = colours.soft;
  context.lineWidth = 1;
  context.beginPath();
  context.moveTo(places.sender, middle);
  context.lineTo(places.queue, middle);
  context.moveTo(places.full, middle);
  context.lineTo(places.radio, middle);
  context.stroke();
  context.setLineDash([3, 5]);
  context.beginPath();
  context.moveTo(places.radio, middle);
  context.lineTo(places.receiver, middle);
  context.stroke();
  context.setLineDash([]);
  const box = { top: middle - 24, height: 48, width: places.full - places.queue };
  context.strokeRect(places.queue, box.top, box.width, box.height);
  context.fillStyle = colours.ink;
  for (const [x, label] of [
    [places.sender, "sender"], [(places.queue + places.full) / 2, `queue of ${state.buffer}`],
    [places.radio, "radio"], [places.receiver, "receiver"],
  ]) {
    context.fillText(label, x, height - 8);
  }
  for (const x of [places.sender, places.radio, places.receiver]) {
    context.beginPath();
    context.arc(x, middle, 9, 0, 2 * Math.PI);
    context.fillStyle = colours.paper;
    context.fill();
    context.stroke();
  }
  const transmission = (size, scale) => (size * 8) / (scale * state.rate * 1000);
  const spacing = Math.min(9, (box.width - 8) / Math.max(state.buffer, 1));
  const lost = 0.6 * state.speed;
  let count = 0;
  let waiting = 0;
  run.onTheWay(now, lost, (packet) => {
    let [x, y] = [places.sender, middle];
    let shape;
    let colour = colours.flows[packet.flow % 2];
    const gone = packet.fate > 0 && packet.done <= now ? (now - packet.done) / lost : 0;
    if (packet.link === 0) {
      const left = packet.done - 0.001;
      if (packet.fate === 1) {
        [x, y] = [places.queue - 6, middle + 22 + 50 * gone];
      } else if (now < left - transmission(packet.size, 1)) {
        // The packet waits. Its position shows how soon it will be sent.
        const turn = (left - now) / transmission(packet.size, 1);
        x = Math.max(places.queue + 6, places.full - 6 - spacing * turn);
        y = middle;
        waiting += 1;
      } else {
        const part = Math.min(1, 1 - (packet.done - now) / (0.001 + transmission(packet.size, 1)));
        x = places.full + (places.radio - places.full) * Math.max(0, part);
      }
    } else {
      const crossing = state.delay / 1000 - 0.001 + transmission(packet.size, 10);
      const part = packet.fate === 2 ? 0 : Math.min(1, Math.max(0, 1 - (packet.done - now) / crossing));
      x = places.radio + (places.receiver - places.radio) * part;
      y = middle + ((Math.round(packet.at * 1e5) % 5) - 2) * 5;
      // A corrupted packet fades where it leaves the antenna.
      if (packet.fate === 2) [x, y] = [places.radio + 30 * gone, middle - 22 - 40 * gone];
    }
    if (packet.fate > 0 && packet.done <= now) {
      shape = packet.fate === 1 ? "congestion" : "wireless";
      colour = colours[shape];
    }
    context.globalAlpha = 1 - 0.7 * gone;
    context.fillStyle = colour;
    sign(context, shape, x, y, shape ? 5 : 3.5);
    context.fill();
    context.globalAlpha = 1;
    count += 1;
  });
  context.fillStyle = colours.ink;
  context.fillText(`${waiting} waiting`, (places.queue + places.full) / 2, box.top - 8);
  return count;
}

const LEFT = 52;

/** Draws curves over the whole run, with losses as signs. */
export function plot(canvas, { title, curves, losses, end }, colours) {
  const { context, width, height } = prepare(canvas);
  const [top, bottom] = [24, height - 22];
  let most = 1e-9;
  for (const { points } of curves) for (const [, value] of points) most = Math.max(most, value);
  const x = (at) => LEFT + ((width - LEFT - 8) * at) / end;
  const y = (value) => bottom - ((bottom - top) * value) / (1.05 * most);
  context.font = "12px system-ui, sans-serif";
  context.fillStyle = colours.ink;
  context.textAlign = "left";
  context.fillText(title, LEFT, 14);
  context.lineWidth = 1;
  const step = 10 ** Math.floor(Math.log10(most)) / (most / 10 ** Math.floor(Math.log10(most)) < 2 ? 2 : 1);
  const every = step * Math.ceil(most / step / 5);
  context.textAlign = "right";
  for (let value = 0; value <= most; value += every) {
    context.strokeStyle = colours.grid;
    context.beginPath();
    context.moveTo(LEFT, y(value));
    context.lineTo(width - 8, y(value));
    context.stroke();
    context.fillStyle = colours.soft;
    context.fillText(`${Number(value.toPrecision(3))}`, LEFT - 6, y(value) + 4);
  }
  context.textAlign = "center";
  for (let at = 0; at <= end; at += 5) context.fillText(`${at} s`, Math.min(x(at), width - 18), height - 6);
  curves.forEach(({ points, colour, dashed }) => {
    context.strokeStyle = colour;
    context.lineWidth = 1.6;
    context.setLineDash(dashed ? [6, 3] : []);
    context.beginPath();
    let last = -Infinity;
    let range;
    const column = () => {
      if (!range) return;
      context.lineTo(range.x, range.low);
      if (range.high - range.low > 1) context.lineTo(range.x, range.high);
      context.lineTo(range.x, range.end);
    };
    // A column of pixels shows the lowest and the highest of its points.
    for (const [at, value] of points) {
      const [px, py] = [Math.round(x(at)), y(value)];
      if (px !== last) {
        column();
        range = { x: px, low: py, high: py, end: py };
        last = px;
      }
      range = { ...range, low: Math.min(range.low, py), high: Math.max(range.high, py), end: py };
    }
    column();
    context.stroke();
    context.setLineDash([]);
  });
  // Draw fewer signs: one for each cause and verdict every four pixels.
  const seen = new Set();
  losses.forEach(({ at, cause, verdict }) => {
    const key = `${Math.round(x(at) / 4)} ${cause} ${verdict}`;
    if (seen.has(key)) return;
    seen.add(key);
    context.fillStyle = colours[cause];
    sign(context, verdict, x(at), cause === "congestion" ? top + 6 : top + 18, 3.5);
    context.fill();
  });
}

/** Moves a plot's line to `now`. It is an element, so that the curves need not be drawn again. */
export function mark(canvas, end, now) {
  const at = LEFT + ((canvas.clientWidth - LEFT - 8) * now) / end;
  canvas.nextElementSibling.style.transform = `translateX(${at}px)`;
}

/** Returns the moment under a pointer. */
export function momentAt(canvas, event, end) {
  const box = canvas.getBoundingClientRect();
  const part = (event.clientX - box.left - LEFT) / (box.width - LEFT - 8);
  return Math.min(end, Math.max(0, part * end));
}
