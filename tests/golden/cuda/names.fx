# Names that headers define, that C++ and CUDA reserve, and that become macros when a number is put behind them (M_PI_2): labels and values of one name.
kernel double(M_PI: f32[M_PI, M_E], M_E: f32[M_E], M_PI_2: f32[M_PI], HUGE_VAL: f32, __LINE__: f32, I: f32[INFINITY, M_E] strided)
    -> (linux: f32[M_PI, M_E], int: f32[M_PI, M_E]) {
  NAN = M_PI * M_E + M_PI_2 * HUGE_VAL
  a__b = NAN * __LINE__
  linux = a__b + I[INFINITY: 0] ?? 0
  int = sqrt(a__b)
}
# Values named as what the emitted text names itself: elements, positions, running indices, a sum beside the sum.
kernel met(x: f32[M,K], x_v: f32[K], at_M: f32[M]) -> (y: f32[M,K], y_v: f32[M]) {
  sum_x = max[K](x)
  y_v = sum[K](x) + sum_x
  y_2 = exp(x - sum_x)
  y = y_2 / sum[K](y_2) + x_v * at_M
}
kernel loops(x: f32[P=3,Q], i_P: i8[Q], at_Q: i32[Q], x_at_Q: f32[P]) -> (i_P_x: i64[Q], fx_max: f32[Q]) {
  sum_mul = i_P + 1
  fx_max = sum_mul + sum[P](x * i_P) + (x_at_Q[P: at_Q - 1] ?? 0)
  i_P_x = argmax[P](x * sum_mul)
}
