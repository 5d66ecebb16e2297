// The share card of a badge: a PNG of 1200 × 630, drawn on a canvas without any network.
import { getEmblemPath } from "./emblems";
import type { Badge } from "./types";

export const CARD_WIDTH = 1200;
export const CARD_HEIGHT = 630;
const TIER_COLOURS: Record<string, string> = {
  Copper: "#b87333",
  Silver: "#c0c7d2",
  Gold: "#f2c94c",
  Diamond: "#67e8f9",
  Olympian: "#c084fc",
};
const UNTIERED_COLOUR = "#5eead4"; // for badges without tiers
const SANS = 'system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans CJK SC", sans-serif';

interface CardLabels {
  unlocked: string;
  progress: string;
  tier: string;
  category: string;
  date: string;
}

export function drawShareCard(badge: Badge, labels: CardLabels): Promise<Blob> {
  const canvas = document.createElement("canvas");
  canvas.width = CARD_WIDTH;
  canvas.height = CARD_HEIGHT;
  const context = canvas.getContext("2d");
  if (!context) return Promise.reject(new Error("This browser cannot draw on a canvas."));
  const colour = (badge.tier && TIER_COLOURS[badge.tier]) || UNTIERED_COLOUR;
  drawBackground(context, colour);
  drawEmblem(context, badge.icon, colour);
  drawText(context, badge, labels, colour);
  return new Promise((resolve, reject) =>
    canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error("The image could not be created."))), "image/png"),
  );
}

function drawBackground(context: CanvasRenderingContext2D, colour: string): void {
  context.fillStyle = "#0b0d11";
  context.fillRect(0, 0, CARD_WIDTH, CARD_HEIGHT);
  const glow = context.createRadialGradient(260, 240, 20, 260, 240, 760);
  glow.addColorStop(0, `${colour}55`);
  glow.addColorStop(1, `${colour}00`);
  context.fillStyle = glow;
  context.fillRect(0, 0, CARD_WIDTH, CARD_HEIGHT);
  context.strokeStyle = `${colour}66`;
  context.lineWidth = 2;
  context.strokeRect(24, 24, CARD_WIDTH - 48, CARD_HEIGHT - 48);
}

function drawEmblem(context: CanvasRenderingContext2D, icon: string, colour: string): void {
  context.save();
  context.translate(90, 125);
  context.scale(380 / 24, 380 / 24);
  context.strokeStyle = colour;
  context.lineWidth = 1.1;
  context.lineCap = context.lineJoin = "round";
  context.shadowColor = colour;
  context.shadowBlur = 40;
  context.stroke(new Path2D(getEmblemPath(icon)));
  context.restore();
}

function drawText(context: CanvasRenderingContext2D, badge: Badge, labels: CardLabels, colour: string): void {
  context.textBaseline = "top";
  context.fillStyle = colour;
  context.font = `600 24px ${SANS}`;
  context.fillText(labels.category.toUpperCase(), 520, 120);
  context.textAlign = "right";
  context.fillText(labels.unlocked.toUpperCase(), CARD_WIDTH - 64, 56);
  context.textAlign = "left";
  context.fillStyle = "#f4f7f6";
  context.font = `700 68px ${SANS}`;
  let y = drawLines(context, wrapText(context, badge.name, 610, 2), 162, 76) + 14;
  y = drawPill(context, labels.tier, colour, y) + 26;
  context.fillStyle = "#c3cfcb";
  context.font = `400 26px ${SANS}`;
  y = drawLines(context, wrapText(context, badge.description, 610, 3), y, 36) + 18;
  if (labels.progress) {
    context.fillStyle = "#8fa39c";
    context.fillText(labels.progress, 520, y);
  }
  context.fillStyle = "#8fa39c";
  context.font = `600 24px ${SANS}`;
  context.fillText("Sojourn", 64, CARD_HEIGHT - 84);
  context.textAlign = "right";
  context.fillText(labels.date, CARD_WIDTH - 64, CARD_HEIGHT - 84);
  context.textAlign = "left";
}

function drawPill(context: CanvasRenderingContext2D, label: string, colour: string, y: number): number {
  context.font = `700 24px ${SANS}`;
  const width = context.measureText(label).width + 44;
  context.beginPath();
  context.roundRect(520, y, width, 46, 23);
  context.fillStyle = `${colour}26`;
  context.fill();
  context.strokeStyle = colour;
  context.lineWidth = 2;
  context.stroke();
  context.fillStyle = colour;
  context.fillText(label, 542, y + 10);
  return y + 46;
}

/** Broken at spaces, between characters where there are none, at maxLines so many lines. */
function wrapText(context: CanvasRenderingContext2D, text: string, width: number, maxLines: number): string[] {
  const lines: string[] = [];
  let line = "";
  for (const word of text.match(/[^\s\u3000-\u9fff]+\s*|[\u3000-\u9fff]|\s+/g) ?? []) {
    if (line && context.measureText(line + word.trimEnd()).width > width) {
      lines.push(line.trimEnd());
      line = "";
    }
    line += word;
  }
  if (line) lines.push(line.trimEnd());
  if (lines.length <= maxLines) return lines;
  const last = lines[maxLines - 1]!;
  return [...lines.slice(0, maxLines - 1), `${last.slice(0, -1).trimEnd()}…`];
}

/** Draws lines below each other; returns where the next one would be. */
function drawLines(context: CanvasRenderingContext2D, lines: string[], top: number, height: number): number {
  for (const [index, line] of lines.entries()) context.fillText(line, 520, top + index * height);
  return top + lines.length * height;
}
