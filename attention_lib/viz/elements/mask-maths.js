// Masks as sets of allowed pairs, and what they cost.

/** Whether query i may attend to key j of n; `use` holds the masks that are on. All must allow it. */
export function allowed(i, j, use) {
  return (!use.causal || j <= i) && (!use.padding || j < use.length) && (!use.window || Math.abs(i - j) < use.w) &&
    (!use.block || Math.floor(i / use.b) === Math.floor(j / use.b));
}

/** Of a mask (n rows of n booleans): pairs allowed, rows with none, and the widest row. */
export function count(mask) {
  const sums = mask.map((row) => row.filter(Boolean).length);
  return { sums, pairs: sums.reduce((a, b) => a + b, 0), empty: sums.flatMap((s, i) => (s ? [] : [i])), widest: Math.max(...sums) };
}
