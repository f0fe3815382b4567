//! `size`: what it answers of links and of sweep files, and that its proposals hold.

use super::{Place, SWEEP};
use serde_json::Value;

fn sized(place: &Place, arguments: &[&str]) -> Value {
    let all = [&["size"], arguments, &["--json"]].concat();
    serde_json::from_str(&place.succeeds(&all)).unwrap()
}

/// The lines of a budget must sum to the buffer.
#[track_caller]
fn sums(budget: &Value) -> i64 {
    let lines = budget["lines"].as_array().unwrap();
    let sum: i64 = lines.iter().map(|line| line["bytes"].as_i64().unwrap()).sum();
    assert_eq!(Some(sum), budget["total_bytes"].as_i64());
    sum
}

#[test]
fn a_link_by_every_formula() {
    let place = Place::new(SWEEP);
    let link = ["size", "--rate", "400Gbps", "--cable", "300m", "--mtu", "4096B"];
    insta::assert_snapshot!(place.succeeds(&link), @r"
    400Gbps over 300 m, 1.5us one way; packets of 4,096 B; a pause acts at once

      headroom by       bytes  with
      guideline       158,192  2 x rate x delay / 8 + 2 x 4,096 B
      hpcc            225,000  3 x rate x delay / 8, no frame in it
      conweave        158,192  as the guideline
      reverie         162,052  2 x rate x delay / 8 + 2 x 4,096 B + 3,860 B
      mlx5            390,741  (301 + 2.16 x 300 m) x Gbps + 2.72 x 4,096 B
      ieee            257,196  2 frames of 9,236 B, cable, interfaces and response of its table at 400Gbps
      sonic-mellanox  274,432  spectrum-3, 8 lanes, 300 m, port MTU 9,100, lossless MTU 1,024, 50 % small packets; xon 38,912, size 322,560

      this model, nothing draining    bytes
      worst case                    155,648  38 packets of 82.28 ns start in 3.084 us: a frame of the switch's own, 1 PFC frame, 2 x 1.5us
      no frame in the way           151,552  the same if the switch sends nothing to the sender
      any mix of packets            157,590  at most, whatever sizes the sender mixes
      simulated                     155,648  peak of the worst case; 0 drops with it, 1 with 155,647 B
      to set                        158,192  the least that meets the guideline, response included, and holds any mix
    ");
    let by_delay = ["size", "--rate", "400Gbps", "--delay", "1500ns", "--mtu", "4096B"];
    assert_eq!(place.succeeds(&link), place.succeeds(&by_delay));
}

#[test]
fn the_inputs_of_sonic_are_arguments() {
    let place = Place::new(SWEEP);
    let xoff = |more: &[&str]| {
        let link = ["--rate", "400Gbps", "--cable", "300m"];
        let answer = sized(&place, &[&link, more].concat());
        let formulas = answer["links"][0]["formulas"].as_array().unwrap().clone();
        let row = formulas.into_iter().find(|row| row["name"] == "sonic-mellanox").unwrap();
        (row["bytes"].as_u64().unwrap(), row["note"].as_str().unwrap().to_owned())
    };
    let (bytes, note) = xoff(&[]);
    assert_eq!(bytes, 274_432);
    assert!(note.contains("spectrum-3, 8 lanes") && note.contains("size 322,560"), "{note}");
    assert_eq!(xoff(&["--spp", "100"]).0, 659_456);
    // Before the 2 KiB rule, which a shared pool of headroom switches off.
    assert_eq!(xoff(&["--shared-headroom"]).0, 272_384);
    let (more, note) = xoff(&["--asic", "spectrum-6", "--lanes", "4", "--gearbox-ns", "100"]);
    assert!(more > bytes && note.contains("spectrum-6, 4 lanes"), "{more} {note}");
    assert!(note.contains("gearbox 100 ns, ") || note.contains("gearbox 100 ns;"), "{note}");
}

#[test]
fn a_switch_at_the_end_of_a_link() {
    let place = Place::new(SWEEP);
    let link = ["--rate", "400Gbps", "--cable", "100m", "--ports", "128"];
    let answer = sized(&place, &[&link[..], &["--total", "256MB"]].concat());
    let switch = &answer["links"][0]["switch"];
    assert_eq!(switch["verdict"], "fits");
    assert_eq!(switch["settings"]["HeadRoomPerPortLimit"], 58_000);
    assert_eq!(switch["settings"]["StaticPoolXoffThreshold"], 700_000);
    assert_eq!(sums(&switch["budget"]), 256_000_000);
    assert_eq!(switch["budget_now"], Value::Null, "nobody set anything");
    let incasts = switch["incasts"].as_array().unwrap();
    assert_eq!(incasts.len(), 2);
    for row in incasts {
        assert_eq!((&row["settings"], &row["drops"]), (&"proposed".into(), &0.into()), "{row}");
    }
    let small = sized(&place, &[&link[..], &["--total", "9MB"]].concat());
    let switch = &small["links"][0]["switch"];
    assert_eq!((&switch["verdict"], &switch["settings"]), (&"too_small".into(), &Value::Null));
    // 128 × (58,000 + Xoff of 66,000 + 4,000 + a lossy packet of 4,000) − 9,000,000.
    assert_eq!(switch["short_bytes"], 7_896_000);
    assert_eq!(sums(&switch["budget"]), 9_000_000);
    let page = place.succeeds(&[&["size"], &link[..], &["--total", "9MB"]].concat());
    assert!(page.contains("the buffer is 7,896,000 B too small"), "{page}");
    // Without lossy traffic a packet a port less is needed.
    let all = [&link[..], &["--total", "9MB", "--lossy-share", "0"]].concat();
    assert_eq!(sized(&place, &all)["links"][0]["switch"]["short_bytes"], 7_384_000);
}

/// Lossless class 1 and lossy class 2 on a leaf-spine of two tiers, in too small a pool.
const FABRIC: &str = "\
schema: 1
base:
  duration: 50us
  topology: {kind: leaf-spine, leaves: 4, hosts_per_leaf: 6, spines: 2, fabric_delay: 2us}
  switch:
    SharedBufferManager: {TotalSharedBufferSize: 8MB, EnablePFC: [0, 1, 0, 0, 0, 0, 0, 0]}
  nic: {PfcResponseTime: 200ns}
  traffic:
    - {pattern: incast, senders: 4, bytes: 200KB, dscp: 8}
    - {pattern: incast, senders: 4, bytes: 200KB, dscp: 16, packet: 1500B}
";

#[test]
fn proposals_can_be_pasted_and_hold() {
    for sweep in [SWEEP, FABRIC] {
        let place = Place::new(sweep);
        let before = place.succeeds(&["inspect", "sweep.yaml"]);
        assert!(before.contains("MISS"), "{before}");
        let page = place.succeeds(&["size", "sweep.yaml"]);
        let settings = &page[page.find("\nbase:\n").unwrap()..];
        // What an axis sets would be laid over it.
        let plain = sweep.split("axes:").next().unwrap();
        place.write("plain.yaml", plain);
        place.write("sized.yaml", &format!("schema: 1\nextends: plain.yaml{settings}"));
        let after = place.succeeds(&["inspect", "sized.yaml"]);
        assert!(!after.contains("MISS") && !after.contains("REFUSED"), "{after}");
        // What is as it should be stays so.
        let again = sized(&place, &["sized.yaml"]);
        for link in again["links"].as_array().unwrap() {
            let switch = &link["switch"];
            assert_eq!(switch["verdict"], "fits");
            assert_eq!(switch["settings"]["xoff_rule"], "as_set");
            assert_eq!(switch["settings"]["xon_as_set"], true);
            assert_eq!(switch["budget"], switch["budget_now"]);
            sums(&switch["budget"]);
            for row in switch["incasts"].as_array().unwrap() {
                assert_eq!(row["drops"], 0, "{row}");
            }
        }
    }
}

#[test]
fn questions_without_an_answer_say_what_to_ask() {
    let place = Place::new(SWEEP);
    let fails = |arguments: &[&str]| {
        let (code, stdout, stderr) = place.ends(&[&["size"], arguments].concat());
        assert_eq!(stdout, "");
        (code, stderr)
    };
    let (code, stderr) = fails(&[]);
    assert_eq!(code, 2);
    assert!(stderr.contains("--rate 400Gbps --cable 300m --mtu 4096B"), "{stderr}");
    for (arguments, words) in [
        (&["--rate", "400Gbps"][..], "how long is the cable? --cable 300m, or --delay 1500ns"),
        (&["--rate", "400Gbps", "--cable", "300"], "a length needs a unit: write `300m`"),
        (&["--rate", "400Gbps", "--cable", "3m", "--ports", "4"], "--total <SIZE>"),
        (&["--rate", "400GB", "--cable", "3m"], "bit rate expected"),
        (&["--rate", "1Gbps", "--cable", "3m", "--mtu", "20B"], "must be 46 to 65535 B"),
        (&["--rate", "1Gbps", "--cable", "3m", "--asic", "tomahawk"], "known are spectrum-1"),
        (&["--rate", "1Gbps", "--cable", "3m", "--set", "a=b"], "about a sweep file"),
        (&["sweep.yaml", "--rate", "400Gbps"], "cannot be used with"),
    ] {
        let (code, stderr) = fails(arguments);
        assert_eq!(code, 2, "{stderr}");
        assert!(stderr.contains(words), "no {words:?} in: {stderr}");
    }
    assert_eq!(fails(&["nowhere.yaml"]).0, 3);
    assert_eq!(fails(&["sweep.yaml", "--job", "99"]).0, 3);
    let link = ["size", "--rate", "60Gbps", "--cable", "3m", "--response", "1ms"];
    let page = place.succeeds(&link);
    assert!(page.contains("none for 60Gbps"), "{page}");
    assert!(page.contains("no headroom is enough"), "{page}");
    let other = place.succeeds(&["size", "sweep.yaml", "--set", "switch.model=hpcc", "--job", "0"]);
    assert!(other.contains("switch.model hpcc has no pools to size"), "{other}");
    assert!(!other.contains("this model"), "{other}");
}
