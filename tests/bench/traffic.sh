#!/bin/sh
# Holds the bytes, grids, registers and shared memory that the receipt predicts to what ncu counts.
#
# Input: traffic.sh PROGRAM, the built tests/bench/traffic.c; ncu on the PATH. Output: a line for each launch, and `traffic: N passed, M failed`. Exit 1 when bytes are off by
# more than 10 %, or another figure differs at all. A square product reads its operands more than once from memory, however large L2 is: of that only the other
# figures count.
set -u
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
metrics=dram__bytes_read.sum,dram__bytes_write.sum,gpu__time_duration.sum,launch__registers_per_thread,launch__grid_size,launch__shared_mem_per_block_dynamic,launch__shared_mem_per_block_static,launch__occupancy_limit_registers,launch__occupancy_limit_shared_mem,launch__occupancy_limit_warps,launch__occupancy_limit_blocks
ncu --clock-control none -k 'regex:^fx_' --csv --page raw --print-units base --metrics $metrics --log-file "$work/ncu.csv" "$1" >"$work/predicted" || {
    cat "$work/predicted" "$work/ncu.csv"
    echo 'traffic: 0 passed, 1 failed'
    exit 1
}
grep '^"' "$work/ncu.csv" | awk -v predicted="$work/predicted" '
    function value(name) { if (!(name in column)) { print "no metric " name; bad = 1 } v = f[column[name]]; gsub(/,/, "", v); return v + 0 }
    { n = split(substr($0, 2, length($0) - 2), f, /","/) }
    NR == 1 { for (i = 1; i <= n; i++) column[f[i]] = i; next }
    NR == 2 { next } # units
    {
        if ((getline line <predicted) <= 0) { print "a launch more than predicted: " f[column["Kernel Name"]]; failed++; next }
        split(line, p, " ")
        what = line
        for (i = 0; i < 6; i++) sub(/^[^ ]* /, "", what)
        read = value("dram__bytes_read.sum")
        written = value("dram__bytes_write.sum")
        total = p[3] + p[4]
        ratio = (read + written) / (total ? total : 1)
        shared = value("launch__shared_mem_per_block_dynamic") + value("launch__shared_mem_per_block_static")
        blocks = value("launch__occupancy_limit_registers")
        for (m = 1; m <= 3; m++) { l = value("launch__occupancy_limit_" (m == 1 ? "shared_mem" : m == 2 ? "warps" : "blocks")); if (l < blocks) blocks = l }
        ok = f[column["Kernel Name"]] ~ "^" p[1] "($|[(<])" && value("launch__grid_size") == p[2] && value("launch__registers_per_thread") == p[5] && shared == p[6]
        if (what !~ /square/ && total > 100000000) ok = ok && ratio > 0.9 && ratio < 1.1
        printf "%s %-26s %-28s predicted %.4g + %.4g bytes, counted %.4g + %.4g: %.3f; %d registers (%d), %d shared (%d), grid %d (%d), %d blocks an SM, %.1f us\n", ok ? "ok  " : "FAIL",
            what, p[1], p[3], p[4], read, written, ratio, p[5], value("launch__registers_per_thread"), p[6], shared, p[2], value("launch__grid_size"), blocks,
            value("gpu__time_duration.sum") / 1000
        if (ok) passed++; else failed++
    }
    END {
        while ((getline line <predicted) > 0) { print "predicted and not counted: " line; failed++ }
        print "traffic: " passed + 0 " passed, " failed + 0 " failed"
        exit failed > 0 || passed == 0
    }'
