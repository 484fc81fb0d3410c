// The time axis: ticks at round numbers, and long pauses folded. Pure: test/scale.test.ts.

export interface Piece {
  from: number;
  to: number;
  /** Share of the width, 0 to 1. */
  start: number;
  width: number;
  folded: boolean;
}

export interface Scale {
  from: number;
  to: number;
  pieces: Piece[];
  /** Return the place of a moment, 0 to 1. */
  at(time: number): number;
}

const FOLD_SHARE = 0.2;
/** Shorter pauses are never folded: there is nothing to win. */
const FOLD_LEAST_S = 10;
const FOLDED_WIDTH = 0.04;

/** Return the scale of some stretches of time: pauses between them of more than a fifth of the whole are folded. */
export function scale(stretches: readonly (readonly [number, number])[], from: number, to: number): Scale {
  const end = to > from ? to : from + 1;
  const cuts = pauses(stretches, from, end).filter(([a, b]) => b - a > Math.max(FOLD_LEAST_S, (end - from) * FOLD_SHARE));
  const shown = end - from - cuts.reduce((sum, [a, b]) => sum + b - a, 0);
  const room = 1 - cuts.length * FOLDED_WIDTH;
  const pieces: Piece[] = [];
  let at = from;
  let start = 0;
  const add = (until: number, folded: boolean): void => {
    const width = folded ? FOLDED_WIDTH : ((until - at) / Math.max(shown, 1e-9)) * room;
    if (until > at) pieces.push({ from: at, to: until, start, width, folded });
    start += until > at ? width : 0;
    at = until;
  };
  for (const [a, b] of cuts) {
    add(a, false);
    add(b, true);
  }
  add(end, false);
  return { from, to: end, pieces, at: (time) => place(pieces, time) };
}

function place(pieces: readonly Piece[], time: number): number {
  const piece = pieces.find((one) => time <= one.to) ?? pieces[pieces.length - 1];
  if (!piece) return 0;
  const share = (time - piece.from) / Math.max(piece.to - piece.from, 1e-9);
  return piece.start + Math.min(1, Math.max(0, share)) * piece.width;
}

function pauses(stretches: readonly (readonly [number, number])[], from: number, to: number): [number, number][] {
  const found: [number, number][] = [];
  let busy = from;
  for (const [a, b] of [...stretches].sort((one, other) => one[0] - other[0])) {
    if (a > busy) found.push([busy, Math.min(a, to)]);
    busy = Math.max(busy, b);
  }
  if (busy < to) found.push([busy, to]);
  return found;
}

const STEPS = [0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 43200, 86400, 172800, 604800];

/** Return the seconds after the beginning at which to write a number, so that at most `most` of them are written. */
export function ticks(length: number, most: number): number[] {
  const step = STEPS.find((one) => length / one <= most) ?? length / most;
  return Array.from({ length: Math.floor(length / step + 1e-9) + 1 }, (_, i) => i * step);
}
