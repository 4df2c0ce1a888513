"""The page in a browser: charts, tables, links, and nothing from outside of the file."""

import pytest

from tests.programs import require
from tests.report.browser import browser
from tests.report.results import MINUS, PLUS, RECORD

CHARTS = {"overview": ["overview", "heat_map"], "cases": ["score_points"],
          "accuracy": ["accuracy_bars"],
          "parallelism": ["job_times", "case_times", "histograms", "cells"]}  # fmt: skip
CELLS = "[...document.querySelectorAll('#cases tbody tr')].map(r => r.cells[%d].textContent)"


@pytest.fixture(scope="module")
def chromium(tmp_path_factory):
    require("chromium")
    with browser(tmp_path_factory.mktemp("profile")) as found:
        yield found


@pytest.fixture
def opened(chromium, page):
    """Return a function that opens a part of the page; errors and requests are looked at later."""
    chromium.errors.clear()
    chromium.requests.clear()

    def open_part(part):
        chromium.open(page, f"#{part}")
        chromium.wait("document.documentElement.dataset.ready === 'yes'")
        return chromium

    yield open_part
    assert chromium.errors == []
    outside = [url for url in chromium.requests if not url.startswith((page.as_uri(), "blob:"))]
    assert set(outside) <= {"about:blank"}


@pytest.mark.parametrize("part", CHARTS)
def test_charts_are_drawn(opened, part):
    page = opened(part)
    for name in CHARTS[part]:
        page.wait(f"document.querySelector('[data-chart={name}]').dataset.drawn === 'yes'")
        count = f"document.querySelectorAll('[data-chart={name}] svg path').length"
        assert page.run(count) > 4, name


@pytest.mark.parametrize("width", [800, 1400, 2400])
@pytest.mark.parametrize("part", CHARTS)
def test_legends_are_whole_in_windows_of_any_width(opened, chromium, part, width):
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    chromium.call("Emulation.setDeviceMetricsOverride", **size)
    page = opened(part)
    for name in CHARTS[part]:
        page.wait(f"document.querySelector('[data-chart={name}]').dataset.drawn === 'yes'")
    legends = f"""[...document.querySelectorAll('#{part} .role-legend')].map(
        (legend) => legend.getBoundingClientRect().right)"""
    assert all(right <= width for right in page.run(legends))
    assert page.run("document.documentElement.scrollWidth") <= width  # wide charts shrink or scroll


def test_tables_sort_both_ways_with_missing_values_last(opened):
    page = opened("cases")
    heads = page.run("[...document.querySelectorAll('#cases th button')].map(b => b.textContent)")
    at = heads.index("score")
    click = f"document.querySelectorAll('#cases th button')[{at}].click()"
    shown = []
    for direction in ("ascending", "descending"):
        page.run(click)
        shown.append(page.run(CELLS % at))
        sort = f"document.querySelectorAll('#cases thead tr:first-child th')[{at}].ariaSort"
        assert page.run(sort) == direction
    rising = ["12", "12", "12", "60", "300", "300", "320", "320"]
    assert shown == [rising + [""] * 4, rising[::-1] + [""] * 4]


@pytest.mark.parametrize(
    ("column", "text", "rows"),
    [("target", "t<i>", 4), ("score", ">= 300", 4), ("score", "60", 1), ("description", "il10", 4),
     ("identity of nucleotides", "> 90", 8), ("accepted", "!yes", 7), ("E-value", "< 1e-3", 5)],
)  # fmt: skip
def test_tables_filter(opened, column, text, rows):
    page = opened("cases")
    page.run(
        f"""(() => {{
            const input = document.querySelector('#cases input[aria-label="filter {column}"]');
            input.value = {text!r};
            input.dispatchEvent(new Event('input'));
        }})()"""
    )
    assert len(page.run(CELLS % 0)) == rows


@pytest.mark.parametrize("name", [PLUS, MINUS])
def test_a_link_of_a_table_opens_the_figure_of_its_locus(opened, name):
    page = opened("loci")
    page.run(f"[...document.querySelectorAll('#loci a')].find(a => a.text === {name!r}).click()")
    page.wait("document.getElementById('locus-chart').dataset.drawn === 'yes'")
    assert page.run("document.getElementById('locus-name').textContent") == name
    facts = page.run("document.getElementById('locus-facts').textContent")
    assert RECORD in facts
    assert ("Best target: T1, interleukin 10 (Il10)." in facts) == (name == PLUS)
    heads = page.run("document.querySelector('#locus-table thead').textContent")
    assert ("description" in heads) == (name == PLUS)  # no column without a value
    labels = page.run("document.querySelector('#locus-chart svg').textContent")
    assert "annotation" in labels
    assert "candidates' score" in labels


def test_a_click_on_a_model_of_the_overview_opens_its_locus(opened):
    page = opened("overview")
    page.wait("document.querySelector('[data-chart=overview]').dataset.drawn === 'yes'")
    bar = "document.querySelector('[data-chart=overview] .mark-rect path')"
    page.run(f"{bar}.scrollIntoView({{block: 'center'}})")
    page.click(bar)
    page.wait("document.querySelector('section.here').id === 'locus'")
    assert page.run("document.getElementById('locus-name').textContent") == PLUS


def test_pictures_of_segments_are_shown(opened):
    page = opened("images")
    page.wait("document.querySelector('#images img').naturalWidth === 9")


def test_a_page_opened_at_a_locus_shows_it(opened):
    page = opened(f"locus/{PLUS}")
    assert page.run("document.querySelector('section.here').id") == "locus"
    assert page.run("document.getElementById('locus-name').textContent") == PLUS
