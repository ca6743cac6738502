# SPDX-License-Identifier: MIT
"""The Python package against standalone programs of the same specs, and against itself."""
import ctypes
import fcntl
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import types
from unittest import mock

import numpy as np
import pytest

import strata
from strata import safetensors
from strata.abi import ABI

SOURCE = pathlib.Path(__file__).resolve().parents[2]
SPEC = """return model {
  name = "small", vocab = %d, context = 24, dim = 32, tokenizer = "%s", norm = rmsnorm {},
  residual = haares { blocks = 2 },
  layers = times(2, layer { attention { heads = 2, %s }, mlp { hidden = 48, activation = "swiglu" } }),
  train = { optimizer = adamw { lr = 2e-3, clip = 1 }, batch = 4, seed = 7 },
}
"""
TEXT = "the cat sat on the mat and the dog sat on the log. "


def spec(vocab=256, tokenizer="bytes", attention="rope = { theta = 100 }"):
    return SPEC % (vocab, tokenizer, attention)


@pytest.fixture(scope="module")
def model():
    return strata.build(spec())


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    folder = tmp_path_factory.mktemp("program")
    (folder / "small.lua").write_text(spec())
    subprocess.run([os.environ["STRATA"], "build", "small.lua"], cwd=folder, check=True)
    return folder / "small"


def pairs(model, size=4, seed=1):
    ids = np.frombuffer(TEXT.encode() * 20, np.uint8)
    first = np.random.default_rng(seed).integers(0, len(ids) - model.context - 1, size)
    windows = ids[first[:, None] + np.arange(model.context + 1)]
    return windows[:, :-1], windows[:, 1:]


# == The interface ==

def test_structures_are_those_of_c(tmp_path):
    """Sizes and places, by a C compiler that reads the same headers."""
    names = [n for n, x in vars(ABI).items()
             if isinstance(x, type) and issubclass(x, ctypes.Structure)]
    assert {"strata_model", "strata_api", "strata_setup", "strata_adamw", "strata_loss",
            "strata_tensor", "strata_sampling", "strata_ids", "strata_text"} <= set(names)
    lines, want = [], []
    for name in names:
        structure = getattr(ABI, name)
        lines.append(f'printf("%zu\\n", sizeof({name}));')
        want.append(ctypes.sizeof(structure))
        for field, *_ in structure._fields_:
            lines.append(f'printf("%zu %zu\\n", offsetof({name}, {field}), '
                         f'sizeof((({name} *)0)->{field}));')
            want.append(f"{getattr(structure, field).offset} {getattr(structure, field).size}")
    code = tmp_path / "sizes.c"
    code.write_text('#include "strata.h"\n#include <stdio.h>\nint main(void) {\n'
                    + "\n".join(lines) + "\nreturn 0; }\n")
    subprocess.run([os.environ.get("CC", "cc"), f"-I{SOURCE / 'runtime'}", code, "-o",
                    tmp_path / "sizes"], check=True)
    found = subprocess.run([tmp_path / "sizes"], check=True, capture_output=True, text=True)
    assert found.stdout.split("\n")[:-1] == [str(x) for x in want]


def test_every_function_of_the_header_is_there():
    shown = subprocess.run(["nm", "-D", "--defined-only", "--format=posix",
                            os.environ["STRATA_LIBRARY"]], check=True, capture_output=True,
                           text=True).stdout
    names = {line.split()[0] for line in shown.splitlines()}
    assert names == set(ABI.functions)


def test_the_version_is_the_compilers():
    found = subprocess.run([os.environ["STRATA"], "--version"], check=True, capture_output=True,
                           text=True)
    assert found.stdout == f"strata {strata.__version__}\n"


# == Numbers ==

def test_logits_and_weights_are_the_programs(model, program, tmp_path):
    model.init()
    model.save(tmp_path / "w.safetensors")
    tokens, _ = pairs(model)
    safetensors.write(tmp_path / "in.safetensors", {"tokens": tokens.astype(np.int32)})
    subprocess.run([program, "logits", "--weights", "w.safetensors", "--tokens", "in.safetensors",
                    "--out", "out.safetensors"], cwd=tmp_path, check=True)
    theirs, _ = safetensors.read(tmp_path / "out.safetensors")
    assert (model.logits(tokens) == theirs["logits"]).all()
    # and back: weights that the program trained
    (tmp_path / "text").write_text(TEXT * 100)
    subprocess.run([program, "train", "--data", "text", "--steps", "5", "--out", "t.safetensors"],
                   cwd=tmp_path, check=True, capture_output=True)
    before = model.logits(tokens)
    model.load(tmp_path / "t.safetensors")
    assert (model.logits(tokens) != before).any()


def test_steps_are_the_programs(model, program, tmp_path):
    """Windows in their order, the program's batch: the same losses, the same weights."""
    (tmp_path / "text").write_text(TEXT * 100)
    subprocess.run([program, "train", "--data", "text", "--steps", "6", "--out", "t.safetensors",
                    "--order", "sequential", "--log", "log"],
                   cwd=tmp_path, check=True, capture_output=True)
    log = [json.loads(line) for line in (tmp_path / "log").read_text().splitlines()]
    theirs = [line["loss"] for line in log if "loss" in line]
    again = strata.load(strata.compile(spec()), threads=1)
    again.init()
    ids, n, T = np.frombuffer(TEXT.encode() * 100, np.uint8), 4, 24
    ours = []
    for i in range(6):
        first = (np.arange(n) + i * n) * T
        windows = ids[first[:, None] + np.arange(T + 1)]
        ours.append(again.step(windows[:, :-1], windows[:, 1:]).loss)
    np.testing.assert_allclose(ours, theirs, rtol=1e-6)
    trained, _ = safetensors.read(tmp_path / "t.safetensors")
    for name, x in again.weights.items():
        np.testing.assert_allclose(x, trained[name], rtol=1e-5, atol=1e-7, err_msg=name)


def test_training_learns_and_gradients_are_the_losses(model):
    model.init(3)
    batch = pairs(model, 8)
    first = model.loss(*batch)
    assert first.nll.shape == batch[0].shape
    assert first.nll.mean() == pytest.approx(first.cross_entropy, rel=1e-5)
    for _ in range(30):
        last = model.step(*batch, lr=5e-3)
    assert last.loss < 0.7 * first.loss
    found = model.forward_backward(*batch)
    name = max(model.gradients, key=lambda n: np.abs(model.gradients[n]).max())
    slope, at = model.gradients[name], np.unravel_index(
        np.abs(model.gradients[name]).argmax(), model.gradients[name].shape)
    step, before = 1e-2 / np.abs(slope[at]) ** 0.5 * 0.1, model.weights[name][at]
    model.weights[name][at] = before + step
    up = model.loss(*batch).loss
    model.weights[name][at] = before - step
    down = model.loss(*batch).loss
    model.weights[name][at] = before
    assert (up - down) / (2 * step) == pytest.approx(slope[at], rel=0.05)
    once = slope.copy()
    model.forward_backward(*batch, accumulate=True)
    np.testing.assert_allclose(model.gradients[name], 2 * once, rtol=1e-5, atol=1e-6)
    assert float(found) == found.loss


def test_threads_change_nothing():
    file = strata.compile(spec())
    one, two = strata.load(file, threads=1), strata.load(file, threads=2)
    assert (one.workers, two.workers) == (1, 2)
    one.init(1), two.init(1)
    batch = pairs(one)
    assert (one.logits(batch[0]) == two.logits(batch[0])).all()
    assert one.step(*batch) == two.step(*batch)


def test_bfloat16_weights(tmp_path):
    whole = strata.build(spec())
    half = strata.build(spec(), inference=True, options=["--precision", "bf16"])
    whole.init(2)
    whole.save(tmp_path / "w.safetensors")
    half.load(tmp_path / "w.safetensors")
    assert half.weights.bf16
    name = sorted(half.weights.bf16)[0]
    np.testing.assert_allclose(safetensors.from_bf16(half.weights[name]), whole.weights[name],
                               rtol=2 ** -8)
    half.save(tmp_path / "h.safetensors")
    kept, _ = safetensors.read(tmp_path / "h.safetensors")
    assert (kept[name] == safetensors.from_bf16(half.weights[name])).all()
    with pytest.raises(strata.Error, match="inference"):
        half.forward_backward(*pairs(half))


# == Sequences and text ==

def test_sequences(model):
    model.init(1)
    tokens, _ = pairs(model, 1)
    row, whole = tokens[0], model.logits(tokens)[0]
    s = model.sequence()
    np.testing.assert_allclose(s.prefill(row[:10]), whole[9], atol=1e-4)
    assert len(s) == 10
    other = s.copy()
    np.testing.assert_allclose(s.decode(row[10]), whole[10], atol=1e-4)
    s.truncate(4)
    np.testing.assert_allclose(s.decode(row[4]), whole[4], atol=1e-4)
    both = model.decode([s, other], [row[5], row[10]])
    np.testing.assert_allclose(both, whole[[5, 10]], atol=1e-4)
    assert (len(s), len(other)) == (6, 11)
    np.testing.assert_allclose(other.extend(row[11:14]), whole[11:14], atol=1e-4)
    with pytest.raises(strata.Error, match="expected 1 to 4"):
        s.extend(row[:5])


@pytest.fixture(scope="module")
def trained(program):
    """The program's weights, which repeat themselves."""
    folder = program.parent
    (folder / "text").write_text(TEXT * 100)
    subprocess.run([program, "train", "--data", "text", "--steps", "80", "--out", "w.safetensors"],
                   cwd=folder, check=True, capture_output=True)
    return folder / "w.safetensors"


@pytest.mark.parametrize("how", [
    {"temperature": 0.9, "top_k": 40, "seed": 5},
    {"temperature": 0, "repeat_penalty": 1.3},
    {"temperature": 0.8, "top_p": 0.9, "min_p": 0.02, "seed": 3, "repeat_penalty": 1.2},
])
def test_generated_text_is_the_programs(model, program, trained, how):
    model.load(trained)
    options = [x for name, value in how.items() for x in ("--" + name.replace("_", "-"), str(value))]
    ran = subprocess.run([program, "generate", "--weights", trained, "--prompt", "the ",
                          "--max-tokens", "18", *options], check=True, capture_output=True)
    text = model.tokenizer()
    prompt = text.encode("the ")
    written = ran.stdout.decode("utf-8", "replace")
    own = "".join(text.stream(model.generate(prompt, 18, **how)))
    assert own + "\n" * (not own.endswith("\n")) == written  # which ends its line
    if "repeat_penalty" in how:
        how = {**how, "repeat_penalty": 1}
        assert own != "".join(text.stream(model.generate(prompt, 18, **how)))


@pytest.mark.parametrize("length", [4, 24, 25, 36, 37, 100])
def test_contexts_slide_as_they_do_here(model, program, trained, length):
    """The program's text with --slide is that of new sequences of what is left."""
    model.load(trained)
    text = (TEXT * 2)[:length].encode()
    how = {"temperature": 0.9, "seed": 4, "repeat_penalty": 1.1}
    options = [x for name, value in how.items() for x in ("--" + name.replace("_", "-"), str(value))]
    ran = subprocess.run([program, "generate", "--weights", trained, "--slide", "--max-tokens", "60",
                          *options], input=text, check=True, capture_output=True)
    sampler = strata.Sampler(model.vocab, **how)
    sampler.see(np.frombuffer(text, np.uint8))
    ids, first, written = list(text), 0, []
    while len(ids) - first > model.context:
        first += model.context // 2
    sequence = model.sequence()
    logits = sequence.prefill(ids[first:])
    while len(written) < 60:
        written.append(sampler(logits, len(ids)))
        ids.append(written[-1])
        if len(ids) - first > model.context:
            first += model.context // 2
            sequence = model.sequence()
            logits = sequence.prefill(ids[first:])
        else:
            logits = sequence.decode(ids[-1])
    own = "".join(model.tokenizer().stream(written))
    assert own + "\n" * (not own.endswith("\n")) == ran.stdout.decode("utf-8", "replace")


def test_a_sampler_remembers_what_it_drew():
    logits = [3.0, 2.5, -1.0]
    sampler = strata.Sampler(3, temperature=0, repeat_penalty=2)
    for _ in range(2):
        assert [sampler(logits, i) for i in range(3)] == [0, 1, 0]
        sampler.forget()
    sampler.see([0])
    assert sampler(logits, 0) == 1
    for wrong in (-1, 0.5, float("nan"), 1e4):
        with pytest.raises(strata.Error, match="repeat_penalty: expected 0, none, or a number from 1 ") as e:
            strata.Sampler(3, repeat_penalty=wrong)
        assert e.value.status == 1


def test_characters_come_with_weights(tmp_path):
    (tmp_path / "m.lua").write_text(spec(40, "chars"))
    (tmp_path / "text").write_text(TEXT * 100)
    subprocess.run([os.environ["STRATA"], "run", "m.lua", "train", "--data", "text", "--steps", "2",
                    "--out", "w.safetensors"], cwd=tmp_path, check=True, capture_output=True)
    model = strata.build(tmp_path / "m.lua")
    text = model.tokenizer(tmp_path / "w.safetensors")
    assert text.decode(text.encode("the mat")) == "the mat"
    assert (text.begin, text.end, text.ends) == (None, 3, [3])
    assert "".join(text.stream(text.encode("the mat on it"), stop=["on", "x"])) == "the mat "
    with pytest.raises(strata.Error, match="weights"):
        model.tokenizer()


def test_a_file_of_a_tokenizer():
    text = strata.Tokenizer(SOURCE / "tests/runtime/tokenizers/llama3.json")
    assert (text.ids, text.end, text.find("<|begin_of_text|>"), text.find("no")) == (
        342, 341, 340, None)
    assert (text.begin, text.ends) == (340, [341])
    assert text.encode("the cat", template=True)[0] == 340
    assert text.decode(text.encode("the café €")) == "the café €"
    assert "".join(text.stream(text.encode("a\0b €"), continues=False)) == "a\0b €"


def test_several_ids_end_a_text(model, trained, tmp_path):
    model.load(trained)
    how = {"temperature": 1.5, "seed": 2}
    free = list(model.generate([116, 104], 16, **how))
    ends = [free[9], free[4], 255]
    first = min(i for i, one in enumerate(free) if one in ends)
    for stop in ends, tuple(ends), np.array(ends), set(ends):
        assert list(model.generate([116, 104], 16, stop_id=stop, **how)) == free[:first]
    assert list(model.generate([116, 104], 16, stop_id=free[4], **how)) == free[:free.index(free[4])]
    assert list(model.generate([116, 104], 16, stop_id=[], **how)) == free
    for bad in 256, [1, -1], np.array([300]):
        with pytest.raises(ValueError, match="stop_id: expected ids from 0 to 255, found"):
            model.generate([1, 2], stop_id=bad)
    file = (SOURCE / "tests/runtime/tokenizers/gpt2.json").read_text()
    (tmp_path / "t.json").write_text(
        '{"strata": {"config": {"bos_token_id": 9, "eos_token_id": [5, 340, 3]}},' + file[1:])
    text = strata.Tokenizer(tmp_path / "t.json")
    assert (text.begin, text.end, text.ends) == (9, 340, [5, 340, 3])
    assert model.tokenizer().ends == []


# == What is refused ==

def test_models_say_what_is_wrong(model):
    tokens, targets = pairs(model)
    with pytest.raises(strata.Error, match=r"token \[0,0\] is 300, expected 0 to 255") as caught:
        model.logits([[300]])
    assert caught.value.status == ABI.STRATA_ERROR_ARGUMENT
    with pytest.raises(strata.Error, match="24"):
        model.sequence().prefill([1] * 25)
    with pytest.raises(strata.Error, match="length is 25"):
        model.loss(np.ones((1, 25), int), np.ones((1, 25), int))
    with pytest.raises(strata.Error, match="need a state each"):
        model.decode([model.sequence()] * 2, [1, 2])
    with pytest.raises(ValueError, match="targets"):
        model.loss(tokens, targets[:2])
    with pytest.raises(ValueError, match="batch"):
        model.logits([1, 2])
    with pytest.raises(ValueError, match="float64"):
        model.logits([[0.5]])
    with pytest.raises(KeyError, match="no tensor"):
        model.weights["nothing"]
    with pytest.raises(TypeError, match="speed"):
        model.update(1, speed=2)
    near = strata.build(spec(attention="window = 2"))
    s = near.sequence()
    s.prefill(list(range(20)))
    with pytest.raises(strata.Error, match="a window keeps") as caught:
        s.truncate(3)
    assert caught.value.status == ABI.STRATA_ERROR_PAST


@pytest.mark.parametrize("number", [-1 - 2**63, -2**31 - 1, 2**32 + 65, 2**33, 2**64 + 1, 2**70])
def test_numbers_are_not_cut_off(model, number):
    """Each place that takes a whole number, with one that its type in C does not hold."""
    text, logits = model.tokenizer(), np.zeros(model.vocab, np.float32)
    calls = [
        lambda: list(text.stream([65, number])),
        lambda: text.decode([65, number]),
        lambda: strata.library.Pool(number),
        lambda: strata.Model(model._library._name, threads=number),
        lambda: strata.Sampler(number),
        lambda: strata.Sampler(model.vocab).see([number]),
        lambda: list(model.generate([1, 2], number)),
        lambda: model.logits([[number]]),
        lambda: model.sequence().prefill([number]),
        lambda: model.sequence(number),
        lambda: model.sequence().truncate(number),
    ]
    if not 0 <= number < 2**63:
        calls += [lambda: strata.Sampler(model.vocab, top_k=number)]
    if not -2**63 <= number < 2**63:
        calls += [lambda: strata.Sampler(model.vocab)(logits, number)]
    if not 0 <= number < 2**64:
        calls += [lambda: strata.Sampler(model.vocab, seed=number), lambda: model.init(number),
                  lambda: model.forward_backward(*pairs(model), draw=number)]
    for call in calls:
        with pytest.raises((ValueError, OverflowError, ctypes.ArgumentError, strata.Error)):
            call()


@pytest.mark.parametrize("number", [-5, -2**40, 2**31, 2**32 + 65])
def test_ids_are_told_as_they_were_given(model, number):
    with pytest.raises(ValueError, match=f"tokens\\[0,1\\]: expected an id .*, found {number}$"):
        model.logits([[1, number, 2]])
    with pytest.raises(ValueError, match=f"targets\\[0,0\\]: .*, found {number}$"):
        model.forward_backward([[1, 2]], [[number, 2]])


def test_numbers_that_ruin_weights_are_refused(model):
    before = {name: np.array(x) for name, x in model.weights.items()}
    for bad in float("nan"), float("inf"):
        for rate in "lr", "beta1", "beta2", "eps", "weight_decay":
            with pytest.raises(strata.Error, match=f"{rate} is not finite"):
                model.step(*pairs(model), **{rate: bad})
        with pytest.raises(strata.Error, match="scale is not finite"):
            model.forward_backward(*pairs(model), scale=bad)
    for rate in "lr", "beta1", "beta2", "eps", "weight_decay":
        for bad in -1, -1e-300, 1e39, 1e308:
            with pytest.raises(strata.Error, match=f"{rate} is (below 0|1 or more|more than)"):
                model.step(*pairs(model), **{rate: bad})
    for bad in float("nan"), -1:
        with pytest.raises(ValueError, match="clip"):
            model.step(*pairs(model), clip=bad)
    for name, x in model.weights.items():
        assert np.array_equal(x, before[name])


def test_a_prompt_leaves_room(model):
    most = model.context - 2
    assert len(list(model.generate([1, 2], most))) == most == len(list(model.generate([1, 2])))
    with pytest.raises(ValueError, match=f"max_tokens: expected 0 to {most}"):
        model.generate([1, 2], most + 1)


def test_names_are_not_options(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(strata.Error, match="--help"):
        strata.build("--help")
    pathlib.Path("-x.lua").write_text(spec())
    assert strata.build("-x.lua", "-x.so").name == "small"


def test_the_file_that_cannot_be_saved_is_named(model, tmp_path):
    with pytest.raises(OSError, match="nowhere/w.st") as caught:
        model.save(tmp_path / "nowhere" / "w.st")
    assert caught.value.filename == str(tmp_path / "nowhere" / "w.st")


def left_by(code, folder):
    """What is new in a folder once a process that runs this was killed."""
    before = set(os.listdir(folder))
    code = "import os, signal\ndie = lambda *_: os.kill(os.getpid(), signal.SIGKILL)\n" + code
    ran = subprocess.run([sys.executable, "-c", code], env={**os.environ, "TMPDIR": str(folder)})
    assert ran.returncode == -signal.SIGKILL
    return set(os.listdir(folder)) - before


def test_what_a_killed_process_left_is_found(model, tmp_path):
    path = tmp_path / "w"
    left = left_by("import numpy, strata.safetensors as s\nos.replace = die\n"
                   f"s.write({str(path)!r}, {{'a': numpy.zeros(9)}})", tmp_path)
    assert left == {"w.strata-tmp"}
    with pytest.warns(UserWarning, match="w.strata-tmp, which a process that was killed left"):
        model.save(path)
    assert os.listdir(tmp_path) == ["w"]
    (tmp_path / "w.strata-tmp").symlink_to(path)
    with pytest.raises(FileExistsError, match="a regular one of this user"):
        model.save(path)
    (tmp_path / "w.strata-tmp").unlink()
    with open(tmp_path / "w.strata-tmp", "wb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(OSError, match="another process is writing"):
            model.save(path)


def test_folders_of_killed_processes_are_removed(tmp_path, monkeypatch):
    left = left_by("from strata.temporary import WorkFolder\nw = WorkFolder()\n"
                   "open(w.name + '/spec.lua', 'w').close()\ndie()", tmp_path)
    assert len(left) == 1 and left.pop().startswith("strata-work-")
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    strata.compile(spec(), tmp_path / "m.so")
    assert set(os.listdir(tmp_path)) == {"m.so", "m.h"}
    kept = strata.compile(spec())
    strata.compile(spec(), tmp_path / "m.so")
    assert os.path.exists(kept)  # while this process runs


def test_what_a_person_made_is_not_replaced(model, tmp_path):
    mine = tmp_path / "mine.lua"
    for there in b"return model {}\n", b"x", b"\x01\0\0\0\0\0\0\0", b"\xff" * 8 + b"{}":
        mine.write_bytes(there)
        with pytest.raises(FileExistsError, match="overwrite=True"):
            model.save(mine)
        assert mine.read_bytes() == there
    model.save(mine, overwrite=True)
    model.save(mine)
    model.load(mine)
    mine.write_bytes(b"")
    model.save(mine)


def test_options_of_a_spec(tmp_path):
    spec = """local o = option { width = { type = "integer", min = 8, default = 8 }, tied = true }
    return model { name = "m", vocab = 9, context = 8, dim = o.width, norm = rmsnorm {},
      embedding = { tied = o.tied }, layers = { layer { mlp { hidden = 8 } } } }"""
    assert strata.build(spec).options == {"width": 8, "tied": True}
    model = strata.build(spec, choices={"width": 16, "tied": False})
    assert model.dim == 16 and model.options == {"width": 16, "tied": False}
    for choices, words in [
            ({"width": 7}, "^[^ ]*:1: choices.'width'.: expected an integer of at least 8, found '7'"),
            ({"wdith": 8}, "^choices.'wdith'.: expected an option that the spec declares: .*"
                           "did you mean 'width'")]:
        with pytest.raises(strata.Error, match=words) as caught:
            strata.build(spec, choices=choices)
        assert "-D" not in str(caught.value)
    required = spec.replace("default = 8", "required = true", 1)
    with pytest.raises(strata.Error, match="expected choices={'width': VALUE}, an integer"):
        strata.build(required)
    with pytest.raises(TypeError, match="^build: .*found lr; choices={'lr': VALUE} chooses what"):
        strata.build(spec, lr=1e-3)
    with pytest.raises(TypeError, match="^compile: expected some of inference, cpu, .*found width"):
        strata.compile(spec, width=8)


def test_compiling_says_what_is_wrong(tmp_path):
    with pytest.raises(strata.Error, match="nonsense") as caught:
        strata.build("return model { nonsense = 1 }\n")
    assert caught.value.status == 1
    with pytest.raises(strata.Error, match="none.lua"):
        strata.build(tmp_path / "none.lua")
    with pytest.raises(FileNotFoundError, match="no such program"):
        strata.build(spec(), strata=str(tmp_path / "strata"))
    with pytest.raises(strata.Error, match="--emit shared"):
        strata.load(os.environ["STRATA_LIBRARY"])
    with pytest.raises(strata.Error, match="top_p"):
        strata.Sampler(10, top_p=2)


@pytest.mark.parametrize("content, word", [
    (b"", "safetensors"), (b"\xff" * 16, "safetensors"), (b"\2" + b"\0" * 7 + b"[]", "JSON"),
    (b"\5" + b"\0" * 7 + b'{"a":', "JSON"),
    ((lambda h: len(h).to_bytes(8, "little") + h)(
        b'{"a":{"dtype":"F32","shape":[9],"data_offsets":[0,36]}}'), "a: expected bytes"),
    ((lambda h: len(h).to_bytes(8, "little") + h)(b'{"a":{"dtype":"X","shape":[]}}'), "a: expected"),
])
def test_damaged_weights(model, tmp_path, content, word):
    (tmp_path / "w.safetensors").write_bytes(content)
    with pytest.raises(ValueError, match=word):
        model.load(tmp_path / "w.safetensors")


def test_weights_of_another_model(model, tmp_path):
    other = strata.build(spec(vocab=300))
    other.save(tmp_path / "w.safetensors")
    before = model.logits([[1, 2]])
    with pytest.raises(strata.Error, match=r"expected shape \[256, 32\], found \[300, 32\]"):
        model.load(tmp_path / "w.safetensors")
    safetensors.write(tmp_path / "w.safetensors", {"x": np.zeros(3, np.float32)})
    with pytest.raises(strata.Error, match="parameters of small"):
        model.load(tmp_path / "w.safetensors")
    assert (model.logits([[1, 2]]) == before).all()


def test_without_libstrata(tmp_path):
    """A model runs; what libstrata is needed for says so."""
    code = ("import sys, strata\nm = strata.load(sys.argv[1])\nassert m.workers == 1\n"
            "print(m.logits([[1, 2]]).shape)\n"
            "try: m.init()\nexcept ImportError as e: print(str(e)[:13])\n")
    ran = subprocess.run([sys.executable, "-c", code, strata.compile(spec())], capture_output=True,
                         text=True, env={**os.environ, "STRATA_LIBRARY": str(tmp_path / "none.so")})
    assert ran.stdout == "(1, 2, 256)\nlibstrata.so:\n", ran.stderr


# == The notebook ==

def test_the_notebook_runs_and_has_no_outputs(tmp_path, monkeypatch):
    notebook = json.loads((SOURCE / "python/examples/train.ipynb").read_text("utf-8"))
    cells = [c for c in notebook["cells"] if c["cell_type"] == "code"]
    assert all(not c["outputs"] and c["execution_count"] is None for c in cells)
    try:
        import matplotlib
        matplotlib.use("Agg")
    except ImportError:
        plot = mock.MagicMock()
        plot.subplots.return_value = (mock.MagicMock(), [mock.MagicMock(), mock.MagicMock()])
        package = types.ModuleType("matplotlib")
        package.pyplot = plot
        monkeypatch.setitem(sys.modules, "matplotlib", package)
        monkeypatch.setitem(sys.modules, "matplotlib.pyplot", plot)
    monkeypatch.chdir(tmp_path)
    names = {}
    for cell in cells:
        exec(compile("".join(cell["source"]), "train.ipynb", "exec"), names)
    assert names["losses"][-1] < 0.5 * names["losses"][0]
    assert not list(tmp_path.iterdir())
