// The card people share: 1200 × 630, drawn here, without any network.
import { emblem } from "./emblems";
import type { Badge } from "./types";

export const WIDTH = 1200;
export const HEIGHT = 630;
const COLOURS: Record<string, string> = { Copper: "#b87333", Silver: "#c0c7d2", Gold: "#f2c94c", Diamond: "#67e8f9", Olympian: "#c084fc" };
const WHOLE = "#5eead4"; // badges for several things at once have no tier
const SANS = 'system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans CJK SC", sans-serif';

export interface CardWords {
  unlocked: string;
  progress: string;
  tier: string;
}

export function drawCard(badge: Badge, words: CardWords): Promise<Blob> {
  const canvas = document.createElement("canvas");
  canvas.width = WIDTH;
  canvas.height = HEIGHT;
  const pen = canvas.getContext("2d");
  if (!pen) return Promise.reject(new Error("This browser cannot draw."));
  const colour = (badge.tier && COLOURS[badge.tier]) || WHOLE;
  background(pen, colour);
  drawEmblem(pen, badge.icon, colour);
  text(pen, badge, words, colour);
  return new Promise((done, failed) => canvas.toBlob((blob) => (blob ? done(blob) : failed(new Error("The picture could not be made."))), "image/png"));
}

function background(pen: CanvasRenderingContext2D, colour: string): void {
  pen.fillStyle = "#0b0d11";
  pen.fillRect(0, 0, WIDTH, HEIGHT);
  const glow = pen.createRadialGradient(260, 240, 20, 260, 240, 760);
  glow.addColorStop(0, `${colour}55`);
  glow.addColorStop(1, `${colour}00`);
  pen.fillStyle = glow;
  pen.fillRect(0, 0, WIDTH, HEIGHT);
  pen.strokeStyle = `${colour}66`;
  pen.lineWidth = 2;
  pen.strokeRect(24, 24, WIDTH - 48, HEIGHT - 48);
}

function drawEmblem(pen: CanvasRenderingContext2D, icon: string, colour: string): void {
  pen.save();
  pen.translate(90, 125);
  pen.scale(380 / 24, 380 / 24);
  pen.strokeStyle = colour;
  pen.lineWidth = 1.1;
  pen.lineCap = pen.lineJoin = "round";
  pen.shadowColor = colour;
  pen.shadowBlur = 40;
  pen.stroke(new Path2D(emblem(icon)));
  pen.restore();
}

function text(pen: CanvasRenderingContext2D, badge: Badge, words: CardWords, colour: string): void {
  pen.textBaseline = "top";
  pen.fillStyle = colour;
  pen.font = `600 24px ${SANS}`;
  pen.fillText(badge.category.toUpperCase(), 520, 120);
  pen.textAlign = "right";
  pen.fillText(words.unlocked.toUpperCase(), WIDTH - 64, 56);
  pen.textAlign = "left";
  pen.fillStyle = "#f4f7f6";
  pen.font = `700 68px ${SANS}`;
  let y = lines(pen, badge.name, 610, 2).reduce((at, line) => (pen.fillText(line, 520, at), at + 76), 162) + 14;
  y = pill(pen, words.tier, colour, y) + 26;
  pen.fillStyle = "#c3cfcb";
  pen.font = `400 26px ${SANS}`;
  y = lines(pen, badge.description, 610, 3).reduce((at, line) => (pen.fillText(line, 520, at), at + 36), y) + 18;
  if (words.progress) {
    pen.fillStyle = "#8fa39c";
    pen.fillText(words.progress, 520, y);
  }
  pen.fillStyle = "#8fa39c";
  pen.font = `600 24px ${SANS}`;
  pen.fillText("Sojourn", 64, HEIGHT - 84);
}

function pill(pen: CanvasRenderingContext2D, label: string, colour: string, y: number): number {
  pen.font = `700 24px ${SANS}`;
  const width = pen.measureText(label).width + 44;
  pen.beginPath();
  pen.roundRect(520, y, width, 46, 23);
  pen.fillStyle = `${colour}26`;
  pen.fill();
  pen.strokeStyle = colour;
  pen.lineWidth = 2;
  pen.stroke();
  pen.fillStyle = colour;
  pen.fillText(label, 542, y + 10);
  return y + 46;
}

/** Broken at spaces, between characters where there are none, at most so many lines. */
function lines(pen: CanvasRenderingContext2D, words: string, width: number, most: number): string[] {
  const found: string[] = [];
  let line = "";
  for (const piece of words.match(/[^\s\u3000-\u9fff]+\s*|[\u3000-\u9fff]|\s+/g) ?? []) {
    if (line && pen.measureText(line + piece.trimEnd()).width > width) {
      found.push(line.trimEnd());
      line = "";
    }
    line += piece;
  }
  if (line) found.push(line.trimEnd());
  if (found.length <= most) return found;
  const last = found[most - 1]!;
  return [...found.slice(0, most - 1), `${last.slice(0, -1).trimEnd()}…`];
}
