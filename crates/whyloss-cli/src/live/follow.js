// Shows each version of the page that the command sends, until the command ends.
"use strict";
(() => {
  const events = new EventSource("events");
  events.onmessage = ({ data }) => {
    const next = new DOMParser().parseFromString(JSON.parse(data), "text/html");
    // The first version may have had no chart, and therefore no library to draw one.
    if (next.querySelector("figure > script") && typeof uPlot === "undefined") return location.reload();
    document.title = next.title;
    for (const part of ["main", "footer"]) document.querySelector(part)?.replaceWith(next.querySelector(part));
    document.dispatchEvent(new Event("renewed"));
    return undefined;
  };
  events.addEventListener("end", () => {
    events.close();
    document.body.dataset.ended = "yes";
  });
})();
