kernel k(x: f32[A,B,C,D,E,F,G,H,I]) -> y: f32[A] { y = 1 }
