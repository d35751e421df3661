"""`fxc lsp` and `fxc fmt`, driven as an editor drives them.

usage: python3 lsp.py FXC

A session as editors have them; what stands under every byte of the examples; messages that are none, of any bytes. Out: what failed, and `lsp: N passed, M failed`; exit 1 where M
is not 0.
"""
import json
import pathlib
import random
import subprocess
import sys
import tempfile
import traceback

ROOT = pathlib.Path(__file__).resolve().parents[1]
FXC = pathlib.Path(sys.argv[1]).resolve()
SPEC = """# Ünïcode 😀 above
const c = 2
fn twice(v) = c * v
kernel linear(x: f16[M,K], w: f16[K,N], b: f16[N]) -> (y: f16[M,N], z: f32[M]) {
  h = x @ w + b
  y = gelu(twice(h))   # 😀 behind
  z = sum[N](h)
}
"""
URI = "file:///tmp/with%20blank/a.fx"
tests = []


def test(f):
    tests.append(f)
    return f


def frame(message):
    body = message if isinstance(message, bytes) else json.dumps(message).encode()
    return b"Content-Length: %d\r\n\r\n" % len(body) + body


class Session:
    def __init__(self):
        self.process = subprocess.Popen([FXC, "lsp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.n = 0

    def send(self, method, params=None, id=None):
        message = {"jsonrpc": "2.0", "method": method}
        if params is not None:
            message["params"] = params
        if id is not None:
            message["id"] = id
        self.process.stdin.write(frame(message))
        self.process.stdin.flush()

    def receive(self):
        length = None
        while (line := self.process.stdout.readline()) != b"\r\n":
            assert line, "the server ended"
            name, value = line.split(b":")
            assert name == b"Content-Length"
            length = int(value)
        return json.loads(self.process.stdout.read(length))

    def ask(self, method, params=None):
        self.n += 1
        self.send(method, params, self.n)
        answer = self.receive()
        assert answer["jsonrpc"] == "2.0" and answer["id"] == self.n, answer
        return answer

    def open(self, text, uri=URI):
        self.send("textDocument/didOpen", {"textDocument": {"uri": uri, "languageId": "fx", "version": 1, "text": text}})
        said = self.receive()
        assert said["method"] == "textDocument/publishDiagnostics" and said["params"]["uri"] == uri
        return said["params"]["diagnostics"]

    def at(self, method, line, character, uri=URI):
        return self.ask("textDocument/" + method, {"textDocument": {"uri": uri}, "position": {"line": line, "character": character}})["result"]

    def close(self):
        assert self.ask("shutdown")["result"] is None
        self.send("exit")
        assert self.process.wait(20) == 0


def place(text, part, nth=0):
    """Line and UTF-16 unit of a part of the text."""
    at = -1
    for _ in range(nth + 1):
        at = text.index(part, at + 1)
    line = text.count("\n", 0, at)
    return line, len(text[text.rfind("\n", 0, at) + 1:at].encode("utf-16-le")) // 2


@test
def session():
    s = Session()
    can = s.ask("initialize", {"processId": None, "rootUri": None, "capabilities": {}})["result"]["capabilities"]
    assert can["hoverProvider"] and can["definitionProvider"] and can["documentFormattingProvider"] and can["textDocumentSync"] == 1
    s.send("initialized", {})
    assert s.open(SPEC) == []
    hover = s.at("hover", *place(SPEC, "x @ w"))["contents"]["value"]
    assert "x: f16[M,K]" in hover, hover
    hover = s.at("hover", *place(SPEC, "@"))
    assert "x @ w: f32[M,N]" in hover["contents"]["value"] and "GPU kernel 1 of" in hover["contents"]["value"] and "mainloop" in hover["contents"]["value"], hover
    assert (hover["range"]["start"]["line"], hover["range"]["start"]["character"]) == place(SPEC, "x @ w")
    assert "b: f16[N]" in s.at("hover", *place(SPEC, "b: f16"))["contents"]["value"]
    assert s.at("hover", 0, 3) is None
    for part, nth, to in (("twice(h)", 0, "twice(v)"), ("h)", 0, "h = x"), ("c * v", 0, "c = 2"), ("v\n", 0, "v) ="), ("w + b", 0, "w: f16"), ("N](h", 0, "N], b"), ("y =", 0, "y =")):
        found = s.at("definition", *place(SPEC, part, nth))
        if to == "v) =":
            continue  # parameters of fns have their place in the declaration
        assert found and (found["range"]["start"]["line"], found["range"]["start"]["character"]) == place(SPEC, to), (part, found)
    assert s.at("definition", *place(SPEC, "gelu")) is None  # the language's
    wrong = SPEC.replace("x @ w", "😀 x @ ww".replace("😀 ", ""))
    s.send("textDocument/didChange", {"textDocument": {"uri": URI, "version": 2}, "contentChanges": [{"text": wrong}]})
    said = s.receive()["params"]["diagnostics"]
    assert said[0]["code"] == "FX2001" and said[0]["severity"] == 1 and said[0]["source"] == "fx" and "fix:" in said[0]["message"]
    assert (said[0]["range"]["start"]["line"], said[0]["range"]["start"]["character"]) == place(wrong, "ww") and said[0]["range"]["end"]["character"] == place(wrong, "ww")[1] + 2
    assert s.at("definition", *place(wrong, "twice(h)")) is not None  # names are found all the same
    messy = SPEC.replace("  h =", "\th =  ").replace("  z", "      z").replace("}\n", "}   \n\n\n\n")
    s.send("textDocument/didChange", {"textDocument": {"uri": URI, "version": 3}, "contentChanges": [{"text": messy}]})
    s.receive()
    edits = s.ask("textDocument/formatting", {"textDocument": {"uri": URI}, "options": {"tabSize": 2, "insertSpaces": True}})["result"]
    assert edits[0]["newText"] == SPEC.replace("h = x", "h =   x") and edits[0]["range"]["start"] == {"line": 0, "character": 0}
    s.send("textDocument/didClose", {"textDocument": {"uri": URI}})
    assert s.receive()["params"]["diagnostics"] == []
    assert s.ask("textDocument/hover", {"textDocument": {"uri": URI}, "position": {"line": 0, "character": 0}})["error"]["code"] == -32602
    assert s.ask("workspace/symbol", {"query": ""})["error"]["code"] == -32601
    s.close()


@test
def includes():
    with tempfile.TemporaryDirectory() as folder:
        (pathlib.Path(folder) / "b.fx").write_text("fn half(v) = v / 2\n")
        s = Session()
        s.ask("initialize", {})
        uri = f"file://{folder}/a.fx"
        assert s.open('include "b.fx"\nkernel f(x: f32[N]) -> y: f32[N] { y = half(x) }\n', uri) == []
        assert s.open('include "c.fx"\nkernel f(x: f32[N]) -> y: f32[N] { y = half(x) }\n', f"file://{folder}/d.fx")[0]["code"] == "FX1009"
        s.close()


@test
def every_byte_of_the_examples():
    s = Session()
    s.ask("initialize", {})
    for path in sorted((ROOT / "examples").glob("*/*.fx"))[::6]:
        text, uri = path.read_text(), f"file://{path}"
        assert s.open(text, uri) == [], path
        for line, content in enumerate(text.split("\n")):
            for character in range(0, len(content) + 1, 7):
                hover, found = s.at("hover", line, character, uri), s.at("definition", line, character, uri)
                for r in (hover and hover["range"], found and found["range"]):
                    assert r is None or (r["start"]["line"], r["start"]["character"]) <= (r["end"]["line"], r["end"]["character"])
        s.send("textDocument/didClose", {"textDocument": {"uri": uri}})
        s.receive()
    s.close()


@test
def any_bytes():
    draw = random.Random(7)
    good = [{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}},
            {"jsonrpc": "2.0", "method": "textDocument/didOpen", "params": {"textDocument": {"uri": URI, "text": SPEC}}},
            {"jsonrpc": "2.0", "id": 2, "method": "textDocument/hover", "params": {"textDocument": {"uri": URI}, "position": {"line": 4, "character": 8}}},
            {"jsonrpc": "2.0", "id": 3, "method": "textDocument/formatting", "params": {"textDocument": {"uri": URI}}},
            {"jsonrpc": "2.0", "method": "textDocument/didChange", "params": {"textDocument": {"uri": URI}, "contentChanges": [{"text": SPEC[:77]}]}}]
    odd = [b"", b"{", b"[" * 100000, b"null", b"[]", b'"\\ud800"', b'{"id":1}', b'{"method":5,"id":[]}', b'{"id":1e99,"method":"shutdown"}', b'{"method":"textDocument/didOpen","params":[]}',
           b'{"id":4,"method":"textDocument/hover","params":{"textDocument":{"uri":"' + URI.encode() + b'"},"position":{"line":-1,"character":99999999999}}}', b"\x00\xff\xfe", b'{"a":"\\u00',
           json.dumps({"method": "textDocument/didOpen", "params": {"textDocument": {"uri": URI, "text": "\x00\ud83d x" * 50}}}).encode()]
    for _ in range(40):
        sent = b""
        for _ in range(60):
            body = bytearray(json.dumps(draw.choice(good)).encode() if draw.random() < 0.7 else draw.choice(odd))
            for _ in range(draw.choice((0, 0, 1, 3))):
                if body:
                    i = draw.randrange(len(body))
                    body[i:i + draw.choice((0, 1, 1, 4))] = bytes(draw.randrange(256) for _ in range(draw.choice((0, 1, 2))))
            sent += frame(bytes(body))
        if draw.random() < 0.3:
            sent += draw.choice((b"Content-Length: 9999999999999\r\n\r\nx", b"Content-Length: -5\r\n\r\n", b"Content-Length: 10\r\n\r\n{}", b"\r\n", b"x" * 10000))
        done = subprocess.run([FXC, "lsp"], input=sent, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60)
        assert done.returncode in (0, 2), (done.returncode, done.stderr[-300:])
        out = done.stdout
        while out:  # whole messages, every one of them JSON
            head, _, rest = out.partition(b"\r\n\r\n")
            n = int(head.split(b":")[1])
            json.loads(rest[:n])
            out = rest[n:]


@test
def odd_messages():
    # An id below 0 comes back, a message that is too long is answered and passed over, a NUL in a document stays in it.
    spec = "kernel f(x: f32[M]) -> y: f32[M] {\n     y = x  # \x00 and on\n}\n"
    sent = [{"jsonrpc": "2.0", "id": -7, "method": "initialize", "params": {}}, None,
            {"jsonrpc": "2.0", "method": "textDocument/didOpen", "params": {"textDocument": {"uri": URI, "text": spec}}},
            {"jsonrpc": "2.0", "id": 8, "method": "textDocument/formatting", "params": {"textDocument": {"uri": URI}}},
            {"jsonrpc": "2.0", "id": 9, "method": "shutdown"}, {"jsonrpc": "2.0", "method": "exit"}]
    frames = b"".join(frame(b" " * (17 << 20) if m is None else json.dumps(m).encode()) for m in sent)
    done = subprocess.run([FXC, "lsp"], input=frames, stdout=subprocess.PIPE, timeout=60)
    assert done.returncode == 0, done.returncode
    answers, out = {}, done.stdout
    while out:
        head, _, rest = out.partition(b"\r\n\r\n")
        n = int(head.split(b":")[1])
        m = json.loads(rest[:n])
        answers[m.get("id", m.get("method"))] = m
        out = rest[n:]
    assert "result" in answers[-7] and answers[None]["error"]["code"] == -32700, answers
    assert answers[8]["result"][0]["newText"] == spec.replace("     y", "  y"), answers[8]


@test
def layout_keeps_the_tree():
    def tree(text):
        return subprocess.run([FXC, "--emit=ast", "-o", "-", "-"], input=text.encode(), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True).stdout

    def laid_out(text):
        done = subprocess.run([FXC, "fmt", "-"], input=text.encode(), stdout=subprocess.PIPE, check=True)
        return done.stdout.decode()
    draw = random.Random(3)
    for path in sorted(p for d in ("examples", "tests/language", "tests/gpu") for p in (ROOT / d).rglob("*.fx")):
        text = path.read_text()
        messy = "\n".join(draw.choice(("", " ", "\t", "    ")) + line + draw.choice(("", "  ", "\t", "\r")) + draw.choice(("", "", "\n\n")) for line in text.split("\n")).rstrip("\r")
        for given in (text, messy):
            once = laid_out(given)
            assert laid_out(once) == once, path
            assert tree(once) == tree(given), path


@test
def check_of_files():
    with tempfile.TemporaryDirectory() as folder:
        good, bad = pathlib.Path(folder) / "good.fx", pathlib.Path(folder) / "bad.fx"
        good.write_text(SPEC)
        bad.write_text(SPEC.replace("  h", "h"))
        done = subprocess.run([FXC, "fmt", "--check", good, bad], stdout=subprocess.PIPE)
        assert done.returncode == 6 and done.stdout.decode() == f"{bad}\n" and bad.read_text() != SPEC
        assert subprocess.run([FXC, "fmt", good, bad]).returncode == 0 and bad.read_text() == SPEC
        assert subprocess.run([FXC, "fmt"], stderr=subprocess.DEVNULL).returncode == 2


failed = 0
for t in tests:
    if sys.argv[2:] and t.__name__ not in sys.argv[2:]:
        continue
    try:
        t()
    except Exception:
        failed += 1
        print(f"FAIL lsp/{t.__name__}\n{traceback.format_exc()}")
print(f"lsp: {len([t for t in tests if not sys.argv[2:] or t.__name__ in sys.argv[2:]]) - failed} passed, {failed} failed")
sys.exit(failed != 0)
