# SPDX-License-Identifier: Apache-2.0
"""Engines, families and the cache from Python, and that the package's tables are those of the headers."""

import gc
import os
import pickle
import re
import signal
import subprocess
import sys
import tempfile
import threading
import weakref
from pathlib import Path
from unittest import mock

import numpy as np

import sett
from rig import Case, engine, family, family_object, python, unittest
from sett import Status, _c


class Tables(Case):
    def test_statuses(self):
        for n in range(100):
            name = _c.lib.sett_status_name(n).decode()
            self.assertEqual(f"SETT_{Status(n).name}" if n in Status._value2member_map_ else "unknown status", name)

    def test_structs(self):
        """Fields, offsets and sizes as a C compiler has them."""
        structs = [s for s in vars(_c).values() if isinstance(s, type) and issubclass(s, _c.C.Structure) and s is not _c.C.Structure]
        self.assertGreater(len(structs), 12)
        lines, wanted = [], []
        for s in structs:
            name = s.__name__
            lines.append(f'printf("{name} %zu\\n", sizeof({name}));')
            wanted.append(f"{name} {_c.C.sizeof(s)}")
            for field, *_ in s._fields_:
                lines.append(f'printf("{name}.{field} %zu %zu\\n", offsetof({name}, {field}), sizeof((({name} *)0)->{field}));')
                wanted.append(f"{name}.{field} {getattr(s, field).offset} {getattr(s, field).size}")
        with tempfile.TemporaryDirectory() as d:
            source = Path(d, "layout.c")
            source.write_text("#include <sett/sett.h>\n#include <stdio.h>\nint main(void)\n{\n%s\n}\n" % "\n".join(lines))
            subprocess.run([os.environ.get("CC", "cc"), "-std=c11", "-I" + sett.include_dir(), str(source), "-o", d + "/layout"], check=True)
            said = subprocess.run([d + "/layout"], check=True, capture_output=True, text=True).stdout.split("\n")[:-1]
        self.assertEqual(said, wanted)

    def test_every_option_of_the_engine_is_a_word(self):
        header = Path(sett.include_dir(), "sett", "engine.h").read_text()
        fields = [f for f, _ in _c.EngineOptions._fields_]
        declared = re.search(r"typedef struct sett_engine_options \{(.*?)\n\}", header, re.S).group(1)
        declared = re.sub(r"/\*.*?\*/", "", declared, flags=re.S)
        self.assertEqual(re.findall(r"(\w+);", declared), fields)
        words = set(sett.Engine.__init__.__kwdefaults__)
        self.assertEqual(words, set(fields) - {"size", "user", "cpu_poll"})

    def test_the_checker_tells_findings(self):
        found = []
        x, y = np.ones(64, "f4"), np.zeros(64, "f4")
        with sett.Engine(cache_dir="", checks="all", finding=lambda *f: found.append(f)) as e:
            e.compile(sett.kernels.axpy, target="cpu", dtype="f32")(x, y, 2.0)
            np.testing.assert_array_equal(y, 2 * x)
            z = np.ones((8, 129), "f4")  # rows that begin anywhere cost sectors
            e.compile(sett.kernels.rms_norm, target="cpu", dtype="f32", cols=129)(z, z[0].copy(), np.zeros_like(z), 1e-5)
        self.assertTrue(all(level == "cost" and kind in ("sectors", "narrow", "bank-conflict") and kind in text for kind, level, text in found), found)
        with self.assertRaises(sett.Error):
            sett.Engine(cache_dir="", checks="some")

    def test_element_types(self):
        self.assertEqual(_c.DTYPES["bf16"], 11)
        for given, name in (("float16", "f16"), ("torch.bfloat16", "bf16"), (np.float32, "f32"), (np.dtype("u2"), "u16"), ("i4", "i4"),
                (np.bool_, "i1"), ("float8_e4m3fn", "f8E4M3FN")):
            self.assertEqual(_c.dtype_id(given), _c.DTYPES[name])


class Errors(Case):
    def test_they_are_exceptions(self):
        with self.refused(Status.E_NO_DEVICE, "there is no device 7") as caught:
            engine().target(7)
        again = pickle.loads(pickle.dumps(caught.exception))
        for far in (1 << 32, (1 << 32) - 1, -(1 << 32) - 1):
            for call in (engine().sync, engine().poll, engine().compile(sett.kernels.axpy, target="cpu", dtype="f32").load):
                with self.refused(Status.E_NO_DEVICE, f"no device {far}"):
                    call(far)
        for gpus, there in ((0, "there is no GPU here"), (1, "there is one GPU, 0"), (8, "GPUs count from 0 to 7")):
            with mock.patch.object(sett.Engine, "gpu_count", gpus), self.refused(Status.E_NO_DEVICE, f"there is no device 99: {there}; the CPU is -1"):
                engine().target(99)
        self.assertEqual((again.status, str(again)), (caught.exception.status, str(caught.exception)))
        self.assertEqual(sett.Error(4711, "of a newer library").status, 4711)

    def test_options(self):
        for words, text in (({"assembler": "gas"}, "assembler is 'gas': auto, nvjitlink, ptxas, driver"), ({"cache_trust": 1}, "cache_trust is 1"),
                ({"cpu_sm": 91}, "91")):
            with self.refused(Status.E_ARGUMENT, text):
                sett.Engine(**words)
        with self.assertRaises(TypeError):
            sett.Engine(cache="")
        with tempfile.TemporaryDirectory() as d:
            with self.refused(Status.E_IO, "/nowhere"):
                sett.Engine(cache_dir=d, cache_layers=[d, Path("/nowhere")], cache_required=True)

    def test_operations_are_those_of_the_header(self):
        text = (Path(sett.include_dir()) / "sett" / "value.h").read_text()
        body = re.sub(r"/\*.*?\*/", "", text[text.index("enum sett_binary_op {"):text.index("} sett_binary_op;")], flags=re.S)
        self.assertEqual([f"SETT_{op.name}" for op in sett.Op], re.findall(r"SETT_\w+", body))
        self.assertEqual(list(sett.Op), list(range(len(sett.Op))))

    def test_an_operation_by_name(self):
        x = np.random.default_rng(7).standard_normal((5, 77)).astype("f4")
        for op, want in (("max", x.max(1)), (sett.Op.MIN, x.min(1)), ("Add", x.sum(1, dtype="f8"))):
            y = np.zeros(5, "f4")
            engine().compile(sett.kernels.row_reduce, target="cpu", dtype="f32", op=op)(x, y)
            np.testing.assert_allclose(y, want, rtol=1e-5, atol=1e-5)
        with self.refused(Status.E_DTYPE, "row_reduce: option op is an integer or a name: add, sub, mul, div"):
            engine().compile(sett.kernels.row_reduce, target="cpu", dtype="f32", op="sum")

    def test_an_activation_by_name(self):
        x, w = np.random.default_rng(8).standard_normal((5, 32)).astype("f4"), np.random.default_rng(9).standard_normal((16, 32)).astype("f4")
        bias, y = np.linspace(-1, 1, 16, dtype="f4"), np.zeros((5, 16), "f4")
        kernel = engine().compile(sett.kernels.gemm_mma, target="cpu", dtype="f32", bias=1, activation="silu")
        self.assertEqual([p.name for p in kernel.params], ["A", "B", "C", "BIAS"])
        kernel(x, w, y, bias)
        want = x @ w.T + bias
        np.testing.assert_allclose(y, want / (1 + np.exp(-want)), rtol=1e-5, atol=1e-5)
        with self.refused(Status.E_DTYPE, "gemm_mma: option activation is an integer or a name: none, relu, gelu, gelu_tanh, silu; 'tanh' is none"):
            engine().compile(sett.kernels.gemm_mma, target="cpu", dtype="f32", activation="tanh")

    def test_families(self):
        with self.refused(Status.E_IO, "libnone.so"):
            sett.Family("./libnone.so", "a_family")
        with self.refused(Status.E_IO, "did you mean scale_family?"):
            sett.Family(family_object(), "scale")
        with self.refused(Status.E_IO, "nothing_family"):
            family("nothing")
        with self.refused(Status.E_ARGUMENT, "no_family is no sett_family"):
            sett.Family(family_object(), "no_family")
        e, scale, bare = engine(), family("scale"), family("bare")
        for call, status, text in (
            (lambda: e.compile(scale, target="cpu", thread=3), Status.E_ARGUMENT, "scale has no option 'thread'; did you mean 'threads'? It has: dtype, threads, factor, small, twice"),
            (lambda: e.compile(sett.kernels.axpy, target="cpu", plain=1), Status.E_ARGUMENT, "axpy: option 'plain' is named 'no_pdl' now"),
            (lambda: e.compile(sett.kernels.dequantise, target="cpu", each=2), Status.E_ARGUMENT, "dequantise: option 'each' is named 'values_per_thread' now"),
            (lambda: e.compile(sett.kernels.softmax, target="cpu", each=2), Status.E_ARGUMENT, "softmax has no option 'each': dtype, no_pdl, cols, threads"),
            *((lambda w=w: sett.Engine(cache_dir="", **{w: 3}), Status.E_ARGUMENT, f"{w} is 3, which is no function") for w in ("log", "print")),
            (lambda: e.warm("x", progress=3), Status.E_ARGUMENT, "progress is 3, which is no function"),
            (lambda: e.compile(scale, target="cpu", threads=48), Status.E_ARGUMENT, "scale does not exist with threads=48"),
            (lambda: e.compile(scale, target="cpu", small=1 << 16), Status.E_RANGE, "scale: small = 65536 does not fit 2 bytes"),
            (lambda: e.compile(scale, target="cpu", threads=(1 << 31) + 5), Status.E_RANGE, "scale: threads = 2147483653 does not fit 4 bytes"),
            (lambda: e.compile(scale, target="cpu", dtype="f31"), Status.E_DTYPE, "scale: option dtype is an integer or an element type, 'f31' is neither: i1, i8"),
            *((lambda v=v: e.compile(scale, target="cpu", threads=v), Status.E_DTYPE, f"scale: option threads is an integer, {v!r} is none")
                for v in (10.5, 3.0, None, "x", "f32", b"f32", np.float32, [])),
            *((lambda v=v: e.compile(scale, target="cpu", factor=v), Status.E_DTYPE, f"scale: option factor is a floating number, {v!r} is none")
                for v in ("f32", None, "x", [])),
            (lambda: e.compile(scale, target="cpu", factor=1e300), Status.E_RANGE, "scale: factor = 1e+300 does not fit 4 bytes"),
            (lambda: e.compile(bare, target="cpu", dtype="f32"), Status.E_ARGUMENT, "bare needs a value of 'threads'"),
            (lambda: e.compile(scale, target="sm_1"), Status.E_ARGUMENT, "sm_1"),
            (lambda: e.compile(sett.kernels.softmax, target="cpu", dtype="i8", cols=8), Status.E_ARGUMENT, "dtype"),
            (lambda: e.compile_tape("nonsense"), Status.E_PARSE, ""),
            (lambda: e.kernel("00" * 32), Status.E_NOT_CACHED, ""),
            (lambda: e.kernel("0012"), Status.E_ARGUMENT, "64 hexadecimal digits"),
        ):
            with self.refused(status, text):
                call()
        for other in (lambda b: None, "saxpy", object()):
            with self.assertRaisesRegex(TypeError, "compile takes a sett.Family or one of sett.kernels; a body of your own is C: docs/python.md"):
                e.compile(other)
        with self.assertRaises(AttributeError):
            sett.kernels.hardmax
        self.assertIn("softmax", dir(sett.kernels))


class Families(Case):
    def test_options_reach_the_body(self):
        x, y = np.ones(5, "f4"), np.zeros(5, "f4")
        for words, want in (({}, 2), ({"factor": 0.25}, 0.25), ({"factor": 3, "twice": True}, 6), ({"twice": np.True_}, 4), ({"dtype": "fp32"}, 2), ({"factor": np.float32(8)}, 8), ({"small": -1}, 1), ({"threads": np.int64(32)}, 2)):
            engine().compile(family("scale"), target="cpu", **words)(x, y)
            self.assertEqual(y[0], want)
        bare = engine().compile(family("bare"), target="cpu", dtype="f32", threads=64, factor=7, small=0, twice=False)
        bare(x, y)
        self.assertEqual((y[4], bare.name), (7, "bare"))
        self.assertEqual([tuple(p) for p in family("scale").params][2:4], [("factor", 4, True), ("small", 2, False)])

    def test_classes_of_numpy_are_element_types(self):
        e = engine()
        for name, dtype in (("i8", np.int8), ("f16", np.float16), ("i8", np.dtype("i1"))):
            self.assertEqual(*(e.compile(sett.kernels.gemm_wgmma, target="cpu", dtype=t).key for t in (name, dtype)))
        for dtype in (complex, str, object, np.complex64, np.longdouble):
            with self.refused(Status.E_DTYPE, f"option dtype is an integer or an element type, {dtype!r} is neither"):
                e.compile(sett.kernels.gemm_wgmma, target="cpu", dtype=dtype)

    def test_types_of_python_are_those_of_numpy(self):
        for dtype in (float, int, bool, np.longlong, np.ulonglong):
            self.assertEqual(_c.dtype_id(dtype), _c.dtype_id(np.dtype(dtype)), dtype)
        x, y = np.arange(5) + 0.1, np.zeros(5)
        k = engine().compile(family("scale"), target="cpu", dtype=float)
        k(x, y)
        self.assertEqual((k.params[0].dtype, y.tolist()), ("f64", (2 * x).tolist()))
        self.assertEqual(engine().compile(family("scale"), target="cpu", dtype=int).params[0].dtype, "i64")
        scale = engine().compile(family("scale"), target="cpu", dtype="f64")
        scale(sett.view(x.view("u8"), float), y)
        for dtype in (complex, bytes):
            with self.refused(Status.E_DTYPE, f"{dtype!r} is no element type of sett"):
                sett.view(x, dtype)

    def test_a_body_may_call_ready_kernels(self):
        """Its object is linked with nothing: in this process, and in that of the command."""
        a, b, c = np.full((2, 8), 2, "f4"), np.full((4, 8), 1, "f4"), np.zeros((2, 4), "f4")
        engine().compile(sett.Family(family_object("own_epilogue"), "squared_family"), target="cpu", rows=2)(a, b, c)
        np.testing.assert_array_equal(c, np.full((2, 4), 256))
        manifest = family_object("own_epilogue") + ".warm"
        Path(manifest).write_text(f"family {family_object('own_epilogue')} squared_family\n    rows = 1, 2\n")
        run = subprocess.run([sys.executable, "-m", "sett", "warm", manifest, "--list", "--targets", "sm_80"], env=dict(os.environ, PYTHONPATH=os.pathsep.join(sys.path)), capture_output=True, text=True)
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        self.assertIn("rows=2", run.stdout)

    def test_a_file_beside_the_program(self):
        self.addCleanup(os.chdir, os.getcwd())
        folder, name = os.path.split(family_object())
        os.chdir(folder)
        self.assertEqual(sett.Family(name, "scale_family").name, "scale")

    def test_equal_options_are_one_kernel(self):
        with sett.Engine(cache_dir="") as e:
            a, b = (e.compile(family("scale"), target="cpu", factor=f) for f in (2, 2.0))
            self.assertEqual((a.key, a.address), (b.key, b.address))
            self.assertEqual((e.stats["records"], e.stats["memo_hits"]), (1, 1))

    def test_user_data_are_verified(self):
        with sett.Engine(cache_dir="", verify_user=True) as e:
            a, b = (e.compile(family("scale"), target="cpu", factor=2) for _ in range(2))
            self.assertEqual((a.key, a.address), (b.key, b.address))
            self.assertEqual([e.stats[n] for n in ("records", "memo_checks", "memo_differences", "memo_hits")], [2, 1, 0, 0])

    def test_what_a_kernel_says(self):
        e = sett.Engine(cache_dir="")  # a kernel keeps the name that it was first compiled with
        k = e.compile(family("scale"), target="cpu", dtype="f16", name="halves")
        self.assertEqual((k.name, k.target, len(k.key)), ("halves", "cpu", 64))
        self.assertEqual([tuple(p) for p in k.params], [("X", "f16", 1, False, True, False, 0), ("Y", "f16", 1, False, False, True, 0)])
        self.assertEqual(k.info["block"], (64, 1, 1))
        self.assertEqual(repr(k), "<sett.Kernel halves(X, Y) of dtype='f16' for cpu>")
        self.assertEqual(repr(e.kernel(k.key)), "<sett.Kernel halves(X, Y) for cpu>")
        self.assertEqual(repr(family("scale")), "<sett.Family scale(dtype, threads, factor, small, twice)>")
        self.assertIn("X", k.info["report"])

    def test_ptx(self):
        k = engine().compile(family("scale"), target="sm_80", ptx_only=True)
        self.assertIn(".target sm_80", k.info["ptx"])
        self.assertEqual((k.info["cubin"], k.info["origin"]), (b"", "compiler"))

    def test_tapes(self):
        k = engine().compile(family("scale"), target="cpu")
        text = subprocess.run([sys.executable, "-m", "sett", "compile", "saxpy", "--emit", "tape"], env=dict(os.environ, PYTHONPATH=
            os.pathsep.join(sys.path)), check=True, capture_output=True, text=True).stdout
        again = sett.Engine(cache_dir="").compile_tape(text, target="cpu", name="again")
        x, y = np.ones(9, "f4"), np.ones(9, "f4")
        again(x, y, 3.0)
        self.assertEqual((y[8], again.name), (4, "again"))
        self.assertNotEqual(k.key, again.key)
        for at in (0, 20, len(text)):
            with self.assertRaisesRegex(ValueError, rf"the tape is text and holds a NUL \(character {at}\)"):
                engine().compile_tape(text[:at] + "\0" + text[at:], target="cpu")


ASSEMBLER = """#!/bin/sh
if [ "$1" = --version ]; then echo 'release 13.0, V13.0.99'; exit 0; fi
echo 'ptxas info    : Used 24 registers'
while [ $# -gt 0 ]; do [ "$1" = -o ] && cat {folder}/cubin >"$2"; shift; done
"""
MANIFEST = "family {object} scale_family\n    threads = 32, 64\n    dtype = f32, f16\n"


class Cache(Case):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(os.path.realpath(folder.name))
        os.chmod(self.folder, 0o700)
        (self.folder / "kernels.warm").write_text(MANIFEST.format(object=family_object()))
        assembler = self.folder / "ptxas"  # so that nothing depends on a toolkit: an ELF that no driver would take
        assembler.write_text(ASSEMBLER.format(folder=self.folder))
        header = bytearray(64)
        header[:7], header[18], header[20], header[52] = b"\x7fELF\2\1\1", 190, 1, 64
        (self.folder / "cubin").write_bytes(header)
        assembler.chmod(0o755)
        self.options = {"cache_dir": self.folder / "cache", "cache_layers": "", "cache_remote": "", "ptxas": assembler, "assembler": "ptxas"}

    def test_a_manifest_is_listed(self):
        with sett.Engine(**self.options) as e:
            events = e.keys(self.folder / "kernels.warm", targets=["sm_80", "sm_90a"])
            self.assertEqual([(v.name, v.target, v.params, v.error) for v in events][:3], [
                ("scale", "sm_80", "threads=32 dtype=f32", ""), ("scale", "sm_90a", "threads=32 dtype=f32", ""),
                ("scale", "sm_80", "threads=32 dtype=f16", "")])
            self.assertEqual((len(events), len({v.key for v in events}), events[0].total), (8, 8, 8))
            k = e.compile(family("scale"), target="sm_80", threads=32, ptx_only=True)
            self.assertIn(k.info["name"], "scale")
            with self.refused(Status.E_PARSE, "kernels.warm:1"):
                (self.folder / "kernels.warm").write_text("nonsense")
                e.keys(self.folder / "kernels.warm", targets="sm_80")

    def test_an_exception_in_a_callback_ends_the_walk(self):
        class Enough(Exception):
            pass

        def progress(event):
            raise Enough(event.name)

        with sett.Engine(**self.options) as e, self.assertRaises(Enough):
            e.warm(self.folder / "kernels.warm", targets="sm_80", workers=1, progress=progress)

    def test_warm_pack_seal(self):
        seen = []
        pack = self.folder / "kernels.settpack"
        with sett.Engine(**self.options) as e:
            result = e.warm(self.folder / "kernels.warm", targets="sm_80", pack=pack, workers=1, progress=seen.append)
            self.assertEqual(tuple(result), (4, 0, 4, 0, 0))
            self.assertEqual([v.done for v in seen], [1, 2, 3, 4])
            entries = e.entries()
            self.assertEqual({n.key for n in entries}, {v.key for v in seen})
            self.assertEqual({(n.name, n.target, n.damage) for n in entries}, {("scale", "sm_80", "")})
            self.assertEqual(e.write_pack(self.folder / "one.settpack", [entries[0].key]), 1)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(self.folder)
        for layers in (["kernels.settpack"], "./kernels.settpack:../" + self.folder.name + "/one.settpack", [Path("kernels.settpack"), self.folder / "one.settpack"]):
            with sett.Engine(**{**self.options, "cache_dir": "cache", "cache_layers": layers}, sealed=True, cache_required=True) as e:
                self.assertEqual(e.compile(family("scale"), target="sm_80", threads=32, dtype="f16").info["origin"], "disk")
        with sett.Engine(**{**self.options, "cache_dir": "", "cache_layers": [pack]}, sealed=True) as e:
            self.assertTrue(e.sealed)
            k = e.compile(family("scale"), target="sm_80", threads=32, dtype="f16")
            self.assertEqual((k.info["origin"], e.kernel(k.key).address), ("disk", k.address))
            self.assertEqual((e.stats["alias_hits"], e.stats["records"]), (1, 0))  # the process that warmed it recorded it
            with self.refused(Status.E_NOT_CACHED, " (threads=96 dtype='f16')"):
                e.compile(family("scale"), target="sm_80", threads=96, dtype="f16")
            self.assertEqual((e.stats["compiles"], e.stats["sealed_misses"], e.stats["compiler_loaded"]), (0, 1, False))
            e.sealed = False
            e.compile(family("scale"), target="sm_80", threads=96, ptx_only=True)


class Engines(Case):
    def test_they_close(self):
        with sett.Engine(cache_dir="") as e:
            k = e.compile(family("scale"), target="cpu")
            x = np.zeros(3, "f4")
            c = k.prepare(x, x.copy())
        for call in (lambda: k(x, x.copy()), c, lambda: c.bind(x), lambda: e.stats, lambda: e.compile(family("scale")), lambda: k.prepare(x, x)):
            with self.refused(Status.E_CLOSED):
                call()
        e.close()
        e = sett.Engine(cache_dir="")
        k = e.compile(family("scale"), target="cpu")
        del e
        k(x, x.copy())  # a kernel keeps its engine open

    def test_they_close_when_other_threads_are_done(self):
        for _ in range(4):
            e, wrong, started = sett.Engine(cache_dir="", no_gpu=True), [], threading.Event()

            def work(n):
                try:
                    for i in range(10000):
                        started.set()
                        e.compile(family("scale"), target="sm_80", ptx_only=True, name=f"k{n}_{i}")
                        e.stats, e.metrics()
                except sett.Error as x:
                    if x.status != Status.E_CLOSED:
                        wrong.append(x)

            threads = [threading.Thread(target=work, args=(n,)) for n in range(3)]
            for t in threads:
                t.start()
            started.wait()
            e.close()
            for t in threads:
                t.join()
            self.assertEqual((wrong, e.closed), ([], True))

    def test_a_function_that_the_engine_calls_cannot_close_it(self):
        with tempfile.TemporaryDirectory() as folder:
            manifest = Path(folder, "k.warm")
            manifest.write_text(f"family {family_object()} scale_family\n")
            with sett.Engine(cache_dir=Path(folder, "cache")) as e:
                with self.refused(Status.E_ARGUMENT, "cannot close it"):
                    e.warm(manifest, targets="sm_80", progress=lambda _: e.close())
                self.assertFalse(e.closed)

    def test_they_are_garbage_with_their_kernels(self):
        e = sett.Engine(cache_dir="")
        e.kernel_of_mine = e.compile(family("scale"), target="cpu")
        e.call_of_mine = e.kernel_of_mine.prepare(np.zeros(3, "f4"), np.zeros(3, "f4"))
        e.view_of_mine = sett.view(e, "f32")
        gone = weakref.ref(e)
        del e
        gc.collect()
        self.assertIsNone(gone())

    def test_one_whose_functions_reach_it_is_garbage(self):
        class Server:
            def __init__(self, word):
                self.said = []
                self.engine = sett.Engine(cache_dir="", **{word: lambda *words: self.said.append(words)})

        for word in ("print", "log"):
            s = Server(word)
            s.engine.compile(family("scale"), target="cpu")
            gone = weakref.ref(s), weakref.ref(s.engine)
            del s
            gc.collect()
            self.assertEqual([g() for g in gone], [None, None])

    def test_what_no_option_can_hold(self):
        for options, text in (
            ({"cpu_threads": 2**32 + 1}, "cpu_threads = 4294967297 does not fit 32 bits"),
            ({"cache_cap": -1}, "cache_cap = -1 does not fit 64 bits"),
        ):
            with self.refused(Status.E_RANGE, text):
                sett.Engine(**options)
        with self.refused(Status.E_RANGE, "opt_level = 4294967296 does not fit"):
            engine().compile(family("scale"), target="cpu", opt_level=2**32)
        with self.refused(Status.E_ARGUMENT, "a:b: ':' stands between paths"):
            sett.Engine(cache_layers=["/tmp", "/tmp/a:b"])
        for wrong in (lambda: sett.Engine(cache_dir="/tmp/a\0b"), lambda: engine().compile(family("scale"), target="cpu\0x")):
            with self.assertRaises(ValueError):
                wrong()
        for key in ("ab", "zz" * 32):
            with self.refused(Status.E_ARGUMENT, "64 hexadecimal digits"):
                engine().write_pack("/nowhere/pack", (k for k in [key]))

    def test_what_they_tell(self):
        with sett.Engine(cache_dir="") as e:
            self.assertIn("sett: ", e.describe())
            self.assertIn('sett_compiles_total{engine="a\\"b"}', e.metrics('a"b'))
            both = sett.metrics({"one": e, "two": engine()})
            self.assertIn('{engine="one"', both)
            self.assertIn('{engine="two"', both)
            self.assertIn("sett_compiles_total ", e.metrics())
            with self.refused(Status.E_ARGUMENT):
                sett.metrics({})

    def test_log_and_print(self):
        lines, said = [], []
        with sett.Engine(cache_dir="", no_gpu=True, log=lambda *line: lines.append(line), print=said.append) as e:
            e.compile(family("scale"), target="sm_80", ptx_only=True)
            self.assertTrue(lines)
            self.assertTrue(all(level in ("error", "warning", "info", "debug") and component for level, component, _ in lines))
            e.compile(family("talk"), target="cpu")(np.array([1, 2.5], "f4"))
            self.assertEqual("".join(said), "X[1] = 2.500000\n")

    def test_threads_share_a_compile(self):
        with sett.Engine(cache_dir="") as e:
            kernels = []
            threads = [threading.Thread(target=lambda: kernels.append(e.compile(family("scale"), target="sm_80", ptx_only=True))) for _ in range(6)]
            for t in threads:
                t.start()
            for t in threads:
                t.join()
            self.assertEqual((len(kernels), len({k.address for k in kernels}), e.stats["codegens"]), (6, 1, 1))

    def test_a_program_that_ends_with_an_engine_open(self):
        for code in ("", "k = e.compile(family('scale'), target='cpu')", "import sett; sett.keep = e, family('scale')"):
            run = python(f"import sett\nfrom rig import family\ne = sett.Engine(cache_dir='', log=print)\n{code}")
            self.assertEqual((run.returncode, run.stderr), (0, ""), code)


class Command(Case):
    def run_sett(self, *words):
        return subprocess.run([sys.executable, "-m", "sett", *words], env=dict(os.environ, PYTHONPATH=os.pathsep.join(sys.path)),
            capture_output=True, text=True)

    def test_doctor(self):
        run = self.run_sett("doctor")
        self.assertIn(run.returncode, (0, 5), run.stderr)  # 5: no GPU
        for text in ("python: ", f"sett for Python: {sett.__version__}", f"numpy: {np.__version__}", "compile to PTX", "works"):
            self.assertIn(text, run.stdout)

    def test_a_reader_that_ends(self):
        """`| head -1`: the program ends by SIGPIPE, as others of Unix do, wherever it is."""
        for words in (["doctor"], ["include"], ["layout", "(4,2):(1,4)"]):
            for python in ([sys.executable], [sys.executable, "-u"]):
                reader, writer = os.pipe()
                os.close(reader)
                with open(writer, "wb") as gone:
                    run = subprocess.run([*python, "-m", "sett", *words], env=dict(os.environ, PYTHONPATH=os.pathsep.join(sys.path)),
                        stdout=gone, stderr=subprocess.PIPE, text=True)
                self.assertEqual((run.returncode, run.stderr), (-signal.SIGPIPE, ""), words)

    def test_the_command(self):
        self.assertEqual(self.run_sett("include").stdout.strip(), sett.include_dir())
        self.assertTrue(Path(sett.include_dir(), "sett", "sett.h").exists())
        self.assertTrue(Path(self.run_sett("lib").stdout.strip(), "libsett-kernels.so.0").exists())
        self.assertEqual(self.run_sett("layout", "(4,2):(1,4)").returncode, 0)
        self.assertNotEqual(self.run_sett("nonsense").returncode, 0)


if __name__ == "__main__":
    unittest.main()
