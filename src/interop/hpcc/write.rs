//! The sweep file.

use super::config::Config;
use super::flows::Flows;
use super::topology::Topology;
use crate::units::Ps;
use std::fmt::Write;

/// ps in a ns.
const NS: u64 = 1_000;

/// The sweep file of what was read, ready to run; `notes` stand in its head.
pub(super) fn sweep_file(
    config: &Config,
    topology: &Topology,
    flows: &Flows,
    notes: &[String],
) -> String {
    let mut file = Yaml::default();
    file.line(format!(
        "# Made of {}, {} and {}, inputs of HPCC's ns-3 code.",
        config.file, config.files.topology, config.files.flows
    ));
    file.line("#");
    file.line("# Nodes have the names they had; hosts are numbered by them from 0, which is what flows and");
    file.line("# tables use. `poolsweep export` writes pfc.txt and fct.txt with the old numbers.");
    if !notes.is_empty() {
        file.line("#");
        file.line("# Not as there:");
        notes.iter().for_each(|note| file.line(format!("#   {note}")));
    }
    file.line("schema: 1");
    file.line("name: hpcc-import");
    file.line("base:");
    let stop = Ps(config.stop * NS);
    file.line(format!("  duration: {stop}  # SIMULATOR_STOP_TIME"));
    let first = Ps(flows.first_start().min(config.stop) * NS);
    file.line(format!("  warm_up: {first}  # nothing happens before the first flow"));
    file.line("  timing: whole-ns");
    file.line("  topology:");
    file.line("    kind: explicit");
    file.line("    nodes:");
    for node in 0..topology.nodes {
        let kind = if topology.switches.contains(&node) { "switch" } else { "host" };
        file.line(format!("      - {{name: \"{node}\", kind: {kind}}}"));
    }
    file.line("    # Ports are numbered in this order.");
    file.line("    links:");
    for link in &topology.links {
        file.line(format!(
            "      - {{a: \"{}\", b: \"{}\", rate: {}, delay: {}}}",
            link.a, link.b, link.rate, link.delay
        ));
    }
    file.devices(config);
    file.line("  traffic:");
    file.line("    - pattern: flows");
    file.line("      # dscp = 8 x priority, bytes of payload.");
    file.line("      flows:");
    for flow in &flows.list {
        file.line(format!(
            "        - {{src: {}, dst: {}, bytes: {}B, dscp: {}, start: {}}}",
            flow.src,
            flow.dst,
            flow.bytes,
            flow.priority * 8,
            Ps(flow.start * NS)
        ));
    }
    file.line("  record: {tables: [jobs, flows, drops, pfc, pfc_events]}");
    file.text
}

/// Text, line by line.
#[derive(Debug, Default)]
struct Yaml {
    text: String,
}

impl Yaml {
    fn line(&mut self, line: impl AsRef<str>) {
        self.text.push_str(line.as_ref());
        self.text.push('\n');
    }

    /// Switches and NICs.
    fn devices(&mut self, config: &Config) {
        self.line("  switch:");
        self.line("    model: hpcc");
        self.line(format!("    HPCC: {{BufferSize: {}B}}", config.buffer.0));
        self.line("    EcnMaps:");
        self.line(format!("      ENABLE_QCN: {}", config.marking));
        for (name, map) in ["KMIN_MAP", "KMAX_MAP", "PMAX_MAP"].iter().zip(&config.maps) {
            let Some(map) = map else { continue };
            let mut pairs = String::new();
            for (rate, value) in map {
                let comma = if pairs.is_empty() { "" } else { ", " };
                // Writing to a text cannot fail.
                let _ = write!(pairs, "{comma}{rate}, {value}");
            }
            self.line(format!("      {name}: [{pairs}]"));
        }
        self.line("  nic:");
        self.line("    model: hpcc");
        self.line("    HPCC:");
        self.line(format!("      PACKET_PAYLOAD_SIZE: {}B", config.payload));
        self.line(format!("      L2_CHUNK_SIZE: {}B", config.chunk));
        self.line(format!("      L2_ACK_INTERVAL: {}B", config.ack_interval));
        self.line(format!("      ACK_HIGH_PRIO: {}", config.ack_high_prio));
    }
}
