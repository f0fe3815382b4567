"""The page of `poolsweep report` in a real browser: it loads, shows what the dataset holds, works."""

import re

import browser
import debian
import matplotlib.image
import numpy as np
import pictures
import polars as pl
import pytest
from conftest import ROOT, SWEEPS, poolsweep

STEP_NS = 100
# Four packets a job, with pauses at the lowest Xoff.
TEN_THOUSAND = """\
schema: 1
name: ten-thousand
repetitions: 10
base:
  duration: 3us
  topology: {kind: single-switch, hosts: 3, rate: 400Gbps, delay: 10ns}
  traffic:
    - {pattern: incast, receiver: 0, senders: 2, bytes: 8KB, packet: 4000B, dscp: 8, jitter: 100ns}
  record: {interval: 1us}
axes:
  HeadRoomPerPortLimit: {linspace: {from: 0KB, to: 49KB, count: 50}}
  StaticPoolXoffThreshold: {linspace: {from: 4KB, to: 23KB, count: 20}}
derived:
  StaticPoolXonThreshold: StaticPoolXoffThreshold / 2
"""
# A generous bound: it takes a tenth of it on two shared cores.
TEN_THOUSAND_LOAD_MS = 8000
TEN_THOUSAND_FILTER_MS = 1500
TEN_THOUSAND_BYTES = 10_000_000


@pytest.fixture(scope="module")
def chromium():
    try:
        browser.install()
    except debian.Unavailable as why:
        pytest.skip(f"the page in a browser: {why}")
    with browser.Browser() as running:
        yield running


def data(folder):
    """Points with their jobs, as a notebook has them."""
    jobs = pl.scan_parquet(folder / "jobs" / "*.parquet").drop("repetition", "scenario_json")
    return pl.scan_parquet(folder / "points.parquet").join(jobs, on="job_id", how="left").collect()


@pytest.fixture(scope="module")
def incast(tmp_path_factory):
    folder = tmp_path_factory.mktemp("report") / "data"
    poolsweep("run", "--quiet", SWEEPS / "report.yaml", "--out", folder)
    poolsweep("report", folder)
    return folder


@pytest.fixture
def page(chromium, incast):
    chromium.open(incast / "report.html")
    return chromium


def thousands(number):
    return f"{number:,}"


def cells(page):
    """The heat map: value by place, as the page holds it."""
    return page.run(
        "return [...document.querySelectorAll('#heat-plot .cell')].map((c) => c.getAttribute('data-value'))"
    )


def column(page, key):
    """The cells of a column of the table that are in the document."""
    place = page.run(
        "return [...document.querySelectorAll('#table th')].findIndex((h) => h.dataset.key === arguments[0]) + 1",
        key,
    )
    assert place > 0, key
    return page.texts(f"#table tr[data-point] td:nth-child({place})")


def test_it_loads_without_errors_and_asks_for_nothing(page, incast):
    assert page.errors() == []
    asked = page.requests()
    assert asked == [(incast / "report.html").as_uri()] or set(asked) == {
        (incast / "report.html").as_uri(),
        "data:,",
    }
    assert page.run("return document.title") == "report"
    assert page.text(".lead") == "What does an incast do to a port, 100 ns by 100 ns?"
    rows = data(incast)
    status = rows.drop_nulls("status")["status"].cast(pl.String).value_counts()
    chips = page.texts(".chips .chip")
    for name, number in status.iter_rows():
        assert f"{number} {name}" in chips
    assert "2 points excluded" in chips


def test_the_heat_map_shows_what_was_chosen(page, incast):
    rows = data(incast).drop_nulls("drops")
    page.choose(
        "#heat-x",
        page.run(
            "return [...document.querySelectorAll('#heat-x option')].find((o) => o.textContent === 'HeadRoomPerPortLimit').value"
        ),
    )
    before = cells(page)
    assert len(before) == 5 * 3
    assert str(rows["drops"].max()) in before
    page.choose("#heat-take", "min")
    smallest = cells(page)
    assert smallest != before
    page.choose("#heat-y", -1)
    assert len(cells(page)) == 5
    page.choose("#heat-take", "max")
    expected = (
        rows.group_by("HeadRoomPerPortLimit")
        .agg(pl.col("drops").max())
        .sort("HeadRoomPerPortLimit")["drops"]
        .to_list()
    )
    # The largest headroom does not fit the buffer: no job ran, so there is no value.
    assert cells(page) == [*map(str, expected), None]
    page.choose("#heat-figure", "peak_headroom_bytes")
    expected = (
        rows.group_by("HeadRoomPerPortLimit")
        .agg(pl.col("peak_headroom_bytes").max())
        .sort("HeadRoomPerPortLimit")["peak_headroom_bytes"]
        .to_list()
    )
    assert cells(page) == [*map(str, expected), None]
    xoff = page.run(
        "return [...document.querySelectorAll('#map .field')].find((f) => f.textContent.startsWith('StaticPoolXoffThreshold')).querySelector('select').id"
    )
    page.choose(f"#{xoff}", 0)
    expected = (
        rows.filter(pl.col("StaticPoolXoffThreshold") == 40_000)
        .group_by("HeadRoomPerPortLimit")
        .agg(pl.col("peak_headroom_bytes").max())
        .sort("HeadRoomPerPortLimit")["peak_headroom_bytes"]
        .to_list()
    )
    assert cells(page) == [*map(str, expected), None]
    assert "at StaticPoolXoffThreshold = 40KB" in page.text("#heat-caption")


def test_a_cell_says_its_exact_value_and_leads_to_its_points(page, incast):
    rows = data(incast).drop_nulls("drops")
    worst = rows.sort("drops", descending=True).row(0, named=True)
    page.choose("#heat-figure", "dropped_bytes")
    most = rows["dropped_bytes"].max()
    at = cells(page).index(str(most))
    told = page.hover(f'#heat-plot [data-cell="{at}"]')
    assert told["dropped"].startswith(f"{thousands(most)} B (")
    assert told["jobs"] == "2"
    assert told["HeadRoomPerPortLimit"] == "0B"
    assert worst["HeadRoomPerPortLimit"] == 0
    # The same with the keys alone.
    page.run("document.getElementById('heat-svg').focus()")
    page.find("#heat-svg").send_keys("\ue014")
    assert "dropped" in page.text("#heat-readout")
    page.run(
        f"document.querySelector('#heat-plot [data-cell=\"{at}\"]').dispatchEvent(new MouseEvent('click', {{bubbles: true}}))"
    )
    assert page.text("#table-count") == "2"


def test_filters_leave_the_rows_that_hold(page, incast):
    rows = data(incast)
    planned = rows.filter(pl.col("excluded_by").is_null())
    assert page.text("#table-count") == str(planned.height)
    page.choose("#table-status", "infeasible")
    infeasible = planned.filter(pl.col("status").cast(pl.String) == "infeasible")
    assert page.text("#table-count") == str(infeasible.height)
    reason = page.run("return document.querySelector('#table tr[data-point] td').title")
    assert reason in infeasible["reason"].to_list()
    page.choose("#table-status", "excluded")
    assert page.text("#table-count") == "2"
    page.click("#table-clear")
    job = planned.drop_nulls("drops")["job_id"].cast(pl.String)[3]
    page.find("#table-words").send_keys(job)
    assert page.text("#table-count") == "1"
    page.click("#table-clear")
    axis = page.run(
        "return [...document.querySelectorAll('#points .field')].find((f) => f.textContent.startsWith('HeadRoomPerPortLimit')).querySelector('select').id"
    )
    page.choose(f"#{axis}", 1)
    assert set(column(page, "axis HeadRoomPerPortLimit")) == {"8KB"}
    assert page.text("#table-count") == str(
        planned.filter(pl.col("HeadRoomPerPortLimit") == 8_000).height
    )


def test_a_click_sorts_and_a_row_tells_all(page, incast):
    rows = data(incast).filter(pl.col("excluded_by").is_null())
    drops = sorted(rows.drop_nulls("drops")["drops"].to_list())
    without = rows.height - len(drops)
    # The worst first, to begin with.
    assert column(page, "drops")[: len(drops)] == [thousands(n) for n in reversed(drops)]
    page.click('#table th[data-key="drops"] button')
    assert page.find('#table th[data-key="drops"]').get_attribute("aria-sort") == "ascending"
    assert column(page, "drops") == [thousands(n) for n in drops] + ["–"] * without
    page.click('#table th[data-key="drops"] button')
    page.click("#table tr[data-point]")
    worst = rows.sort("drops", descending=True, nulls_last=True).row(0, named=True)
    detail = page.text("#detail")
    same = rows.filter(pl.col("drops") == worst["drops"])["job_id"].cast(pl.String).to_list()
    (job,) = [job for job in same if job in detail]
    shown = dict(
        page.run(
            "return [...document.querySelectorAll('#detail dl div')].map((d) => [d.children[0].textContent, d.children[1].textContent])"
        )
    )
    row = rows.filter(pl.col("job_id").cast(pl.String) == job).row(0, named=True)
    assert shown["drops"] == thousands(row["drops"])
    assert shown["peak egress"].startswith(f"{thousands(row['peak_egress_bytes'])} B")
    assert shown["first drop"].startswith(f"{thousands(row['first_drop_ps'])} ps")


def test_a_job_over_time_has_its_thresholds(page, incast):
    rows = data(incast).drop_nulls("drops")
    worst = rows.sort("drops", descending=True).row(0, named=True)
    lines = page.run(
        "return [...document.querySelectorAll('#time-charts svg[data-counter=ingressUsage] line[data-threshold]')]"
        ".map((l) => [l.dataset.threshold, Number(l.dataset.bytes)])"
    )
    assert lines == [
        ["Xoff", worst["StaticPoolXoffThreshold"]],
        ["Xon", worst["StaticPoolXoffThreshold"] // 2],
    ]
    # What the pointer reads off is what the table holds there.
    buffers = pl.scan_parquet(incast / "port_buffers" / "*.parquet")
    name = page.run("return document.querySelector('#time-place option:checked').textContent")
    switch, port, pool = map(
        int, re.match(r"switch (\d+) port (\d+) \(\w+\), pool (\d+)", name).groups()
    )
    job = page.run("return document.querySelector('#time .caption code').textContent")
    here = buffers.filter(
        pl.col("job_id").cast(pl.String) == job,
        pl.col("node_id") == switch,
        pl.col("ifid") == port,
        pl.col("pool_num") == pool,
        pl.col("buff_id").cast(pl.String) == "ingressUsage",
    ).collect()
    box = page.run(
        "document.getElementById('time-charts').scrollIntoView({block: 'center', behavior: 'instant'});"
        "const frame = document.querySelector('#time-charts .frame').getBoundingClientRect();"
        "return [frame.x + frame.width * 0.4, frame.y + frame.height / 2]"
    )
    told = page.point_at(*box)
    shown = int(re.match(r"([\d,]+) B", told["ingressUsage max"]).group(1).replace(",", ""))
    start, end = (
        float(re.match(r"[\d.]+", part).group()) * 1000 for part in told["from, to"].split(", ")
    )
    steps = here.filter(pl.col("sim_time_ps") > start * 1000, pl.col("sim_time_ps") <= end * 1000)
    assert end - start == pytest.approx(3 * STEP_NS)
    assert shown == steps["ivl_max_bytes"].max()
    # Another place, another chart.
    before = page.run("return document.querySelector('#time-charts .mean').getAttribute('d')")
    page.choose("#time-place", 3)
    assert (
        page.run("return document.querySelector('#time-charts .mean').getAttribute('d')") != before
    )
    # The whole pool, from switch_buffers.
    pools = page.texts('#time-place optgroup[label="pools"] option')
    assert any("pool 1" in name for name in pools)
    assert "3 of them put together" in page.text("#time")


def test_findings_lead_to_their_points(page):
    found = page.run("return [...document.querySelectorAll('.card')].map((c) => c.dataset.finding)")
    assert {"headroom_too_small", "infeasible"} <= set(found)
    page.click('.card[data-finding="infeasible"] button')
    assert set(column(page, "status")) == {"infeasible"}
    assert (
        page.text("#table-count")
        == re.match(r"\d+", page.text('.card[data-finding="infeasible"] .count')).group()
    )


def test_drops_by_reason_add_up(page, incast):
    rows = data(incast).drop_nulls("drops")
    total = rows["drops"].sum()
    assert page.text("#drops .caption").startswith(f"{thousands(total)} packets")
    bars = page.run(
        "return [...document.querySelectorAll('#drops rect[data-packets]')].map((r) => Number(r.dataset.packets))"
    )
    assert sum(bars) == total
    told = page.hover("#drops rect[data-packets]")
    assert told["ingress headroom"] == f"{thousands(bars[0])} packets"


@pytest.mark.parametrize("size", [browser.PHONE, (320, 640), browser.DESKTOP])
@pytest.mark.parametrize("dark", [False, True])
def test_nothing_is_wider_than_the_screen(chromium, incast, size, dark):
    chromium.open(incast / "report.html", size, dark)
    assert chromium.run("return document.documentElement.scrollWidth") == size[0]
    assert chromium.errors() == []
    back = chromium.run("return getComputedStyle(document.body).backgroundColor")
    brightness = sum(map(int, re.findall(r"\d+", back)[:3]))
    assert brightness < 150 if dark else brightness > 600


def test_every_control_has_a_name(page):
    nameless = page.run(
        "return [...document.querySelectorAll('select, input, button, [tabindex=\"0\"]')].filter((e) =>"
        " !(e.textContent.trim() && e.tagName !== 'SELECT') && !e.closest('label') && !e.getAttribute('aria-label')"
        ").map((e) => e.outerHTML.slice(0, 80))"
    )
    assert nameless == []


def test_a_control_keeps_the_focus(page):
    for control, value in (
        ("heat-figure", "dropped_bytes"),
        ("heat-take", "mean"),
        ("time-place", 1),
        ("table-status", "ok"),
    ):
        page.run("document.getElementById(arguments[0]).focus()", control)
        page.choose(f"#{control}", value)
        assert page.run("return document.activeElement.id") == control
        assert page.run("return document.activeElement.value") == str(value)


def test_it_prints(page, incast):
    pdf = page.pdf()
    assert pdf.startswith(b"%PDF-") and len(pdf) > 20_000
    # On paper there is no box that scrolls, so the rows stand in a table of their own.
    printed = page.run("return document.querySelectorAll('#table-printed tbody tr').length")
    planned = data(incast).filter(pl.col("excluded_by").is_null()).height
    assert printed == planned
    # And back on the screen as it was.
    assert page.text("#table-count") == str(planned)
    assert page.errors() == []


def test_ten_thousand_jobs_stay_quick(chromium, tmp_path):
    (tmp_path / "sweep.yaml").write_text(TEN_THOUSAND)
    poolsweep("run", "--quiet", tmp_path / "sweep.yaml", "--out", tmp_path / "data")
    poolsweep("report", tmp_path / "data")
    rows = data(tmp_path / "data")
    assert rows.height == 10_000
    page = tmp_path / "data" / "report.html"
    assert page.stat().st_size < TEN_THOUSAND_BYTES
    assert chromium.open(page) < TEN_THOUSAND_LOAD_MS
    assert chromium.errors() == []
    assert chromium.text("#table-count") == "10,000"
    # Only what is in view is in the document.
    assert len(chromium.all("#table tr[data-point]")) < 100
    took, left = chromium.run(
        "const before = performance.now(); const words = document.getElementById('table-words');"
        "words.value = 'repetition=7'; words.dispatchEvent(new Event('input'));"
        "return [performance.now() - before, document.getElementById('table-count').textContent]"
    )
    assert took < TEN_THOUSAND_FILTER_MS
    wanted = rows.filter(pl.col("repetition").cast(pl.String).str.starts_with("7")).height
    assert left == thousands(wanted)
    took = chromium.run(
        "const before = performance.now(); document.getElementById('table-clear').click();"
        "document.querySelector('#table th[data-key=\"throughput_bps\"] button').click(); return performance.now() - before"
    )
    assert took < 2 * TEN_THOUSAND_FILTER_MS
    chromium.run("document.getElementById('table').scrollTop = 1e9")
    chromium.settle()
    last = chromium.run(
        "return Number([...document.querySelectorAll('#table tr[data-point]')].pop().dataset.point)"
    )
    assert last > 0
    assert "no value" not in chromium.text("#table")


def test_without_rows_over_time_the_page_says_what_to_record(chromium, tmp_path):
    poolsweep(
        "run",
        "--quiet",
        SWEEPS / "report.yaml",
        "--out",
        tmp_path / "data",
        "--set",
        "record.tables=[jobs]",
    )
    poolsweep("report", tmp_path / "data")
    chromium.open(tmp_path / "data" / "report.html")
    assert "record: {tables: [jobs, port_buffers" in chromium.text("#time")
    assert chromium.errors() == []


def test_a_plan_that_never_ran_has_a_page(chromium, tmp_path):
    poolsweep("plan", SWEEPS / "report.yaml", "--out", tmp_path / "data")
    poolsweep("report", tmp_path / "data")
    chromium.open(tmp_path / "data" / "report.html")
    assert "Nothing ran yet" in chromium.text("#findings")
    assert set(column(chromium, "status")) == {"outstanding"}
    assert chromium.errors() == []


def test_the_pictures_in_the_readme_are_of_this_page(chromium, tmp_path):
    readme = (ROOT / "README.md").read_text()
    for commands, _, _ in pictures.PAGES.values():
        assert all(f"\n{command}" in readme for command in commands)
    made = tmp_path / "made"
    made.mkdir()
    lab = tmp_path / "lab"
    lab.mkdir()
    pictures.take_pages(chromium, pictures.lab(lab), made)
    for name in pictures.PAGES:
        new, shown = (matplotlib.image.imread(at / name) for at in (made, pictures.FOLDER))
        # Another browser's letters are a little wider or narrower.
        assert np.abs(np.subtract(new.shape, shown.shape)).max() <= 40, (
            f"{name}: pictures.py makes it again"
        )
        height, width = np.minimum(new.shape, shown.shape)[:2]
        assert np.abs(new[:height, :width] - shown[:height, :width]).mean() < 0.06, (
            f"{name} differs: pictures.py makes it again"
        )
