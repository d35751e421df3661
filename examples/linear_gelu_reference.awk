# linear_gelu.fx worked out by awk, which shares nothing with fx. Input: lines `tensor NAME`, each followed by that tensor's numbers in row-major
# order: x, w, b as f32, y as the 16 bits of a bf16 each. Output: how y compares; exit 1 unless every element is the double rounded once to bf16.
$1 == "tensor" { name = $2; n[name] = 0; next }
{ for (i = 1; i <= NF; i++) t[name, n[name]++] = $i }

# 2^-7 of the power of two below |v|: bf16 has 8 significant bits.
function spacing(v,   e) {
    if (v < 0) v = -v
    if (v < 1e-30) return 1e-32
    for (e = 1; e > v; ) e /= 2
    for (; 2 * e <= v; ) e *= 2
    return e / 128
}

function to_bf16(v,   step, q, floor_q) {
    if (v == 0) return 0
    step = spacing(v)
    q = v / step
    floor_q = int(q) - (q < int(q))
    if (q - floor_q > 0.5 || (q - floor_q == 0.5 && floor_q % 2)) floor_q++
    return floor_q * step
}

function from_bits(bits,   exponent, fraction, v) {
    exponent = int(bits / 128) % 256
    fraction = bits % 128
    if (exponent == 255) return "nan" # an infinity is as wrong here
    v = exponent ? 1 + fraction / 128 : fraction / 64
    for (; exponent > 127; exponent--) v *= 2
    for (; exponent < 127 && v; exponent++) v /= 2
    return bits >= 32768 ? -v : v
}

# v * (1 + erf(v / sqrt 2)) / 2, by a series all of whose terms have one sign.
function gelu(v,   a, term, sum, k) {
    a = v < 0 ? -v : v
    if (a > 9) return v < 0 ? 0 : v
    for (sum = term = a; term > 1e-20 * sum; sum += term) term *= a * a / (2 * ++k + 1)
    sum *= exp(-a * a / 2) / sqrt(2 * atan2(0, -1))
    return v * (v < 0 ? 0.5 - sum : 0.5 + sum)
}

END {
    columns = n["b"]
    rows = columns ? n["y"] / columns : 0
    depth = columns ? n["w"] / columns : 0
    if (!rows || n["x"] != rows * depth) { print "the tensors do not fit"; exit 1 }
    for (m = 0; m < rows; m++)
        for (c = 0; c < columns; c++) {
            s = to_bf16(t["b", c])
            for (k = 0; k < depth; k++) s += to_bf16(t["x", m * depth + k]) * to_bf16(t["w", k * columns + c])
            want = gelu(s)
            got = from_bits(t["y", m * columns + c])
            d = got == "nan" ? 1e30 : got - want
            if (d < 0) d = -d
            # half a spacing, and what sums in f32 may add to it
            if (!(d <= spacing(want) / 2 + 1e-5)) wrong++
            if (m == 0 && c < 4) shown = shown sprintf("%s%.4g (%.6g)", c ? ", " : "", got, want)
            large += want > 0.1
        }
    print "y[0,:] is, and by awk should be, " shown ", ..."
    printf "%d elements compared, %d wrong by more than their one rounding to bf16, %d above 0.1\n", n["y"], wrong, large
    exit wrong > 0 || large == 0
}
