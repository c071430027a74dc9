// Checks a page of every kind in a headless Chromium and compares some pages with their pictures.
//
//     node crates/whyloss-web/tests/pages.mjs target/release/whyloss [--write]
//
// Needs `npm install playwright-core axe-core` and Chromium; CHROMIUM names its program. With
// --write, the pictures in docs/pictures are drawn again.
//
// The page of a million packets must open in a second of the browser's main thread. This is CPU
// time, because machines are shared.

import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { createSocket } from "node:dgram";
import { existsSync, readFileSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { FONT, axe, browser, difference, hold, perform, root, scratch, sheet } from "./browser.mjs";

const command = resolve(process.argv[2]);

// Commands that write a page, in the order in which they are run.
const KINDS = {
  run: ["run", "scenarios/wlh.toml", "--seeds", "2", "--out"],
  other: ["run", "scenarios/wlh.toml", "--seeds", "2", "--set", "flow.video.classifier=zbs2", "--out"],
  diagnose: ["diagnose", "docs/captures/uplink.pcapng.gz", "--out"],
  arena: ["arena", "--networks", "3", "--seeds", "1", "--out"],
  reproduce: ["reproduce", "cen-table-2", "cen-fig-9", "--seeds", "2", "--out"],
  evaluate: ["evaluate", "whyloss", "--quick", "--only", "7.11", "--out"],
  fit: ["fit", "docs/captures/radio.csv", "--out"],
  sweep: ["sweep", "docs/plans/small.toml", "--out"],
  bench: ["bench", "--quick", "--workload", "one-flow", "--out"],
  compare: ["compare", join(scratch, "run"), join(scratch, "other"), "--out"],
};

// Pictures of the documents: a page, a part of it, a width, and light or dark.
const PICTURES = {
  "page-run": ["run", "#flows", 1000, "light"],
  "page-run-dark": ["run", "#flows", 400, "dark"],
  "page-diagnose": ["diagnose", "#flow-1", 1000, "light"],
  "page-arena": ["arena", "#figure-arena-tfrc-pareto .chart", 1000, "light"],
};

// The kinds of pages with measurements of this machine, which differ from run to run.
const MEASURED = ["bench", "link"];

const page_of = (kind) => join(scratch, kind, "index.html");
const run = (args) => execFileSync(command, args, { cwd: root, stdio: ["ignore", "pipe", "pipe"] });

async function open(address, options = {}) {
  const page = await browser.newPage({ viewport: { width: 1400, height: 1000 }, ...options });
  page.on("pageerror", (error) => { page.wrong = error; });
  await page.goto(address);
  return page;
}

const local = (kind, hash = "") => pathToFileURL(page_of(kind)).href + hash;

/** Waits until every chart with room is drawn. */
const settled = (page) => page.waitForFunction(() =>
  [...document.querySelectorAll("figure:not(.live) > script[type='application/json']")].every((data) => data.parentElement.clientWidth === 0));

/** Starts a command that serves its page. Resolves to the process, its address, and its end. */
async function serve(args) {
  const child = spawn(command, args, { cwd: root, stdio: ["ignore", "ignore", "pipe"] });
  const ended = new Promise((done) => { child.on("exit", done); });
  let said = "";
  const find = (pattern) => new Promise((done, fail) => {
    const look = () => {
      const found = pattern.exec(said);
      if (found) done(found[1]);
    };
    child.stderr.on("data", (data) => {
      said += data;
      look();
    });
    child.on("exit", () => fail(new Error(said)));
    look();
  });
  const address = await find(/page: (\S+)\n/);
  assert.match(address, /^http:\/\/127\.0\.0\.1:\d+\/$/);
  return { child, ended, address, find };
}

/**
 * Sends datagrams through an emulated link that loses some of them, and watches its page in the
 * meantime.
 */
async function crossLink() {
  const sink = createSocket("udp4");
  await new Promise((done) => { sink.bind(0, "127.0.0.1", done); });
  const link = await serve(["link", "--udp", `127.0.0.1:0=127.0.0.1:${sink.address().port}`, "--rate", "2mbit",
    "--delay", "10ms", "--queue", "20", "--loss", "bernoulli:0.05", "--late-bound", "1s", "--live", "--log", join(scratch, "link")]);
  const socket = createSocket("udp4");
  try {
    const port = Number(await link.find(/forwarding UDP from 127\.0\.0\.1:(\d+)/));
    const page = await open(link.address);
    for (let sent = 0; sent < 600; sent += 1) {
      socket.send(Buffer.alloc(1000), port, "127.0.0.1");
      await new Promise((done) => { setTimeout(done, 3); });
    }
    await page.waitForFunction(() => Number(document.querySelector("#links tbody tr:last-child td")?.textContent) > 0);
    await page.close();
  } finally {
    link.child.kill("SIGINT");
    socket.close();
    sink.close();
  }
  await link.ended;
}

const checks = {
  async "every kind of page: axe finds nothing, and a telephone is wide enough"() {
    for (const [kind, args] of Object.entries(KINDS)) run([...args, join(scratch, kind)]);
    await crossLink();
    for (const kind of [...Object.keys(KINDS), "link"]) {
      const shots = [];
      for (const colorScheme of ["light", "dark"]) {
        for (const width of [400, 1400]) {
          const page = await open(local(kind), { colorScheme, viewport: { width, height: 900 } });
          await settled(page);
          await page.addScriptTag({ path: axe });
          const { violations } = await page.evaluate(() => window.axe.run(document));
          const found = violations.map(({ id, nodes }) => [id, nodes.map(({ html }) => html)]);
          assert.deepEqual(found, [], `${kind} ${colorScheme} ${width}`);
          assert.equal(page.wrong, undefined, kind);
          const wide = await page.evaluate(() => document.documentElement.scrollWidth);
          assert.ok(wide <= width, `${kind}: ${wide} pixels wide`);
          await page.addStyleTag(FONT);
          shots.push(await page.screenshot({ fullPage: true, animations: "disabled" }));
          if (process.env.PICTURES) writeFileSync(join(process.env.PICTURES, `${kind}-${colorScheme}-${width}.png`), shots.at(-1));
          await page.close();
        }
      }
      if (kind !== "other" && (!MEASURED.includes(kind) || process.argv.includes("--write"))) await hold(`pages-${kind}.webp`, await sheet(shots));
    }
  },

  async "files beside a page are there, and a second run leaves nothing of the first"() {
    for (const kind of [...Object.keys(KINDS), "link"]) {
      const page = await open(local(kind));
      const links = await page.locator("a:not([href^='#'])").evaluateAll((all) => all.map((a) => a.getAttribute("href")));
      for (const link of links.filter((to) => !/^\w+:/.test(to))) {
        assert.ok(existsSync(join(scratch, kind, link)), `${kind}: ${link} is missing`);
      }
      await page.close();
    }
    const out = join(scratch, "twice");
    run([...KINDS.diagnose, out]);
    run([...KINDS.run, out]);
    const names = (dir) => readdirSync(dir).filter((name) => !name.startsWith(".")).sort();
    assert.deepEqual(names(out), names(join(scratch, "run")));
  },

  async "a link leads to a moment and to a part of the time"() {
    const page = await open(local("run", "#at=flows,60,120"));
    const shown = () => page.evaluate(() => document.querySelector("#flows .u-legend") && location.hash);
    assert.equal(await shown(), "#at=flows,60,120");
    const chart = page.locator("#flows .u-over").first();
    await chart.dblclick();
    await page.waitForFunction(() => location.hash === "");
    await chart.scrollIntoViewIfNeeded();
    const box = await chart.boundingBox();
    await page.mouse.click(box.x + box.width / 2, box.y + 20);
    await page.waitForFunction(() => /^#at=flows,\d/.test(location.hash));
    await page.mouse.move(box.x + box.width * 0.25, box.y + 30);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width * 0.5, box.y + 30, { steps: 4 });
    await page.mouse.up();
    await page.waitForFunction(() => location.hash.split(",").length === 3);
    // A click opens another seed, with charts.
    await page.locator("#seed-2 summary").click();
    await page.waitForSelector("#seed-2 .chart canvas");
  },

  async "a run is watched, from its start to its last page"() {
    const args = ["run", "scenarios/dumbbell.toml", "--set", "duration=20000 s", "--live"];
    const { child, ended, address } = await serve(args);
    try {
      const page = await open(address);
      const simulated = () => page.evaluate(() => Number(/(\d+) of \d+ s simulated/.exec(document.body.textContent)?.[1]));
      await page.waitForFunction(() => /[1-9]\d* of \d+ s simulated/.test(document.body.textContent));
      const before = await simulated();
      await page.waitForSelector("#flows .chart canvas");
      await page.waitForFunction((old) => {
        const now = /(\d+) of \d+ s simulated/.exec(document.body.textContent)?.[1];
        return now === undefined || Number(now) > old;
      }, before);
      assert.equal(page.wrong, undefined);
    } finally {
      child.kill("SIGINT");
    }
    assert.equal(await ended, 130, "an interrupted run says so");
  },

  async "a sweep is watched: its runs grow, and the missing ones shrink"() {
    const plan = readFileSync(join(root, "docs/plans/small.toml"), "utf8")
      .replace(/^scenario = .*$/m, `scenario = "${join(root, "scenarios/wlh.toml")}"`).replace(/^seeds = .*$/m, "seeds = 5000");
    writeFileSync(join(scratch, "plan.toml"), plan);
    const { child, ended, address } = await serve(["sweep", join(scratch, "plan.toml"), "--live", "--out", join(scratch, "long")]);
    try {
      const page = await open(address);
      const there = () => page.evaluate(() => Number(/(\d+) of 30000 runs/.exec(document.body.textContent)?.[1]));
      const missing = () => page.evaluate(() => [...document.querySelectorAll("#progress tbody tr")]
        .reduce((sum, row) => sum + Number(row.lastElementChild.textContent), 0));
      await page.waitForFunction(() => /[1-9]\d* of 30000 runs/.test(document.body.textContent));
      const before = await there();
      await page.waitForFunction((old) => Number(/(\d+) of 30000 runs/.exec(document.body.textContent)?.[1]) > old, before);
      assert.ok(await missing() < 30_000 - before);
      assert.equal(page.wrong, undefined);
      await page.close();
    } finally {
      child.kill("SIGINT");
    }
    assert.notEqual(await ended, 0, "an interrupted sweep says so");
  },

  async "a page of a million packets opens in a second, and charts follow"() {
    run(["run", "scenarios/dumbbell.toml", "--set", "duration=125 s", "--seeds", "1", "--out", join(scratch, "million")]);
    const size = statSync(page_of("million")).size;
    const page = await browser.newPage({ viewport: { width: 1400, height: 1000 } });
    const session = await page.context().newCDPSession(page);
    await session.send("Performance.enable", { timeDomain: "threadTicks" });
    const begun = Date.now();
    await page.goto(local("million"));
    const passed = Date.now() - begun;
    const { metrics } = await session.send("Performance.getMetrics");
    const spent = 1000 * metrics.find(({ name }) => name === "TaskDuration").value;
    console.log(`   ${size} bytes, ${spent.toFixed(0)} ms of the main thread, ${passed} ms on the clock`);
    assert.ok(size <= 3_000_000 && spent <= 1000);
    await settled(page);
    assert.ok(await page.locator(".chart canvas").count() > 10);
    await page.close();
  },

  async "the picture of the README plays, and ends as the picture it was made of"() {
    const page = await open(pathToFileURL(join(root, "docs/pictures/diagnose-delay.svg")).href, { viewport: { width: 480, height: 410 } });
    const whole = await page.screenshot();
    await page.goto(pathToFileURL(join(root, "docs/pictures/diagnose-delay-animated.svg")).href);
    const at = async (time) => {
      await page.evaluate((to) => document.getAnimations().forEach((each) => {
        each.pause();
        each.currentTime = to;
      }), time);
      return difference([await page.screenshot(), whole]);
    };
    const [early, late, end] = [await at(1000), await at(7000), await at(40_000)];
    assert.ok(early > late && late > 0.001 && end === 0, `${early}, ${late}, ${end}`);
    await page.close();
  },

  async "pictures of the documents are these pages"() {
    for (const [name, [kind, part, width, colorScheme]] of Object.entries(PICTURES)) {
      const shown = await open(local(kind), { colorScheme, viewport: { width, height: 900 } });
      await shown.addStyleTag(FONT);
      await settled(shown);
      const taken = await shown.locator(part).first().screenshot({ animations: "disabled" });
      await hold(`${name}.png`, taken);
      await shown.close();
    }
  },
};

await perform(checks);
