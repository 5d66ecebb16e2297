// Runs in the sandboxed frame: draws what the page sends, and sends back a picture. The server gives this document a content
// policy of its own (sojourn/dashboard/diagram_frame.py).
import mermaid from "mermaid";

interface Request {
  id: number;
  text: string;
  theme: "light" | "dark";
}

const MAX_EDGES = 500;

async function draw({ id, text, theme }: Request) {
  mermaid.initialize({
    startOnLoad: false,
    securityLevel: "strict",
    suppressErrorRendering: true,
    theme: theme === "dark" ? "dark" : "neutral",
    darkMode: theme === "dark",
    fontFamily: "ui-sans-serif, system-ui, sans-serif",
    htmlLabels: false, // a picture shows text, not pages
    maxEdges: MAX_EDGES,
    // What a text cannot change by itself.
    secure: ["secure", "securityLevel", "startOnLoad", "maxTextSize", "suppressErrorRendering", "maxEdges", "themeCSS"],
  });
  const { svg } = await mermaid.render(`diagram${id}`, text);
  const drawn = new DOMParser().parseFromString(svg, "text/html").querySelector("svg");
  if (!drawn) throw new Error("no picture");
  const [, , width = 0, height = 0] = (drawn.getAttribute("viewBox") ?? "").split(/[\s,]+/).map(Number);
  drawn.setAttribute("width", String(width));
  drawn.setAttribute("height", String(height));
  const title = drawn.querySelector(":scope > title")?.textContent ?? "";
  return { id, picture: new XMLSerializer().serializeToString(drawn), title, width, height };
}

window.addEventListener("message", (event) => {
  if (event.source !== parent) return;
  const request = event.data as Request;
  draw(request)
    .catch((error: unknown) => ({ id: request.id, problem: error instanceof Error ? error.message : String(error) }))
    .then((answer) => {
      document.body.replaceChildren(); // what a failed drawing left behind
      parent.postMessage(answer, "*");
    });
});
parent.postMessage({ ready: true }, "*");
