/** Axes of charts. Pure. */

/** Ticks from zero to at least `max`, three or four steps of 1, 2, 2.5, 3, 4 or 5 × 10ⁿ. */
export function ticks(max: number, whole = true): number[] {
  // Where everything is zero, an axis of money has cents.
  const top = whole ? Math.max(max, 3) : max || 0.03;
  const rough = top / 3;
  const power = 10 ** Math.floor(Math.log10(rough));
  const steps = whole && power === 1 ? [1, 2, 3, 4, 5, 10] : [1, 2, 2.5, 3, 4, 5, 10];
  const step = (steps.find((factor) => factor * power >= rough * 0.999) ?? 10) * power;
  const count = Math.ceil(top / step - 1e-9);
  return Array.from({ length: count + 1 }, (_, index) => round(index * step));
}

function round(value: number): number {
  return Number(value.toPrecision(12));
}

/** Every how many columns a label stands when each needs `label` pixels. */
export function labelEvery(columns: number, width: number, label: number): number {
  const fitting = Math.max(1, Math.floor(width / label));
  const every = Math.max(1, Math.ceil(columns / fitting));
  return [1, 2, 3, 4, 6, 7, 8, 12, 14, 24, 28].find((step) => step >= every) ?? every;
}
