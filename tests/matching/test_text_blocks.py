"""Text blocks report every position of every text once, with what surrounds it."""

from collections import defaultdict

import numpy as np
import pytest

from gpu_tools import Sequence
from gpu_tools.matching.text_blocks import Context, text_blocks
from gpu_tools.model.sequences import SequenceChunk


def random_texts(rng):
    """Return codes by name, and the texts: whole ones, and some as chunks."""
    codes = {f"t{k}": rng.integers(0, 4, int(rng.integers(0, 60))).astype(np.uint8) for k in "abcd"}
    texts = []
    for name, symbols in codes.items():
        if rng.random() < 0.5:
            texts.append(Sequence(name, symbols))
            continue
        chunks = np.split(symbols, np.sort(rng.integers(0, len(symbols) + 1, 3)))
        texts += [SequenceChunk(name, part, k == 3) for k, part in enumerate(chunks)]
    return codes, texts


@pytest.mark.parametrize("seed", range(30))
def test_each_position_is_reported_once_with_its_context(seed):
    rng = np.random.default_rng(seed)
    codes, texts = random_texts(rng)
    context, names = Context(*rng.integers(0, 6, 2).tolist()), []
    reported = defaultdict(list)
    for block in text_blocks(texts, context, names, int(rng.integers(1, 40))):
        for part in block.ranges:
            text = codes[names[part.text]]
            stop = part.offset + part.stop - part.start
            assert (block.codes[part.start : part.stop] == text[part.offset : stop]).all()
            begin, end = (part.offset + k - part.start for k in (part.begin, part.end))
            assert part.offset <= max(begin - context.before, 0)
            assert stop >= min(end + context.after, len(text))
            reported[names[part.text]] += range(begin, end)
    assert names == list(codes)
    assert all(reported[name] == list(range(len(text))) for name, text in codes.items())


def test_a_text_in_memory_is_not_copied():
    text = Sequence("t", np.zeros(100, np.uint8))
    blocks = list(text_blocks([text], Context(3, 3), [], 40))
    assert [len(block.codes) for block in blocks] == [43, 46, 23]
    assert all(np.shares_memory(block.codes, text.codes) for block in blocks)
