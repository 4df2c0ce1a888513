"""A listener hears of missing code once."""

from gpu_tools.hardware.compiling import about_to_compile, once_compiling


def test_a_listener_is_called_once_and_not_behind_its_block():
    calls = []
    with once_compiling(lambda: calls.append("first")):
        about_to_compile()
        about_to_compile()
    with once_compiling(lambda: calls.append("second")):
        pass
    about_to_compile()
    assert calls == ["first"]


def test_a_listener_may_compile_itself():
    calls = []

    def listener():
        calls.append(1)
        about_to_compile()

    with once_compiling(listener):
        about_to_compile()
    assert calls == [1]
