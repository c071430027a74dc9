// Compares the built page with the command, in a headless Chromium.
//
//     node crates/whyloss-web/tests/page.mjs target/web/whyloss.html target/debug/whyloss [FILE…]
//
// Needs `npm install playwright-core axe-core` and Chromium; CHROMIUM names its program. Both
// diagnose each FILE. With --write, the picture of the document is drawn again.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { FONT, axe, browser, hold, perform, scratch, sheet } from "./browser.mjs";

const [html, command, ...files] = process.argv.slice(2).filter((argument) => argument !== "--write").map((path) => resolve(path));
const address = pathToFileURL(html).href;

// A headless Chromium sometimes drops a download that immediately follows another one: click again.
async function saved(page, link) {
  for (let attempt = 0; attempt < 4; attempt += 1) {
    const begun = page.waitForEvent("download", { timeout: 8000 }).catch(() => null);
    await link.click();
    const download = await begun;
    if (download) return download;
  }
  return assert.fail("no download begins");
}

async function open(hash = "", options = {}) {
  const page = await browser.newPage({ viewport: { width: 1400, height: 1000 }, ...options });
  page.on("pageerror", (error) => assert.fail(error.message));
  page.on("request", (request) => {
    assert.match(request.url(), /^(file|data|blob|about):/, "the page asks the network for nothing");
  });
  await page.goto(address + hash);
  await page.waitForFunction(() => window.whyloss?.results);
  return page;
}

/** Waits until the page shows the run of a link. */
async function follow(page, hash) {
  await page.evaluate((to) => location.replace(to), hash);
  await page.waitForFunction((to) => {
    const [wanted, shown] = [to, location.hash].map((text) => new URLSearchParams(text.slice(1)));
    const wrong = !document.getElementById("problem").hidden;
    return wrong || shown.has("at") && [...wanted].every(([key, value]) => shown.get(key) === value);
  }, hash);
}

const RUNS = [
  "#rate=4000&delay=20&buffer=40&loss=3&burst=2&seed=1&by=tfrc&classifier=trees&cubic=false",
  "#rate=12000&delay=300&buffer=720&loss=1&burst=6&seed=2&by=scheme%3Awhyloss&classifier=&cubic=false",
  "#rate=10000&delay=20&buffer=60&loss=0.3&burst=1&seed=3&by=tcp%3Acubic&classifier=unaware&cubic=true",
];

const checks = {
  async "runs are the command's"() {
    const page = await open();
    for (const hash of RUNS) {
      await follow(page, hash);
      const [scenario, results] = await page.evaluate(() => [window.whyloss.scenario, window.whyloss.results]);
      writeFileSync(join(scratch, "playground.toml"), scenario);
      const seed = new URLSearchParams(hash.slice(1)).get("seed");
      const said = execFileSync(command, ["run", "playground.toml", "--seed", seed, "--seeds", "1", "--format", "json"], { cwd: scratch });
      assert.equal(results, said.toString(), hash);
    }
  },

  async "every choice runs"() {
    const page = await open("", { reducedMotion: "reduce" });
    const values = (id) => page.locator(`#${id} option`).evaluateAll((options) => options.map(({ value }) => value));
    const flows = await values("by");
    const states = flows.map((by) => ({ by }));
    for (const by of ["tfrc", "tcp:reno"]) {
      await follow(page, `#${new URLSearchParams({ by })}`);
      states.push(...(await values("classifier")).map((classifier) => ({ by, classifier })));
    }
    for (const state of states) {
      await follow(page, `#${new URLSearchParams({ rate: 2000, ...state })}`);
      assert.ok(await page.isHidden("#problem"), `${JSON.stringify(state)}: ${await page.textContent("#problem")}`);
    }
    console.log(`   ${states.length} choices run`);
    assert.ok(states.length > 50);
  },

  async "diagnoses are the command's"() {
    const page = await open();
    for (const file of files) {
      const out = join(scratch, "out");
      rmSync(out, { recursive: true, force: true });
      let refused;
      try {
        execFileSync(command, ["diagnose", file, "--out", out], { stdio: "pipe" });
      } catch (error) {
        refused = error.stderr.toString();
      }
      await page.setInputFiles("#file", file);
      await page.waitForFunction(() => !/^Reads|^$/.test(document.getElementById("diagnosed").textContent), null, { timeout: 120_000 });
      const said = await page.textContent("#diagnosed");
      if (refused !== undefined) {
        assert.match(said, /^cannot read/, file);
        console.log(`   ${basename(file)}: both refuse it`);
        await page.evaluate(() => { document.getElementById("diagnosed").textContent = ""; });
        continue;
      }
      const made = [];
      for (const link of await page.locator("#files a").all()) {
        const download = await saved(page, link);
        made.push([download.suggestedFilename(), readFileSync(await download.path())]);
      }
      const wanted = readdirSync(out).filter((name) => !name.startsWith("."));
      assert.deepEqual(made.map(([name]) => name).sort(), wanted.sort(), file);
      for (const [name, bytes] of made) {
        assert.ok(bytes.equals(readFileSync(join(out, name))), `${file}: ${name} differs`);
      }
      console.log(`   ${basename(file)} (${statSync(file).size} bytes): ${made.length} files are the same. ${said}`);
      await page.evaluate(() => { document.getElementById("diagnosed").textContent = ""; });
    }
  },

  async "a link holds every setting"() {
    const page = await open(`${RUNS[2]}&at=12.5`, { reducedMotion: "reduce" });
    assert.equal(await page.inputValue("#rate"), "10000");
    assert.equal(await page.isChecked("#cubic"), true);
    assert.equal(await page.inputValue("#by"), "tcp:cubic");
    assert.equal(await page.inputValue("#moment"), "12.5");
    await page.fill("#loss", "5");
    await page.waitForFunction(() => location.hash.includes("loss=5"));
    // Values from a link are repaired.
    const wrong = await open("#rate=1e99&loss=x&by=nothing&classifier=%22%0A&seed=-4");
    assert.equal(await wrong.inputValue("#rate"), "50000");
    assert.equal(await wrong.inputValue("#seed"), "1");
  },

  async "a newcomer sees \"the radio, not the queue\" in two clicks, without scrolling"() {
    for (const viewport of [{ width: 1400, height: 1000 }, { width: 400, height: 900 }]) {
      const page = await open("", { viewport });
      const says = (words) => page.waitForFunction((text) => document.getElementById("verdict").textContent.startsWith(text), words);
      await page.getByRole("button", { name: "Shared bottleneck" }).click();
      await says("The queue, not the radio");
      await page.getByRole("button", { name: "Wi-Fi video" }).click();
      await says("The radio, not the queue");
      const { y, height } = await page.locator("#verdict").boundingBox();
      assert.ok(y >= 0 && y + height <= viewport.height, "the verdict is out of sight");
      await page.close();
    }
  },

  async "keys reach everything"() {
    const page = await open("", { reducedMotion: "reduce" });
    const reached = new Set();
    for (let step = 0; step < 60; step += 1) {
      await page.keyboard.press("Tab");
      reached.add(await page.evaluate(() => document.activeElement.id || document.activeElement.textContent));
    }
    for (const id of ["toggle", "next", "moment", "speed", "by", "classifier", "rate", "loss", "cubic", "Satellite download"]) {
      assert.ok(reached.has(id), `${id} is not reached`);
    }
    await page.focus("#moment");
    await page.keyboard.press("ArrowRight");
    assert.notEqual(await page.inputValue("#moment"), "0");
    await page.getByRole("button", { name: "Shared bottleneck" }).press("Enter");
    await page.waitForFunction(() => location.hash.includes("cubic=true"));
  },

  async "axe finds nothing, and a telephone is wide enough"() {
    const shots = [];
    for (const colorScheme of ["light", "dark"]) {
      for (const width of [400, 1400]) {
        const page = await open("", { colorScheme, viewport: { width, height: 900 }, reducedMotion: "reduce" });
        await page.addScriptTag({ path: axe });
        const { violations } = await page.evaluate(() => window.axe.run(document));
        assert.deepEqual(violations.map(({ id, nodes }) => [id, nodes.map(({ html: node }) => node)]), [], `${colorScheme} ${width}`);
        const wide = await page.evaluate(() => document.documentElement.scrollWidth);
        assert.ok(wide <= width, `${wide} pixels wide`);
        await page.addStyleTag(FONT);
        shots.push(await page.screenshot({ fullPage: true, animations: "disabled" }));
        await page.close();
      }
    }
    await hold("pages-playground.webp", await sheet(shots));
  },

  async "the document's picture is this page"() {
    const page = await open("", { viewport: { width: 1000, height: 1010 }, reducedMotion: "reduce" });
    await page.addStyleTag(FONT);
    await page.getByRole("button", { name: "Wi-Fi video" }).click();
    await page.waitForFunction(() => document.getElementById("verdict").textContent.startsWith("The radio, not the queue"));
    await page.click("#next");
    await hold("browser.png", await page.screenshot({ animations: "disabled" }));
  },

  async "many packets are drawn"() {
    const page = await open("#rate=10000&delay=100&buffer=200&loss=0&burst=1&seed=1&by=tcp%3Acubic&classifier=unaware&cubic=true&at=10");
    // Measure the CPU time of the main thread, because a shared machine draws fewer frames than it
    // could.
    const session = await page.context().newCDPSession(page);
    await session.send("Performance.enable", { timeDomain: "threadTicks" });
    const now = async () => {
      const { metrics } = await session.send("Performance.getMetrics");
      const drawn = await page.evaluate(() => ({ ...window.whyloss.drawn }));
      return { ...drawn, spent: 1000 * metrics.find(({ name }) => name === "TaskDuration").value };
    };
    const before = await now();
    await page.waitForTimeout(5000);
    const after = await now();
    const frames = after.frames - before.frames;
    const each = (after.spent - before.spent) / frames;
    console.log(`   ${frames} frames in 5 s, with up to ${after.packets} packets, ${each.toFixed(1)} ms of the main thread each`);
    assert.ok(after.packets >= 200, `only ${after.packets} packets`);
    assert.ok(frames > 0, "no frame was drawn");
  },
};

await perform(checks);
