//! Rules about the `roce` and `fixed-window` models.

use super::ranges::{At, MAX_COUNT};
use crate::scenario::check::Report;
use crate::scenario::roce::{Dcqcn, RateControl};
use crate::scenario::{FixedWindow, HpccNic, HpccRateControl, Roce, SwitchModel};

/// Wire bytes of a RoCE data packet above its payload.
const WIRE_HEADER: u64 = 58;
/// Wire bytes that a packet has to stay below.
const MTU: u64 = 4_184;
/// Longest control interval, ns: 1 s.
const MAX_CONTROL_INTERVAL: u64 = 1_000_000_000;
/// Largest IP packet.
const MAX_PACKET: u64 = 65_535;
/// IP bytes of a header.
const LEAST_PACKET: u64 = 20;

const BLOCK: &str = "nic.ScalaRoceTransport";

pub(super) fn check(roce: &Roce, report: &mut Report) {
    let mut at = At::new(BLOCK, report);
    let mss = roce.mss.0;
    if mss.saturating_add(WIRE_HEADER) >= MTU {
        let rule = format!(
            "a packet has {} B on the wire, which must be below {MTU}: at most {} B",
            mss.saturating_add(WIRE_HEADER),
            MTU - WIRE_HEADER - 1
        );
        at.refuse("MSS", roce.mss, &rule);
    } else {
        at.bytes("MSS", roce.mss, 1, MTU - WIRE_HEADER - 1);
    }
    at.long_wait("RetransmitTimeout", roce.retransmit_timeout);
    at.count("AckThreshold", roce.ack_threshold, 0, MAX_COUNT - 1);
    at.long_wait("AckDelay", roce.ack_delay);
    at.count("RdmaControlPacketTC", roce.rdma_control_packet_tc, 0, 7);
    at.count(
        "ControlIntervalDurationNs",
        roce.control_interval_duration_ns,
        2,
        MAX_CONTROL_INTERVAL,
    );
    at.share("CongestionProbabilityWeight", roce.congestion_probability_weight);
    at.count("FastRecoveryAttempt", roce.fast_recovery_attempt, 0, MAX_COUNT);
    at.share("InitialTargetRatePercentage", roce.initial_target_rate_percentage);
    at.count("NumberActiveIncreaseSteps", roce.number_active_increase_steps, 1, MAX_COUNT);
    at.count("NumOfControlLoopsPerIncrease", roce.num_of_control_loops_per_increase, 0, MAX_COUNT);
    let least = roce.minimum_rate_percentage;
    if !(least > 0.0 && least <= 1.0) {
        at.refuse("MinimumRatePercentage", least, "must be above 0 and at most 1");
    }
    if let Some(interval) = roce.cnp_interval {
        at.delay("cnp_interval", interval);
    }
    at.share("initial_congestion_estimate", roce.initial_congestion_estimate);
    at.delay("start_delay", roce.start_delay);
    let dcqcn = &roce.dcqcn;
    at.share("dcqcn.g", dcqcn.g);
    at.wait("dcqcn.alpha_timer", dcqcn.alpha_timer);
    at.wait("dcqcn.rate_timer", dcqcn.rate_timer);
    at.bytes("dcqcn.byte_counter", dcqcn.byte_counter, 1, i64::MAX as u64);
    at.count("dcqcn.fast_recovery", dcqcn.fast_recovery, 0, MAX_COUNT);
    at.step("dcqcn.rate_ai", dcqcn.rate_ai);
    at.step("dcqcn.rate_hai", dcqcn.rate_hai);
    at.rate("dcqcn.min_rate", dcqcn.min_rate);
}

/// Settings of one rate control while another is chosen.
pub(super) fn warn(roce: &Roce, report: &mut Report) {
    if roce.rate_control != RateControl::Dcqcn && roce.dcqcn != Dcqcn::default() {
        report.warn(
            format!("{BLOCK}.dcqcn"),
            "not as usual",
            "has no effect unless rate_control = dcqcn",
        );
    }
}

pub(super) fn check_hpcc(own: &HpccNic, switch: SwitchModel, report: &mut Report) {
    let mut at = At::new("nic.HPCC", report);
    if own.rate_control != HpccRateControl::None && switch == SwitchModel::Scala {
        let name = match own.rate_control {
            HpccRateControl::PowerTcp => "powertcp",
            _ => "hpcc",
        };
        let rule = "needs telemetry, which only switch.model = hpcc or ns3-datacenter writes";
        at.refuse("rate_control", name, rule);
    }
    at.bytes("PACKET_PAYLOAD_SIZE", own.payload, 1, MAX_PACKET - 34);
    at.bytes("L2_CHUNK_SIZE", own.chunk, 1, i64::MAX as u64);
    at.bytes("L2_ACK_INTERVAL", own.ack_interval, 1, i64::MAX as u64);
    at.delay("NACK_INTERVAL", own.nack_interval);
    at.wait("BASE_RTT", own.base_rtt);
    at.number("U_TARGET", own.u_target, 0.01, 1.0);
    at.count("MI_THRESH", own.mi_thresh, 0, u64::from(u32::MAX));
    at.step("RATE_AI", own.rate_ai);
    at.rate("MIN_RATE", own.min_rate);
    at.share("gamma", own.gamma);
    at.count("expected_flows", own.expected_flows, 1, u64::from(u32::MAX));
}

pub(super) fn check_window(own: &FixedWindow, report: &mut Report) {
    let mut at = At::new("nic.fixed_window", report);
    at.bytes("window", own.window, 1, i64::MAX as u64);
    at.bytes("header", own.header, LEAST_PACKET, MAX_PACKET - 1);
    let most = MAX_PACKET.saturating_sub(own.header.0).max(1);
    if !(1..=most).contains(&own.mss.0) {
        let rule = format!("must be 1B to {most}B: with the header an IP packet has 65535B");
        at.refuse("mss", own.mss, &rule);
    }
    at.bytes("ack", own.ack, LEAST_PACKET, MAX_PACKET);
    at.long_wait("retransmit_timeout", own.retransmit_timeout);
    at.count("control_class", own.control_class, 0, 7);
}
