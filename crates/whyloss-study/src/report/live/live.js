// Brings a page to life: tables that sort, and charts in place of pictures. Without scripts the pictures stay.
"use strict";
(() => {
  const value = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

  // Tables: a heading sorts, by number where the column has numbers.
  for (const table of document.querySelectorAll("table")) {
    const body = table.tBodies[0];
    if (!body || body.rows.length < 3) continue;
    const headings = [...table.tHead.rows[0].cells];
    headings.forEach((heading, column) => {
      heading.tabIndex = 0;
      heading.classList.add("sorts");
      const sort = () => {
        const up = heading.getAttribute("aria-sort") !== "ascending";
        headings.forEach((other) => other.removeAttribute("aria-sort"));
        heading.setAttribute("aria-sort", up ? "ascending" : "descending");
        const key = (row) => row.cells[column]?.firstChild?.textContent.replaceAll(",", "").trim() ?? "";
        const rows = [...body.rows].map((row) => [row, key(row), Number.parseFloat(key(row))]);
        // What is no number comes last, whichever way.
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
  }

  // Signs of losses, as the pictures have them: shapes 1, 2 and 7 of the palette, else a disc.
  const sign = (context, shape, x, y, r) => {
    context.beginPath();
    if (shape === 1) context.rect(x - r, y - r, 2 * r, 2 * r);
    else if (shape === 2) {
      context.moveTo(x, y - 1.35 * r);
      context.lineTo(x + 1.2 * r, y + 0.8 * r);
      context.lineTo(x - 1.2 * r, y + 0.8 * r);
      context.closePath();
    } else if (shape === 7) {
      context.lineWidth = r * 0.7;
      context.moveTo(x - r, y - r);
      context.lineTo(x + r, y + r);
      context.moveTo(x + r, y - r);
      context.lineTo(x - r, y + r);
      context.stroke();
      return;
    } else context.arc(x, y, r, 0, 2 * Math.PI);
    context.fill();
  };

  // Signs closer than so many pixels to the last one of their kind are left out.
  const APART = 5;
  const drawSigns = (signs) => (plot) => {
    const ratio = devicePixelRatio || 1;
    const { left, width } = plot.bbox;
    for (const { index, shape, colour, points } of signs) {
      if (!plot.series[index].show) continue;
      plot.ctx.fillStyle = plot.ctx.strokeStyle = colour;
      let last = -Infinity;
      for (const [at, height] of points) {
        const x = plot.valToPos(at, "x", true);
        if (x < left || x > left + width || x - last < APART * ratio || height === null) continue;
        last = x;
        sign(plot.ctx, shape, x, plot.valToPos(height, "y", true), 3.5 * ratio);
      }
    }
  };

  const colourOf = (colour) => (colour === "ink" ? value("--ink") : colour);
  const faint = (colour) => `${colour}38`;
  const shown = (_, number) => (number === null || number === undefined ? "–" : `${Number(number.toPrecision(5))}`);

  const chart = (figure, panel, group, width) => {
    const tables = [];
    const [series, bands, signs] = [[{ label: panel.x, value: shown }], [], []];
    for (const { name, look, colour, shape, points } of panel.series) {
      const paint = colourOf(colour);
      const column = (place) => points.map((point) => point[place]);
      const add = (label, of, options) => {
        tables.push([column(0), column(of)]);
        series.push({ label, stroke: paint, value: shown, points: { show: false }, ...options });
      };
      if (look === "band") {
        add(`${name}, most`, 2, { width: 0 });
        add(`${name}, least`, 1, { width: 0 });
        bands.push({ series: [series.length - 2, series.length - 1], fill: faint(paint.length === 7 ? paint : "#888888") });
      } else if (look === "sign") {
        add(name, 1, { paths: () => null });
        signs.push({ index: series.length - 1, shape, colour: paint, points });
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
    const plot = new uPlot({
      title: panel.title, width, height: 260, series, bands,
      scales: { x: { time: false }, y: { range: (_, low, high) => [Math.min(0, low), high === low ? high + 1 : high * 1.05] } },
      axes: [{ ...axis, label: panel.x, labelSize: 20 }, { ...axis, label: panel.y, labelSize: 20, size: 60 }],
      cursor: { sync: { key: group, setSeries: false } },
      hooks: { draw: [drawSigns(signs)] },
    }, uPlot.join(tables), holder);
    for (const entry of holder.querySelectorAll(".u-legend .u-series:not(:first-child) th")) {
      Object.assign(entry, { tabIndex: 0, title: "Shows or hides it" });
      entry.addEventListener("keydown", (event) => {
        if (event.key === "Enter") entry.click();
      });
    }
    return plot;
  };

  const plots = [];
  const draw = () => {
    plots.splice(0).forEach(({ plot }) => plot.root.parentElement.remove() || plot.destroy());
    for (const data of document.querySelectorAll("figure > script[type='application/json']")) {
      const figure = data.parentElement;
      const group = figure.closest("section")?.id ?? "page";
      const width = figure.clientWidth;
      if (width === 0) continue;
      figure.classList.add("live");
      for (const panel of JSON.parse(data.textContent)) plots.push({ figure, plot: chart(figure, panel, group, width) });
    }
  };
  if (typeof uPlot === "undefined") return;
  draw();
  // A wider page gets wider charts, a dark one new colours.
  addEventListener("resize", () => plots.forEach(({ figure, plot }) => {
    if (figure.clientWidth > 0) plot.setSize({ width: figure.clientWidth, height: 260 });
  }));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
})();
