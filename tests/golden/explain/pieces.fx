# args: --arch=sm_90a
# Factors whose labels of m or n lie apart are stored with these as one run where tiles would be as small as a run; the other one stays.
kernel both(a: bf16[A=64,K=64,B=64,L=64], b: bf16[L,D=64,K,E=64]) -> c: bf16[A,B,D,E] { c = sum[K,L](a * b) }
kernel one(a: bf16[A=64,K=64,B=64,L=64], b: bf16[N=4096,K,L]) -> c: bf16[A,B,N] { c = sum[K,L](a * b) }
kernel long_runs(a: bf16[A=32,K=64,B=128,L=64], b: bf16[N=4096,K,L]) -> c: bf16[A,B,N] { c = sum[K,L](a * b) }
