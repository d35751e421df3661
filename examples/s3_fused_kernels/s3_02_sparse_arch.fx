# DLRM's sparse features: a token is hashed by (t + 1) % cardinality and looked up in its feature's table, in one kernel. The remainder of a whole number lies
# below the divisor, so with the table's own extent as divisor the access needs no value outside; with cardinalities that are data it says what is there.
kernel hash_index(ids: i64[B,S], card: i64[S]) -> slot: i64[B,S] with { fuse: require } { slot = (ids + 1) % card }

kernel embed_hashed(ids: i64[B,S], card: i64[S], table: f32[S,V,E]) -> e: f32[B,S,E] with { fuse: require } {
  e = table[V: (ids + 1) % card] ?? 0
}

# every feature of one cardinality: provably inside
kernel embed_modulus(ids: i64[B,S], table: f32[S,V,E]) -> e: f32[B,S,E] with { fuse: require } {
  require V > 0
  e = table[V: (ids + 1) % size(V)]
}

# before the hash: the place of a token in its feature's list, by comparison with all of it; a token that is not there takes place 0
kernel token_index(ids: i64[B,S], tokens: i64[S,V]) -> slot: i64[B,S] with { fuse: require } { slot = argmax[V](i32(tokens == ids)) }

# likewise, then looked up: an index of an extreme lies inside
kernel embed_token(ids: i64[B,S], tokens: i64[S,V], table: f32[S,V,E]) -> e: f32[B,S,E] {
  require V > 0
  e = table[V: argmax[V](i32(tokens == ids))]
}

test hash_index { B=2 S=26 ids.init: integers(0,4294967295) card.init: integers(1,100000) tol: exact }
test hash_index { B=33 S=26 ids.init: integers(-7,7) card.init: integers(0,3) tol: exact }
test embed_hashed { B=2 S=26 V=100 E=16 ids.init: integers(0,4294967295) card.init: integers(1,100) tol: exact }
test embed_hashed { B=128 S=26 V=100 E=16 ids.init: integers(0,4294967295) card.init: integers(1,100) tol: exact }
test embed_hashed { B=7 S=5 V=9 E=3 ids.init: integers(-20,20) card.init: integers(0,12) tol: exact }
test embed_modulus { B=2 S=26 V=100 E=16 ids.init: integers(0,4294967295) tol: exact }
test embed_modulus { B=31 S=3 V=1 E=17 ids.init: integers(-9,9) tol: exact }
test token_index { B=2 S=26 V=100 ids.init: integers(0,20) tokens.init: integers(0,20) tol: exact }
test token_index { B=19 S=7 V=33 ids.init: integers(0,4294967295) tokens.init: integers(0,4294967295) tol: exact }
test embed_token { B=2 S=26 V=100 E=16 ids.init: integers(0,20) tokens.init: integers(0,20) tol: exact }
bench hash_index { B=16384 S=26 ids.init: integers(0,4294967295) card.init: integers(1,100000) }
bench embed_hashed { B=128 S=26 V=10000 E=16 ids.init: integers(0,4294967295) card.init: integers(1,10000) }
bench embed_hashed { B=16384 S=26 V=10000 E=16 ids.init: integers(0,4294967295) card.init: integers(1,10000) }
bench embed_modulus { B=16384 S=26 V=10000 E=16 ids.init: integers(0,4294967295) }
bench token_index { B=128 S=26 V=1000 ids.init: integers(0,1000) tokens.init: integers(0,1000) }
bench embed_token { B=128 S=26 V=1000 E=16 ids.init: integers(0,1000) tokens.init: integers(0,1000) }
