// Makes a page interactive: tables can be sorted, and charts replace pictures. Without scripts, the
// pictures stay.
"use strict";
(() => {
  const value = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

  // A click on a heading sorts the table, by number if the column has numbers.
  const sortable = (table) => {
    const body = table.tBodies[0];
    if (!body || body.rows.length < 3) return;
    const headings = [...table.tHead.rows[0].cells];
    headings.forEach((heading, column) => {
      if (heading.tagName !== "TH") return;
      heading.tabIndex = 0;
      heading.classList.add("sorts");
      const sort = () => {
        const up = heading.getAttribute("aria-sort") !== "ascending";
        headings.forEach((other) => other.removeAttribute("aria-sort"));
        heading.setAttribute("aria-sort", up ? "ascending" : "descending");
        const key = (row) => row.cells[column]?.firstChild?.textContent.replaceAll(",", "").trim() ?? "";
        const rows = [...body.rows].map((row) => [row, key(row), Number.parseFloat(key(row))]);
        // Text that is not a number comes last in both directions.
        rows.sort(([, a, x], [, b, y]) => {
          if (Number.isNaN(x) !== Number.isNaN(y)) return Number.isNaN(x) ? 1 : -1;
          return (up ? 1 : -1) * (Number.isNaN(x) ? a.localeCompare(b) : x - y);
        });
        body.append(...rows.map(([row]) => row));
      };
      heading.addEventListener("click", sort);
      heading.addEventListener("keydown", (event) => {
        if (event.key !== "Enter" && event.key !== " ") return;
        event.preventDefault();
        sort();
      });
    });
  };
  const sortAll = () => document.querySelectorAll("table").forEach(sortable);
  sortAll();
  document.addEventListener("renewed", sortAll);

  // Markers as in the pictures: corners, turn of the first one, outer and inner radius.
  const outline = (context, [corners, turn, outer, inner], x, y, radius) => {
    context.beginPath();
    for (let step = 0; step < 2 * corners; step += 1) {
      const angle = 2 * Math.PI * (turn + step / (2 * corners));
      const distance = radius * (step % 2 === 0 ? outer : inner);
      context.lineTo(x + distance * Math.cos(angle), y + distance * Math.sin(angle));
    }
    context.closePath();
  };

  // Signs closer than this many pixels to the last one of their kind are omitted.
  const APART = 3;
  const drawSigns = (signs) => (plot) => {
    const ratio = devicePixelRatio || 1;
    const { left, width } = plot.bbox;
    const context = plot.ctx;
    const labels = [];
    for (const { index, marker, hollow, colour, points, name, scattered } of signs) {
      if (!plot.series[index].show) continue;
      context.fillStyle = context.strokeStyle = colour;
      context.lineWidth = 1.5 * ratio;
      let last = -Infinity;
      for (const [at, height] of points) {
        const x = plot.valToPos(at, "x", true);
        if (x < left || x > left + width || height === null) continue;
        if (!scattered && x - last < APART * ratio) continue;
        last = x;
        const y = plot.valToPos(height, "y", true);
        outline(context, marker, x, y, (scattered ? 4.5 : 2.8) * ratio);
        if (hollow) context.stroke();
        else context.fill();
        if (scattered && points.length === 1) {
          context.font = `${11 * ratio}px sans-serif`;
          context.textAlign = x > left + width * 0.9 ? "right" : "left";
          const [wide, tall] = [context.measureText(name).width, 12 * ratio];
          const label = { x: x + (context.textAlign === "right" ? -8 * ratio - wide : 8 * ratio), y: y - 5 * ratio, wide };
          const meets = (other) => Math.abs(other.y - label.y) < tall && other.x < label.x + wide && label.x < other.x + other.wide;
          while (labels.some(meets)) label.y += tall;
          labels.push(label);
          context.textAlign = "left";
          context.fillText(name, label.x, label.y);
        }
      }
    }
  };

  // The time in a permalink, drawn as a line over every chart of its section.
  let moment = null;
  const drawMoment = (group) => (plot) => {
    if (!moment || moment.group !== group || moment.from !== moment.to) return;
    const { left, top, width, height } = plot.bbox;
    const x = plot.valToPos(moment.from, "x", true);
    if (x < left || x > left + width) return;
    plot.ctx.strokeStyle = value("--link");
    plot.ctx.lineWidth = 2 * (devicePixelRatio || 1);
    plot.ctx.beginPath();
    plot.ctx.moveTo(x, top);
    plot.ctx.lineTo(x, top + height);
    plot.ctx.stroke();
  };

  // A link holds a time, or the range of time that is shown: `#at=flows,20` or
  // `#at=flows,20,40`.
  const linked = () => {
    const [group, from, to = from] = new URLSearchParams(location.hash.slice(1)).get("at")?.split(",") ?? [];
    const [start, end] = [Number(from), Number(to)];
    return group && Number.isFinite(start) && end >= start ? { group, from: start, to: end } : null;
  };
  const link = (group, from, to = from) => {
    moment = from === null ? null : { group, from, to };
    const short = (number) => Number(number.toPrecision(6));
    const ends = from === to ? [from] : [from, to];
    const hash = moment ? `#at=${encodeURIComponent(group)},${ends.map(short)}` : "";
    history.replaceState(null, "", location.href.split("#")[0] + hash);
    for (const { plot, group: of } of plots) if (of === group) plot.redraw(false);
  };

  const colourOf = (colour) => (colour === "ink" ? value("--ink") : colour);
  const faint = (colour) => `${colour}38`;
  const shown = (_, number) => (number === null || number === undefined ? "–" : `${Number(number.toPrecision(5))}`);

  const chart = (figure, panel, group, width) => {
    const tables = [];
    const [series, bands, signs] = [[{ label: panel.x, value: shown }], [], []];
    const scatter = panel.series.every(({ look }) => look === "points");
    for (const { name, look, colour, marker, hollow, points } of panel.series) {
      const paint = colourOf(colour);
      const column = (place) => points.map((point) => point[place]);
      const add = (label, of, options) => {
        tables.push([column(0), column(of)]);
        series.push({ label, stroke: paint, value: shown, points: { show: false }, ...options });
      };
      if (look === "band") {
        // One entry of the legend shows both ends. The entry of the lower end is hidden and follows it.
        const range = (plot, most, at, row) => {
          const least = row === null || row === undefined ? null : plot.data[at + 1][row];
          return most === null || most === undefined ? "–" : `${shown(plot, least)} to ${shown(plot, most)}`;
        };
        add(`${name}, range`, 2, { width: 0, value: range });
        add(`${name}, least`, 1, { width: 0, class: "least" });
        bands.push({ series: [series.length - 2, series.length - 1], fill: faint(paint.length === 7 ? paint : "#888888") });
      } else if (look === "sign" || look === "points") {
        const scattered = look === "points";
        const here = (_, number) => (number === null || number === undefined ? "–" : "here");
        add(name, 1, { paths: () => null, value: scattered ? shown : here });
        signs.push({ index: series.length - 1, marker, hollow, colour: paint, points, name, scattered });
      } else {
        add(name, 1, { width: 1.5, dash: look === "dashed" ? [6, 4] : undefined });
      }
    }
    const axis = { stroke: value("--ink"), grid: { stroke: value("--grid"), width: 1 }, ticks: { stroke: value("--grid"), width: 1 } };
    const holder = document.createElement("div");
    holder.className = "chart";
    holder.setAttribute("role", "group");
    holder.setAttribute("aria-label", `${panel.title || panel.y}, a chart`);
    figure.querySelector("svg").before(holder);
    const padded = (_, low, high) => {
      const room = (high - low || Math.abs(high) || 1) * 0.1;
      return [low - room, high + room];
    };
    const upright = (_, low, high) => [Math.min(0, low), high === low ? high + 1 : high * 1.05];
    // Panels of one figure show the same range of time, unless a part of it was selected.
    const spanned = ({ data: [xs] }, low, high) => {
      const whole = low === null || (low <= xs[0] && high >= xs.at(-1));
      return whole && panel.span ? panel.span : [low, high];
    };
    let ready = false;
    const plot = new uPlot({
      title: panel.title, width, height: 260, series, bands,
      scales: { x: { time: false, range: scatter ? padded : spanned }, y: { range: scatter ? padded : upright } },
      axes: [{ ...axis, label: panel.x, labelSize: 20 }, { ...axis, label: panel.y, labelSize: 20, size: 60 }],
      cursor: { sync: { key: scatter ? `${group}-${panel.title}` : group, setSeries: false } },
      hooks: {
        draw: [drawSigns(signs), drawMoment(group)],
        setSeries: [(self, index) => {
          const band = bands.find(({ series: [most] }) => most === index);
          const wanted = band && self.series[index].show;
          if (band && self.series[index + 1].show !== wanted) self.setSeries(index + 1, { show: wanted });
        }],
        setScale: [(self, key) => {
          if (!ready || key !== "x" || scatter) return;
          const { min, max } = self.scales.x;
          const whole = min <= self.data[0][0] && max >= self.data[0].at(-1);
          link(group, whole ? null : min, max);
        }],
      },
    }, uPlot.join(tables), holder);
    if (!scatter && moment?.group === group && moment.to > moment.from) {
      plot.setScale("x", { min: moment.from, max: moment.to });
    }
    // The first scale is that of the data, which needs no link.
    queueMicrotask(() => { ready = true; });
    plot.over.addEventListener("click", () => {
      if (!scatter && plot.select.width === 0 && plot.cursor.left >= 0) link(group, plot.posToVal(plot.cursor.left, "x"));
    });
    for (const entry of holder.querySelectorAll(".u-legend .u-series:not(:first-child) th")) {
      Object.assign(entry, { tabIndex: 0, title: "Shows or hides it" });
      entry.addEventListener("keydown", (event) => {
        if (event.key === "Enter") entry.click();
      });
    }
    return plot;
  };

  const plots = [];
  const make = ({ data, figure, group }) => {
    const width = figure.clientWidth;
    if (width === 0 || figure.classList.contains("live") || !figure.isConnected) return;
    figure.classList.add("live");
    for (const panel of JSON.parse(data.textContent)) plots.push({ figure, group, plot: chart(figure, panel, group, width) });
  };
  // Draws the missing charts, except in folded parts. Visible charts are drawn immediately, the
  // others while the page is idle. Pictures stay until then.
  const waiting = [];
  const later = window.requestIdleCallback ?? ((call) => setTimeout(call, 20));
  const drawNext = () => {
    const next = waiting.shift();
    if (next) make(next);
    if (waiting.length > 0) later(drawNext);
  };
  const draw = () => {
    const wanted = [...document.querySelectorAll("figure:not(.live) > script[type='application/json']")].map((data) => {
      const figure = data.parentElement;
      const { top, bottom, width } = figure.getBoundingClientRect();
      const group = figure.closest("details[id], section")?.id ?? "page";
      return { data, figure, group, width, seen: bottom > 0 && top < innerHeight };
    }).filter(({ width }) => width > 0);
    const idle = waiting.length === 0;
    waiting.splice(0, waiting.length, ...wanted.filter(({ seen }) => !seen));
    wanted.filter(({ seen }) => seen).forEach(make);
    if (idle && waiting.length > 0) later(drawNext);
  };
  if (typeof uPlot === "undefined") return;
  moment = linked();
  if (moment) {
    const place = document.getElementById(moment.group);
    for (let part = place; part; part = part.parentElement) if (part.tagName === "DETAILS") part.open = true;
    place?.scrollIntoView();
  }
  draw();
  for (const part of document.querySelectorAll("details")) part.addEventListener("toggle", draw);
  // A wider page gets wider charts, a dark one new colours.
  addEventListener("resize", () => plots.forEach(({ figure, plot }) => {
    if (figure.clientWidth > 0) plot.setSize({ width: figure.clientWidth, height: 260 });
  }));
  const redraw = () => {
    for (const { figure, plot } of plots.splice(0)) {
      plot.root.parentElement.remove();
      plot.destroy();
      figure.classList.remove("live");
    }
    draw();
  };
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  // A page that follows a command now shows a new version.
  document.addEventListener("renewed", redraw);
})();
