//! `report`: what of a dataset is on the page. How the page looks and works, a browser tests.

use super::{Place, SWEEP};
use poolsweep::record::Outcome;
use serde_json::Value;

fn page(place: &Place, name: &str) -> String {
    std::fs::read_to_string(place.path(name)).unwrap()
}

/// What the page's script reads.
fn content(page: &str) -> Value {
    let (_, rest) = page.split_once("id=\"content\">").unwrap();
    let (json, _) = rest.split_once("</script>").unwrap();
    serde_json::from_str(json).unwrap()
}

fn report(place: &Place, arguments: &[&str]) -> Value {
    let arguments = [&["report"], arguments].concat();
    place.succeeds(&arguments);
    let out = arguments.iter().position(|a| *a == "--out").map(|at| arguments[at + 1].to_owned());
    content(&page(place, &out.unwrap_or_else(|| format!("{}/report.html", arguments[1]))))
}

fn words(column: &Value, row: usize) -> Option<&str> {
    column["words"][usize::try_from(column["codes"][row].as_u64()?).unwrap()].as_str()
}

fn number<'j>(jobs: &'j Value, name: &str, row: usize) -> &'j Value {
    let columns = jobs["columns"].as_array().unwrap();
    let column = columns.iter().find(|c| c["name"] == name);
    &column.unwrap_or_else(|| panic!("no {name}"))["values"][row]
}

#[test]
fn a_page_is_one_file_that_loads_nothing() {
    let place = Place::new(SWEEP);
    place.succeeds(&["run", "sweep.yaml", "--quiet", "--out", "data"]);
    let said = place.succeeds(&["report", "data"]);
    assert!(said.starts_with("data/report.html  "), "{said}");
    let html = page(&place, "data/report.html");
    assert!(html.starts_with("<!doctype html>") && html.trim_end().ends_with("</html>"));
    // The namespace of SVG is a name: nobody loads it.
    let rest = html.replace("\"http://www.w3.org/2000/svg\"", "");
    for loads in ["http:", "https:", " src=", "//cdn", "@import", "url(h"] {
        assert!(!rest.contains(loads), "{loads}");
    }
    let told = content(&html);
    assert_eq!(told["head"]["name"], "small");
    assert_eq!(told["points"]["count"], 6);
    let axis = &told["axes"][0];
    assert_eq!(axis["name"], "HeadRoomPerPortLimit");
    assert_eq!(axis["values"], serde_json::json!(["16KB", "256KB", "100MB"]));
    let jobs = &told["jobs"];
    let refused: Vec<usize> =
        (0..6).filter(|&row| words(&jobs["status"], row) == Some("infeasible")).collect();
    assert_eq!(refused.len(), 2);
    for row in refused {
        assert!(words(&jobs["reason"], row).is_some_and(|reason| !reason.is_empty()));
        assert!(number(jobs, "drops", row).is_null());
    }
    assert!(!told["timelines"].as_array().unwrap().is_empty());
    // The page is no part of the dataset and does not get in its way.
    place.succeeds(&["verify", "data"]);
    assert!(
        place.succeeds(&["run", "sweep.yaml", "--quiet", "--out", "data"]).contains("0 jobs now")
    );
}

#[test]
fn one_dataset_makes_one_page() {
    let place = Place::new(SWEEP);
    place.succeeds(&["run", "sweep.yaml", "--quiet", "--out", "data"]);
    place.succeeds(&["report", "data"]);
    let first = page(&place, "data/report.html");
    place.succeeds(&["report", "data"]);
    assert_eq!(first, page(&place, "data/report.html"));
    place.succeeds(&["report", "data", "--out", "elsewhere/page.html"]);
    assert_eq!(first, page(&place, "elsewhere/page.html"));
    let left = std::fs::read_dir(place.path("elsewhere")).unwrap().count();
    assert_eq!(left, 1, "a temporary file was left");
}

#[test]
fn nothing_of_the_dataset_becomes_markup() {
    let place = Place::new(
        "\
# Is it </script><script>alert(1)</script> or <!--?
schema: 1
name: \"<b>&<script>\"
base:
  duration: 20us
  topology: {kind: single-switch, hosts: 3, rate: 400Gbps, delay: 500ns}
  traffic:
    - {pattern: incast, receiver: 0, senders: 2, bytes: 8KB, packet: 4000B, dscp: 8}
scenarios:
  \"</script><img>\": {}
  \"{{script}}{{content}}\": {set: {topology.delay: 1us}}
",
    );
    place.succeeds(&["run", "sweep.yaml", "--quiet", "--out", "data"]);
    let told = report(&place, &["data"]);
    let html = page(&place, "data/report.html");
    assert_eq!(html.matches("</script").count(), 2);
    assert_eq!(html.matches("<script").count(), 2);
    assert_eq!(html.matches("<!--").count(), 0);
    assert!(html.contains("<title>&lt;b&gt;&amp;&lt;script&gt;</title>"));
    assert_eq!(told["head"]["name"], "<b>&<script>");
    assert_eq!(told["axes"][0]["values"][0], "</script><img>");
    assert_eq!(told["axes"][0]["values"][1], "{{script}}{{content}}");
    assert_eq!(told["head"]["question"][0], "Is it </script><script>alert(1)</script> or <!--?");
}

#[test]
fn failed_and_quarantined_jobs_are_there_with_their_reason() {
    let place = Place::new(SWEEP);
    place.succeeds(&["plan", "sweep.yaml", "--out", "data"]);
    place.make_up_rows(
        "data",
        [Outcome::Failed("a failure made up"), Outcome::Quarantined("a death made up")],
    );
    let told = report(&place, &["data"]);
    let jobs = &told["jobs"];
    let mut found: Vec<_> = (0..2)
        .map(|row| (words(&jobs["status"], row).unwrap(), words(&jobs["reason"], row).unwrap()))
        .collect();
    found.sort_unstable();
    assert_eq!(found, [("failed", "a failure made up"), ("quarantined", "a death made up")]);
    // The four others did not run: points without a job's row.
    let places = told["points"]["job"].as_array().unwrap();
    assert_eq!(places.iter().filter(|place| place.is_null()).count(), 4);
    assert_eq!(told["timelines"], serde_json::json!([]));
}

#[test]
fn excluded_points_name_their_constraint() {
    let place = Place::new(&format!("{SWEEP}constraints: [HeadRoomPerPortLimit < 1MB]\n"));
    place.succeeds(&["run", "sweep.yaml", "--quiet", "--out", "data"]);
    let told = report(&place, &["data"]);
    let excluded = told["points"]["excluded"].as_array().unwrap();
    assert_eq!(excluded.iter().filter(|place| place.is_u64()).count(), 2);
    assert_eq!(told["points"]["constraints"][0], "HeadRoomPerPortLimit < 1MB");
    assert_eq!(told["head"]["exclusions"][0]["points"], 2);
}

/// Too little headroom, seen at a finer interval than a page has steps.
const FINE: &str = "\
schema: 1
name: fine
base:
  duration: 100us
  topology: {kind: single-switch, hosts: 5, rate: 100Gbps, delay: 500ns}
  switch: {SharedBufferManager: {StaticPoolXoffThreshold: 40KB, StaticPoolXonThreshold: 20KB}}
  traffic:
    - {pattern: incast, receiver: 0, senders: 4, bytes: 4MB, packet: 4000B, dscp: 8}
  record: {interval: 100ns, tables: [jobs, port_buffers, switch_buffers, drops, pfc]}
axes:
  HeadRoomPerPortLimit: [8KB, 256KB]
";

#[test]
fn steps_keep_every_peak_drop_and_threshold() {
    let place = Place::new(FINE);
    place.succeeds(&["run", "sweep.yaml", "--quiet", "--out", "data"]);
    let told = report(&place, &["data", "--worst", "1"]);
    assert_eq!(told["timelines"].as_array().unwrap().len(), 1);
    let time = &told["timelines"][0];
    let row = usize::try_from(time["job"].as_u64().unwrap()).unwrap();
    // The worst is the one that lost packets.
    let drops = number(&told["jobs"], "drops", row).as_u64().unwrap();
    assert!(drops > 0);
    assert_eq!((&time["steps"]["together"], &time["steps"]["count"]), (&2.into(), &500.into()));
    let sum = |lists: &Value, key: &str| -> u64 {
        let lists = lists.as_array().unwrap().iter();
        lists.flat_map(|l| l[key].as_array().unwrap()).map(|n| n.as_u64().unwrap()).sum()
    };
    assert_eq!(sum(&time["drops"], "packets"), drops);
    let counters = |name: &str| -> Vec<&Value> {
        let places = time["places"].as_array().unwrap().iter();
        places
            .flat_map(|place| place["counters"].as_array().unwrap())
            .filter(|counter| counter["name"] == name)
            .collect()
    };
    let peak = |name: &str| {
        let all = counters(name).into_iter().flat_map(|c| c["max"].as_array().unwrap());
        all.map(|n| n.as_u64().unwrap()).max()
    };
    for (counter, column) in [
        ("hdrm", "peak_headroom_bytes"),
        ("ingressUsage", "peak_ingress_bytes"),
        ("egressQueue", "peak_egress_bytes"),
    ] {
        assert_eq!(peak(counter), number(&told["jobs"], column, row).as_u64(), "{counter}");
    }
    let lines = serde_json::json!([["Xoff", 40_000], ["Xon", 20_000]]);
    assert_eq!(counters("ingressUsage")[0]["lines"], lines);
    assert_eq!(counters("hdrm")[0]["lines"], serde_json::json!([["headroom limit", 8_000]]));
    assert!(sum(&time["pauses"], "paused") > 0);
    assert!(time["pools"].as_array().unwrap().iter().any(|pool| pool["pool"] == 1));
}

#[test]
fn jobs_are_drawn_that_are_asked_for() {
    let place = Place::new(FINE);
    place.succeeds(&["run", "sweep.yaml", "--quiet", "--out", "data"]);
    let told = report(&place, &["data", "--worst", "0"]);
    assert_eq!(told["timelines"], serde_json::json!([]));
    let lossless = (0..2).find(|&row| *number(&told["jobs"], "drops", row) == 0).unwrap();
    let id = told["jobs"]["id"][lossless].as_str().unwrap();
    let told = report(&place, &["data", "--worst", "0", "--job", id, "--out", "one.html"]);
    assert_eq!(told["timelines"].as_array().unwrap().len(), 1);
    assert_eq!(told["timelines"][0]["job"], lossless);
}

#[test]
fn without_rows_over_time_there_is_a_page_too() {
    let place = Place::new(&SWEEP.replace("{interval: 10us}", "{interval: 10us, tables: [jobs]}"));
    place.succeeds(&["run", "sweep.yaml", "--quiet", "--out", "data"]);
    let told = report(&place, &["data"]);
    assert_eq!(told["timelines"], serde_json::json!([]));
    assert_eq!(told["jobs"]["tables"]["words"], serde_json::json!(["jobs"]));
    // Asked for, it says what was recorded.
    let ran = (0..6).find(|&row| words(&told["jobs"]["status"], row) == Some("ok")).unwrap();
    let id = told["jobs"]["id"][ran].as_str().unwrap();
    let told = report(&place, &["data", "--job", id]);
    assert_eq!(told["timelines"][0]["recorded"], serde_json::json!([]));
}

#[test]
fn a_plan_alone_and_a_dataset_without_one_have_a_page() {
    let place = Place::new(SWEEP);
    place.succeeds(&["plan", "sweep.yaml", "--out", "data"]);
    let told = report(&place, &["data"]);
    assert_eq!(told["jobs"]["id"], serde_json::json!([]));
    assert_eq!(told["points"]["count"], 6);
    place.succeeds(&["run", "data", "--quiet"]);
    std::fs::remove_file(place.path("data/plan.json")).unwrap();
    let told = report(&place, &["data"]);
    assert_eq!((&told["head"]["name"], &told["head"]["plan_hash"]), (&"data".into(), &Value::Null));
    assert_eq!(told["jobs"]["id"].as_array().unwrap().len(), 6);
}

#[test]
fn what_cannot_be_is_said_and_the_old_page_stays() {
    let place = Place::new(SWEEP);
    let (code, _, stderr) = place.ends(&["report", "nowhere"]);
    assert_eq!(code, 7, "{stderr}");
    assert!(stderr.contains("nowhere"), "{stderr}");
    place.succeeds(&["run", "sweep.yaml", "--quiet", "--out", "data"]);
    let told = report(&place, &["data"]);
    let before = page(&place, "data/report.html");
    let (code, _, stderr) = place.ends(&["report", "data", "--job", "00000000000000ff"]);
    assert_eq!(code, 2);
    assert!(stderr.contains("--job 00000000000000ff: data has no such job"), "{stderr}");
    let (code, _, stderr) = place.ends(&["report", "data", "--job", "first"]);
    assert_eq!(code, 2);
    assert!(stderr.contains("16 digits"), "{stderr}");
    let refused = (0..6).find(|&row| words(&told["jobs"]["status"], row) == Some("infeasible"));
    let id = told["jobs"]["id"][refused.unwrap()].as_str().unwrap();
    let (code, _, stderr) = place.ends(&["report", "data", "--job", id]);
    assert_eq!(code, 2);
    assert!(stderr.contains("did not run (infeasible)"), "{stderr}");
    assert_eq!(before, page(&place, "data/report.html"));
    // A file among the parts would be taken for one.
    let (code, _, stderr) = place.ends(&["report", "data", "--out", "data/jobs/page.html"]);
    assert_eq!(code, 2);
    assert!(stderr.contains("data/jobs is a folder of the dataset's own"), "{stderr}");
    place.write("file", "");
    let (code, _, stderr) = place.ends(&["report", "data", "--out", "file/page.html"]);
    assert_eq!(code, 7);
    assert!(stderr.contains("file"), "{stderr}");
    if cfg!(feature = "s3") {
        let (code, _, stderr) = place.ends(&["report", "s3://bucket/data"]);
        assert_eq!(code, 2);
        assert!(stderr.contains("--out FILE"), "{stderr}");
    }
}
