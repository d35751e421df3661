kernel pool[T](x: f32[B, Q=(T-1)//2]) -> y: f32[B,Q] { y = x }
kernel square[S](x: f32[A=S*S]) -> y: f32[A] { y = x }
