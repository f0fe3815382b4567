"""The package for notebooks: what it opens, joins, computes and draws, and what it refuses."""

import json
import shutil
import sys
from math import isclose

import matplotlib
import polars as pl
import pytest
from conftest import BINARY, ROOT, SWEEPS, poolsweep

matplotlib.use("Agg")
sys.path.insert(0, str(ROOT / "analysis"))

import poolsweep_analysis as pa

POINTS, EXCLUDED, INFEASIBLE = 24, 6, 3

LISTS = """
schema: 1
name: lists
base:
  duration: 20us
  topology: {kind: single-switch, hosts: 4}
  traffic: [{pattern: incast, receiver: 0, senders: 3, bytes: 50KB, packet: 4000B, dscp: 8}]
axes:
  PoolAllocationMap: [[0.9, 0.1, 0, 0, 0, 0, 0, 0], [0.5, 0.5, 0, 0, 0, 0, 0, 0]]
  StaticPoolXoffThreshold: {values: {small: 64KB, large: 1MB}}
  EnableEcn: [true, false]
"""

SHARED = """
schema: 1
name: shared
repetitions: 3
base:
  duration: 40us
  topology: {kind: single-switch, hosts: 4}
  switch: {SharedBufferManager: {TotalSharedBufferSize: 4MB, HeadRoomPerPortLimit: 60KB}}
  traffic:
    - {pattern: incast, receiver: 0, senders: 3, bytes: 100KB, packet: 4000B, dscp: 8, jitter: 1us}
  record: {tables: [jobs, port_buffers]}
axes:
  StaticPoolXoffThreshold: [20KB, 40KB]
  let.twice: [1, 2]    # changes nothing in the scenario
"""


@pytest.fixture(scope="module")
def data(small):
    return pa.open_dataset(small)


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """Two points a job, and repetitions."""
    folder = tmp_path_factory.mktemp("shared")
    (folder / "shared.yaml").write_text(SHARED)
    poolsweep("run", "--quiet", folder / "shared.yaml", "--out", folder / "data")
    return pa.open_dataset(folder / "data")


# Opening


def test_what_is_no_dataset_is_refused_with_the_next_step(small, tmp_path):
    with pytest.raises(pa.NoDataset, match="poolsweep run FILE --out"):
        pa.open_dataset(tmp_path / "nothing")
    with pytest.raises(pa.NoDataset, match="has no dataset.json"):
        pa.open_dataset(tmp_path)
    with pytest.raises(pa.NoDataset, match=f"did you mean {small}"):
        pa.open_dataset(small.parent)
    (tmp_path / "dataset.json").write_text("[]")
    with pytest.raises(pa.NoDataset, match="no dataset marker"):
        pa.open_dataset(tmp_path)


@pytest.mark.parametrize(("change", "helps"), [(1, "newer poolsweep_analysis"), (-1, "run again")])
def test_another_schema_version_is_refused(small, tmp_path, change, helps):
    marker = json.loads((small / "dataset.json").read_text())
    marker["schema_version"] += change
    (tmp_path / "dataset.json").write_text(json.dumps(marker))
    with pytest.raises(pa.OtherVersion, match=f"version {marker['schema_version']}.*{helps}"):
        pa.open_dataset(tmp_path)


def test_a_plan_without_a_finished_job_is_outstanding(tmp_path):
    poolsweep("plan", SWEEPS / "small.yaml", "--out", tmp_path / "data")
    data = pa.open_dataset(tmp_path / "data")
    became = dict(data.summary().iter_rows())
    assert became == {"excluded": EXCLUDED, "outstanding": POINTS - EXCLUDED}
    assert data.points().collect().height == POINTS
    with pytest.raises(pa.NothingYet, match="poolsweep run"):
        data.results()
    assert pa.status(tmp_path / "data")["outstanding"] == POINTS - EXCLUDED


# Columns


def test_axes_have_units_and_know_what_is_derived(data):
    units = {axis.name: (axis.unit, axis.derived) for axis in data.axes.values()}
    assert units == {
        "scenario": (None, False),
        "HeadRoomPerPortLimit": ("B", False),
        "topology.delay": ("ps", False),
        "let.total_headroom": ("B", True),
    }
    assert data.unit("throughput_bps") == "bit/s"
    assert data.columns("pfc")["percent_xon"].unit == "%"
    assert "first drop" in data.columns("jobs")["first_drop_ps"].description.replace("the ", "")


def test_an_unknown_name_is_answered_with_the_nearest(data):
    def refused(ask, *words):
        with pytest.raises(pa.UnknownName) as error:
            ask()
        assert all(word in str(error.value) for word in words), error.value

    refused(lambda: data.axis("HeadroomPerPort"), "HeadroomPerPort", "did you mean 'HeadRoomPer")
    refused(lambda: data.axis("delay"), "did you mean 'topology.delay'")
    refused(lambda: data.results(where={"topology.dely": 1}), "did you mean 'topology.delay'")
    refused(lambda: data.results(status="good"), "no status", "quarantined")
    refused(lambda: data.table("port_buffer"), "did you mean 'port_buffers'")
    refused(lambda: data.table("load_balancing"), "no recorded table")
    refused(lambda: data.unit("drop"), "did you mean 'drops'")
    refused(lambda: data.scenario("0" * 16), "no finished job")


# Joins


def test_results_have_a_row_a_finished_point(data):
    everything = data.results(status=None).collect()
    assert everything.height == POINTS - EXCLUDED
    assert data.results().collect().height == POINTS - EXCLUDED - INFEASIBLE
    assert data.results(status="infeasible").collect().height == INFEASIBLE
    assert data.results(status=["ok", "infeasible"]).collect().equals(everything)
    # In the order of the sweep, and `repetition` once.
    asked = data.points().filter(pl.col("job_id").is_not_null()).collect()
    assert everything["job_id"].to_list() == asked["job_id"].to_list()
    assert everything.columns.count("repetition") == 1
    some = data.results(where={"scenario": "lossy", "topology.delay": [500_000]}).collect()
    assert set(some["scenario"].cast(pl.String)) == {"lossy"}
    assert some["topology.delay"].unique().to_list() == [500_000]


def test_points_that_share_a_job_have_a_row_each(shared):
    results = shared.results().collect()
    assert (results.height, results["job_id"].n_unique()) == (12, 6)
    rows = shared.table("port_buffers").collect().height
    assert shared.intervals("port_buffers").collect().height == 2 * rows
    one = shared.intervals("port_buffers", where={"let.twice": 1}).collect()
    assert one.height == rows and {"StaticPoolXoffThreshold", "ivl_max_bytes"} <= set(one.columns)


def test_intervals_agree_with_the_columns_of_jobs(data):
    drops = (
        data.intervals("drops")
        .group_by("job_id")
        .agg(packets=pl.col("ivl_packets").sum())
        .collect()
    )
    jobs = data.jobs("ok").filter(pl.col("drops") > 0).select("job_id", "drops").collect()
    assert drops.height == jobs.height > 0
    both = jobs.join(drops, on="job_id")
    assert (both["drops"] == both["packets"]).all()


def test_parts_without_their_jobs_part_are_left_out(small, tmp_path):
    folder = shutil.copytree(small, tmp_path / "data")
    before = pa.open_dataset(folder).table("drops").collect().height
    (part,) = (folder / "drops").glob("*.parquet")
    shutil.copy(part, part.with_name(f"part-{'0' * 16}-{'0' * 16}.parquet"))
    data = pa.open_dataset(folder)
    assert data.table("drops").collect().height == before
    ((rows,),) = data.duckdb().sql("SELECT count(*) FROM drops").fetchall()
    assert rows == before > 0
    # What is left when the jobs part goes: points, and nothing that came out.
    shutil.rmtree(folder / "jobs")
    with pytest.raises(pa.DatasetError):
        data.table("drops")


def test_duckdb_and_pandas_see_what_polars_sees(data):
    polars = data.results(status=None).select("job_id", "HeadRoomPerPortLimit", "drops").collect()
    sql = "SELECT job_id, HeadRoomPerPortLimit, drops FROM results"
    duck = data.duckdb().sql(sql).pl()
    texts = [
        frame.with_columns(pl.col("job_id").cast(pl.String)).sort("job_id")
        for frame in (polars, duck)
    ]
    assert texts[0].equals(texts[1])
    pandas = polars.to_pandas()
    assert len(pandas) == polars.height
    assert pandas["drops"].sum() == polars["drops"].sum() > 0


def test_timings_have_one_row_a_job(small, tmp_path):
    folder = shutil.copytree(small, tmp_path / "data")
    before = pa.open_dataset(folder).timings().collect()
    # Another interval: every job that ran is simulated again.
    poolsweep(
        "run", "--quiet", SWEEPS / "small.yaml", "--out", folder, "--set", "record.interval=20us"
    )
    data = pa.open_dataset(folder)
    assert data.table("timings").collect().height > before.height
    after = data.timings().collect()
    assert after.height == after["job_id"].n_unique() == before.height
    assert after["start_us"].min() > before["start_us"].max()


# Numbers


def test_units_are_written_as_people_say_them():
    said = {
        (52_000, "B"): "52KB", (20_500, "B"): "20.5KB", (15_982_720, "B"): "15.98MB", (0, "B"): "0B",
        (999_999, "B"): "1MB", (-3_000, "B"): "-3KB", (1_500_000, "ps"): "1.5us",
        (400 * 10**9, "bit/s"): "400Gbps", (1_600 * 10**9, "bit/s"): "1.6Tbps", (65.5, "us"): "65.5us",
        (12.5, "%"): "12.5%", (8_832, "1"): "8,832", (0.125, "1"): "0.125",
        (None, "B"): "-", (True, None): "true", ("held", None): "held", (float("inf"), "B"): "inf",
    }  # fmt: skip
    for (value, unit), text in said.items():
        assert pa.human(value, unit) == text, (value, unit)
    assert pa.human(8_832.0, "1") == "8,832"  # a mean of counts
    assert pa.human([8_000, None, 0.5], "B") == "[8KB, -, 0.5B]"
    assert pa.scale("B", 3_000_000) == pa.Scale(1e6, "MB")
    assert pa.scale("B", 0).name == "B" and pa.scale("1", 10).name == ""
    assert pa.scale("ps", 2e9).label("time") == "time (ms)"


def test_wilson_is_the_published_interval():
    # Newcombe 1998, table I, method 3: 81/263, 15/148, 0/20, 1/29.
    for hits, tries, low, high in [
        (81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611), (1, 29, 0.0061, 0.1718),
    ]:  # fmt: skip
        found = pa.wilson(hits, tries)
        assert isclose(found[0], low, abs_tol=5e-5) and isclose(found[1], high, abs_tol=5e-5)
    low, high = pa.wilson(20, 20)
    assert high == 1 and isclose(low, 1 - pa.wilson(0, 20)[1])
    assert pa.wilson(5, 10, 0.99)[0] < pa.wilson(5, 10)[0]
    for hits, tries in [(0, 0), (3, 2), (-1, 2)]:
        with pytest.raises(ValueError):
            pa.wilson(hits, tries)


def test_loss_shares_count_repetitions(data, shared):
    lost = pa.loss_share(
        data, ["HeadRoomPerPortLimit", "topology.delay"], where={"scenario": "lossless"}
    )
    jobs = data.results(where={"scenario": "lossless"}).select("drops").collect()
    assert lost["with_loss"].sum() == (jobs["drops"] > 0).sum() > 0
    assert lost["repetitions"].to_list() == [1] * jobs.height
    none = pa.loss_share(shared, "StaticPoolXoffThreshold", where={"let.twice": 1})
    assert none.select("repetitions", "with_loss", "share", "low").rows() == [(3, 0, 0.0, 0.0)] * 2
    assert none["high"].unique().to_list() == [pa.wilson(0, 3)[1]]


def test_an_axis_is_never_merged_unasked(shared, data):
    with pytest.raises(pa.Ambiguous, match=r'let\.twice varies.*over=\["let\.twice"\]'):
        pa.aggregate(shared, ["StaticPoolXoffThreshold"], "drops")
    with pytest.raises(pa.Ambiguous, match="scenario"):
        pa.loss_share(data, ["HeadRoomPerPortLimit", "topology.delay"])
    by = ["StaticPoolXoffThreshold"]
    merged = pa.aggregate(shared, by, "pause_frames", "max", over=["let.twice"])
    assert merged["jobs"].to_list() == [6, 6]
    most = shared.results().group_by(by).agg(pl.col("pause_frames").max()).sort(by).collect()
    assert merged["pause_frames"].to_list() == most["pause_frames"].to_list()
    with pytest.raises(pa.UnknownName, match="no aggregate"):
        pa.aggregate(shared, by, "drops", "average")
    with pytest.raises(pa.UnknownName, match="did you mean 'drops'"):
        pa.aggregate(shared, by, "dropss", over=["let.twice"])


def test_axes_of_lists_labels_and_truths(tmp_path):
    (tmp_path / "lists.yaml").write_text(LISTS)
    poolsweep("run", "--quiet", tmp_path / "lists.yaml", "--out", tmp_path / "data")
    data = pa.open_dataset(tmp_path / "data")
    halves = [0.5, 0.5, 0, 0, 0, 0, 0, 0]
    assert data.results(where={"PoolAllocationMap": halves}).collect().height == 4
    assert data.results(where={"EnableEcn": True}).collect().height == 4
    label = "StaticPoolXoffThreshold.label"
    assert data.results(where={label: ["small"]}).collect().height == 4
    with pytest.raises(pa.Ambiguous, match="PoolAllocationMap, EnableEcn"):
        pa.aggregate(data, [label], "drops")
    ax = pa.heat_map(data, label, "PoolAllocationMap", "peak_ingress_bytes", over=["EnableEcn"])
    assert labels(ax.get_xticklabels()) == ["small", "large"]
    assert len(ax.texts) == 4 and "mean of 2 jobs" in ax.get_title(loc="left")


def test_frontier_is_what_no_other_row_beats():
    rows = pl.DataFrame({
        "x": [1, 2, 2, 3, 4, 4, 5, None], "y": [5, 3, 4, 3, 1, 1, 1, 0], "n": list(range(8)),
    })  # fmt: skip

    def oracle(x_sign, y_sign):
        points = [r for r in rows.iter_rows() if r[0] is not None]

        def beats(a, b):
            better = (x_sign * (b[0] - a[0]), y_sign * (b[1] - a[1]))
            return min(better) >= 0 and max(better) > 0

        return {r[2] for r in points if not any(beats(a, r) for a in points)}

    for x_best, x_sign in (("min", 1), ("max", -1)):
        for y_best, y_sign in (("min", 1), ("max", -1)):
            found = pa.frontier(rows, "x", "y", x_best, y_best)
            assert set(found["n"]) == oracle(x_sign, y_sign), (x_best, y_best)
            assert found["x"].is_sorted(descending=x_best == "max")
    assert pa.frontier(rows, "x", "y", "min", "min")["n"].to_list() == [0, 1, 4, 5]


# Figures


def texts(ax):
    return [text.get_text() for text in ax.texts]


def labels(ticks):
    return [text.get_text() for text in ticks]


def test_a_heat_map_shows_each_value_and_hatches_what_has_none(data):
    ax = pa.heat_map(
        data, "HeadRoomPerPortLimit", "topology.delay", "drops", where={"scenario": "lossless"}
    )
    assert labels(ax.get_xticklabels()) == ["8KB", "16KB", "64KB", "900KB"]
    assert labels(ax.get_yticklabels()) == ["500ns", "1us"]
    # 8 cells: two are excluded, one does not fit in the buffer.
    hatched = [patch for patch in ax.patches if patch.get_hatch()]
    drops = data.results(where={"scenario": "lossless"}).collect()["drops"]
    assert (len(hatched), len(ax.texts)) == (3, 5)
    assert sorted(texts(ax)) == sorted(pa.human(n, "1", 3) for n in drops)
    assert ax.get_xlabel() == "HeadRoomPerPortLimit" and ax.get_title(loc="left") == "drops"
    with pytest.raises(pa.NothingYet, match="nothing to draw"):
        pa.heat_map(
            data, "HeadRoomPerPortLimit", "topology.delay", "drops", where={"scenario": "none"}
        )


def test_a_heat_map_names_its_aggregate(shared):
    ax = pa.heat_map(shared, "StaticPoolXoffThreshold", "let.twice", "pause_frames", "max")
    assert ax.get_title(loc="left") == "pause_frames, max of 3 jobs a cell"


def test_a_timeline_draws_the_thresholds_of_its_scenario(data):
    where = {
        "scenario": "lossless",
        "HeadRoomPerPortLimit": [8_000, 16_000],
        "topology.delay": 500_000,
    }
    found = data.results(where=where).select("HeadRoomPerPortLimit", "job_id").collect()
    jobs = {pa.human(size, "B"): job for size, job in found.iter_rows()}
    ax = pa.timeline(data, jobs)
    names = labels(ax.get_legend().get_texts())
    assert names[-2:] == ["Xoff 20KB", "Xon 10KB"] and len(names) == 4
    assert {line.get_ydata()[0] for line in ax.lines} == {20_000, 10_000}
    # Unequal thresholds are drawn for each job.
    ax = pa.timeline(data, jobs, "hdrm")
    assert {line.get_ydata()[0] for line in ax.lines} == {8_000, 16_000}
    assert ax.get_xlabel() == "simulated time (us)"
    top = max(patch.get_data().values.max() for patch in ax.patches)
    rows = data.intervals("port_buffers", where=where).filter(pl.col("buff_id") == "hdrm")
    assert 0 < top <= rows.select(pl.col("ivl_mean_bytes").max()).collect().item()
    with pytest.raises(pa.UnknownName, match="did you mean 'ingressUsage'"):
        pa.timeline(data, jobs, "ingressUse")


def test_thresholds_are_those_of_the_model(data):
    lossy = data.results(where={"scenario": "lossy"}).select("job_id").collect()["job_id"][0]
    assert pa.thresholds(data.scenario(lossy), "ingressUsage") == {}
    assert pa.thresholds({"switch": {"model": "hpcc"}}, "ingressUsage") == {}


def test_the_other_figures_draw(data, shared):
    ax = pa.frontier_plot(data, "HeadRoomPerPortLimit", "drops", "min", "min", label="HeadRoomPerPortLimit",
                          where={"scenario": "lossless"})  # fmt: skip
    assert ax.get_xlabel() == "HeadRoomPerPortLimit, less is better (KB)"
    assert texts(ax)[0] == "8KB"
    ax = pa.loss_plot(shared, "StaticPoolXoffThreshold", by="let.twice")
    assert "3 each, 95% interval" in ax.get_ylabel()
    assert labels(ax.get_legend().get_texts()) == ["1", "2"]


# The command


def test_the_command_is_run_and_its_words_are_passed_on(tmp_path, monkeypatch):
    monkeypatch.setenv("POOLSWEEP", BINARY)
    data = pa.run(
        SWEEPS / "small.yaml", tmp_path / "data",
        sets={"duration": "20us"}, axes={"HeadRoomPerPortLimit": "16KB"},
    )  # fmt: skip
    assert data.results().select(pl.col("end_ps").max()).collect().item() == 20_000_000
    assert pa.status(tmp_path / "data")["ok"] == 6
    with pytest.raises(pa.CommandFailed, match=r"exit code 3:\nerror: --axis HeadRoomPerPortLimi:"):
        pa.run(SWEEPS / "small.yaml", tmp_path / "other", axes={"HeadRoomPerPortLimi": "16KB"})
    assert pa.shipped("headroom").is_file()
    with pytest.raises(pa.CommandFailed, match="checkout"):
        pa.shipped("headrooms")
