"""Write the tables of figures of segments and submatrices from their record.

``python docs/segments_tables.py`` rewrites them in docs/design/segments.md and
benchmarks/README.md; with ``--check`` it changes nothing and exits with 1 if a table is out of
date.
"""

import json
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
RECORD = "benchmarks/results/segments-h200.json"
BEGIN, END = "<!-- figures of segments -->\n", "<!-- end of figures of segments -->\n"


def source(record: dict) -> str:
    """Return where the figures come from."""
    gpus = f"{record['gpus'][0].split(',')[0]}, one unless said otherwise"
    return f"`{RECORD}`: {gpus}; commit {record['commit']}.\n"


def table(titles: tuple[str, ...], rows: list[tuple]) -> str:
    """Return a table in Markdown."""
    lines = [titles, ("---",) * len(titles), *rows]
    return "\n" + "".join(f"| {' | '.join(line)} |\n" for line in lines)


def ms(value: float) -> str:
    """Return a time of three digits, or of whole milliseconds."""
    places = max(0, 3 - len(str(int(value)))) if value >= 1 else 3
    return f"{value:,.{places}f} ms"


def span(values: list[float]) -> str:
    """Return the shortest and the longest of some times."""
    return f"{ms(min(values))} to {ms(max(values))}"


def ratio(slow: float, fast: float) -> str:
    """Return how many times faster."""
    return f"{slow / fast:.{1 if slow < 100 * fast else 0}f}"


def segments(figures: dict) -> str:
    """Return the tables of the best and of all segments."""
    gpu, cpu = figures["segments_gpu"], figures["cpu"]
    rows = []
    for name, text in (("even", ""), ("falling", ", falling")):
        of = gpu[name]
        best, five = of["best_segment_kernel_ms"], of["five_numbers_kernel_ms"]
        rows += [
            (f"best segment of 10^8 int32{text}", ms(best), ms(of["best_segment_call_ms"]),
             ms(five), ratio(five, best)),
            (f"all segments{text} ({of['all_segments']:,})", "", ms(of["all_segments_call_ms"]),
             "", ""),
            (f"all segments{text}, other seeds", "",
             span(figures["all_segments_of_seeds"][name]["all_segments_call_ms"]), "", ""),
        ]  # fmt: skip
    titles = ("one GPU", "kernel", "call", "five numbers, 90 x 128 threads", "ratio of kernels")
    on_cpu = (f"CPU, {cpu['threads']} threads", "time", "plain read of the array", "ratio")
    read, best = cpu["read_ms"], cpu["best_segment_ms"]
    cpu_rows = [
        ("best segment of 10^8 int32", ms(best), ms(read), f"{read / best:.2f}"),
        (f"all segments ({cpu['all_segments']:,})", ms(cpu["all_segments_ms"]), "", ""),
    ]
    return table(titles, rows) + table(on_cpu, cpu_rows) + two_gpus(figures, "best_segment")


def submatrices(figures: dict) -> str:
    """Return the tables of the submatrix."""
    rows = [
        (f"{int(size):,} x {int(size):,} int32", ms(of["kernel_ms"]), ms(of["call_ms"]),
         ms(of["pair_a_thread_kernel_ms"]), ratio(of["pair_a_thread_kernel_ms"], of["kernel_ms"]))
        for size, of in figures["submatrix_gpu"].items()
    ]  # fmt: skip
    cpu = figures["cpu"]
    fast, slow, size = cpu["submatrix_ms"], cpu["submatrix_numpy_ms"], cpu["submatrix_size"]
    titles = ("one GPU", "kernel", "call", "one pair a thread", "ratio of kernels")
    on_cpu = (f"CPU, {cpu['threads']} threads", "time", "the faster of two in numpy", "ratio")
    cpu_row = (f"{size:,} x {size:,} int32", ms(fast), ms(slow), ratio(slow, fast))
    return table(titles, rows) + table(on_cpu, [cpu_row]) + two_gpus(figures, "submatrix")


def two_gpus(figures: dict, name: str) -> str:
    """Return the table of one GPU beside two, if both were measured."""
    if "two_gpus" not in figures:
        return ""
    one, two = figures["two_gpus"][f"{name}_call_ms"]
    what = f"{name.replace('_', ' ')}, call"
    return table(("", "one GPU", "two", "ratio"), [(what, ms(one), ms(two), f"{one / two:.2f}")])


def updated(page: str, text: str) -> str:
    """Return the page with the text between the marks."""
    head, rest = page.split(BEGIN)
    return f"{head}{BEGIN}{text}{END}{rest.split(END)[1]}"


def main(arguments: list[str]) -> int:
    """Rewrite or check the pages; return the exit code."""
    record = json.loads((ROOT / RECORD).read_text(encoding="utf-8"))
    figures, head = record["figures"], source(record)
    texts = {
        "docs/design/segments.md": head + segments(figures) + submatrices(figures),
        "benchmarks/README.md": head + segments(figures) + submatrices(figures),
    }
    changed = False
    for path, text in texts.items():
        page = (ROOT / path).read_text(encoding="utf-8")
        changed |= updated(page, text) != page
        if arguments != ["--check"]:
            (ROOT / path).write_text(updated(page, text), encoding="utf-8")
    return int(changed and arguments == ["--check"])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
