"""GPUs that fail: on the simulator, whose one function that makes arrays is made to fail."""

import pytest

from gpu_tools.cli.main import main
from gpu_tools.errors import DeviceError
from gpu_tools.hardware import device
from tests.cli.damage import FILES


@pytest.fixture(autouse=True)
def untold(monkeypatch):
    monkeypatch.setattr(device, "_WARNED", set())


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
    "sites": "spliced-align --base base.fa --site-model sites.json --targets target.fa",
    "genes": "annotate --genome base.fa --site-model sites.json --proteins protein.fa "
    "--search exhaustive --max-evalue 1e9",
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
        with device.faults_as_errors():
            raise CudaAPIError(f"Call to cuX results in CUDA_ERROR_{code}")


def test_an_error_of_the_program_is_no_failure_of_the_gpu():
    with pytest.raises(ZeroDivisionError), device.faults_as_errors():
        raise ZeroDivisionError
