// Diagnoses captures and logs with the code of the command, compiled to WebAssembly.

import { start } from "./calls.js";

/** The cause of a loss; "unknown" if the capture does not show it. */
export type Cause = "congestion" | "wireless" | "unknown";

/** A run of packets that were lost together. Times are seconds from the first frame. */
export interface Loss {
  time_s: number;
  frame: number;
  packets: number;
  bytes: number;
  cause: Cause;
  /** The probability of the cause, 0 to 1. */
  confidence: number | null;
  /** Whether the packets were lost before the capture point or beyond it. */
  side: "before" | "beyond";
  /** The verdict of each classifier. */
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
  /** The findings, as a paragraph. */
  summary: string;
  lost: { before: number; beyond: number } & Record<Cause, number>;
  losses: Loss[];
  [key: string]: unknown;
}

/** The JSON of `whyloss diagnose --format json`; the guide on diagnosis explains every key. */
export interface Report {
  frames: number;
  flows: Flow[];
  notes: string[];
  [key: string]: unknown;
}

/** The diagnosis of a file. */
export interface Diagnosis {
  report: Report;
  /**
   * The files of `whyloss diagnose --out` by their names: a page, pictures, tables, and a
   * capture with comments.
   */
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
 * Diagnoses the bytes of a pcap, pcapng or qlog file, also if compressed by gzip.
 *
 * @param file - The bytes of the file.
 * @param name - The name of the file, for messages and the page.
 * @throws An `Error` with an explanation if the file has no known format, or is damaged at its start.
 */
export async function diagnose(file: Uint8Array, name = "capture"): Promise<Diagnosis> {
  compiled ??= compile();
  // Each call has a new instance, so that its memory is freed and a failed call affects no other.
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
