# What is done to tokens around the products: positions, caches, experts, documents.

# rotary embedding: halves of each head, turned by the angle of the position
kernel rope(x: f16[S,H,D=2*E], c: f32[S,E], s: f32[S,E]) -> y: f16[S,H,D] with { fuse: require } {
  a, b = halves[D->E](x)
  y = concat[D]((a * c - b * s){E->D}, (b * c + a * s){E->D})
}
test rope { S=5 H=3 E=16 }
test rope { S=2 H=3 E=7 }
bench rope { S=8192 H=32 E=64 vs: unfused }

# a step of decoding: keys turned, and values, behind what the caches hold; their other elements are not touched
kernel cache_append(kc: inout bf16[B,T,H,D=2*E], vc: inout bf16[B,T,H,D], k: bf16[B,H,D], v: bf16[B,H,D], c: f32[B,E], s: f32[B,E],
    at: i32[B]) with { fuse: require } {
  x, y = halves[D->E](k)
  kc[T: at] = concat[D]((x * c - y * s){E->D}, (y * c + x * s){E->D})
  vc[T: at] = v
}
test cache_append { B=3 T=5 H=2 E=8 at.init: integers(-1,5) }
test cache_append { B=3 T=5 H=3 E=5 }
bench cache_append { B=256 T=2048 H=8 E=64 vs: unfused }

# keys of a paged cache, as a sequence's table lists its pages
kernel paged_gather(cache: f16[P,S=16,H,D], table: i32[B,Q]) -> k: f16[B,Q,S,H,D] with { fuse: require } { k = cache[P: table] ?? 0 }
test paged_gather { P=5 H=2 D=8 B=2 Q=3 table.init: integers(-1,5) }
test paged_gather { P=5 H=2 D=5 B=2 Q=3 table.init: integers(0,4) }
bench paged_gather { P=4096 H=8 D=128 B=16 Q=128 table.init: integers(0,4095) vs: unfused }

# the two largest gates of a token, renormalised, without a sort: the largest, then the largest of the others
kernel top2_gate(z: f32[T,E]) -> p: f32[T,E] with { fuse: require } {
  q = softmax[E](z)
  first = argmax[E](q)
  second = argmax[E](where(idx(E) == first, -1, q))
  kept = where(idx(E) == first || idx(E) == second, q, 0)
  p = kept / sum[E](kept)
}
test top2_gate { T=7 E=8 }
bench top2_gate { T=8192 E=64 vs: unfused }

kernel histogram(x: i32[N]) -> h: i32[V=256] { h = sum[N](x == idx(V)) }
test histogram { N=300 x.init: integers(0,255) }
bench histogram { N=65536 x.init: integers(0,255) vs: unfused }

# documents packed into one row, from where each begins
kernel segment_ids(starts: i32[B,T]) -> id: i32[B,T] with { fuse: require } { id = cumsum[T](i32(starts > 0)) - 1 }
test segment_ids { B=3 T=40 starts.init: integers(-3,1) }
bench segment_ids { B=4096 T=8192 starts.init: integers(-3,1) vs: unfused }

# a causal depthwise convolution of four taps, as in front of state spaces
kernel short_conv(x: bf16[B,T,C], w: bf16[K=4,C], b: bf16[C]) -> y: bf16[B,T,C] with { fuse: require } {
  y = silu(sum[K]((x[T: idx(T) + idx(K) - 3] ?? 0) * w) + b)
}
test short_conv { B=2 T=9 C=16 }
test short_conv { B=2 T=9 C=13 }
bench short_conv { B=8 T=2048 C=4096 vs: unfused }
