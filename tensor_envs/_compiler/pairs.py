"""Integers of 64 bits in WGSL, which has none, as pairs of words, the low word first."""

PAIR_OPERATIONS = {
    "+": "add64({0}, {1})",
    "-": "sub64({0}, {1})",
    "*": "mul64({0}, {1})",
    "/": "divmod64({0}, {1}).xy",
    "/s": "div64s({0}, {1})",
    "%": "divmod64({0}, {1}).zw",
    "&": "({0}&{1})",
    "|": "({0}|{1})",
    "^": "({0}^{1})",
    "<<": "shl64({0}, ({1}).x)",
    ">>": "shr64({0}, ({1}).x)",
    ">>s": "sar64({0}, ({1}).x)",
    "==": "all({0}=={1})",
    "!=": "any({0}!={1})",
    "<": "less64({0}, {1})",
    ">=": "(!less64({0}, {1}))",
    "<s": "less64(flip64({0}), flip64({1}))",
    ">=s": "(!less64(flip64({0}), flip64({1})))",
}
ADD64 = """fn add64(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
  let low = a.x + b.x;
  return vec2(low, a.y + b.y + u32(low < a.x));
}
fn sub64(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> { return vec2(a.x - b.x, a.y - b.y - u32(a.x < b.x)); }
fn flip64(a: vec2<u32>) -> vec2<u32> { return vec2(a.x, a.y ^ 0x80000000u); }
fn less64(a: vec2<u32>, b: vec2<u32>) -> bool { return a.y < b.y || (a.y == b.y && a.x < b.x); }
fn mul64(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
  let low = (a.x & 65535u) * (b.x & 65535u);
  let one = (a.x >> 16u) * (b.x & 65535u) + (low >> 16u);
  let two = (a.x & 65535u) * (b.x >> 16u) + (one & 65535u);
  return vec2(a.x * b.x, (a.x >> 16u) * (b.x >> 16u) + (one >> 16u) + (two >> 16u) + a.x * b.y + a.y * b.x);
}
fn shl64(a: vec2<u32>, n: u32) -> vec2<u32> {
  if (n >= 32u) { return vec2(0u, a.x << (n - 32u)); }
  return vec2(a.x << n, select((a.y << n) | (a.x >> (32u - n)), a.y, n == 0u));
}
fn shr64(a: vec2<u32>, n: u32) -> vec2<u32> {
  if (n >= 32u) { return vec2(a.y >> (n - 32u), 0u); }
  return vec2(select((a.x >> n) | (a.y << (32u - n)), a.x, n == 0u), a.y >> n);
}
fn sar64(a: vec2<u32>, n: u32) -> vec2<u32> {
  let high = bitcast<i32>(a.y);
  if (n >= 32u) { return vec2(u32(high >> (n - 32u)), u32(high >> 31u)); }
  return vec2(select((a.x >> n) | (a.y << (32u - n)), a.x, n == 0u), u32(high >> n));
}
fn negative64(a: vec2<u32>) -> bool { return a.y >> 31u != 0u; }
fn negate64(a: vec2<u32>, when: bool) -> vec2<u32> { return select(a, sub64(vec2(0u, 0u), a), when); }
fn divmod64(a: vec2<u32>, b: vec2<u32>) -> vec4<u32> {
  var q = vec2(0u, 0u);
  var r = vec2(0u, 0u);
  for (var k = 64u; k > 0u; k--) {
    let beyond = negative64(r);
    r = shl64(r, 1u) | vec2(shr64(a, k - 1u).x & 1u, 0u);
    if (beyond || !less64(r, b)) {
      r = sub64(r, b);
      q |= shl64(vec2(1u, 0u), k - 1u);
    }
  }
  return vec4(q, r);
}
fn div64s(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
  let q = divmod64(negate64(a, negative64(a)), negate64(b, negative64(b))).xy;
  return negate64(q, negative64(a) != negative64(b));
}
fn real64(a: vec2<u32>) -> f32 {
  if (a.y == 0u) { return f32(a.x); }
  let n = countLeadingZeros(a.y);
  let b = shl64(a, n);
  return ldexp(f32(b.y | u32(b.x != 0u)), i32(32u - n));
}
fn real64s(a: vec2<u32>) -> f32 {
  let x = real64(negate64(a, negative64(a)));
  return select(x, -x, negative64(a));
}
fn whole64(x: f32) -> vec2<u32> {
  let high = u32(trunc(x) / 4294967296.0);
  return vec2(u32(trunc(x) - f32(high) * 4294967296.0), high);
}
fn whole64s(x: f32) -> vec2<u32> { return negate64(whole64(abs(x)), x < 0.0); }
"""
