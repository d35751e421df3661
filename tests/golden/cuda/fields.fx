# args: --arch=sm_90a
# A few adjacent elements for each column, taken by number.
kernel taps(x: bf16[T,C], k: bf16[C,U=4]) -> y: bf16[T,C] { y = sum[U](k * (x[T: idx(T) + idx(U) - 3] ?? 0)) }
