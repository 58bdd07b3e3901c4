"""A quick start: what is imported before the model loads, what is left out, and work that torch does with one thread."""

import gc
import importlib.util
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import gradio
import pytest
import torch
from gradio import component_meta
from gradio.routes import App

from recap.targets.alone import alone
from studio import ahead, opening
from studio.serving import unserved

from .app_fixtures import ROOT


def test_the_built_in_model_does_without_transformers() -> None:
    run = (
        "import sys; from recap.targets.loading import import_for; import recap.targets.builtin, recap.session, recap.generation; "
        "import_for('builtin'); import recap.targets.cpu.passes; "
        "print([name for name in ('transformers', 'sympy') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", run], cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.stdout.strip() == "[]", done.stderr


def test_a_mistake_is_told_before_anything_of_weight_is_imported() -> None:
    run = "import sys; from studio import opening; print('gradio' in sys.modules, 'torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", run], cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.stdout.strip() == "False False", done.stderr


def test_gradio_writes_no_stubs(monkeypatch: pytest.MonkeyPatch) -> None:
    finder = opening._WithoutStubs()
    monkeypatch.setattr(sys, "meta_path", [finder, *sys.meta_path])
    assert finder.find_spec("gradio.blocks", gradio.__path__) is None
    spec = finder.find_spec("gradio.component_meta", gradio.__path__)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert component_meta.create_or_modify_pyi.__name__ == "create_or_modify_pyi", "gradio names it otherwise by now"
    assert module.create_or_modify_pyi(object, "x", []) is None and finder not in sys.meta_path
    with pytest.raises(TypeError):
        component_meta.create_or_modify_pyi(object, "x", [])  # the one that is left out does look for a source


def test_a_hurried_start_collects_garbage_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    usual = sys.getswitchinterval()
    opening.hurried()
    assert not gc.isenabled() and sys.getswitchinterval() < usual / 2
    opening.long_lived()
    assert gc.isenabled() and sys.getswitchinterval() == usual
    gc.unfreeze()


@pytest.mark.skipif(sys.platform != "linux", reason="other systems name the library otherwise")
def test_torchs_library_loads_beside_python() -> None:
    run = (
        "import sys; from studio import ahead; thread = ahead.load_torch_library(); print(thread is not None, 'torch' in sys.modules); "
        "thread and thread.join(); print('libtorch_cpu.so' in open('/proc/self/maps').read()); "
        "import torch; from recap.targets.alone import alone; print(alone(torch.get_num_threads), torch.ones(2).sum().item())"
    )
    done = subprocess.run([sys.executable, "-c", run], cwd=ROOT, capture_output=True, text=True, timeout=120)
    with_cuda = torch.version.cuda is not None
    assert done.stdout.split() == [str(not with_cuda), "False", str(not with_cuda), "1", "2.0"], done.stderr


def test_without_that_library_nothing_begins(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert ahead.load_torch_library() is None
    for name in ("libtorch_cpu.so", "libtorch_cuda.so"):
        (tmp_path / "lib").mkdir(exist_ok=True)
        (tmp_path / "lib" / name).touch()
    found = SimpleNamespace(submodule_search_locations=[str(tmp_path)])
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: found)
    assert ahead.load_torch_library() is None, "torch with CUDA looks for libraries of other packages first"


def test_a_page_in_the_making_has_no_server() -> None:
    with unserved(), gradio.Blocks() as page:
        gradio.HTML("x")
    assert page.app is None and isinstance(App.create_app(page), App)


@pytest.mark.skipif(sys.platform != "linux", reason="torch's OpenMP has another name there")
def test_work_alone_has_one_thread_and_leaves_others_theirs() -> None:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        assert alone(torch.get_num_threads) == 1 and torch.get_num_threads() == 2
        with ThreadPoolExecutor(1) as pool:
            assert pool.submit(torch.get_num_threads).result() == 2
        with pytest.raises(ZeroDivisionError):
            alone(lambda: 1 / 0)
    finally:
        torch.set_num_threads(before)
