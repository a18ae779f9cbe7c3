// A small decoder-only transformer, norm first: the forward pass of attention_lib's LanguageModel.

import { dots, mix, softmaxRows } from "./maths.js";

/** x (n, a) times weight (b, a) transposed, plus bias: (n, b). */
const linear = (x, n, { weight, bias }) => {
  const b = bias.length, out = dots(x, weight, n, b, x.length / n, x.length / n);
  return out.map((value, at) => value + bias[at % b]);
};

const norm = (x, n, { weight, bias }) => {
  const d = weight.length, out = new Float64Array(x.length);
  for (let i = 0; i < n; i++) {
    const row = x.subarray(i * d, i * d + d), mean = row.reduce((a, b) => a + b) / d;
    const deviation = Math.sqrt(row.reduce((a, b) => a + (b - mean) ** 2, 0) / d + 1e-5);
    row.forEach((value, c) => (out[i * d + c] = ((value - mean) / deviation) * weight[c] + bias[c]));
  }
  return out;
};

/** tokens (n) -> { logits (n, symbols), weights: one (n, n) a layer }. model: nested parameters by torch's names. */
export function forward(model, tokens) {
  const n = tokens.length, { weight, learned } = model.embedding, d = model.stack.norm.weight.length, kept = [];
  let x = Float64Array.from({ length: n * d }, (_, at) => {
    const i = Math.floor(at / d), c = at % d;
    return weight[tokens[i] * d + c] * Math.sqrt(d) + learned[at];
  });
  const plus = (part) => (x = x.map((value, at) => value + part[at]));
  for (const { attention: a, feed_forward: f, norm_1, norm_2 } of Object.values(model.stack.layers)) {
    const z = norm(x, n, norm_1), [q, k, v] = [a.w_q, a.w_k, a.w_v].map((p) => linear(z, n, p));
    const w = softmaxRows(dots(q, k, n, n, d, d).map((s) => s / Math.sqrt(d)), n, n, (i, j) => j <= i);
    kept.push(w);
    plus(linear(mix(w, v, n, n, d), n, a.w_o));
    plus(linear(linear(norm(x, n, norm_2), n, f.w_1).map((value) => Math.max(0, value)), n, f.w_2));
  }
  return { logits: linear(norm(x, n, model.stack.norm), n, model.vote), weights: kept };
}

/** Parameters from whole numbers: [name, rows, columns, scales (rows)] and one row of bytes after the other. */
export function unpack(table, bytes) {
  const model = {};
  let at = 0;
  for (const [name, rows, columns, scales] of table) {
    const path = name.split("."), leaf = path.pop(), home = path.reduce((o, key) => (o[key] ??= {}), model);
    home[leaf] = Float64Array.from({ length: rows * columns }, (_, c) => bytes[at + c] * scales[Math.floor(c / columns)]);
    at += rows * columns;
  }
  return model;
}
