"""GPUs that fail: on the simulator, whose one function that makes arrays is made to fail."""

import pytest

from gpu_tools.cli.main import main
from gpu_tools.errors import DeviceError
from gpu_tools.hardware import device, gpu_faults
from gpu_tools.hardware.device import Gpu, resolve
from tests.cli.damage import FILES


@pytest.fixture(autouse=True)
def untold(monkeypatch):
    monkeypatch.setattr(gpu_faults, "_WARNED", set())


class CudaAPIError(Exception):
    """As numba-cuda raises it: of its module, with a code and a text."""

    __module__ = "numba.cuda.cudadrv.driver"


CODES = (
    "OUT_OF_MEMORY", "LAUNCH_FAILED", "ILLEGAL_ADDRESS", "DEVICE_LOST", "NO_BINARY_FOR_GPU",
    "INSUFFICIENT_DRIVER",
)  # fmt: skip
LIST = "spliced-align --base base.fa --exons exons.tsv --targets target.fa"
COMMANDS = {
    "list": LIST,
    "list in 32 bits": f"{LIST} --match 1000 --mismatch -1000 --gap -2000",
    "sites": "spliced-align --base base.fa --site-model sites.json --targets target.fa",
    "shuffles": f"{LIST} --shuffles 20",
    "local": "local-align --query target.fa --subject base.fa --k 3",
    "exact": "match-exact --patterns patterns.fa --text base.fa --both-strands",
    "approximate": "match-approximate --patterns patterns.fa --text base.fa --best",
    "seeds": "match-approximate --patterns target.fa --text base.fa --max-distance 1",
    "segment": "max-segments --sequence base.fa --scale scale.tsv",
    "segments": "max-segments --sequence base.fa --scale scale.tsv --all",
    "submatrix": "max-submatrix --matrix matrix.tsv",
}
ARRAYS = [(0, name) for name in COMMANDS] + [
    (1, "segment"),
    (2, "list"),
    (2, "exact"),
    (3, "local"),
]
"""How many arrays can be made before the GPU fails."""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GPU_TOOLS_LOCKS", str(tmp_path / "locks"))
    monkeypatch.setattr("gpu_tools.cli.max_segments.SHORT", 1)
    for name, content in FILES.items():
        (tmp_path / name).write_bytes(content)
    return tmp_path


@pytest.fixture
def fail(monkeypatch):
    """Return a function that has the GPU fail from its n-th array on."""
    from numba import cuda

    def install(n: int, code: str):
        left = [n]

        def failing(make):
            def call(*arguments, **options):
                left[0] -= 1
                if left[0] < 0:
                    raise CudaAPIError(f"[2] Call to cuX results in CUDA_ERROR_{code}")
                return make(*arguments, **options)

            return call

        for name in ("device_array", "to_device"):
            monkeypatch.setattr(cuda, name, failing(getattr(cuda, name)))

    return install


@pytest.mark.cuda
@pytest.mark.parametrize(("n", "name"), ARRAYS)
def test_the_cpu_takes_over_and_the_answer_is_the_same(folder, fail, capsys, name, n):
    command = [*COMMANDS[name].split(), "--threads", "2", "--quiet"]
    assert main([*command, "--device", "cpu", "--output", "cpu"]) == 0
    capsys.readouterr()
    fail(n, CODES[n])
    assert main([*command, "--device", "auto", "--output", "auto"]) == 0
    assert (folder / "auto").read_bytes() == (folder / "cpu").read_bytes()
    (told,) = (line for line in capsys.readouterr().err.splitlines() if "GPU" in line)
    assert told.endswith("; the CPU does the work")
    assert main([*command, "--device", "cuda", "--output", "cuda"]) == 1
    (told,) = (line for line in capsys.readouterr().err.splitlines() if "GPU" in line)
    assert told.startswith("gpu-tools: error: the GPU cannot do it: ")
    assert not (folder / "cuda").exists()


@pytest.mark.parametrize("code", CODES)
def test_what_a_failure_means_is_said(code):
    with pytest.raises(DeviceError, match=rf"cannot do it: \w.* \(.*{code}\)"):
        with gpu_faults.faults_as_errors():
            raise CudaAPIError(f"Call to cuX results in CUDA_ERROR_{code}")


def test_an_error_of_the_program_is_no_failure_of_the_gpu():
    with pytest.raises(ZeroDivisionError), gpu_faults.faults_as_errors():
        raise ZeroDivisionError


class Cuda:
    """Stands for numba.cuda where there is no GPU, or none that can be used."""

    def __init__(self, available, gpus=(), error=""):
        self.available, self.gpus, self.error = available, gpus, error

    def is_available(self):
        return self.available

    def detect(self):
        raise RuntimeError(self.error)


H200 = Gpu(0, "NVIDIA H200", "9.0", 1, "13.0", "a")
V100 = Gpu(1, "Tesla V100", "7.0", 1, "13.0", "b")
OLD_DRIVER = Gpu(0, "NVIDIA H200", "9.0", 1, "12.4", "a")


@pytest.fixture
def machine(monkeypatch):
    """Return a function that has the machine hold some GPUs."""

    def hold(*gpus, available=True, error="", visible=None):
        monkeypatch.setattr(device, "simulated", lambda: False)
        monkeypatch.setattr(device, "_import_cuda", lambda: Cuda(available, gpus, error))
        monkeypatch.setattr(device, "_describe", lambda ordinal: gpus[ordinal])
        monkeypatch.setattr(device, "_needs_of_compiler", lambda: (13, (7, 5)))
        if visible is None:
            monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
        else:
            monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)

    return hold


NO_DEVICE = "Error at driver init: Call to cuInit results in CUDA_ERROR_NO_DEVICE (100)"
UNUSABLE = {
    "old driver": (
        ((OLD_DRIVER,), {}), "the driver is for CUDA 12.4; expected one for CUDA 13.0 or later"
    ),
    "old GPU": (
        ((V100,), {}), "Tesla V100 has compute capability 7.0; expected 7.5 or later"
    ),
    "hidden": (
        ((), {"available": False, "error": NO_DEVICE, "visible": ""}),
        "CUDA_VISIBLE_DEVICES is '', which names no GPU of this machine",
    ),
    "wrong number": (((), {"visible": "7"}), "CUDA_VISIBLE_DEVICES is '7', which names no GPU"),
    "none": (((), {}), "the CUDA driver reports none"),
    "too old for cuInit": (
        ((), {"available": False, "error": "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH (803):"}),
        "expected a restart after the driver's update",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", UNUSABLE)
def test_why_no_gpu_can_be_used(machine, case):
    (gpus, more), expected = UNUSABLE[case]
    machine(*gpus, **more)
    with pytest.raises(DeviceError) as error:
        resolve("cuda")
    assert str(error.value).startswith("no usable CUDA device: ")
    assert expected in str(error.value)
    assert resolve("auto").kind == "cpu"


def test_a_gpu_that_is_too_old_is_left_out(machine):
    machine(H200, V100)
    assert resolve("auto") == device.Device("cuda", (0,), True)
    with pytest.raises(DeviceError, match="there is no GPU 1"):
        resolve("cuda:1")


def test_a_gpu_that_fails_while_it_is_described(machine, monkeypatch):
    def lost(ordinal):
        raise CudaAPIError("Call to cuDeviceTotalMem results in CUDA_ERROR_DEVICE_LOST")

    machine(H200)
    monkeypatch.setattr(device, "_describe", lost)
    with pytest.raises(DeviceError, match="it has disappeared"):
        resolve("cuda")
    assert resolve("auto").kind == "cpu"
