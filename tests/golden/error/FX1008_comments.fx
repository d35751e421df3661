// a line
kernel a(x: f32[M,  // an input
                N]) -> y: f32[M] { y = x }
/* several
   lines */
kernel b(x: f32[M]) -> y: f32[M] {
  // a line
  a = x // the value is kept
  b = x /* kept */
  y = x /// twice
}
