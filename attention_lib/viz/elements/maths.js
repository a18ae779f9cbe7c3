// The four steps of attention on plain arrays. No document here: the tests run this file without a browser.
// A matrix (n, m) is one array of n * m numbers, row after row.

/** Dot products over the first `width` of d numbers: q (n, d), k (m, d) -> (n, m). */
export function dots(q, k, n, m, d, width) {
  const s = new Float64Array(n * m);
  for (let i = 0; i < n; i++)
    for (let j = 0; j < m; j++) {
      let sum = 0;
      for (let c = 0; c < width; c++) sum += q[i * d + c] * k[j * d + c];
      s[i * m + j] = sum;
    }
  return s;
}

/** Softmax of each row of s (n, m). A blocked cell gets 0; a row with no allowed key is all 0. */
export function softmaxRows(s, n, m, allowed) {
  const w = new Float64Array(n * m);
  for (let i = 0; i < n; i++) {
    let top = -Infinity, sum = 0;
    for (let j = 0; j < m; j++) if (!allowed || allowed(i, j)) top = Math.max(top, s[i * m + j]);
    for (let j = 0; j < m; j++)
      if (!allowed || allowed(i, j)) sum += w[i * m + j] = Math.exp(s[i * m + j] - top);
    for (let j = 0; sum && j < m; j++) w[i * m + j] /= sum;
  }
  return w;
}

/** Weighted sums: w (n, m), v (m, d) -> (n, d). */
export function mix(w, v, n, m, d) {
  const out = new Float64Array(n * d);
  for (let i = 0; i < n; i++)
    for (let j = 0; j < m; j++) for (let c = 0; c < d; c++) out[i * d + c] += w[i * m + j] * v[j * d + c];
  return out;
}
