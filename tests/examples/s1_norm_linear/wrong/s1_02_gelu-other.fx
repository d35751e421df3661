# Each for the other.
kernel fast_gelu(x: f32[M,N]) -> y: f32[M,N] { y = gelu(x) }
kernel exact_gelu(x: f32[M,N]) -> y: f32[M,N] { y = gelu_tanh(x) }
kernel gelu_difference(x: f32[M,N]) -> d: f32[M,N] { d = gelu(x) - gelu(x) }
