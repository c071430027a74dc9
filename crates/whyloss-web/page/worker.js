// Calls the WebAssembly, away from the thread that draws. `build.py` puts `calls.js` before it.
let call;

onmessage = async ({ data }) => {
  if (data.module) {
    call = await start(data.module);
    return;
  }
  const { parts, ...answer } = call(data);
  postMessage({ ...answer, parts }, parts);
};
