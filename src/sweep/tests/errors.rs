//! What a person is told when a file is wrong: whole messages, because they are the product.

use super::{BASE, Files, error, error_of};
use crate::sweep::plan::{Overrides, load_scenario};

/// `part` stands in the error of `BASE` and more.
#[track_caller]
fn says(more: &str, part: &str) {
    let error = error(more);
    assert!(error.contains(part), "{error}\n--- lacks ---\n{part}");
}

#[test]
fn a_whole_message_has_place_key_value_rule_and_way_out() {
    assert_eq!(
        error("\naxes:\n  PlaneBDP: [64KB, 300]\n"),
        "s.yaml:9:20: PlaneBDP: `300` has no unit, a byte count needs one
  9 |   PlaneBDP: [64KB, 300]
    |                    ^
  help: write `300B`, `300KB` (1000) or `300KiB` (1024)"
    );
    assert_eq!(
        error("  switch: {SharedBufferManager: {PlaneBpd: 1KB}}\n"),
        "s.yaml:7:34: switch.SharedBufferManager.PlaneBpd: is not a key of `switch.SharedBufferManager`
  7 |   switch: {SharedBufferManager: {PlaneBpd: 1KB}}
    |                                  ^
  help: did you mean `PlaneBDP`?"
    );
}

#[test]
fn unknown_names_are_met_with_the_nearest() {
    says("axis: {}", "`axes`");
    says("\naxes: {PlanBDP: [1KB]}", "did you mean `PlaneBDP`");
    says("\naxes: {model: [scala]}", "could mean 2 attributes: `nic.model`, `switch.model`");
    says("\nduration: 3ms", "`duration` belongs under `base:`");
    says("  nic: {hosts: {first: {ignore_pfc: true}}}", "`first` is not a host number");
    says("\naxes: {PlaneBDP: {linspac: {from: 1B, to: 2B, count: 2}}}", "did you mean `linspace`?");
    says("\naxes: {PlaneBDP: {range: {from: 1B, to: 2B, stop: 1B}}}", "did you mean `step`?");
    says("\nscenarios: {a: {sets: {}}}", "did you mean `set`?");
    says("\nscenarios: {a: {drop-axes: [x]}}", "`x` is not an axis");
}

#[test]
fn wrong_types_are_named() {
    says("  switch: {EcmpHashMethod: crc33}", "`crc33` is none of its words");
    says("  nic: {ignore_pfc: yes}", "write `true` or `false`");
    says("  PoolAllocationMap: [1, 0, 0, 0, 0, 0, 0]", "has 7 values, needs 8");
    says("  PlaneBDP: 010B", "010");
    says("  PlaneBDP: 1_000B", "1_000");
    says("  LossyAlpha: .inf", ".inf");
    says("  LossyAlpha: NaN", "NaN");
    says("  PlaneBDP: 64kb", "64kb");
    says("  PlaneBDP: 0.3B", "not a whole number of bytes");
    says("  PlaneBDP: -1KB", "below 0");
    says("  PlaneBDP: 99999999999999999999B", "too large");
    says("  PlaneBDP: 500ns", "is a time, not a byte count");
    says("  PlaneBDP: '1KB'", "remove the quotes");
    says("  switch: scala", "is a single value, not a mapping");
    says("  topology: {hosts: 5000000000}", "topology");
}

#[test]
fn missing_keys_name_their_place() {
    assert_eq!(
        error_of("base: {duration: 1ms, topology: {kind: single-switch, hosts: 2}}"),
        "s.yaml:1:8: lacks `traffic`
  1 | base: {duration: 1ms, topology: {kind: single-switch, hosts: 2}}
    |        ^
  help: add `traffic:` with one or more patterns under `base:`"
    );
    assert!(error_of("name: x").contains("s.yaml:1:1: lacks `duration`"));
    assert!(error_of("").contains("the file is empty"));
    let lacks = error_of(&BASE.replace("senders: 4, ", ""));
    assert!(lacks.contains("traffic[0]: lacks `senders`"), "{lacks}");
    let other = error_of(&BASE.replace("incast", "permutation"));
    assert!(other.contains("is not a key of the pattern `permutation`"), "{other}");
}

#[test]
fn axes_that_cannot_be_are_refused() {
    says("\naxes: {PlaneBDP: []}", "has no values");
    says("\naxes: {PlaneBDP: 64KB}", "write `[64KB]`");
    says("\naxes: {PlaneBDP: {range: {from: 1KB, to: 2KB, step: 300B}}}", "do not land on `to`");
    says("\naxes: {PlaneBDP: {range: {from: 1KB, to: 2KB, step: 0B}}}", "does not lead from");
    says("\naxes: {PlaneBDP: {linspace: {from: 1B, to: 2B, count: 3}}}", "add `integer: true`");
    says("\naxes: {PlaneBDP: {linspace: {from: 1B, to: 2B, count: 1}}}", "count of 2 or more");
    says("\naxes: {LossyAlpha: {logspace: {from: 0, to: 2, count: 3}}}", "both ends above 0");
    says("\naxes: {PlaneBDP: {linspace: {from: 1B, to: 2ns, count: 2}}}", "not a byte count");
    says("\naxes: {let.x: {linspace: {from: 1B, to: 2ns, count: 2}}}", "mixes units");
    says("\naxes: {let.x: [1B, 2ns]}", "mixes kinds of values");
    says("\naxes: {PlaneBDP: {range: {from: 1B, to: 2B}}}", "`range` lacks `step`");
    says(
        "\naxes: {a: {zip: {PlaneBDP: [1KB], LossyAlpha: [1, 2]}}}",
        "`PlaneBDP` has 1 values and `LossyAlpha` has 2",
    );
    says(
        "\naxes: {a: {zip: {product: {PlaneBDP: [1KB]}}}}",
        "a `product` inside a `zip` is not supported",
    );
    says("\naxes: {a: {product: {PlaneBDP: [1KB]}}}", "entries of `axes` are multiplied");
    says("\naxes: {a: {table: none.csv}}", "cannot read");
    says("\naxes: {record.interval: [1us]}", "what is recorded");
    says("\naxes: {BufferStatsReportInterval: [1us]}", "what is recorded");
    says(
        "\naxes: {PlaneBDP: [1KB], SharedBufferManager.PlaneBDP: [2KB]}",
        "given a value by an axis (`PlaneBDP`) and by an axis",
    );
    says("\naxes: {PlaneBDP: [1KB]}\nderived: {PlaneBDP: 2KB}", "and by a derived value");
    says(
        "\naxes: {topology: [{kind: single-switch, hosts: 3}], topology.hosts: [3]}",
        "`topology.hosts` is given a value by",
    );
    says(
        "\naxes: {PlaneBDP: [1KB]}\nscenarios: {a: {set: {PlaneBDP: 2KB}}}",
        "add `drop-axes: [PlaneBDP]`",
    );
    says("\naxes: {topology.hosts: [2, 5000000000]}", "topology.hosts = 5000000000");
}

#[test]
fn rules_that_cannot_be_are_refused() {
    says("\nconstraints: [PlaneBDP + topology.delay > 1B]", "constraints");
    says("\nconstraints: [PlaneBDP]", "not true or false");
    says("\nconstraints: [PlanBDP > 1B]", "did you mean `PlaneBDP`");
    says("\nconstraints: 3", "write one `- expression` line");
    says("\nconstraints:\n  - !pfc and x", "YAML tags");
    says("\nconstraints: [let.x > 1]", "neither an axis nor a derived value");
    says(
        "\nderived: {PlaneBDP: StaticPoolXoffThreshold, StaticPoolXoffThreshold: PlaneBDP}",
        "PlaneBDP -> StaticPoolXoffThreshold -> PlaneBDP",
    );
    says("\nderived: {PlaneBDP: 1B / 3}", "not a whole number of bytes");
    says("\nderived: {PlaneBDP: 3}", "has no unit");
    says("\nderived: {topology: 3}", "derive its keys one by one");
    says(
        "\naxes: {senders: [1, 2]}\nchecks: [senders < 2]",
        "`senders < 2` does not hold at senders = 2",
    );
    says("\naxes: {let.x: [1, 0]}\nderived: {LossyAlpha: 1 / let.x}", "at let.x = 0");
}

#[test]
fn heads_that_cannot_be_are_refused() {
    says("\nschema: 2", "this poolsweep reads schema 1");
    says("\nrepetitions: 0", "run nothing");
    says("\nseeds: [1, 1]", "lists 1 twice");
    says("\nseeds: [1]\nseed: 2", "remove one of them");
    says("\nseed: -1", "below 0");
    says("\nname: [1]", "is not a name");
}

#[test]
fn grids_that_are_too_large_are_refused_at_once() {
    says(
        "\naxes:\n  PlaneBDP: {linspace: {from: 1B, to: 1MB, count: 1000000}}\n  HeadRoomPerPortLimit: {range: {from: 1B, to: 1MB, step: 1B}}\n",
        "the grid has 1000000000000 points (1000000 PlaneBDP × 1000000 HeadRoomPerPortLimit), more than 100000",
    );
    says("\naxes: {LossyAlpha: {range: {from: 0, to: 1000000000000, step: 1/3}}}", "points");
    says("\naxes: {LossyAlpha: {range: {from: 0, to: 1e30, step: 1e-9}}}", "too large to count");
    says("\naxes: {senders: [1, 2]}\nrepetitions: 60000", "--yes");
    let text = format!("{BASE}\naxes: {{PlaneBDP: {{range: {{from: 1B, to: 11MB, step: 1B}}}}}}");
    let files = Files::new(&[("s.yaml", &text)]);
    let yes = Overrides { yes: true, ..Overrides::default() };
    assert!(
        files.plan(&yes).unwrap_err().to_string().contains("no plan may have more than 10000000")
    );
}

#[test]
fn files_that_extend_each_other_show_the_cycle() {
    let files = Files::new(&[
        ("s.yaml", "extends: a.yaml"),
        ("a.yaml", "extends: [b.yaml]"),
        ("b.yaml", "extends: s.yaml"),
    ]);
    let folder = format!("{}/", files.folder.path().display());
    let error = files.plan(&Overrides::default()).unwrap_err().to_string().replace(&folder, "");
    assert!(
        error.starts_with(
            "b.yaml:1:10: files extend each other in a cycle: s.yaml -> a.yaml -> b.yaml -> s.yaml"
        ),
        "{error}"
    );
    let missing = Files::new(&[("s.yaml", "extends: none.yaml")]);
    let error = missing.plan(&Overrides::default()).unwrap_err().to_string();
    assert!(error.contains("s.yaml:1:10: cannot read"), "{error}");
}

#[test]
fn the_command_line_is_checked_like_the_file() {
    let files = Files::new(&[(
        "s.yaml",
        &format!("{BASE}axes: {{a: {{zip: {{PlaneBDP: [1KB], LossyAlpha: [1]}}}}}}"),
    )]);
    let refused = |set: &[&str], axis: &[&str]| {
        let own = |list: &[&str]| list.iter().map(|s| (*s).to_owned()).collect();
        files
            .plan(&Overrides { set: own(set), axis: own(axis), yes: false })
            .unwrap_err()
            .to_string()
    };
    assert!(refused(&["PlaneBDP"], &[]).contains("has no `=`"));
    assert!(refused(&["PlaneBPD=1KB"], &[]).contains("did you mean `PlaneBDP`"));
    assert!(refused(&["StaticPoolXonThreshold=1"], &[]).contains("has no unit"));
    assert!(
        refused(&["PlaneBDP=1KB"], &[]).contains("the axis `a` varies it together with other keys")
    );
    assert!(refused(&["traffic[3].bytes=1KB"], &[]).contains("has 1 entries"));
    assert!(refused(&[], &["senders=1,x"]).contains("`x` is not a whole number"));
}

#[test]
fn an_unreadable_file_is_named() {
    let error = crate::sweep::plan::Plan::load("no/such.yaml".as_ref(), &Overrides::default());
    assert!(error.unwrap_err().to_string().starts_with("cannot read `no/such.yaml`"));
    let folder = tempfile::tempdir().unwrap();
    let error = crate::sweep::plan::Plan::load(folder.path(), &Overrides::default());
    assert!(error.unwrap_err().to_string().contains("is not a file"));
    let files = Files::new(&[("s.yaml", BASE)]);
    std::fs::write(&files.first, b"base:\n  x: \xff\xfe\n").unwrap();
    let error = files.plan(&Overrides::default()).unwrap_err().to_string();
    assert!(error.contains("is not UTF-8 text (line 2)"), "{error}");
}

#[test]
fn a_scenario_can_be_chosen_by_its_job() {
    let files = Files::new(&[("s.yaml", &format!("{BASE}axes: {{PlaneBDP: [1KB, 2KB]}}"))]);
    let pick = |job| load_scenario(&files.first, &Overrides::default(), job);
    assert_eq!(pick(None).unwrap().switch.shared_buffer_manager.plane_bdp.0, 1_000);
    assert_eq!(pick(Some(1)).unwrap().switch.shared_buffer_manager.plane_bdp.0, 2_000);
    assert!(pick(Some(2)).unwrap_err().to_string().contains("no job 2: it has 2"));
}

#[test]
fn an_interval_of_nothing_refuses_the_file_not_the_points() {
    let text = error("  record: {interval: 0s}\n");
    assert!(text.contains("s.yaml:7:22: record.interval: `0s` is no interval"), "{text}");
    let text = error("  switch: {SharedBufferManager: {BufferStatsReportInterval: 0s}}\n");
    assert!(text.contains("BufferStatsReportInterval: `0s` is no interval"), "{text}");
}

#[test]
fn a_name_that_leads_out_of_the_results_is_refused() {
    for name in ["../up", "a/b", ".", "..", "a\\b", "/tmp/x"] {
        let text = error(&format!("name: '{name}'\n"));
        assert!(text.contains(&format!("`{name}` cannot name a folder")), "{text}");
    }
    assert_eq!(super::plan("name: 400G over 300 m\n").name, "400G over 300 m");
}
