#!/usr/bin/env python3
"""Products of f8 with scales of rows by blocks of k and of blocks of columns by blocks of k (1x128 and 128x128), beside torch._scaled_mm of the same scales where PyTorch has it, and of one scale.

Needs PyTorch and a GPU, and build/libfx.so. Every case is run on small integers first, of which all sums are exact, with every element compared, and timed as gemm16.py does.

  scales8.py [--shape 4096x4096x4096] [--only rows] [--lib a.so]

Output: a line a case: the peers' microseconds and ours, the time of the peer with these scales over ours, the entries. Exit 1 when an element was wrong.
"""
import argparse
import pathlib
import sys
import tempfile

SHAPES = [(4096, 4096, 4096), (1024, 8192, 8192), (1024, 1024, 1024), (128, 7168, 4096)]  # M, K, N
BLOCKS = "x{K->(G,R=128)} @[R] w{K->(G,R=128)}"
CASES = {
    "both": f"kernel both(x: f8e4m3[M,K], s: f32[M,G=K/128], w: f8e4m3[N,K], t: f32[J=N/128,G]) -> y: bf16[M,N] {{ y = sum[G](({BLOCKS}) * s * t[J: N/128]) }}",
    "rows": f"kernel rows(x: f8e4m3[M,K], s: f32[M,G=K/128], w: f8e4m3[N,K]) -> y: bf16[M,N] {{ y = sum[G](({BLOCKS}) * s) }}",
    "columns": f"kernel columns(x: f8e4m3[M,K], s: f32[M,G=K/128], w: f8e4m3[N,K], t: f32[N,G]) -> y: bf16[M,N] {{ y = sum[G](({BLOCKS}) * s * t) }}",
    "plain": "kernel plain(x: f8e4m3[M,K], w: f8e4m3[N,K]) -> y: bf16[M,N] { y = x @[K] w }",
}


def measure(args):
    import torch

    import libfx
    from gemm16 import graph_of, race

    path = pathlib.Path(tempfile.mkdtemp()) / "scales8.fx"
    path.write_text("\n".join(CASES.values()) + "\n")
    lib = libfx.load(args.lib or str(libfx.ROOT / "build/libfx.so"))
    context = libfx.Context(lib)
    f8, wrong = torch.float8_e4m3fn, False

    def draw(shape, is_exact):
        m, k, n = shape
        number = lambda *s: torch.randint(-2, 3, s, device="cuda").float() if is_exact else torch.randn(*s, device="cuda")
        return {"x": number(m, k).to(f8), "w": number(n, k).to(f8), "s": number(m, k // 128), "tb": number(n // 128, k // 128), "tc": number(n, k // 128),
                "y": torch.zeros((m, n), device="cuda", dtype=torch.bfloat16)}

    def of_case(a, case):
        return dict(a, t=a["tc" if case == "columns" else "tb"])

    def wanted(a, case):
        blocks = lambda t: t.float().double().reshape(t.shape[0], -1, 128)
        p = torch.einsum("mgr,ngr->gmn", blocks(a["x"]), blocks(a["w"]))
        if case != "plain":
            p *= a["s"].double().t()[:, :, None]
        if case in ("both", "columns"):
            t = a["t"].double() if case == "columns" else a["t"].double().repeat_interleave(128, 0)
            p *= t.t()[:, None, :]
        return p.sum(0).float().to(torch.bfloat16)

    def peers(sets, case):
        one = torch.ones((), device="cuda")
        yield "one scale", lambda i: torch._scaled_mm(sets[i % len(sets)]["x"], sets[i % len(sets)]["w"].t(), scale_a=one, scale_b=one, out_dtype=torch.bfloat16)
        if case != "both":
            return
        scales = [(a["s"].abs().t().contiguous().t(), a["t"].abs().contiguous().t()) for a in sets]  # rows contiguous; of blocks k
        yield "blocks", lambda i: torch._scaled_mm(sets[i % len(sets)]["x"], sets[i % len(sets)]["w"].t(), scale_a=scales[i % len(sets)][0], scale_b=scales[i % len(sets)][1], out_dtype=torch.bfloat16)

    for shape in args.shape or SHAPES:
        m, k, n = shape
        for case in CASES:
            if args.only and case not in args.only:
                continue
            label = f"{case} {m}x{k}x{n}"
            spec = libfx.Spec(lib, path, kernel=case)
            kernel = libfx.Kernel(spec, case, dict(M=m, K=k, N=n))
            kernel.prepare(context)
            kept = []

            def bind(a):
                values = kernel.values([a[p.name].data_ptr() for p in kernel.args])
                size = kernel.workspace_bytes(values)
                space = torch.empty(max(1, size), dtype=torch.uint8, device="cuda")
                kept.append((values, space))
                return values, space.data_ptr(), size

            few = of_case(draw((min(m, 1024), k, min(n, 1024)), True), case)
            check = libfx.Kernel(spec, case, dict(M=few["x"].shape[0], K=k, N=few["w"].shape[0]))
            check.prepare(context)
            values = check.values([few[p.name].data_ptr() for p in check.args])
            space = torch.empty(max(1, check.workspace_bytes(values)), dtype=torch.uint8, device="cuda")
            check.launch(values, space.data_ptr(), check.workspace_bytes(values), torch.cuda.current_stream().cuda_stream)
            bad = (few["y"] != wanted(few, case)).sum().item()
            if bad:
                print(f"{label}: WRONG, {bad} elements, {' '.join(check.entries(values))}", flush=True)
                wrong = True
            sets = [of_case(draw(shape, False), case) for _ in range(3)]
            repeats = max(len(sets), min(60, int(1e-3 / (2 * m * n * k / 8e14)) + 1))
            contenders = []
            for name, go in peers(sets, case):
                try:
                    contenders.append((name, graph_of(go, repeats), repeats))
                    kept.append(go)
                except RuntimeError as e:
                    print(f"{label}: {name}: {str(e).splitlines()[0]}", flush=True)
            bound = [bind(a) for a in sets]
            contenders.append(("ours", graph_of(lambda i: kernel.launch(*bound[i % len(bound)], torch.cuda.current_stream().cuda_stream), repeats), repeats))
            times = race(contenders, args.rounds)
            ours = times["ours"]
            print(f"{label}: " + "  ".join(f"{name} {t:.1f} us {t / ours:.3f}" for name, t in times.items()) + f"  [{' '.join(kernel.entries(bound[0][0]))}]", flush=True)
            del contenders, kept, sets, few
            torch.cuda.empty_cache()
    return 1 if wrong else 0


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--only", action="append")
    p.add_argument("--shape", action="append", type=lambda s: tuple(map(int, s.split("x"))))
    p.add_argument("--rounds", type=int, default=9)
    p.add_argument("--lib")
    return measure(p.parse_args())


if __name__ == "__main__":
    sys.exit(main())
