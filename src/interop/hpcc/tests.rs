//! Configurations with one thing wrong, and what becomes of the rest.

use super::*;

const TOPOLOGY: &str = "4 1 3\n1\n0 1 100Gbps 1us 0\n1 2 100Gbps 0.001ms 0.0\n3 1 40Gbps 990ns 0\n";
const FLOWS: &str = "2\n0 3 3 100 400000 2.0000000005\n2 3 1 100 500 2.000000009\n";
const CONFIG: &str = "\
TOPOLOGY_FILE topology.txt
FLOW_FILE flow.txt
PACKET_PAYLOAD_SIZE 1000
L2_CHUNK_SIZE 4000
L2_ACK_INTERVAL 1
CC_MODE 0
HAS_WIN 0
ENABLE_QCN 1
KMIN_MAP 2 100000000000 400 40000000000 160
KMAX_MAP 2 100000000000 1600 40000000000 640
PMAX_MAP 2 100000000000 0.2 40000000000 0.25
SIMULATOR_STOP_TIME 2.1
LINK_DOWN 0 0 0
RP_TIMER 900
";

fn source<'a>(name: &'a str, text: &'a str) -> Source<'a> {
    Source { name, text }
}

fn imported(config: &str, topology: &str, flows: &str) -> Result<Imported, String> {
    let config = Config::read(source("config.txt", config)).map_err(|e| e.to_string())?;
    import(&config, source("topology.txt", topology), source("flow.txt", flows))
        .map_err(|e| e.to_string())
}

fn refused(config: &str, topology: &str, flows: &str) -> String {
    imported(config, topology, flows).expect_err("refused")
}

#[test]
fn everything_that_was_read_stands_in_the_sweep_file() {
    let made = imported(CONFIG, TOPOLOGY, FLOWS).unwrap();
    for line in [
        "  duration: 2.1s  # SIMULATOR_STOP_TIME",
        "      - {name: \"1\", kind: switch}",
        "      - {name: \"2\", kind: host}",
        "      - {a: \"3\", b: \"1\", rate: 40Gbps, delay: 990ns}",
        "    HPCC: {BufferSize: 16777216B}",
        "      ENABLE_QCN: true",
        "      PMAX_MAP: [100000000000, 0.2, 40000000000, 0.25]",
        "      L2_CHUNK_SIZE: 4000B",
        "      ACK_HIGH_PRIO: false",
        // Nodes 0, 2 and 3 are the hosts 0, 1 and 2; the start is cut to ns.
        "        - {src: 0, dst: 2, bytes: 400000B, dscp: 24, start: 2s}",
        "        - {src: 1, dst: 2, bytes: 500B, dscp: 8, start: 2.000000008s}",
    ] {
        assert!(made.yaml.lines().any(|own| own == line), "{line}\nis not in\n{}", made.yaml);
    }
    assert_eq!(made.notes.len(), 1, "{:?}", made.notes);
    assert!(made.notes[0].starts_with("config.txt:14: RP_TIMER has no effect: "));
    assert!(made.yaml.contains(&made.notes[0]));
}

#[test]
fn what_is_not_simulated_is_refused_where_it_stands() {
    for (from, to, message) in [
        (
            "LINK_DOWN 0 0 0",
            "LINK_DOWN 2000000 3 4",
            "config.txt:13:11: links do not go down here; set LINK_DOWN to 0",
        ),
        (
            "RP_TIMER 900",
            "ERROR_RATE_PER_LINK 0.001",
            "config.txt:14:21: links do not lose packets here; set ERROR_RATE_PER_LINK to 0",
        ),
        (
            "RP_TIMER 900",
            "L2_BACK_TO_ZERO 1",
            "config.txt:14:17: a lost packet makes senders go back to it, not to the start; set L2_BACK_TO_ZERO to 0",
        ),
        (
            "CC_MODE 0",
            "CC_MODE 3",
            "config.txt:6:9: CC_MODE 3 (HPCC) is not simulated; set CC_MODE 0 for line rate without congestion control",
        ),
        ("HAS_WIN 0", "HAS_WIN 1", "config.txt:7:9: hosts have no window here; set HAS_WIN 0"),
        ("HAS_WIN 0", "HAS_WIN yes", "config.txt:7:9: \"yes\" must be 0 or 1"),
        (
            "RP_TIMER",
            "RP_TIMERS",
            "config.txt:14:1: unknown key \"RP_TIMERS\"; the nearest known one is RP_TIMER",
        ),
        ("RP_TIMER 900", "CC_MODE 0", "config.txt:14:1: CC_MODE stands in line 6 too; remove one"),
        ("CC_MODE 0\n", "", "config.txt:13:1: CC_MODE is missing; add it"),
        (
            "KMAX_MAP 2",
            "KMAX_MAP 3",
            "config.txt:10:10: 3 pairs of a rate and a value must follow; here are 4 numbers",
        ),
        ("0.25", "1.25", "config.txt:11:41: 1.25 must be 0 to 1"),
        ("1000", "", "config.txt:3:1: PACKET_PAYLOAD_SIZE has no value; give one"),
        ("4000", "4000 5", "config.txt:4:20: L2_CHUNK_SIZE has one value; remove this"),
        ("RP_TIMER 900", "BUFFER_SIZE 0", "config.txt:14:13: 0 must be 1 to 4095 (MiB)"),
        ("2.1", "-2.1", "config.txt:12:21: -2.1 is not a time in seconds"),
        (
            "KMIN_MAP 2 100000000000 400 40000000000 160\n",
            "",
            "config.txt:1:1: KMIN_MAP is missing; add it",
        ),
    ] {
        let config = CONFIG.replacen(from, to, 1);
        assert_ne!(config, CONFIG);
        assert_eq!(refused(&config, TOPOLOGY, FLOWS), message);
    }
}

#[test]
fn wrong_topologies_are_refused_where_they_are_wrong() {
    for (from, to, message) in [
        (
            "4 1 3",
            "4 1 1 3",
            "topology.txt:1:7: a fourth number: this is the format of ns3-datacenter (nodes switches tors links); remove the third number for HPCC's",
        ),
        ("40Gbps", "40Gbit", "topology.txt:5:5: "),
        (
            "990ns",
            "990.5ns",
            "topology.txt:5:12: 990.5ns is not a whole number of ns, as times are there",
        ),
        (
            "990ns 0",
            "990ns 0.1",
            "topology.txt:5:18: links do not lose packets here; set the error rate to 0",
        ),
        ("3 1 40", "7 1 40", "topology.txt:5:1: there is no node 7: the file has 0 to 3"),
        (
            "3 1 40",
            "0 1 40",
            "topology.txt:5:1: host 0 has a link already; hosts have one link here",
        ),
        ("4 1 3", "4 1 4", "topology.txt:5:1: the file ends before a link's first node"),
        ("4 1 3", "4 x 3", "topology.txt:1:3: \"x\" is not the number of switches"),
        ("4 1 3", "4 4000000000 3", "topology.txt:1:3: 4000000000 is too many; at most "),
    ] {
        let error = refused(CONFIG, &TOPOLOGY.replacen(from, to, 1), FLOWS);
        assert!(error.starts_with(message), "{error}\n{message}");
    }
}

#[test]
fn wrong_flows_are_refused_where_they_are_wrong() {
    for (from, to, message) in [
        ("2 3 1", "1 3 1", "flow.txt:3:1: node 1 is a switch; flows go from host to host"),
        ("2 3 1", "2 9 1", "flow.txt:3:3: the topology has no node 9"),
        ("2 3 1", "3 3 1", "flow.txt:3:3: a flow to its own source; give another destination"),
        ("2 3 1", "2 3 8", "flow.txt:3:5: priority 8 must be 0 to 7"),
        ("500 ", "0 ", "flow.txt:3:11: a flow of 0 bytes; remove it"),
        ("2.000000009", "soon", "flow.txt:3:15: \"soon\" is not a time in seconds"),
    ] {
        assert_eq!(refused(CONFIG, TOPOLOGY, &FLOWS.replacen(from, to, 1)), message);
    }
}

#[test]
fn what_goes_otherwise_is_told() {
    let flows = FLOWS.replacen("100 500", "80 500", 1).replacen("2.000000009", "1.5 9", 1);
    let made = imported(CONFIG, TOPOLOGY, &flows).unwrap();
    let told = |text: &str| assert!(made.notes.iter().any(|n| n.starts_with(text)), "{text}");
    told("flow.txt:3: destination ports have no effect");
    told("flow.txt:3: starts before the flow above it");
    told("flow.txt:3: what stands after the last flow is not read");
    let ring = "5 2 5\n1 4\n0 1 1Gbps 1us 0\n1 2 1Gbps 1us 0\n3 1 1Gbps 1us 0\n1 4 1Gbps 1us 0\n1 4 1Gbps 1us 0\n";
    let made = imported(CONFIG, ring, FLOWS).unwrap();
    assert!(made.notes.iter().any(|n| n.starts_with("several paths")), "{:?}", made.notes);
}
