// Diagnoses captures and logs with the code of the command, compiled to WebAssembly.

import { start } from "./calls.js";

/** Why packets were lost; "unknown" where the capture cannot tell. */
export type Cause = "congestion" | "wireless" | "unknown";

/** A run of packets that were lost together. Times are seconds from the first frame. */
export interface Loss {
  time_s: number;
  frame: number;
  packets: number;
  bytes: number;
  cause: Cause;
  /** How sure the cause is, 0 to 1. */
  confidence: number | null;
  /** Whether it was lost before the place of the capture, or beyond. */
  side: "before" | "beyond";
  /** What each classifier says. */
  classifiers: Record<string, Cause>;
  [key: string]: unknown;
}

/** One direction of a connection. */
export interface Flow {
  flow: number;
  protocol: string;
  source: string;
  destination: string;
  first_s: number;
  last_s: number;
  /** What was found, as a paragraph. */
  summary: string;
  lost: { before: number; beyond: number } & Record<Cause, number>;
  losses: Loss[];
  [key: string]: unknown;
}

/** The JSON of `whyloss diagnose --format json`, of which the guide on diagnosis tells every key. */
export interface Report {
  frames: number;
  flows: Flow[];
  notes: string[];
  [key: string]: unknown;
}

/** What is found in a file. */
export interface Diagnosis {
  report: Report;
  /** The files of `whyloss diagnose --out` by their names: a page, pictures, tables, a capture with comments. */
  files: Map<string, Uint8Array>;
}

let compiled: Promise<WebAssembly.Module> | undefined;

async function compile(): Promise<WebAssembly.Module> {
  const url = new URL("./whyloss.wasm", import.meta.url);
  if (url.protocol !== "file:") return WebAssembly.compileStreaming(fetch(url));
  const { readFile } = await import("node:fs/promises");
  return WebAssembly.compile(await readFile(url));
}

/**
 * Diagnoses the bytes of a pcap, pcapng or qlog, also compressed by gzip.
 *
 * @param file - The bytes of the file.
 * @param name - Its name, for messages and the page.
 * @throws An `Error` with a sentence if the file is of no known kind, or damaged from the start.
 */
export async function diagnose(file: Uint8Array, name = "capture"): Promise<Diagnosis> {
  compiled ??= compile();
  // A new instance for each call gives its memory back, and a call that fails breaks no other.
  const call = await start(await compiled);
  const { wrong, parts } = call({ name: "whyloss_diagnose", text: name, file });
  const text = (part: ArrayBuffer | undefined) => new TextDecoder().decode(part);
  if (wrong) throw new Error(text(parts[0]));
  const files = new Map<string, Uint8Array>();
  for (let index = 0; index + 1 < parts.length; index += 2) {
    files.set(text(parts[index]), new Uint8Array(parts[index + 1] as ArrayBuffer));
  }
  const report = JSON.parse(new TextDecoder().decode(files.get("diagnosis.json"))) as Report;
  return { report, files };
}
