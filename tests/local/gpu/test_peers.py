"""Which memory rows between GPUs lie in, without a GPU."""

from contextlib import nullcontext
from types import SimpleNamespace

import pytest

pytest.importorskip("numba_cuda")

from numba.cuda.cudadrv.driver import CudaAPIError

from gpu_tools.hardware.device import simulated
from gpu_tools.local.gpu import score_pass

pytestmark = pytest.mark.skipif(simulated(), reason="the simulator has no driver")


@pytest.mark.parametrize(("can", "error", "expected"), [
    (True, None, True), (True, 704, True), (True, 711, False), (False, None, False),
], ids=["yes", "enabled by another library", "too many GPUs", "no"])  # fmt: skip
def test_gpus_write_where_the_driver_lets_them(can, error, expected, monkeypatch):
    enabled = []

    def enable(handle):
        enabled.append(handle)
        if error is not None:
            raise CudaAPIError(error, "not now")

    context = SimpleNamespace(
        handle="theirs", can_access_peer=lambda _: can, enable_peer_access=enable
    )
    gpus = {0: nullcontext(), 1: nullcontext()}
    fake = SimpleNamespace(gpus=gpus, current_context=lambda: context)
    monkeypatch.setattr(score_pass, "cuda", fake)
    # what is known of the machine's own GPUs must be neither asked for nor changed
    assert score_pass.may_write.__wrapped__(0, 1) is expected
    assert enabled == (["theirs"] if can else [])


def test_a_gpu_writes_its_own_memory():
    assert score_pass.may_write.__wrapped__(3, 3)
