# The network of mlp.fx worked out by awk, which shares nothing with fx. Input: lines `tensor NAME` (x, w1, b1, .. w4, b4, y),
# each followed by that tensor's numbers in row-major order. Output: how y compares; exit 1 unless every element agrees.
$1 == "tensor" { name = $2; n[name] = 0; next }
{ for (i = 1; i <= NF; i++) t[name, n[name]++] = $i }

END {
    n_layers = split("13 512 256 64 16", width) - 1
    n_rows = n["x"] / width[1]
    n_out = n_rows * width[n_layers + 1]
    for (i = 0; i < n["x"]; i++) h[i] = t["x", i]
    for (l = 1; l <= n_layers; l++) {
        if (n["w" l] != width[l] * width[l + 1] || n["b" l] != width[l + 1]) { print "layer " l " has the wrong size"; exit 1 }
        for (r = 0; r < n_rows; r++)
            for (o = 0; o < width[l + 1]; o++) {
                s = t["b" l, o]
                for (i = 0; i < width[l]; i++) s += h[r * width[l] + i] * t["w" l, o * width[l] + i]
                next_h[r * width[l + 1] + o] = s > 0 ? s : 0
            }
        for (i = 0; i < n_rows * width[l + 1]; i++) h[i] = next_h[i]
    }
    for (i = 0; i < n_out; i++) {
        d = t["y", i] - h[i]
        if (d < 0) d = -d
        if (!(d <= 1e-5 * (1 + h[i]))) wrong++
        if (!(d <= worst)) worst = d
        positive += h[i] > 0
    }
    printf "%d of %d elements compared, %d wrong, largest error %.2g, %d above zero\n", n_out, n["y"], wrong, worst, positive
    # Rows of zeros alone, which relu makes of almost any mistake, would prove nothing.
    exit wrong > 0 || n_out != n["y"] || n_out == 0 || positive == 0
}
