// The share card of one badge.
import {
  CARD_WIDTH,
  drawCard,
  drawEmblem,
  drawFooter,
  drawLine,
  drawParagraph,
  drawPill,
  getTierColour,
  INK,
  MARGIN_PX,
} from "./cardCanvas";
import type { Badge } from "./types";

interface CardLabels {
  unlocked: string;
  progress: string;
  tier: string;
  category: string;
  date: string;
}

const TEXT_X = 520;
const TEXT_WIDTH = 610;

export function drawShareCard(badge: Badge, labels: CardLabels): Promise<Blob> {
  const colour = getTierColour(badge.tier);
  return drawCard(colour, (context) => {
    drawEmblem(context, badge.icon, colour, { x: 90, y: 125, size: 380, glow: 40 });
    const kicker = { size: 24, weight: 600, colour };
    drawLine(context, labels.category.toUpperCase(), TEXT_X, 120, kicker);
    drawLine(context, labels.unlocked.toUpperCase(), CARD_WIDTH - MARGIN_PX, 56, { ...kicker, align: "right" });
    const title = { size: 68, weight: 700, colour: INK.strong, width: TEXT_WIDTH, lines: 2, height: 76 };
    let y = drawParagraph(context, badge.name, TEXT_X, 162, title) + 14;
    drawPill(context, labels.tier, colour, TEXT_X, y);
    y += 72;
    const text = { size: 26, weight: 400, colour: INK.plain, width: TEXT_WIDTH, lines: 3, height: 36 };
    y = drawParagraph(context, badge.description, TEXT_X, y, text) + 18;
    drawLine(context, labels.progress, TEXT_X, y, { size: 26, weight: 400, colour: INK.dim });
    drawFooter(context, labels.date);
  });
}
