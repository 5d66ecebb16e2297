// The picture of a year in review.
import { CARD_HEIGHT, CARD_WIDTH, drawCard, drawFooter, drawLine, INK, MARGIN_PX, UNTIERED_COLOUR } from "./cardCanvas";

interface YearLabels {
  kicker: string;
  year: string;
  figures: Array<[string, string]>; // what is large, and what it counts
  facts: Array<[string, string]>;
  chart: string;
  months: string[];
  date: string;
}

const CHART = { x: 640, y: 128, width: CARD_WIDTH - MARGIN_PX - 640, height: 190 };
const COLUMN_PX = 178;
const COLUMN_GAP_PX = 28;

export function drawYearCard(months: number[], labels: YearLabels): Promise<Blob> {
  const colour = UNTIERED_COLOUR;
  return drawCard(colour, (context) => {
    drawLine(context, labels.kicker.toUpperCase(), MARGIN_PX, 64, { size: 24, weight: 600, colour });
    drawLine(context, labels.year, MARGIN_PX, 96, { size: 104, weight: 700, colour: INK.strong });
    for (const [index, [value, label]] of labels.figures.entries()) {
      const x = MARGIN_PX + (index % 3) * COLUMN_PX;
      const y = 252 + Math.floor(index / 3) * 122;
      const most = COLUMN_PX - COLUMN_GAP_PX;
      drawLine(context, value, x, y, { size: 44, weight: 700, colour: INK.strong, most });
      drawLine(context, label, x, y + 54, { size: 20, weight: 400, colour: INK.dim, most });
    }
    drawMonths(context, months, labels, colour);
    for (const [index, [label, value]] of labels.facts.entries()) {
      const y = 392 + index * 44;
      drawLine(context, label, CHART.x, y, { size: 22, weight: 400, colour: INK.dim });
      drawLine(context, shorten(value), CARD_WIDTH - MARGIN_PX, y, {
        size: 22,
        weight: 600,
        colour: INK.strong,
        align: "right",
      });
    }
    context.fillStyle = `${colour}33`;
    context.fillRect(MARGIN_PX, CARD_HEIGHT - 106, CARD_WIDTH - 2 * MARGIN_PX, 1);
    drawFooter(context, labels.date);
  });
}

function drawMonths(context: CanvasRenderingContext2D, months: number[], labels: YearLabels, colour: string): void {
  drawLine(context, labels.chart, CHART.x, 72, { size: 22, weight: 400, colour: INK.dim });
  const most = Math.max(1, ...months);
  const step = CHART.width / months.length;
  for (const [index, messages] of months.entries()) {
    const height = Math.max(4, (messages / most) * CHART.height);
    const x = CHART.x + index * step;
    context.fillStyle = messages === most ? colour : `${colour}80`;
    context.beginPath();
    context.roundRect(x, CHART.y + CHART.height - height, step - 8, height, 4);
    context.fill();
    const style = { size: 17, weight: 400, colour: INK.dim, align: "center" as const };
    drawLine(context, labels.months[index] ?? "", x + (step - 8) / 2, CHART.y + CHART.height + 12, style);
  }
}

const shorten = (text: string): string => (text.length > 26 ? `${text.slice(0, 25)}…` : text);
