// What the pictures to share have in common: 1200 × 630 pixels, drawn on a canvas without any network.
import { getEmblemPath } from "./emblems";

export const CARD_WIDTH = 1200;
export const CARD_HEIGHT = 630;
export const MARGIN_PX = 64;
export const UNTIERED_COLOUR = "#5eead4"; // for badges without tiers
export const TIER_COLOURS: Record<string, string> = {
  Copper: "#b87333",
  Silver: "#c0c7d2",
  Gold: "#f2c94c",
  Diamond: "#67e8f9",
  Olympian: "#c084fc",
};
export const INK = { strong: "#f4f7f6", plain: "#c3cfcb", dim: "#8fa39c" };
const SANS = 'system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans CJK SC", sans-serif';

export const getTierColour = (tier: string | null): string => (tier && TIER_COLOURS[tier]) || UNTIERED_COLOUR;

/** A PNG of a card: its background in a colour, then what `draw` adds. */
export function drawCard(colour: string, draw: (context: CanvasRenderingContext2D) => void): Promise<Blob> {
  const canvas = document.createElement("canvas");
  canvas.width = CARD_WIDTH;
  canvas.height = CARD_HEIGHT;
  const context = canvas.getContext("2d");
  if (!context) return Promise.reject(new Error("This browser cannot draw on a canvas."));
  drawBackground(context, colour);
  context.textBaseline = "top";
  draw(context);
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

export function drawEmblem(
  context: CanvasRenderingContext2D,
  icon: string,
  colour: string,
  { x, y, size, glow }: { x: number; y: number; size: number; glow: number },
): void {
  context.save();
  context.translate(x, y);
  context.scale(size / 24, size / 24);
  context.strokeStyle = colour;
  context.lineWidth = size > 100 ? 1.1 : 1.5;
  context.lineCap = context.lineJoin = "round";
  context.shadowColor = colour;
  context.shadowBlur = glow;
  context.stroke(new Path2D(getEmblemPath(icon)));
  context.restore();
}

/** One line of text, smaller where it would be wider than `most`; returns how wide it is. */
export function drawLine(
  context: CanvasRenderingContext2D,
  text: string,
  x: number,
  y: number,
  style: { size: number; weight: number; colour: string; align?: CanvasTextAlign; most?: number },
): number {
  context.font = `${style.weight} ${style.size}px ${SANS}`;
  const fit = Math.min(1, (style.most ?? Number.POSITIVE_INFINITY) / context.measureText(text).width);
  if (fit < 1) context.font = `${style.weight} ${style.size * fit}px ${SANS}`;
  context.fillStyle = style.colour;
  context.textAlign = style.align ?? "left";
  context.fillText(text, x, y);
  context.textAlign = "left";
  return context.measureText(text).width;
}

/** Text below each other in lines of a width, at most so many; returns where the next line would be. */
export function drawParagraph(
  context: CanvasRenderingContext2D,
  text: string,
  x: number,
  y: number,
  style: { size: number; weight: number; colour: string; width: number; lines: number; height: number },
): number {
  context.font = `${style.weight} ${style.size}px ${SANS}`;
  const lines = wrapText(context, text, style.width, style.lines);
  for (const [index, line] of lines.entries()) drawLine(context, line, x, y + index * style.height, style);
  return y + lines.length * style.height;
}

/** A label in a rounded frame; returns how wide it is. */
export function drawPill(
  context: CanvasRenderingContext2D,
  label: string,
  colour: string,
  x: number,
  y: number,
): number {
  context.font = `700 24px ${SANS}`;
  const width = context.measureText(label).width + 44;
  context.beginPath();
  context.roundRect(x, y, width, 46, 23);
  context.fillStyle = `${colour}26`;
  context.fill();
  context.strokeStyle = colour;
  context.lineWidth = 2;
  context.stroke();
  drawLine(context, label, x + 22, y + 10, { size: 24, weight: 700, colour });
  return width;
}

/** The name of the program and a date, at the bottom. */
export function drawFooter(context: CanvasRenderingContext2D, date: string): void {
  const style = { size: 24, weight: 600, colour: INK.dim };
  drawLine(context, "Sojourn", MARGIN_PX, CARD_HEIGHT - 84, style);
  drawLine(context, date, CARD_WIDTH - MARGIN_PX, CARD_HEIGHT - 84, { ...style, align: "right" });
}

/** Broken at spaces, between characters where there are none, at most so many lines. */
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
