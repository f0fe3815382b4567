//! Rules about the `uet` model.

use super::ranges::{self, At};
use crate::scenario::check::Report;
use crate::scenario::uet::{CongestionControl, PdsManager};
use crate::scenario::{Nic, Scenario};
use crate::units::thousands;

/// Largest payload: with its 88 bytes of headers an IP packet has 16 bits.
const MAX_MSS: u64 = 65_535 - 88;

pub(super) fn check(nic: &Nic, report: &mut Report) {
    pds(&nic.pds_manager, report);
    nscc(&nic.congestion_control, report);
}

fn pds(pds: &PdsManager, report: &mut Report) {
    let mut at = At::new("nic.ScalaUETPdsManager", report);
    at.bytes("RdmaDataMSS", pds.rdma_data_mss, 1, MAX_MSS);
    at.count("EntropyMaskBits", pds.entropy_mask_bits, 0, 8);
    at.count("StartingPortOffset", pds.starting_port_offset, 0, 65_535);
    at.count("REPSBufferSizeMaskBits", pds.reps_buffer_size_mask_bits, 0, 16);
    at.count("EntropyValueSetSize", pds.entropy_value_set_size, 1, 65_536);
    at.count(
        "FailureDetectionRTTMultiplier",
        pds.failure_detection_rtt_multiplier,
        0,
        ranges::MAX_COUNT,
    );
    at.count("MaxExponentialRTOBackoffCount", pds.max_exponential_rto_backoff_count, 0, 15);
    at.count("AckRequestEveryNthPacket", pds.ack_request_every_nth_packet, 1, 1_024);
    at.long("FreezingTimeout", pds.freezing_timeout);
    at.wait("InitialRetransmitTimeout", pds.initial_retransmit_timeout);
    at.wait("FixedRexmitTimeout", pds.fixed_rexmit_timeout);
    at.delay("transmit_start", pds.transmit_start);
    if pds.prefetch_buffer_enable {
        at.refuse("PrefetchBufferEnable", true, "not supported by this version; set it to false");
    }
}

fn nscc(nscc: &CongestionControl, report: &mut Report) {
    let mut at = At::new("nic.ScalaUETCongestionControl", report);
    at.wait("InitialBaseRTT", nscc.initial_base_rtt);
    at.wait("ReferenceNetworkRTT", nscc.reference_network_rtt);
    at.rate("ReferenceNetworkLinkSpeed", nscc.reference_network_link_speed);
    at.wait("TargetQueueDelay", nscc.target_queue_delay);
    at.delay("TargetQueueDelayMargin", nscc.target_queue_delay_margin);
    at.count("QuickAdaptGate", nscc.quick_adapt_gate, 0, 31);
    at.long("QuickAdaptThreshold", nscc.quick_adapt_threshold);
    at.count("MaxCongestionWindow", nscc.max_congestion_window, 1, 4_096);
    let (low, high) =
        (nscc.receiver_congestion_low_threshold, nscc.receiver_congestion_high_threshold);
    let low_fits = at.number("ReceiverCongestionLowThreshold", low, 0.0, 100.0);
    let high_fits = at.number("ReceiverCongestionHighThreshold", high, 0.0, 100.0);
    if low_fits && high_fits && low >= high {
        at.refuse(
            "ReceiverCongestionLowThreshold",
            low,
            &format!("must be below ReceiverCongestionHighThreshold = {high}"),
        );
    }
    at.share("MaxMultiplicativeDecreaseJump", nscc.max_multiplicative_decrease_jump);
    for (name, gain) in [
        ("AlphaMultiplier", nscc.alpha_multiplier),
        ("FairIncreaseMultiplier", nscc.fair_increase_multiplier),
        ("FastIncreaseMultiplier", nscc.fast_increase_multiplier),
        ("EtaMultiplier", nscc.eta_multiplier),
    ] {
        at.number(name, gain, 0.0, ranges::MAX_GAIN);
    }
    at.share("Gamma", nscc.gamma);
    at.share("DelayAlpha", nscc.delay_alpha);
    at.delay("base_rtt_guard", nscc.base_rtt_guard);
    at.delay("initial_average_delay", nscc.initial_average_delay);
    if let Some(unit) = nscc.window_unit {
        at.bytes("window_unit", unit, 1, 65_535);
    }
    if let Some(bytes) = nscc.adjust_bytes {
        at.bytes("adjust_bytes", bytes, 0, ranges::MAX_COUNT);
    }
    if let Some(period) = nscc.adjust_period {
        at.wait("adjust_period", period);
    }
}

/// What is allowed but probably not meant.
pub(super) fn warn(scenario: &Scenario, line: u64, report: &mut Report) {
    let (nic, pds) = (&scenario.nic, &scenario.nic.pds_manager);
    let nscc = &nic.congestion_control;
    trimming(scenario, report);
    let usual = (PdsManager::default(), CongestionControl::default());
    let mut unread = |changed: bool, name: &str, value: String, flag: &str| {
        if changed {
            let rule = format!("has no effect while {flag} is false");
            report.warn(format!("nic.{name}"), value, rule);
        }
    };
    unread(
        !pds.fixed_rexmit_time_enable && pds.fixed_rexmit_timeout != usual.0.fixed_rexmit_timeout,
        "ScalaUETPdsManager.FixedRexmitTimeout",
        pds.fixed_rexmit_timeout.to_string(),
        "FixedRexmitTimeEnable",
    );
    unread(
        !nscc.override_spec_target_queue_delay
            && nscc.target_queue_delay != usual.1.target_queue_delay,
        "ScalaUETCongestionControl.TargetQueueDelay",
        nscc.target_queue_delay.to_string(),
        "OverrideSpecTargetQueueDelay",
    );
    unread(
        !nscc.override_uet_spec_max_cwind
            && nscc.max_congestion_window != usual.1.max_congestion_window,
        "ScalaUETCongestionControl.MaxCongestionWindow",
        nscc.max_congestion_window.to_string(),
        "OverrideUetSpecMaxCWind",
    );
    let (every, window) = (pds.ack_request_every_nth_packet, nic.uet_window(line));
    let packets = window.largest / window.packet.max(1);
    if every > packets && !pds.ack_request_when_window_full && !nscc.pass_through {
        report.warn(
            "nic.ScalaUETPdsManager.AckRequestEveryNthPacket",
            every,
            format!(
                "the largest window, {}, holds {packets} packets: it fills before an \
                 acknowledgement is asked for and waits for a timeout; lower it or set \
                 ack_request_when_window_full",
                size(window.largest)
            ),
        );
    }
}

fn size(bytes: u64) -> String {
    format!("{} B", thousands(bytes))
}

/// Trimming needs both ends of it.
fn trimming(scenario: &Scenario, report: &mut Report) {
    const NIC: &str = "nic.ScalaUETPdsManager.TrimmingEnabled";
    const SWITCH: &str = "switch.PacketTrimmer.TrimmingEnabled";
    let pds = &scenario.nic.pds_manager;
    match (scenario.switch.packet_trimmer.trimming_enabled, pds.trimming_enabled) {
        (true, false) => {
            let rest = match pds.use_distinct_dscp_for_retransmits {
                true => "are dropped, only retransmissions are trimmed",
                false => "and retransmissions are dropped, nothing is trimmed",
            };
            report.warn(
                SWITCH,
                true,
                format!("with {NIC} = false first transmissions {rest}; set both"),
            );
        }
        (false, true) => report.warn(
            NIC,
            true,
            format!(
                "with {SWITCH} = false no switch trims; only the target delay and Quick Adapt \
                 change"
            ),
        ),
        _ => {}
    }
}
