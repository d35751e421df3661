# integers alone: what to write of floats, or around them
kernel f(x: f32[M], y: f32[M]) -> z: f32[M] { z = x % y }
kernel g(x: f32[M], s: f32, o: u64) -> z: f32[M] { z = x * rand[M](s, o) }
kernel h(x: f32[M], y: i32[M]) -> z: f32[M] { z = x // y }
