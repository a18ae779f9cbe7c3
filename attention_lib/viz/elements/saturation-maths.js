// What a width does to one query and its keys, from dot products alone.

import { softmaxRows } from "./maths.js";

/** Weights, largest weight and the length of d output / d query.
 * scores: raw q.k (n); gram: k.k' (n, n); value (n); scale: what the scores are multiplied by.
 * The gradient is scale * sum_j w_j (v_j - mean) k_j; its squared length needs only gram. */
export function statistics(scores, gram, value, scale) {
  const n = scores.length, scaled = scores.map((s) => s * scale), weights = softmaxRows(scaled, 1, n);
  const mean = weights.reduce((sum, w, j) => sum + w * value[j], 0);
  const c = weights.map((w, j) => w * (value[j] - mean));
  let square = 0;
  for (let i = 0; i < n; i++) for (let j = 0; j < n; j++) square += c[i] * c[j] * gram[i * n + j];
  return { scaled, weights, largest: Math.max(...weights), gradient: scale * Math.sqrt(Math.max(0, square)) };
}
