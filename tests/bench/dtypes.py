#!/usr/bin/env python3
"""Every dtype of a contraction, either order of its weight, plain and with bias and activation, beside PyTorch's product of the same dtype (cuBLAS, cuBLASLt), which has no epilogue.

Needs PyTorch and a GPU, and build/libfx.so. Every case is run on small integers first, of which all sums are exact, with every element compared, and timed as gemm16.py does. Extents are free
unless --fixed is given. What PyTorch has no product of stands beside that of the nearest: f8e5m2 beside f8e4m3, 16-bit floats by narrower weights beside 16-bit weights. torch._scaled_mm takes weights [N,K] alone, also beside [K,N].

  dtypes.py [--only i8_kn] [--shape 1024x8192x8192] [--fixed] [--lib a.so --lib b.so]
  dtypes.py --specs FILE     writes the specs, and needs neither

Output: a line a case: the peer's microseconds and each library's, the peer's time over it, the entries. Exit 1 when an element was wrong.
"""
import argparse
import concurrent.futures
import pathlib
import sys
import tempfile

# Of x and of w, what y is stored as, the attributes.
ROWS = {"f16": ("f16", "f16", "f16"), "bf16": ("bf16", "bf16", "bf16"), "tf32": ("f32", "f32", "f32"), "f32": ("f32", "f32", "f32"), "f64": ("f64", "f64", "f64"), "e4m3": ("f8e4m3", "f8e4m3", "bf16"),
        "e5m2": ("f8e5m2", "f8e5m2", "bf16"), "i8": ("i8", "i8", "i32"), "bf16_e4m3": ("bf16", "f8e4m3", "bf16"), "bf16_i8": ("bf16", "i8", "bf16"), "bf16_i4": ("bf16", "i4", "bf16")}
SHAPES = [(4096, 4096, 4096), (1024, 1024, 1024), (1024, 8192, 8192)]  # M, K, N


def spec():
    lines = []
    for name, (x, w, y) in ROWS.items():
        for order in ("kn", "nk"):
            of_w = f"{w}[{order[0].upper()},{order[1].upper()}]" + (f" packed(i32, {order[1].upper()}, lsb)" if w == "i4" else "")
            tail = " with { precision: tf32 }" if name == "tf32" else ""
            wide = "f64" if x == "f64" else "f32"
            scaled = "(x @[K] w) * s" if w in ("i8", "i4", "f8e4m3", "f8e5m2") else "x @[K] w"
            scale = f", s: {wide}[N]" if "* s" in scaled else ""
            lines.append(f"kernel {name}_{order}(x: {x}[M,K], w: {of_w}) -> y: {y}[M,N]{tail} {{ y = x @[K] w }}")
            lines.append(f"kernel {name}_{order}_act(x: {x}[M,K], w: {of_w}{scale}, b: {wide}[N]) -> y: {'bf16' if y == 'i32' else y}[M,N]{tail} {{ y = gelu({scaled} + b) }}")
    return "\n".join(lines) + "\n"


def parsed(shape):
    return tuple(map(int, shape.split("x")))


def measure(args):
    import torch

    import libfx
    from gemm16 import graph_of, race

    types = {"f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32, "f64": torch.float64, "f8e4m3": torch.float8_e4m3fn, "f8e5m2": torch.float8_e5m2, "i8": torch.int8, "i32": torch.int32}
    path = pathlib.Path(tempfile.mkdtemp()) / "dtypes.fx"
    path.write_text(spec())
    libs = []
    for at in args.lib or [str(libfx.ROOT / "build/libfx.so")]:
        lib = libfx.load(at)
        libs.append((pathlib.Path(at).stem if args.lib else "ours", lib, libfx.Context(lib)))

    def draw(row, order, act, shape, is_exact):
        """Arguments of a kernel by name, and w as numbers."""
        m, k, n = shape
        x, w, y = ROWS[row]
        number = lambda s: torch.randint(-2, 3, s, device="cuda", dtype=torch.int8) if is_exact else torch.randn(s, device="cuda")
        of_w = (k, n) if order == "kn" else (n, k)
        def typed(t, dtype):
            return (t * 20 if dtype == "i8" and not is_exact else t).to(types[dtype])
        a = {"x": typed(number((m, k)), x)}
        if w == "i4":
            a["w"] = torch.randint(-(2**31), 2**31, (of_w[0], of_w[1] // 8), device="cuda", dtype=torch.int64).to(torch.int32)
        else:
            a["w"] = typed(number(of_w), w)
        wide = torch.float64 if x == "f64" else torch.float32
        if act:
            a["s"], a["b"] = torch.full((n,), 0.25, device="cuda", dtype=wide), torch.randint(-2, 3, (n,), device="cuda").to(wide)
        a["y"] = torch.zeros((m, n), device="cuda", dtype=types["bf16" if act and y == "i32" else y])
        return a

    def numbers(a, row, order):
        """w as floats in float64, [K,N]."""
        w = a["w"]
        if ROWS[row][1] == "i4":
            w = torch.stack([(w << (28 - 4 * i)) >> 28 for i in range(8)], dim=-1).reshape(w.shape[0], -1)
        w = w.to(torch.float32).double() if w.dtype.is_floating_point and w.dtype != torch.float64 else w.double()
        return w if order == "kn" else w.t()

    def wanted(a, row, order, act):
        x = a["x"].to(torch.float32).double() if row != "f64" else a["x"]
        y = x @ numbers(a, row, order)
        if act:
            y = y * (a["s"].double() if ROWS[row][1] in ("i8", "i4", "f8e4m3", "f8e5m2") else 1) + a["b"].double()
            y = 0.5 * y * torch.special.erfc(y * -(0.5**0.5))
        return y

    def is_wrong(got, want, act):
        if not act:
            return (got.double() != (want.float().to(got.dtype) if got.dtype != torch.float64 else want).double()).sum().item()
        rounding = {torch.float16: 2e-3, torch.bfloat16: 2e-2, torch.float32: 1e-5, torch.float64: 1e-12}[got.dtype]
        return ((got.double() - want).abs() > rounding * want.abs() + 1e-6).sum().item() + (got != got).sum().item()

    def peers(row, order, shape, n_sets):
        """Products by name, each of set i."""
        x, w, _ = ROWS[row]
        m, k, n = shape
        one = torch.ones((), device="cuda")
        dtype = "f8e4m3" if row == "e5m2" else x
        as_type = lambda s: (torch.randn(s, device="cuda") * (20 if dtype == "i8" else 1)).to(types[dtype])
        xs, ws = [as_type((m, k)) for _ in range(n_sets)], [as_type((k, n) if order == "kn" and dtype != "f8e4m3" else (n, k)) for _ in range(n_sets)]
        turned = ws if order == "kn" and dtype != "f8e4m3" else [t.t() for t in ws]
        at = lambda f: lambda i: f(xs[i % n_sets], turned[i % n_sets])
        if dtype == "f8e4m3":
            return {f"scaled_mm{' fast' * fast}": at(lambda p, q, fast=fast: torch._scaled_mm(p, q, scale_a=one, scale_b=one, out_dtype=torch.bfloat16, use_fast_accum=bool(fast))) for fast in (0, 1)}
        if dtype == "i8":
            return {"int_mm": at(torch._int_mm)}
        return {"mm": at(torch.mm)}

    cases = [(row, order, act, shape) for shape in args.shape or SHAPES for row in ROWS for order in ("kn", "nk") for act in (False, True)
             if any(o in f"{row}_{order}{'_act' * act} {'x'.join(map(str, shape))}" for o in args.only or [""])]

    def compile_case(case):
        row, order, act, (m, k, n) = case
        name, out = f"{row}_{order}{'_act' * act}", []
        for lib_name, lib, context in libs:
            try:
                s = libfx.Spec(lib, path, kernel=name, defines=[f"M={m}", f"K={k}", f"N={n}"] if args.fixed else [])
                kernel = libfx.Kernel(s, name, dict(M=m, K=k, N=n))
                kernel.prepare(context)
                out.append((lib_name, kernel))
            except libfx.Failure as e:
                out.append((lib_name, str(e)))
        return out

    with concurrent.futures.ThreadPoolExecutor(12) as pool:
        compiled = list(pool.map(compile_case, cases))
    found_wrong = False
    for (row, order, act, shape), kernels in zip(cases, compiled):
        m, k, n = shape
        label = f"{row}_{order}{'_act' * act} {m}x{k}x{n}"
        torch.backends.cuda.matmul.allow_tf32 = False
        exact = draw(row, order, act, shape, True)
        want = wanted(exact, row, order, act)
        bytes_of = sum(t.numel() * t.element_size() for t in exact.values())
        n_sets = max(1, min(6, 150_000_000 // bytes_of + 1))
        sets = [draw(row, order, act, shape, False) for _ in range(n_sets)]
        contenders, kept, entries = [], [], {}
        repeats = max(n_sets, min(60, int(1e-3 / (2 * m * n * k / 4e14)) + 1))
        torch.backends.cuda.matmul.allow_tf32 = row == "tf32"
        for peer, go in peers(row, order, shape, n_sets).items():
            try:
                contenders.append((("peer", peer), graph_of(go, repeats), repeats))
                kept.append(go)  # its tensors, as long as the graph may be replayed
            except RuntimeError as e:
                print(f"{label}: {peer}: {str(e).splitlines()[0]}", flush=True)
        torch.backends.cuda.matmul.allow_tf32 = False
        for lib_name, kernel in kernels:
            if isinstance(kernel, str):
                print(f"{label}: {lib_name}: {kernel.splitlines()[0]}", flush=True)
                found_wrong = True
                continue
            def bind(a, kernel=kernel):
                values = kernel.values([a[p.name].data_ptr() for p in kernel.args])
                size = kernel.workspace_bytes(values)
                space = torch.empty(max(1, size), dtype=torch.uint8, device="cuda")
                kept.append((values, space))
                return values, space.data_ptr(), size
            try:
                bound = bind(exact)
                kernel.launch(*bound, torch.cuda.current_stream().cuda_stream)
                torch.cuda.synchronize()
                bad = is_wrong(exact["y"], want, act)
                entries[lib_name] = " ".join(e.replace(f"fx_{kernel.name}_", "") for e in kernel.entries(bound[0]))
                if bad:
                    print(f"{label}: {lib_name} {entries[lib_name]}: WRONG, {bad} elements", flush=True)
                    found_wrong = True
                all_bound = [bind(a) for a in sets]
                go = lambda i, kernel=kernel, b=all_bound: kernel.launch(*b[i % n_sets], torch.cuda.current_stream().cuda_stream)
                contenders.append((("ours", lib_name), graph_of(go, repeats), repeats))
            except libfx.Failure as e:
                print(f"{label}: {lib_name}: {e}", flush=True)
                found_wrong = True
        times = race(contenders, args.rounds)
        peer = min((t for (kind, _), t in times.items() if kind == "peer"), default=float("nan"))
        ours = "  ".join(f"{name} {t:.1f} us {peer / t:.3f} [{entries[name]}]" for (kind, name), t in times.items() if kind == "ours")
        print(f"{label}: peer {peer:.1f} us, {2 * m * n * k / peer / 1e6:.0f} T; {ours}", flush=True)
        del contenders, kept, sets, exact, want
        torch.cuda.empty_cache()
    return 1 if found_wrong else 0


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--only", action="append")
    p.add_argument("--shape", action="append", type=parsed)
    p.add_argument("--fixed", action="store_true")
    p.add_argument("--rounds", type=int, default=9)
    p.add_argument("--lib", action="append")
    p.add_argument("--specs")
    args = p.parse_args()
    if args.specs:
        pathlib.Path(args.specs).write_text(spec())
        return 0
    return measure(args)


if __name__ == "__main__":
    sys.exit(main())
