// Runs the WebAssembly in a worker: one call after the other, and a new worker if a call fails.

const text = (id) => document.getElementById(id).textContent;

const bytes = Uint8Array.from(atob(text("wasm").trim()), (letter) => letter.charCodeAt(0));
const unpacked = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
const compiled = new Response(unpacked).arrayBuffer().then((whole) => WebAssembly.compile(whole));
const source = URL.createObjectURL(new Blob([text("worker")], { type: "text/javascript" }));

let worker;
let last = Promise.resolve();

async function start() {
  worker = new Worker(source);
  worker.postMessage({ module: await compiled });
}

async function once(request) {
  if (!worker) await start();
  const answer = await new Promise((resolve, reject) => {
    worker.onmessage = ({ data }) => resolve(data);
    worker.onerror = (event) => {
      worker.terminate();
      worker = undefined;
      reject(new Error(`The program failed: ${event.message}. Please report it with what you opened.`));
    };
    worker.postMessage(request);
  });
  if (answer.wrong) throw new Error(new TextDecoder().decode(answer.parts[0]));
  return answer.parts;
}

/** Calls a function of the program. Resolves to its parts, an ArrayBuffer each. */
export function call(request) {
  const next = last.then(() => once(request));
  last = next.catch(() => {});
  return next;
}
