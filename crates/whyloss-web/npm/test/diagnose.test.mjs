// Installs nothing: run it where the packed package is installed, or after `npm run build`. WHYLOSS
// names the command to compare with, and CAPTURES lists captures.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtemp, readFile, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { test } from "node:test";

import { diagnose } from "whyloss";

const { WHYLOSS: command, CAPTURES = "" } = process.env;
const captures = CAPTURES.split(" ").filter((path) => path !== "");

test("the package is given a command and captures", () => {
  assert.ok(command && captures.length > 0, "set WHYLOSS and CAPTURES");
});

for (const path of captures) {
  test(`${basename(path)} becomes the files of the command`, async () => {
    const { report, files } = await diagnose(await readFile(path), basename(path));
    const lost = report.flows.map((flow) => flow.lost.congestion + flow.lost.wireless + flow.lost.unknown);
    assert.ok(lost.some((count) => count > 0), `${lost}`);
    const out = await mkdtemp(join(tmpdir(), "whyloss-"));
    try {
      execFileSync(command, ["diagnose", path, "--out", out], { stdio: "ignore" });
      const written = await readdir(out, { recursive: true });
      for (const name of ["diagnosis.json", "losses.csv", "annotated.pcapng"]) {
        assert.ok(written.includes(name) && files.has(name), name);
        assert.ok((await readFile(join(out, name))).equals(files.get(name)), name);
      }
    } finally {
      await rm(out, { recursive: true });
    }
  });
}

test("other files are refused with a sentence, and the next one is read", async () => {
  await assert.rejects(diagnose(new TextEncoder().encode("no capture"), "notes.txt"), /cannot read `notes.txt`: /);
  if (captures.length > 0) await diagnose(await readFile(captures[0]));
});
