use super::*;
use std::num::NonZeroU32;

fn work() -> Work {
    Work { folder: "/lab/out/headroom".into(), name: "headroom".into(), jobs: 32 }
}

fn request() -> slurm::Request {
    slurm::Request {
        binary: "/opt/poolsweep".into(),
        shards: 8,
        throttle: None,
        drain: 120,
        time: None,
        memory: None,
        partition: None,
        cpus: None,
        account: None,
        qos: None,
        job_name: None,
        options: Vec::new(),
    }
}

fn every_option() -> slurm::Request {
    slurm::Request {
        throttle: NonZeroU32::new(4),
        drain: 300,
        time: Some("1-12:00:00".into()),
        memory: Some("4G".into()),
        partition: Some("long jobs".into()),
        cpus: NonZeroU32::new(2),
        account: Some("lab".into()),
        qos: Some("low".into()),
        job_name: Some("tonight".into()),
        options: vec!["constraint=a&b".into(), "exclusive".into()],
        ..request()
    }
}

/// The directives of a script.
fn directives(script: &str) -> Vec<&str> {
    script.lines().filter_map(|line| line.strip_prefix("#SBATCH ")).collect()
}

/// The lines of the command that the script becomes.
fn command(script: &str) -> &str {
    &script[script.find("\nexec ").unwrap() + 1..]
}

fn refused(request: &slurm::Request) -> String {
    slurm::sweep_script(&work(), request).unwrap_err().to_string()
}

#[test]
fn the_script_of_the_array() {
    insta::assert_snapshot!(slurm::sweep_script(&work(), &request()).unwrap(), @r#"
    #!/bin/bash
    # The sweep headroom: task N of the array runs shard N of 8 into one dataset.
    #
    # A task's exit code is that of poolsweep run:
    #   0  all jobs of the shard are in the dataset
    #   5  asked to stop, by the signal 120 s before the time limit or by scancel: what was in
    #      flight is finished and published, work is outstanding
    #   6  some jobs failed; their rows in the table jobs say why
    # After 5, a kill, a crash or a dead node, submit this script again as it is: finished jobs are
    # skipped, so it goes on where it ended. Do not `scontrol requeue $SLURM_JOB_ID` from a task: the
    # last task's id is that of the whole array, and its running siblings would be killed.
    #SBATCH --job-name=poolsweep-headroom
    #SBATCH --array=1-8
    #SBATCH --output=/lab/out/headroom/slurm/%A_%a.log
    #SBATCH --open-mode=append
    #SBATCH --ntasks=1
    #SBATCH --signal=B:USR1@120

    set -euo pipefail

    # As many threads as CPUs were given. The affinity mask alone would not do: not every cluster
    # binds tasks.
    threads=${SLURM_CPUS_PER_TASK:-${SLURM_CPUS_ON_NODE:-}}

    # exec: poolsweep takes the place of this shell, to which Slurm sends the signal.
    exec /opt/poolsweep run /lab/out/headroom --quiet \
        --shard "$SLURM_ARRAY_TASK_ID/8" ${threads:+--threads "$threads"}
    "#);
}

#[test]
fn the_script_after_the_array() {
    insta::assert_snapshot!(slurm::finish_script(&work(), &every_option()).unwrap(), @r#"
    #!/bin/bash
    # After the array of the sweep headroom, however its tasks ended (--dependency=afterany:ARRAY).
    #
    # All shards wrote into one dataset, so there is nothing to merge; its many small parts become few.
    # This simulates nothing: what is missing stays missing until the array is submitted again.
    #SBATCH --job-name=tonight-finish
    #SBATCH --output=/lab/out/headroom/slurm/%j-finish.log
    #SBATCH --ntasks=1
    #SBATCH --time=1-12:00:00
    #SBATCH --mem=4G
    #SBATCH --cpus-per-task=2
    #SBATCH --partition="long jobs"
    #SBATCH --account=lab
    #SBATCH --qos=low
    #SBATCH --constraint="a&b"
    #SBATCH --exclusive

    set -euo pipefail

    /opt/poolsweep compact /lab/out/headroom || echo 'the parts stay as they are'
    /opt/poolsweep summary /lab/out/headroom
    exec /opt/poolsweep status /lab/out/headroom
    "#);
}

#[test]
fn every_option_is_a_directive() {
    let script = slurm::sweep_script(&work(), &every_option()).unwrap();
    assert_eq!(
        directives(&script),
        [
            "--job-name=tonight",
            "--array=1-8%4",
            "--output=/lab/out/headroom/slurm/%A_%a.log",
            "--open-mode=append",
            "--ntasks=1",
            "--time=1-12:00:00",
            "--mem=4G",
            "--cpus-per-task=2",
            "--partition=\"long jobs\"",
            "--account=lab",
            "--qos=low",
            "--signal=B:USR1@300",
            "--constraint=\"a&b\"",
            "--exclusive",
        ]
    );
    assert!(script.contains("300 s before the time limit"));
}

#[test]
fn paths_are_one_word_wherever_they_stand() {
    let work = Work { folder: r#"/a b/it's "$x" # 5%a"#.into(), ..work() };
    let request = slurm::Request { binary: "/opt/my tools/poolsweep".into(), ..request() };
    let script = slurm::sweep_script(&work, &request).unwrap();
    // In a log path % is doubled; a double quote is escaped in a directive.
    let log = r#"--output="/a b/it's \"$x\" # 5%%a/slurm/%A_%a.log""#;
    assert_eq!(directives(&script)[2], log);
    let run = r#"exec '/opt/my tools/poolsweep' run '/a b/it'\''s "$x" # 5%a' --quiet "#;
    assert!(command(&script).starts_with(run), "{script}");
}

#[test]
fn what_cannot_be_quoted_is_refused() {
    for (folder, said) in [("/a\nb", "newlines"), ("/a\\b", "backslash")] {
        let work = Work { folder: folder.into(), ..work() };
        // A newline is refused when the folder is opened; here the backslash.
        let open = absolute("DIR", Path::new(folder)).map(|_| work);
        let error = open.and_then(|work| slurm::sweep_script(&work, &request())).unwrap_err();
        assert!(error.to_string().contains(said), "{error}");
    }
    let injected = "x\n#SBATCH --uid=0";
    for request in [
        slurm::Request { job_name: Some(injected.into()), ..request() },
        slurm::Request { partition: Some(injected.into()), ..request() },
        slurm::Request { account: Some(injected.into()), ..request() },
        slurm::Request { qos: Some(injected.into()), ..request() },
        slurm::Request { binary: injected.into(), ..request() },
        slurm::Request { options: vec![format!("comment={injected}")], ..request() },
        slurm::Request { time: Some(injected.into()), ..request() },
        slurm::Request { memory: Some(injected.into()), ..request() },
    ] {
        refused(&request);
    }
    // A name is free text of the sweep file: it stays in its comment.
    let named = Work { name: "a\nrm -rf /".into(), ..work() };
    let script = slurm::sweep_script(&named, &request()).unwrap();
    assert!(script.contains("# The sweep a rm -rf /: task"), "{script}");
    assert!(script.lines().all(|line| !line.starts_with("rm")), "{script}");
}

#[test]
fn options_of_our_own_are_pointed_to() {
    for (option, said) in [
        ("time=5", "use --time"),
        ("array=0-3", "use --shards"),
        ("output=x", "logs go to"),
        ("--nice=5", "without dashes"),
        ("Nice=5", "without dashes"),
        ("=5", "without dashes"),
    ] {
        let error = refused(&slurm::Request { options: vec![option.into()], ..request() });
        assert!(error.contains(said), "{option}: {error}");
    }
}

#[test]
fn times_are_read_as_slurm_reads_them() {
    // The longest drain that is refused is the time limit itself.
    for (time, limit) in [
        ("10", 600),
        ("10:30", 630),
        ("1:00:01", 3601),
        ("0-1", 3600),
        ("0-1:30", 5400),
        ("0-00:02:03", 123),
    ] {
        let with = |drain| slurm::Request { time: Some(time.into()), drain, ..request() };
        assert!(refused(&with(limit)).contains(&format!("{limit} s")), "{time}");
        slurm::sweep_script(&work(), &with(limit - 1)).unwrap();
    }
    for time in ["0", "UNLIMITED", "9-0"] {
        let request = slurm::Request { time: Some(time.into()), drain: u16::MAX, ..request() };
        slurm::sweep_script(&work(), &request).unwrap();
    }
    for time in ["", "x", "1:2:3:4", "1-", "-1", "1-2-3", "1h", "9999999999", "1::2", "+5"] {
        let error = refused(&slurm::Request { time: Some(time.into()), ..request() });
        assert!(error.contains("--time"), "{time}: {error}");
    }
    for memory in ["", "4GB", "G", "-1G", "4.5G"] {
        let error = refused(&slurm::Request { memory: Some(memory.into()), ..request() });
        assert!(error.contains("--mem"), "{memory}: {error}");
    }
}

#[test]
fn shards_fit_the_plan_and_the_array() {
    let many = Work { jobs: 50_000, ..work() };
    assert_eq!(work().shards(None).unwrap(), 32);
    assert_eq!(many.shards(None).unwrap(), DEFAULT_SHARDS);
    assert_eq!(Work { jobs: 0, ..work() }.shards(None).unwrap(), 1);
    assert_eq!(many.shards(Some(50_000)).unwrap(), 50_000);
    assert!(work().shards(Some(33)).unwrap_err().to_string().contains("32 at most"));
    assert!(work().shards(Some(0)).is_err());

    slurm::refuse_too_many(1000, 1001).unwrap();
    let error = slurm::refuse_too_many(1001, 1001).unwrap_err().to_string();
    assert!(error.contains("MaxArraySize = 1001, so 1000 at most"), "{error}");
    slurm::refuse_too_many(1, 0).unwrap_err();
}

#[test]
fn a_dataset_without_a_plan_is_told_so() {
    let folder = tempfile::tempdir().unwrap();
    let open = || Work::open(folder.path());
    assert!(open().unwrap_err().to_string().contains("run poolsweep plan FILE --out"));
    let plan = folder.path().join("plan.json");
    for bad in ["", "[]", r#"{"jobs": 3, "infeasible": 0}"#, r#"{"name": "a", "jobs": "3"}"#] {
        std::fs::write(&plan, bad).unwrap();
        assert!(matches!(open(), Err(BatchError::Plan { .. })), "{bad}");
    }
    std::fs::write(&plan, r#"{"name": "a", "jobs": 3, "infeasible": 1}"#).unwrap();
    assert!(open().unwrap_err().to_string().contains("is not frozen"));
    let whole = r#"{"name": "a", "jobs": 3, "infeasible": 1, "frozen": {}}"#;
    std::fs::write(&plan, whole).unwrap();
    let work = open().unwrap();
    assert_eq!((work.name.as_str(), work.jobs), ("a", 2));
    // A slash at the end is no part of the name.
    let slashed = format!("{}/", folder.path().display());
    assert_eq!(Work::open(Path::new(&slashed)).unwrap(), work);
}

fn k8s_request() -> k8s::Request {
    k8s::Request {
        image: "lab/poolsweep:1".into(),
        claim: "sweeps".into(),
        mount: "/data".into(),
        path: None,
        shards: 8,
        parallelism: None,
        cpu: "1".into(),
        memory: "2Gi".into(),
        drain: 120,
        namespace: None,
        name: None,
    }
}

#[test]
fn names_of_kubernetes_are_checked() {
    let fails = |request: k8s::Request| k8s::manifest(&work(), &request).unwrap_err().to_string();
    let name = |name: &str| k8s::Request { name: Some(name.into()), ..k8s_request() };
    for bad in ["", "A", "a_b", "-a", "a-", "a.b", "ä", &"a".repeat(62)] {
        assert!(fails(name(bad)).contains("--name"), "{bad}");
    }
    // 63 characters with a dash and one digit of the index.
    k8s::manifest(&work(), &name(&"a".repeat(61))).unwrap();
    let more = k8s::Request { shards: 11, ..name(&"a".repeat(61)) };
    assert!(fails(more).contains("at most 60"));

    let with = k8s_request;
    for (request, option) in [
        (k8s::Request { namespace: Some("Lab".into()), ..with() }, "--namespace"),
        (k8s::Request { claim: "a..b".into(), ..with() }, "--claim"),
        (k8s::Request { cpu: "0".into(), ..with() }, "--cpu"),
        (k8s::Request { cpu: "2x".into(), ..with() }, "--cpu"),
        (k8s::Request { memory: "8GiB".into(), ..with() }, "--memory"),
        (k8s::Request { memory: "Gi".into(), ..with() }, "--memory"),
        (k8s::Request { image: "a b".into(), ..with() }, "--image"),
        (k8s::Request { image: String::new(), ..with() }, "--image"),
        (k8s::Request { mount: "data".into(), ..with() }, "--mount"),
        (k8s::Request { path: Some("../x".into()), ..with() }, "--path"),
        (k8s::Request { path: Some("/x".into()), ..with() }, "--path"),
        (k8s::Request { shards: 100_001, ..with() }, "--shards"),
    ] {
        let error = fails(request);
        assert!(error.starts_with(option), "{error}");
    }
}

#[test]
fn a_job_is_named_after_its_sweep() {
    let (long, cut) = ("x".repeat(80), format!("poolsweep-{}", "x".repeat(51)));
    for (sweep, name) in [
        ("headroom", "poolsweep-headroom"),
        ("My Sweep_2!", "poolsweep-my-sweep-2"),
        ("…", "poolsweep"),
        (long.as_str(), cut.as_str()),
    ] {
        let work = Work { name: sweep.into(), ..work() };
        let yaml = k8s::manifest(&work, &k8s_request()).unwrap();
        assert!(yaml.contains(&format!("\n  name: {name}\n")), "{sweep}: {yaml}");
    }
}

#[test]
fn no_more_pods_at_once_than_shards() {
    let request = k8s::Request { parallelism: NonZeroU32::new(100), ..k8s_request() };
    let yaml = k8s::manifest(&work(), &request).unwrap();
    assert!(yaml.contains("\n  completions: 8\n  parallelism: 8\n"), "{yaml}");
    let line =
        r#"exec poolsweep run /data/headroom --quiet --shard "$((JOB_COMPLETION_INDEX + 1))/8""#;
    assert!(yaml.contains(line), "{yaml}");
}
