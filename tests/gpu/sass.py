"""Looks in machine code for registers that an asynchronous wgmma may still be reading when they are written again.

usage: sass.py CUBIN_OR_FOLDER...

wgmma may take A from registers. It reads them after it was issued: PTX forbids to write them before a wgmma.wait_group that covers it (PTX ISA, "Asynchronous warpgroup
level matrix instructions"). ptxas 13.0 was seen to do so nevertheless, without a message. In: cubins for sm_90a, entries of the disk cache among them, of a folder those that
give wgmma an operand in registers. Out: every such write; `N ok, M failed, K not checked`, of entries; exit 1 where M is not 0. Not checked is all where there is no such entry, and where there is no nvdisasm
(NVDISASM names one, else PATH, CUDA_HOME and /usr/local/cuda are looked at).
Every path through the control flow is followed: what is in flight is the groups that no wait has covered. Instructions begin and end groups as nvdisasm prints them: `gsb0` on
an HGMMA commits all since the last, WARPGROUP.DEPBAR.LE gsb0, N waits until N are left.
"""
import multiprocessing
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

NO_RESULT = re.compile(r"(ST|RED|BAR|BRX|BRA|RET|CALL|JMP|JMX|EXIT|BSSY|BSYNC|BREAK|WARPSYNC|NANOSLEEP|MEMBAR|CCTL|ERRBAR|R2P|PLOP3|PSETP|[IFDH]SETP|HSETP2|NOP|YIELD|DEPBAR|U[A-Z])")
MOST_STATES = 4096


class Instruction:
    """Text of one: at: its address; reads: registers of A of an HGMMA; writes; waits: groups a wait leaves; commits; targets: labels it may go to; ends: what follows is not next."""

    def __init__(self, at, text):
        self.at, self.text = at, text
        guard = re.match(r"@!?U?P\w+\s+", text)
        self.is_guarded = bool(guard)
        body = text[guard.end():] if guard else text
        self.op, _, rest = body.partition(" ")
        self.operands = [o.strip() for o in re.split(r",(?![^\[]*\])", rest)] if rest else []
        self.reads, self.writes, self.waits, self.commits = frozenset(), frozenset(), None, False
        self.targets = re.findall(r"\.L_\w+", text) if re.match(r"BRA|JMP|CALL|BRX", self.op) else []  # of BRX nvdisasm names them in a comment
        self.ends = not self.is_guarded and re.match(r"BRA|JMP|EXIT|RET|BRX", self.op) is not None and not re.search(r"BRA\.(DIV|CONV)", self.op)
        if self.op.startswith("BRA") and len([o for o in self.operands if re.match(r"!?U?P\w", o)]):
            self.ends = False  # BRA P0, `(.L) or BRA.U UP0, ..
        if re.match(r"[HIQD]GMMA", self.op):
            self.commits = "gsb0" in self.operands
            if re.fullmatch(r"R\d+", self.operands[1]):
                first = int(self.operands[1][1:])
                self.reads = frozenset(range(first, first + 4))
        elif self.op.startswith("WARPGROUP.DEPBAR"):
            self.waits = int(self.operands[1], 0)
        elif not NO_RESULT.match(self.op):
            self.writes = frozenset(self._results())

    def _results(self):
        for o in self.operands:
            if re.fullmatch(r"!?U?P(\d+|T)", o):
                continue
            r = re.fullmatch(r"R(\d+)", o.replace(".reuse", "").strip())
            return range(int(r.group(1)), int(r.group(1)) + self._width()) if r else ()
        return ()

    def _width(self):
        if self.op.startswith("LDSM"):
            return {"4": 4, "2": 2}.get(self.op[-1], 1)
        if re.match(r"[HIDQ]MMA", self.op):
            return 4
        if ".128" in self.op:
            return 4
        if re.match(r"(D[A-Z]|CS2R$|I2F\.F64|F2F\.F64)", self.op) or re.search(r"\.(64|WIDE)\b", self.op):
            return 2
        return 1


def functions(text):
    """Name -> (instructions, {label: index})."""
    found, name, code, labels = {}, None, [], {}
    for line in text.splitlines():
        section = re.match(r"\.text\.(\S+):", line)
        if section:
            name, code, labels = section.group(1), [], {}
            found[name] = (code, labels)
            continue
        label = re.match(r"(\.L_\w+):", line)
        if label and name:
            labels[label.group(1)] = len(code)
        instruction = re.match(r"\s*/\*([0-9a-f]{4,})\*/\s+\{?\s*(.*?)\s*;", line)
        if instruction and name:
            code.append(Instruction(instruction.group(1), instruction.group(2)))
    return found


def hazards(code, labels):
    """Instructions that write a register in flight, each with the register. A state: groups in flight, the oldest first, then the one that is not committed yet."""
    found, seen, todo = {}, [set() for _ in code], [(0, ((), frozenset()))]
    while todo:
        i, state = todo.pop()
        while i < len(code) and state not in seen[i]:
            if len(seen[i]) >= MOST_STATES:
                raise RuntimeError("too many states")
            seen[i].add(state)
            c, (groups, at_hand) = code[i], state
            for r in c.writes & at_hand.union(*groups):
                found[i, r] = True
            if c.op[1:5] == "GMMA":
                at_hand = at_hand | c.reads
                if c.commits:
                    groups, at_hand = groups + (at_hand,), frozenset()
            if c.waits is not None:
                groups = groups[len(groups) - c.waits:] if c.waits and len(groups) > c.waits else groups if c.waits else ()
            state = (groups, at_hand)
            todo.extend((labels[target], state) for target in c.targets)
            if c.ends:
                break
            i += 1
    unseen = [c.text for i, c in enumerate(code) if c.reads and not seen[i]]
    if unseen:
        raise RuntimeError(f"no path leads to {unseen[0]}")
    return sorted(found)


def check_itself():
    """A group in flight whose A is written, by a load of four registers, in the next turn of a loop; and the same behind a wait."""
    text = """.text.wrong:
        /*0000*/ HGMMA.64x64x16.F32.BF16 R24, R4, gdesc[UR4], R24 ;
        /*0010*/ HGMMA.64x64x16.F32.BF16 R24, R8, gdesc[UR4], R24, gsb0 ;
.text.loop:
.L_x_1:
        /*0000*/ LDSM.16.M88.4 R4, [R2] ;
        /*0010*/ WARPGROUP.DEPBAR.LE gsb0, 0x1 ;
        /*0020*/ LDSM.16.M88.4 R8, [R2] ;
        /*0030*/ HGMMA.64x64x16.F32.BF16 R24, R4, gdesc[UR4], R24, gsb0 ;
        /*0040*/ @P0 BRA `(.L_x_1) ;
        /*0050*/ EXIT ;
.text.right:
.L_x_2:
        /*0000*/ LDS.128 R4, [R2] ;
        /*0010*/ HGMMA.64x64x16.F32.BF16 R24, R4, gdesc[UR4], R24, gsb0 ;
        /*0020*/ IMAD.WIDE R2, R4, R5, R6 ;
        /*0030*/ ISETP.GE.AND P0, PT, R4, R5, PT ;
        /*0040*/ STS.128 [R2], R4 ;
        /*0050*/ WARPGROUP.DEPBAR.LE gsb0, 0x0 ;
        /*0060*/ IADD3 R7, P1, R4, R5, RZ ;
        /*0070*/ @P0 BRA `(.L_x_2) ;
        /*0080*/ EXIT ;
.text.table:
        /*0000*/ BRX R2 -0x10 (*"BRANCH_TARGETS .L_x_3,.L_x_4"*);
.L_x_3:
        /*0010*/ EXIT ;
.L_x_4:
        /*0020*/ HGMMA.64x64x16.F32.BF16 R24, R4, gdesc[UR4], R24, gsb0 ;
        /*0030*/ MOV R4, R2 ;
        /*0040*/ EXIT ;
"""
    found = {name: hazards(*f) for name, f in functions(text.replace("R24, gsb0 ;\n.text.loop", "R24, gsb0 ;\n        /*0020*/ SHFL.IDX PT, R9, R1, RZ, 0x1f ;\n        /*0030*/ EXIT ;\n.text.loop")).items()}
    assert found == {"wrong": [(2, 9)], "loop": [(0, r) for r in range(4, 8)], "right": [], "table": [(3, 4)]}, found


def scan(given):
    """What is wrong in one file, and how many entries of it have a wgmma that takes A from registers."""
    nvdisasm, path = given
    data = path.read_bytes()
    at = data.find(b"\x7fELF")
    if at < 0 or (at and b"fx_wgmma_held_" not in data):  # an entry of the cache begins with its key, the source in it
        return [], 0
    with tempfile.NamedTemporaryFile(suffix=".cubin") as cubin:
        cubin.write(data[at:])
        cubin.flush()
        said = subprocess.run([nvdisasm, "-c", cubin.name], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if said.returncode:
        return [f"{path}: {said.stderr.decode().strip()}"], 0
    wrong, n = [], 0
    for name, (code, labels) in functions(said.stdout.decode()).items():
        n += any(c.reads for c in code)
        try:
            wrong += [f"{name} at {code[i].at}: R{register} is written while a wgmma may be reading it: {code[i].text}" for i, register in hazards(code, labels)]
        except RuntimeError as e:
            wrong.append(f"{name}: {e}")
    return wrong, n


def main(given):
    check_itself()
    places = [shutil.which("nvdisasm"), *[f"{home}/bin/nvdisasm" for home in (os.environ.get("CUDA_HOME"), "/usr/local/cuda") if home]]
    nvdisasm = os.environ.get("NVDISASM") or next((p for p in places if p and os.path.exists(p)), None)
    if not nvdisasm:
        print("there is no nvdisasm\n0 ok, 0 failed, 1 not checked")
        return 0
    paths = [p for g in map(pathlib.Path, given) for p in (sorted(g.rglob("*.cubin")) if g.is_dir() else [g])]
    ok = failed = 0
    with multiprocessing.Pool() as pool:
        for wrong, n in pool.imap_unordered(scan, [(nvdisasm, p) for p in paths]):
            ok, failed = ok + (0 if wrong else n), failed + (max(1, n) if wrong else 0)
            for line in wrong[:20]:
                print(line)
    if not ok and not failed:
        print("nothing given has a wgmma that takes A from registers")
    print(f"{ok} ok, {failed} failed, {0 if ok or failed else 1} not checked")
    return failed > 0


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit("usage: sass.py CUBIN_OR_FOLDER...")
    sys.exit(main(sys.argv[1:]))
