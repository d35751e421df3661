# Puzzle 12, the helper cells: eight 4-bit fields of an i32 side by side, the lowest first, and offsets, a field for
# each group of eight. A packed tensor is read as its fields, so extracting is no operation, and expanding is an access.
kernel unpack(w: u4[J,L=64] packed(i32, L, lsb)) -> z: i32[J,L] with { fuse: require } { z = w }
kernel expand_offset(offset: u4[J,G=8] packed(i32, G, lsb)) -> z: i32[J, L=8*G] with { fuse: require } { z = offset[G: L//8] }

test unpack { J=3 tol: exact }
test unpack { J=5 w.init: integers(-2000000000,2000000000) tol: exact }
test expand_offset { J=3 tol: exact }
test expand_offset { J=33 offset.init: integers(-2000000000,2000000000) tol: exact }
bench unpack { J=3 }
bench expand_offset { J=3 }
