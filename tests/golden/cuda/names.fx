# Names that headers define, that C++ and CUDA reserve, and that become macros when a number is put behind them (M_PI_2): labels and values of one name.
kernel double(M_PI: f32[M_PI, M_E], M_E: f32[M_E], M_PI_2: f32[M_PI], HUGE_VAL: f32, __LINE__: f32, I: f32[INFINITY, M_E] strided)
    -> (linux: f32[M_PI, M_E], int: f32[M_PI, M_E]) {
  NAN = M_PI * M_E + M_PI_2 * HUGE_VAL
  a__b = NAN * __LINE__
  linux = a__b + I[INFINITY: 0] ?? 0
  int = sqrt(a__b)
}
