// Turns a dropped file into the page and the files of `whyloss diagnose --out`.

import { call } from "whyloss/program";

const TYPES = { html: "text/html", svg: "image/svg+xml", json: "application/json", csv: "text/csv" };

export function setUp() {
  const [drop, input] = [document.getElementById("drop"), document.getElementById("file")];
  input.addEventListener("change", () => input.files[0] && read(input.files[0]));
  for (const type of ["dragover", "dragleave", "drop"]) {
    document.addEventListener(type, (event) => {
      event.preventDefault();
      drop.classList.toggle("over", type === "dragover");
      if (type === "drop" && event.dataTransfer.files[0]) read(event.dataTransfer.files[0]);
    });
  }
}

let addresses = [];

async function read(file) {
  const [said, frame, list] = ["diagnosed", "diagnosis", "files"].map((id) => document.getElementById(id));
  said.textContent = `Reads ${file.name} …`;
  frame.hidden = true;
  list.replaceChildren();
  addresses.forEach((address) => URL.revokeObjectURL(address));
  addresses = [];
  const began = performance.now();
  let parts;
  try {
    const bytes = new Uint8Array(await file.arrayBuffer());
    parts = await call({ name: "whyloss_diagnose", text: file.name, file: bytes });
  } catch (error) {
    said.textContent = error.message;
    return;
  }
  for (let index = 0; index < parts.length; index += 2) {
    const name = new TextDecoder().decode(parts[index]);
    const type = TYPES[name.split(".").pop()] ?? "application/octet-stream";
    const address = URL.createObjectURL(new Blob([parts[index + 1]], { type }));
    addresses.push(address);
    const link = Object.assign(document.createElement("a"), { href: address, download: name, textContent: name });
    const item = document.createElement("li");
    item.append(link);
    list.append(item);
  }
  frame.onload = () => {
    frame.hidden = false;
    const seconds = (performance.now() - began) / 1000;
    said.textContent = `Read ${file.name} (${(file.size / 1e6).toFixed(1)} MB) in ${seconds.toFixed(1)} s.`;
  };
  // The list above contains the page's files, which an isolated frame cannot open.
  frame.srcdoc = `${new TextDecoder().decode(parts[1])}<style>.file { display: none; }</style>`;
  frame.hidden = false;
}
