// Holds one run: its tables, and the packets on the links at a moment.

const KINDS = ["delivered", "congestion", "wireless"];

/** A table of real numbers with this number of columns. */
class Table {
  constructor(part, columns) {
    this.values = new Float64Array(part);
    this.columns = columns;
    this.length = this.values.length / columns;
  }

  get(row, column) {
    return this.values[row * this.columns + column];
  }

  /**
   * Returns the index of the first row whose first column is above `value`. The column must
   * increase.
   */
  after(value) {
    let [low, high] = [0, this.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.get(middle, 0) > value) high = middle;
      else low = middle + 1;
    }
    return low;
  }
}

/** Returns a copy of a table whose rows are in the order of their first column. */
function sorted(part, columns) {
  const table = new Table(part, columns);
  const order = Array.from({ length: table.length }, (_, row) => row);
  order.sort((a, b) => table.get(a, 0) - table.get(b, 0) || a - b);
  const values = new Float64Array(table.values.length);
  order.forEach((row, to) => values.set(table.values.subarray(row * columns, (row + 1) * columns), to * columns));
  return new Table(values.buffer, columns);
}

export class Run {
  constructor([results, packets, sources, losses]) {
    this.text = new TextDecoder().decode(results);
    this.results = JSON.parse(this.text);
    this.packets = sorted(packets, 8);
    this.sources = sorted(sources, 5);
    this.losses = sorted(losses, 5);
    // No packet is on a link for longer than `longest`, so no earlier rows matter at a moment.
    this.longest = 0;
    for (let row = 0; row < this.packets.length; row += 1) {
      this.longest = Math.max(this.longest, this.packets.get(row, 1) - this.packets.get(row, 0));
    }
  }

  /**
   * Calls `visit` with each packet that is on a link at `now` or was lost up to `after` seconds
   * before.
   */
  onTheWay(now, after, visit) {
    const { packets } = this;
    const end = packets.after(now);
    for (let row = packets.after(now - this.longest - after); row < end; row += 1) {
      const done = packets.get(row, 1);
      const fate = packets.get(row, 7);
      if (done > now || (fate > 0 && done + after > now)) {
        visit({
          at: packets.get(row, 0), done, link: packets.get(row, 2), flow: packets.get(row, 3),
          size: packets.get(row, 5), waiting: packets.get(row, 6), fate,
        });
      }
    }
  }

  /** Returns the verdicts as objects. */
  verdicts() {
    const { losses } = this;
    return Array.from({ length: losses.length }, (_, row) => ({
      at: losses.get(row, 0), flow: losses.get(row, 1), sequence: losses.get(row, 2),
      cause: KINDS[losses.get(row, 3)], verdict: KINDS[losses.get(row, 4)],
    }));
  }

  /** Returns the points of a flow's window in kB, or of its rate in kbit/s if it has no window. */
  window(flow) {
    const points = [];
    let unit = "kB";
    for (let row = 0; row < this.sources.length; row += 1) {
      if (this.sources.get(row, 1) !== flow) continue;
      const [at, window, rate] = [this.sources.get(row, 0), this.sources.get(row, 2), this.sources.get(row, 3)];
      if (Number.isNaN(window)) unit = "kbit/s";
      const value = Number.isNaN(window) ? (rate * 8) / 1000 : window / 1000;
      if (!Number.isNaN(value)) points.push([at, value]);
    }
    return { points, unit };
  }

  /** Returns the numbers of packets in the first link's queue, as arriving packets find it. */
  queue() {
    const points = [];
    for (let row = 0; row < this.packets.length; row += 1) {
      if (this.packets.get(row, 2) === 0) points.push([this.packets.get(row, 0), this.packets.get(row, 6)]);
    }
    return { points, unit: "packets" };
  }
}
