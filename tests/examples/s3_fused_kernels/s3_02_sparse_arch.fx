# the remainder by floor division, positions through names, the index of a maximum of 0 and 1
kernel hash_index(ids: i64[A,F], card: i64[F]) -> slot: i64[A,F] with { fuse: require } {
  t = 1 + ids
  slot = where(card == 0, 0, t - t // card * card)
}

kernel embed_hashed(ids: i64[A,F], card: i64[F], table: f32[F,R,D]) -> e: f32[A,F,D] with { fuse: require } {
  t = 1 + ids
  e = table[R: where(card == 0, 0, t - t // card * card)] ?? 0
}

kernel embed_modulus(ids: i64[A,F], table: f32[F,R,D]) -> e: f32[A,F,D] with { fuse: require } {
  require R >= 1
  at = (1 + ids) % size(R)
  e = table[R: at]
}

kernel token_index(ids: i64[A,F], tokens: i64[F,R]) -> slot: i64[A,F] with { fuse: require } {
  same = where(ids == tokens, 1, 0)
  slot = argmax[R](same)
}

kernel embed_token(ids: i64[A,F], tokens: i64[F,R], table: f32[F,R,D]) -> e: f32[A,F,D] {
  require 0 < R
  same = where(ids == tokens, 1, 0)
  e = table[R: argmax[R](same)]
}
