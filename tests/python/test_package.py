"""The Python package, on the emulator: values against sums written here, every refusal by its words, threads, the wheel.

In: FX_LIBRARY, the package on PYTHONPATH. Out: what failed, `python: N passed, M failed[, K skipped]`; exit 1 where M is not 0. Memory is that of array and memoryview;
what takes NumPy is skipped where there is none.
"""
import array
import ctypes
import math
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import traceback
import zipfile

import fx

ROOT = pathlib.Path(__file__).resolve().parents[2]
SPEC = """
kernel linear(x: f32[M,K], w: f32[K,N], b: f32[N]) -> y: f32[M,N] { y = relu(x @ w + b) }
kernel step(x: inout f32[N], s: f32 = 2, n: i32) { x = x * s + n }
kernel both(x: i32[M,N]) -> (most: i32[M], all: i64[N]) { most = max[N](x); all = sum[M](i64(x)) }
kernel halves(x: f32[M,E=2*N]) -> y: f32[M,N] { y = x[E: idx(N)] }
kernel fill(v: f32) -> y: f32[N] { y = v }
kernel lines(x: f32[M,N] strided) -> y: f32[N,M] { y = x }
kernel softer(x: f64[N]) -> y: f64[N] { y = exp(x) }
"""
tests, passed, failed, skipped = [], 0, 0, 0


def test(f):
    tests.append(f)
    return f


def floats(shape, values=None, letter="f"):
    n = math.prod(shape)
    return memoryview(array.array(letter, values if values is not None else [(7 * i) % 11 - 5 for i in range(n)])).cast("B").cast(letter, shape=list(shape))


def refuses(words, call, kind=fx.Error):
    try:
        call()
    except kind as e:
        assert words in str(e), f"says: {e}"
        return
    raise AssertionError(f"is not refused: {words}")


@test
def product():
    m, k, n = 5, 7, 3
    x, w, b = floats((m, k)), floats((k, n)), floats((n,))
    y = fx.compile(SPEC).linear(x, w, b)
    assert y.shape == (m, n) and y.format == "f"
    for i in range(m):
        for j in range(n):
            assert y[i, j] == max(0, sum(x[i, l] * w[l, j] for l in range(k)) + b[j])


@test
def by_name_and_into_memory():
    k = fx.compile(SPEC).linear
    x, w, b, y = floats((2, 3)), floats((3, 4)), floats((4,)), floats((2, 4), [math.nan] * 8)
    assert k(w=w, x=x, b=b, out=y) is y
    assert y.tolist() == k(x, w, b).tolist() and not any(math.isnan(v) for row in y.tolist() for v in row)


@test
def changed_in_place():
    k = fx.compile(SPEC).step
    x = array.array("f", range(6))
    assert k(x, n=1) is None and list(x) == [2 * i + 1 for i in range(6)]
    k(x, 0.5, 0)
    assert list(x) == [i + 0.5 for i in range(6)]


@test
def several_outputs():
    x = floats((3, 4), letter="i")
    most, total = fx.compile(SPEC).both(x)
    assert most.tolist() == [max(r) for r in x.tolist()] and total.format == "q"
    assert total.tolist() == [sum(x[i, j] for i in range(3)) for j in range(4)]


@test
def extents_by_equation_and_by_output():
    m = fx.compile(SPEC)
    assert m.halves(floats((2, 6))).shape == (2, 3)
    y = floats((5,), [math.nan] * 5)
    m.fill(1.5, out=y)
    assert y.tolist() == [1.5] * 5
    refuses("no tensor among its arguments", lambda: m.fill(1.5))


@test
def every_set_of_extents():
    for dynamic in (False, True):
        k = fx.compile(SPEC, dynamic=dynamic).softer
        for n in (1, 2, 0, 9, 2):
            x = memoryview(array.array("d", [i / 4 for i in range(n)]))
            y = k(x)
            assert len(y) == n and all(abs(a - math.exp(b)) < 1e-12 for a, b in zip(y, x))


@test
def more_sets_than_are_compiled_apart():
    k = fx.compile(SPEC).fill
    for n in range(1, 22):
        y = floats((n,))
        k(3, out=y)
        assert y.tolist() == [3] * n
    assert k._dynamic


@test
def defines():
    m = fx.compile("const A = 2\nkernel f(x: f32[N]) -> y: f32[N] { y = x * A }", defines={"A": 5})
    assert m.f(floats((3,), [1, 2, 3])).tolist() == [5, 10, 15]
    g = m.gradient("f", ["x"])
    assert g(floats((3,)), floats((3,), [1, 1, 1])).tolist() == [5, 5, 5]


@test
def gradient():
    g = fx.compile(SPEC).gradient("linear", ["x", "b"])
    assert [p.name for p in g.inputs] == ["x", "w", "b", "dy"] and [p.name for p in g.outputs] == ["dx", "db"]
    x, w, b, dy = floats((2, 3)), floats((3, 4)), floats((4,)), floats((2, 4), range(8))
    dx, db = g(x, w, b, dy)
    on = [[sum(x[i, l] * w[l, j] for l in range(3)) + b[j] > 0 for j in range(4)] for i in range(2)]
    assert db.tolist() == [sum(dy[i, j] * on[i][j] for i in range(2)) for j in range(4)]
    assert dx.tolist() == [[sum(dy[i, j] * on[i][j] * w[l, j] for j in range(4)) for l in range(3)] for i in range(2)]


@test
def names():
    m = fx.compile(SPEC)
    assert list(m)[:2] == ["linear", "step"] and m["step"] is m.step and "linear(x, w, b) -> (y)" in repr(m.linear)
    assert "extern" in m.linear.source(M=64, N=64, K=64) and "__global__" in m.linear.source()
    assert "linear: partition" in m.linear.explain(M=64, N=64, K=64)
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "a.fx"
        path.write_text(SPEC)
        assert list(fx.compile_file(path)) == list(m)


@test
def refusals():
    m = fx.compile(SPEC)
    x, w, b = floats((2, 3)), floats((3, 4)), floats((4,))
    refuses("nothing here is named z [FX2001]", lambda: fx.compile("kernel f(x: f32[N]) -> y: f32[N] { y = x + z }"))
    refuses("b is missing", lambda: m.linear(x, w))
    refuses("takes 3 inputs (x, w, b), not 4", lambda: m.linear(x, w, b, b))
    refuses("q is no input: x, w, b", lambda: m.linear(x, w, b, q=1))
    refuses("x is given twice", lambda: m.linear(x, w, b, x=x))
    refuses("axis K of w is 4, but of x it is 3", lambda: m.linear(x, floats((4, 4)), b))
    refuses("x is f64, but f32[M,K] is expected", lambda: m.linear(floats((2, 3), letter="d"), w, b))
    refuses("rank", lambda: m.linear(b, w, b))
    refuses("int is no array", lambda: m.linear(3, w, b))
    refuses("has 1 outputs, out has 2", lambda: m.linear(x, w, b, out=(x, x)))
    refuses("writable", lambda: m.step(bytes(8) and memoryview(bytes(array.array("f", [1, 2]))).cast("f"), 1, 1))
    refuses("has no kernel nope: linear, step", lambda: m.nope, AttributeError)
    refuses("has no kernel nope: linear, step", lambda: m["nope"])
    refuses('"auto", "gpu" and "emu" are taken', lambda: fx.use("cpu"))
    refuses("already run on the emulator", lambda: fx.use("gpu"))
    refuses("FX", lambda: m.gradient("linear", ["nope"]))


@test
def threads():
    k, wrong = fx.compile(SPEC).both, []

    def run(seed):
        for n in (3, 4, 5):
            x = floats((2, n), [(seed * i) % 13 for i in range(2 * n)], "i")
            most, _ = k(x)
            if most.tolist() != [max(r) for r in x.tolist()]:
                wrong.append((seed, n))

    all_of_them = [threading.Thread(target=run, args=(seed,)) for seed in range(1, 7)]
    for t in all_of_them:
        t.start()
    for t in all_of_them:
        t.join()
    assert not wrong, wrong


@test
def numpy_arrays():
    try:
        import numpy as np
    except ImportError:
        return "no NumPy"
    m = fx.compile(SPEC)
    x = np.arange(12, dtype="f").reshape(4, 3)
    y = m.linear(x[:2], np.eye(3, dtype="f"), np.zeros(3, "f"))
    assert isinstance(y, np.ndarray) and y.flags.writeable and (y == x[:2]).all()
    assert (m.linear(np.ascontiguousarray(x.T).T, np.eye(3, dtype="f"), np.zeros(3, "f")) == x).all()
    assert (m.lines(x[::2]) == x[::2].T).all()
    out = np.full((4, 3), np.nan, "f")
    refuses("row-major", lambda: m.lines(x, out=out.T))
    assert m.lines(np.zeros((0, 3), "f")).shape == (3, 0)
    try:
        import ml_dtypes
    except ImportError:
        return "no ml_dtypes"
    b = fx.compile("kernel f(x: bf16[N]) -> (y: bf16[N], z: f8e4m3[N]) { y = x + 1; z = f8e4m3(x) }")
    y, z = b.f(np.arange(5).astype(ml_dtypes.bfloat16))
    assert y.dtype == ml_dtypes.bfloat16 and y.astype("f").tolist() == [1, 2, 3, 4, 5] and z.astype("f").tolist() == [0, 1, 2, 3, 4]
    return None


@test
def wheel():
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, ROOT / "runtime/python/wheel.py", os.environ["FX_LIBRARY"], folder], check=True, stdout=subprocess.DEVNULL)
        (path,) = pathlib.Path(folder).iterdir()
        assert path.name.startswith("fx_tensor-0.") and path.suffix == ".whl"
        with zipfile.ZipFile(path) as z:
            assert z.testzip() is None
            record = next(n for n in z.namelist() if n.endswith("RECORD"))
            assert {line.split(",")[0] for line in z.read(record).decode().split()} == set(z.namelist())
            z.extractall(pathlib.Path(folder) / "site")
        env = {k: v for k, v in os.environ.items() if k != "FX_LIBRARY"} | {"PYTHONPATH": str(pathlib.Path(folder) / "site")}
        said = subprocess.run([sys.executable, "-c", "import fx; print(fx.__file__, list(fx.compile('kernel f(x: f32[N]) -> y: f32[N] { y = x }')))"], check=True,
                              stdout=subprocess.PIPE, env=env, cwd=folder).stdout.decode()
        assert said.startswith(folder) and said.endswith("['f']\n"), said


@test
def pages():
    for page in ("docs/python.md",):
        blocks = [b.split("```")[0] for b in (ROOT / page).read_text().split("```python\n")[1:]]
        assert blocks
        for block in blocks:
            if "torch" not in block:
                exec(block, {})


@test
def direct():
    fakes = [ROOT / "build/tests" / name for name in ("fake_cuda.so", "fake_nvrtc.so")]
    if not all(f.exists() for f in fakes):
        return "the stand-ins for driver and NVRTC are not built"
    env = os.environ | {"FX_LIBCUDA": str(fakes[0]), "FX_LIBNVRTC": str(fakes[1]), "FX_CACHE": "off"}
    done = subprocess.run([sys.executable, ROOT / "tests/python/direct.py"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=env)
    assert done.returncode == 0, done.stdout.decode()


@test
def version():
    assert f'#define FX_VERSION "{fx.__version__}"' in (ROOT / "compiler/plan.h").read_text()


def main():
    global passed, failed, skipped
    fx.use("emu")
    for f in tests:
        if sys.argv[1:] and f.__name__ not in sys.argv[1:]:
            continue
        try:
            why = f()
        except Exception:
            failed += 1
            print(f"FAIL python/{f.__name__}")
            traceback.print_exc(file=sys.stdout)
            continue
        if why:
            skipped += 1
            print(f"skipped: python/{f.__name__}: {why}")
        else:
            passed += 1
    print(f"python: {passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
