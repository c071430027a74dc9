// Provides the headless Chromium of the tests of pages, the loop that runs their checks, and the
// comparison with pictures of the documents. With --write, a test draws these pictures again.
//
// Tolerance: a pixel differs if a colour is off by more than 64 of 255. At most 3 % of a picture
// may differ, and its height by 3 %, because fonts differ from machine to machine.

import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

// The packages are in the current directory, not next to this file.
const require = createRequire(join(process.cwd(), "package.json"));
const { chromium } = require("playwright-core");

export const axe = require.resolve("axe-core/axe.min.js");
export const scratch = mkdtempSync(join(tmpdir(), "whyloss-pages-"));
export const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox", "--force-color-profile=srgb"],
});

/** The directory of the project. */
export const root = join(dirname(fileURLToPath(import.meta.url)), "../../..");

/** Makes pages use the one font of the pictures. */
export const FONT = { content: "* { font-family: 'DejaVu Sans', sans-serif !important }" };

/** The share of pixels that differ, by the browser's own decoder. */
export async function difference([a, b]) {
  const page = await browser.newPage();
  const share = await page.evaluate(async (pictures) => {
    const [first, second] = await Promise.all(pictures.map(async (data) => {
      const image = new Image();
      image.src = `data:image;base64,${data}`;
      await image.decode();
      const canvas = document.createElement("canvas");
      [canvas.width, canvas.height] = [image.width, image.height];
      canvas.getContext("2d").drawImage(image, 0, 0);
      return canvas;
    }));
    const height = Math.min(first.height, second.height);
    if (first.width !== second.width || Math.abs(first.height - second.height) > 0.03 * height) return 1;
    const [x, y] = [first, second].map((canvas) => canvas.getContext("2d").getImageData(0, 0, canvas.width, height).data);
    let differ = 0;
    for (let at = 0; at < x.length; at += 4) {
      if ([0, 1, 2].some((part) => Math.abs(x[at + part] - y[at + part]) > 64)) differ += 1;
    }
    return differ / (x.length / 4);
  }, [a, b].map((bytes) => bytes.toString("base64")));
  await page.close();
  return share;
}

/** Compares a picture with the one in `docs/pictures`, or writes it there. */
export async function hold(name, taken) {
  const path = join(root, "docs/pictures", name);
  if (process.argv.includes("--write")) writeFileSync(path, taken);
  const differ = await difference([taken, readFileSync(path)]);
  console.log(`   ${name}: ${(100 * differ).toFixed(2)} % of its pixels differ, ${taken.length} bytes`);
  assert.ok(differ <= 0.03, `docs/pictures/${name} is not this page; --write draws it anew`);
}

/** Puts screenshots side by side, at half their size, and cuts long ones. */
export async function sheet(shots) {
  const page = await browser.newPage();
  const data = await page.evaluate(async (pictures) => {
    const images = await Promise.all(pictures.map(async (picture) => {
      const image = new Image();
      image.src = `data:image/png;base64,${picture}`;
      await image.decode();
      return image;
    }));
    const [most, gap] = [1200, 12];
    const halves = images.map(({ width, height }) => [width / 2, Math.min(height / 2, most)]);
    const canvas = document.createElement("canvas");
    canvas.width = halves.reduce((sum, [width]) => sum + width + gap, -gap);
    canvas.height = Math.max(...halves.map(([, height]) => height));
    const context = canvas.getContext("2d");
    context.imageSmoothingQuality = "high";
    context.fillStyle = "#808080";
    context.fillRect(0, 0, canvas.width, canvas.height);
    let left = 0;
    images.forEach((image, index) => {
      const [width, height] = halves[index];
      context.drawImage(image, 0, 0, image.width, 2 * height, left, 0, width, height);
      left += width + gap;
    });
    return canvas.toDataURL("image/webp", 0.8).split(",")[1];
  }, shots.map((bytes) => bytes.toString("base64")));
  await page.close();
  return Buffer.from(data, "base64");
}

// Runs each check, continues after a failure, and ends the process.
export async function perform(checks) {
  let failed = 0;
  for (const [name, check] of Object.entries(checks)) {
    try {
      await check();
      console.log(`ok ${name}`);
    } catch (error) {
      failed += 1;
      console.log(`FAILED ${name}: ${error.message}`);
    }
  }
  await browser.close();
  rmSync(scratch, { recursive: true });
  process.exit(failed === 0 ? 0 : 1);
}
