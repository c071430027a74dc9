// The headless Chromium of the tests of pages, and the loop that runs their checks.

import { mkdtempSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";

// The packages lie where the test is started, not beside it.
const require = createRequire(join(process.cwd(), "package.json"));
const { chromium } = require("playwright-core");

export const axe = require.resolve("axe-core/axe.min.js");
export const scratch = mkdtempSync(join(tmpdir(), "whyloss-pages-"));
export const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox", "--force-color-profile=srgb"],
});

// Runs each check, goes on after a failure, and ends the process.
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
