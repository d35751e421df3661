kernel embed(ids: i64[S], table: f32[V,E]) -> e: f32[S,E] { e = table[V: ids + 1] ?? 0 }
kernel embed_bwd = grad(embed, wrt: table)
