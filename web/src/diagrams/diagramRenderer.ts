// Has diagrams drawn in a hidden frame that can reach nothing: it has no network, no storage and an origin of its own. What
// comes back is shown as a picture, in which nothing can run.
import css from "./Diagram.module.css";

export interface Drawing {
  picture: string; // SVG
  title: string;
  width: number;
  height: number;
}
export type DrawingProblem = "slow" | "large";
export type DiagramTheme = "light" | "dark";

const MAX_CHARACTERS = 20_000;
const MAX_PICTURE_CHARACTERS = 4_000_000;
const START_MS = 60_000; // the frame loads a megabyte
const DRAW_MS = 15_000;

interface Job {
  id: number;
  text: string;
  theme: DiagramTheme;
  resolve: (drawing: Drawing) => void;
  reject: (problem: Error) => void;
}

let frame: HTMLIFrameElement | null = null;
let isReady = false;
let current: Job | null = null;
let timer: ReturnType<typeof setTimeout> | undefined;
let lastId = 0;
let jobs: Job[] = [];

/** The picture of a Mermaid text. Drawn one after the other; an Error says why not. */
export function drawDiagram(text: string, theme: DiagramTheme): Promise<Drawing> {
  if (text.length > MAX_CHARACTERS) return Promise.reject(new Error("large" satisfies DrawingProblem));
  return new Promise((resolve, reject) => {
    jobs.push({ id: ++lastId, text, theme, resolve, reject });
    startNext();
  });
}

function startNext(): void {
  if (current || !jobs.length) return;
  if (!frame) openFrame();
  if (!isReady) return;
  current = jobs.shift()!;
  timer = setTimeout(stopFrame, DRAW_MS);
  const { id, text, theme } = current;
  frame!.contentWindow!.postMessage({ id, text, theme }, "*"); // its origin has no name
}

function openFrame(): void {
  frame = document.createElement("iframe");
  frame.className = css.diagramFrame!;
  frame.setAttribute("sandbox", "allow-scripts");
  frame.setAttribute("allow", "");
  frame.referrerPolicy = "no-referrer";
  frame.title = "diagram";
  frame.tabIndex = -1;
  frame.ariaHidden = "true";
  frame.src = "/diagram-frame";
  window.addEventListener("message", handleMessage);
  timer = setTimeout(stopFrame, START_MS);
  document.body.append(frame);
}

/** Ends a frame that does not answer: what it works on fails, what waits gets a new one. */
function stopFrame(): void {
  clearTimeout(timer);
  window.removeEventListener("message", handleMessage);
  frame?.remove();
  frame = null;
  const failed = isReady ? [current!] : jobs;
  if (!isReady) jobs = [];
  isReady = false;
  current = null;
  for (const job of failed) job.reject(new Error("slow" satisfies DrawingProblem));
  startNext();
}

function handleMessage(event: MessageEvent): void {
  if (!frame || event.source !== frame.contentWindow) return;
  const answer = event.data as Partial<Drawing> & { ready?: boolean; id?: number; problem?: string };
  if (answer.ready === true && !isReady) {
    clearTimeout(timer);
    isReady = true;
    startNext();
    return;
  }
  if (!current || answer.id !== current.id) return;
  clearTimeout(timer);
  const job = current;
  current = null;
  const { picture, title, width, height } = answer;
  if (typeof picture !== "string" || !isSize(width) || !isSize(height))
    job.reject(new Error(String(answer.problem ?? "?").slice(0, 300)));
  else if (picture.length > MAX_PICTURE_CHARACTERS) job.reject(new Error("large" satisfies DrawingProblem));
  else job.resolve({ picture, title: String(title ?? "").slice(0, 300), width, height });
  startNext();
}

const isSize = (value: unknown): value is number => typeof value === "number" && value > 0 && value < 100_000;
