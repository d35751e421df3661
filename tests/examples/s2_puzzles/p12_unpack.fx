# The fields as they are, less nothing; the groups spread by a relabel.
kernel expand_offset(offset: u4[R,P=8] packed(i32, P, lsb)) -> z: i32[R, Q=8*P] with { fuse: require } { z = offset[P: idx(Q) // 8] }
kernel unpack(w: u4[R,C=64] packed(i32, C, lsb)) -> z: i32[R,C] with { fuse: require } { z = i32(w) }
