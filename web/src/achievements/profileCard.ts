// The profile card: every badge that was unlocked, in the colour of its tier.
import {
  CARD_WIDTH,
  drawCard,
  drawEmblem,
  drawFooter,
  drawLine,
  drawPill,
  getTierColour,
  INK,
  MARGIN_PX,
} from "./cardCanvas";
import { type Badge, TIERS } from "./types";

interface ProfileLabels {
  kicker: string;
  unlocked: string; // "of 60 badges unlocked"
  since: string;
  tier: (tier: string) => string;
  date: string;
}

const GRID = { x: 600, y: 84, width: CARD_WIDTH - MARGIN_PX - 600, height: 430 };
const rankTier = (badge: Badge): number => TIERS.indexOf(badge.tier as (typeof TIERS)[number]);

export function drawProfileCard(badges: Badge[], labels: ProfileLabels): Promise<Blob> {
  const unlocked = badges.filter((badge) => badge.unlocked).sort((a, b) => rankTier(b) - rankTier(a));
  const colour = getTierColour(unlocked[0]?.tier ?? null);
  return drawCard(colour, (context) => {
    drawLine(context, labels.kicker.toUpperCase(), MARGIN_PX, 88, { size: 24, weight: 600, colour });
    drawLine(context, String(unlocked.length), MARGIN_PX, 132, { size: 132, weight: 700, colour: INK.strong });
    drawLine(context, labels.unlocked, MARGIN_PX, 282, { size: 30, weight: 400, colour: INK.plain });
    drawTiers(context, unlocked, labels);
    drawLine(context, labels.since, MARGIN_PX, 486, { size: 24, weight: 400, colour: INK.dim });
    drawGrid(context, unlocked);
    drawFooter(context, labels.date);
  });
}

function drawTiers(context: CanvasRenderingContext2D, unlocked: Badge[], labels: ProfileLabels): void {
  let [x, y] = [MARGIN_PX, 344];
  for (const tier of [...TIERS].reverse()) {
    const count = unlocked.filter((badge) => badge.tier === tier).length;
    if (!count) continue;
    if (x > 380) [x, y] = [MARGIN_PX, y + 60];
    x += drawPill(context, `${labels.tier(tier)} ${count}`, getTierColour(tier), x, y) + 14;
  }
}

/** The emblems in rows, as large as they can be. */
function drawGrid(context: CanvasRenderingContext2D, unlocked: Badge[]): void {
  let columns = 3;
  const cell = () => GRID.width / columns;
  while (Math.ceil(unlocked.length / columns) * cell() > GRID.height) columns += 1;
  const size = cell() * 0.62;
  const top = GRID.y + (GRID.height - Math.ceil(unlocked.length / columns) * cell()) / 2;
  for (const [index, badge] of unlocked.entries()) {
    const x = GRID.x + (index % columns) * cell() + (cell() - size) / 2;
    const y = top + Math.floor(index / columns) * cell() + (cell() - size) / 2;
    drawEmblem(context, badge.icon, getTierColour(badge.tier), { x, y, size, glow: 14 });
  }
}
