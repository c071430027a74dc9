/** A function of the program, the name of a file, and its bytes. */
export interface Request {
  name: "whyloss_diagnose";
  text: string;
  file: Uint8Array;
}

/** Starts a compiled program; resolves to the function that calls it. */
export function start(
  compiled: WebAssembly.Module,
): Promise<(request: Request) => { wrong: boolean; parts: ArrayBuffer[] }>;
