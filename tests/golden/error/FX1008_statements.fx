kernel k(x: f32[M]) -> y: f32[M] {
  // no comment
  x[0] = 1
  x += 1
  x **= 2
  x++
  let a = x
  b: f32 = x
  d == x
  e := x
  assert M > 0
  if x > 0: y = x
  for i in x: y = x
  y = x \
    + 1
  return y
}
