// Calls the WebAssembly outside the thread that draws. `build.py` inserts `calls.js` before this
// file.
let call;

onmessage = async ({ data }) => {
  if (data.module) {
    call = await start(data.module);
    return;
  }
  const { parts, ...answer } = call(data);
  postMessage({ ...answer, parts }, parts);
};
