//! Rules about reactive NICs.

use super::*;

/// A scenario with a reactive NIC that nothing is to be said about.
fn reactive(model: &str, over: Value) -> Report {
    let mut scenario = fine();
    scenario["nic"] = json!({"model": model});
    if model == "uet" {
        scenario["traffic"][0]["dscp"] = json!(0);
    }
    merge(&mut scenario, over);
    check(&serde_json::from_value(scenario).unwrap())
}

#[track_caller]
fn refuses(model: &str, over: Value, expected: &[&str]) {
    assert_eq!(lines(&reactive(model, over).refusals), expected);
}

#[track_caller]
fn warns(model: &str, over: Value, expected: &[&str]) {
    let report = reactive(model, over);
    assert_eq!(lines(&report.refusals), Vec::<String>::new());
    assert_eq!(lines(&report.warnings), expected);
}

/// Settings of the `nic` section.
fn nic(settings: Value) -> Value {
    json!({"nic": settings})
}

/// Settings of one block of it.
fn block(name: &str, settings: Value) -> Value {
    nic(json!({name: settings}))
}

const PDS: &str = "ScalaUETPdsManager";
const NSCC: &str = "ScalaUETCongestionControl";
const ROCE: &str = "ScalaRoceTransport";

#[test]
fn every_model_is_fine_as_it_is() {
    for model in ["uet", "roce", "fixed-window"] {
        warns(model, json!({}), &[]);
    }
}

#[test]
fn pools_start_at_class_0_and_have_no_gap() {
    let vector = |shares: [f64; 4]| {
        let [a, b, c, d] = shares;
        block("Ingress", json!({"PoolAllocationVector": [a, b, c, d, 0, 0, 0, 0]}))
    };
    const NAME: &str = "nic.Ingress.PoolAllocationVector";
    refuses(
        "uet",
        vector([0.5, 0.0, 0.5, 0.0]),
        &[&format!(
            "{NAME} = [0.5, 0.0, 0.5, 0.0, 0.0, 0.0, 0.0, 0.0]: leaves out class 1: shares start \
             at class 0 and have no gap"
        )],
    );
    refuses(
        "uet",
        vector([1.0, 0.0, 0.0, 0.0]),
        &[&format!(
            "{NAME} = [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]: needs a share above 0 for at least \
             two classes, 0 and 1"
        )],
    );
    refuses(
        "uet",
        vector([0.75, 0.5, 0.0, 0.0]),
        &[&format!(
            "{NAME} = [0.75, 0.5, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]: sums to 1.25; the shares may not \
             exceed the buffer, 1"
        )],
    );
    refuses(
        "uet",
        vector([-0.5, 1.5, 0.0, 0.0]),
        &[
            &format!("{NAME}[0] = -0.5: must be 0 to 1"),
            &format!("{NAME}[1] = 1.5: must be 0 to 1"),
        ],
    );
    warns("uet", vector([0.7, 0.2, 0.1, 0.0]), &[]);
}

#[test]
fn a_class_that_is_used_has_room_for_its_packets() {
    refuses(
        "roce",
        json!({"traffic": [{"pattern": "incast", "senders": 3, "bytes": 100_000, "dscp": 16}],
            "switch": {"SharedBufferManager": {"EnablePFC": [0, 0, 0, 0, 0, 0, 0, 0]}}}),
        &[
            "nic.Ingress.PoolAllocationVector[2] = 0: class 2 carries data, but has no pool: give \
             it a share",
            "nic.Egress.PoolAllocationVector[2] = 0: class 2 carries data, but has no pool: give \
             it a share",
        ],
    );
    refuses(
        "roce",
        block(ROCE, json!({"RdmaControlPacketTC": 2})),
        &[
            "nic.Ingress.PoolAllocationVector[2] = 0: class 2 carries acknowledgements, but has \
             no pool: give it a share",
            "nic.Egress.PoolAllocationVector[2] = 0: class 2 carries acknowledgements, but has no \
             pool: give it a share",
        ],
    );
    refuses(
        "uet",
        block("Egress", json!({"TotalBufferSize": 4_668})),
        &["nic.Egress.PoolAllocationVector[0] = 0.9: the pool of class 0 has 4,201 B, but data \
           take up to 4,202 B: none would pass"],
    );
    warns("uet", block("Egress", json!({"TotalBufferSize": 4_669})), &[]);
    refuses(
        "uet",
        block("Ingress", json!({"TotalBufferSize": 0})),
        &["nic.Ingress.TotalBufferSize = 0B: must be 1B to 4294967295B"],
    );
    // Nothing is carried, so nothing is missing.
    let idle = json!({"traffic": [], "nic": {"Egress": {"TotalBufferSize": 9}}});
    assert_eq!(lines(&reactive("uet", idle).refusals), Vec::<String>::new());
}

#[test]
fn control_packets_need_a_pool_of_the_switch() {
    let mapping = json!({"TrafficClassPoolMapping": [0, 5, 0, 0, 0, 0, 0, 0],
        "EnablePFC": [0, 0, 0, 0, 0, 0, 0, 0]});
    refuses(
        "uet",
        buffer(mapping),
        &["switch.SharedBufferManager.TrafficClassPoolMapping[1] = 5: traffic[0] is acknowledged \
           in class 1, but pool 5 does not exist: its share in PoolAllocationMap is 0"],
    );
}

#[test]
fn the_host_link_has_lanes() {
    refuses(
        "roce",
        nic(json!({"HostLink": {"LaneBps": 0}, "hosts": {"2": {"HostLink": {"LaneCount": 0}}}})),
        &[
            "nic.hosts.2.HostLink.LaneCount = 0: must be 1 to 1024",
            "nic.HostLink.LaneBps = 0bps: must be 1kbps to 100Tbps",
        ],
    );
    warns("roce", nic(json!({"hosts": {"2": {"HostLink": {"LaneCount": 4}}}})), &[]);
}

#[test]
fn receive_rate_and_pool_are_the_open_loop_nic_s() {
    refuses(
        "uet",
        nic(json!({"receive_pool": 5_000, "hosts": {"1": {"receive_rate": 100_000_000_000u64}}})),
        &[
            "nic.hosts.1.receive_rate = 100Gbps: only model open-loop reads it, not uet: take it \
             out and give the host fewer lanes (HostLink.LaneCount)",
            "nic.receive_pool = 5KB: only model open-loop reads it, not uet: take it out and set \
             Ingress.TotalBufferSize and Ingress.PoolAllocationVector",
        ],
    );
}

#[test]
fn pauses_need_a_receive_pool() {
    warns(
        "uet",
        nic(json!({"PFCEnableVector": [1, 1, 1, 0, 0, 0, 0, 0]})),
        &["nic.PFCEnableVector[2] = 1: the class has no pool in Ingress.PoolAllocationVector, so \
           it is never paused"],
    );
    // Enabled by the model's own default.
    refuses(
        "roce",
        nic(json!({"hold": {"classes": [1]}})),
        &["nic.hold.classes = 1: is enabled in PFCEnableVector, so the NIC would resume it; take \
           it out of one"],
    );
    warns("uet", nic(json!({"hold": {"classes": [1]}})), &[]);
}

/// Each value just outside its range, with the range as it is told.
#[track_caller]
fn ranges(model: &str, name: &str, outside: &[(&str, Value, &str, &str)]) {
    for (attribute, value, shown, range) in outside {
        let mut settings = json!({});
        match attribute.split_once('.') {
            Some((inner, key)) => settings[inner] = json!({key: value}),
            None => settings[*attribute] = value.clone(),
        }
        let expected = format!("nic.{name}.{attribute} = {shown}: must be {range}");
        refuses(model, block(name, settings), &[&expected]);
    }
}

#[test]
fn packet_delivery_has_its_ranges() {
    ranges(
        "uet",
        PDS,
        &[
            ("RdmaDataMSS", json!(0), "0B", "1B to 65447B"),
            ("RdmaDataMSS", json!(65_448), "65448B", "1B to 65447B"),
            ("EntropyMaskBits", json!(9), "9", "0 to 8"),
            ("StartingPortOffset", json!(65_536), "65536", "0 to 65535"),
            ("REPSBufferSizeMaskBits", json!(17), "17", "0 to 16"),
            ("EntropyValueSetSize", json!(0), "0", "1 to 65536"),
            ("EntropyValueSetSize", json!(65_537), "65537", "1 to 65536"),
            ("MaxExponentialRTOBackoffCount", json!(16), "16", "0 to 15"),
            ("AckRequestEveryNthPacket", json!(0), "0", "1 to 1024"),
            ("AckRequestEveryNthPacket", json!(1_025), "1025", "1 to 1024"),
            ("InitialRetransmitTimeout", json!(0), "0s", "above 0s and at most 1s"),
            ("FixedRexmitTimeout", json!(0), "0s", "above 0s and at most 1s"),
            ("transmit_start", json!(1_000_000_000_001u64), "1.000000000001s", "0s to 1s"),
        ],
    );
    refuses(
        "uet",
        block(PDS, json!({"PrefetchBufferEnable": true})),
        &[
            "nic.ScalaUETPdsManager.PrefetchBufferEnable = true: not supported by this version; set \
           it to false",
        ],
    );
}

#[test]
fn congestion_control_has_its_ranges() {
    ranges(
        "uet",
        NSCC,
        &[
            ("InitialBaseRTT", json!(0), "0s", "above 0s and at most 1s"),
            ("ReferenceNetworkRTT", json!(0), "0s", "above 0s and at most 1s"),
            ("ReferenceNetworkLinkSpeed", json!(0), "0bps", "1kbps to 100Tbps"),
            ("QuickAdaptGate", json!(32), "32", "0 to 31"),
            ("MaxCongestionWindow", json!(0), "0", "1 to 4096"),
            ("MaxCongestionWindow", json!(4_097), "4097", "1 to 4096"),
            ("ReceiverCongestionHighThreshold", json!(100.5), "100.5", "0 to 100"),
            (
                "ReceiverCongestionLowThreshold",
                json!(75),
                "75",
                "below ReceiverCongestionHighThreshold = 75",
            ),
            ("MaxMultiplicativeDecreaseJump", json!(1.5), "1.5", "0 to 1"),
            ("AlphaMultiplier", json!(-1), "-1", "0 to 1000000"),
            ("Gamma", json!(1.01), "1.01", "0 to 1"),
            ("DelayAlpha", json!(-0.1), "-0.1", "0 to 1"),
            ("window_unit", json!(0), "0B", "1B to 65535B"),
            ("adjust_period", json!(0), "0s", "above 0s and at most 1s"),
        ],
    );
}

#[test]
fn roce_and_the_fixed_window_have_their_ranges() {
    ranges(
        "roce",
        ROCE,
        &[
            ("MSS", json!(0), "0B", "1B to 4125B"),
            ("RetransmitTimeout", json!(0), "0s", "above 0s and at most 1000000s"),
            ("AckDelay", json!(0), "0s", "above 0s and at most 1000000s"),
            ("RdmaControlPacketTC", json!(8), "8", "0 to 7"),
            ("ControlIntervalDurationNs", json!(1), "1", "2 to 1000000000"),
            ("CongestionProbabilityWeight", json!(1.5), "1.5", "0 to 1"),
            ("InitialTargetRatePercentage", json!(2), "2", "0 to 1"),
            ("NumberActiveIncreaseSteps", json!(0), "0", "1 to 4294967295"),
            ("MinimumRatePercentage", json!(0), "0", "above 0 and at most 1"),
            ("initial_congestion_estimate", json!(-1), "-1", "0 to 1"),
            ("dcqcn.g", json!(2), "2", "0 to 1"),
            ("dcqcn.rate_timer", json!(0), "0s", "above 0s and at most 1s"),
            ("dcqcn.byte_counter", json!(0), "0B", "1B to 9223372036854775807B"),
            ("dcqcn.min_rate", json!(0), "0bps", "1kbps to 100Tbps"),
        ]
        .map(|row| row),
    );
    ranges(
        "fixed-window",
        "fixed_window",
        &[
            ("window", json!(0), "0B", "1B to 9223372036854775807B"),
            ("header", json!(19), "19B", "20B to 65534B"),
            ("ack", json!(19), "19B", "20B to 65535B"),
            ("mss", json!(0), "0B", "1B to 65447B: with the header an IP packet has 65535B"),
            ("retransmit_timeout", json!(0), "0s", "above 0s and at most 1000000s"),
            ("control_class", json!(8), "8", "0 to 7"),
        ],
    );
}

#[test]
fn a_roce_packet_stays_below_the_mtu() {
    refuses(
        "roce",
        block(ROCE, json!({"MSS": 4_126})),
        &["nic.ScalaRoceTransport.MSS = 4126B: a packet has 4184 B on the wire, which must be \
           below 4184: at most 4125 B"],
    );
    warns("roce", block(ROCE, json!({"MSS": 4_125})), &[]);
}

#[test]
fn the_uet_policy_takes_uet_only() {
    let policy = json!({"switch": {"SharedBufferManager": {"UETPolicyEnabled": true,
        "EnablePFC": [0, 0, 0, 0, 0, 0, 0, 0]}}, "traffic": [
        {"pattern": "incast", "senders": 3, "bytes": 100_000}]});
    for model in ["roce", "fixed-window"] {
        refuses(
            model,
            policy.clone(),
            &[&format!(
                "nic.model = {model}: does not send the codepoints that UETPolicyEnabled = true \
                 needs"
            )],
        );
    }
    assert_eq!(lines(&reactive("uet", policy).refusals), Vec::<String>::new());
}

#[test]
fn trimming_needs_both_ends() {
    let trimming = |switch: bool, nic: Value| {
        let over = json!({"switch": {"PacketTrimmer": {"TrimmingEnabled": switch},
            "SharedBufferManager": {"UETPolicyEnabled": true,
                "EnablePFC": [0, 0, 0, 0, 0, 0, 0, 0]}}, "nic": {PDS: nic}});
        let report = reactive("uet", over);
        assert_eq!(lines(&report.refusals), Vec::<String>::new());
        let warnings = lines(&report.warnings);
        warnings.into_iter().filter(|w| w.contains("TrimmingEnabled =")).collect::<Vec<_>>()
    };
    assert_eq!(
        trimming(true, json!({})),
        ["switch.PacketTrimmer.TrimmingEnabled = true: with \
          nic.ScalaUETPdsManager.TrimmingEnabled = false first transmissions are dropped, only \
          retransmissions are trimmed; set both"]
    );
    assert_eq!(
        trimming(true, json!({"UseDistinctDSCPForRetransmits": false})),
        ["switch.PacketTrimmer.TrimmingEnabled = true: with \
          nic.ScalaUETPdsManager.TrimmingEnabled = false first transmissions and retransmissions \
          are dropped, nothing is trimmed; set both"]
    );
    assert_eq!(
        trimming(false, json!({"TrimmingEnabled": true})),
        ["nic.ScalaUETPdsManager.TrimmingEnabled = true: with \
          switch.PacketTrimmer.TrimmingEnabled = false no switch trims; only the target delay and \
          Quick Adapt change"]
    );
    assert_eq!(trimming(true, json!({"TrimmingEnabled": true})), Vec::<String>::new());
}

#[test]
fn values_that_another_setting_hides_are_named() {
    warns(
        "uet",
        nic(json!({PDS: {"FixedRexmitTimeout": 7},
            NSCC: {"TargetQueueDelay": 1_000_000, "MaxCongestionWindow": 50}})),
        &[
            "nic.ScalaUETPdsManager.FixedRexmitTimeout = 7ps: has no effect while \
             FixedRexmitTimeEnable is false",
            "nic.ScalaUETCongestionControl.TargetQueueDelay = 1us: has no effect while \
             OverrideSpecTargetQueueDelay is false",
            "nic.ScalaUETCongestionControl.MaxCongestionWindow = 50: has no effect while \
             OverrideUetSpecMaxCWind is false",
        ],
    );
    warns(
        "uet",
        nic(json!({PDS: {"FixedRexmitTimeout": 7, "FixedRexmitTimeEnable": true},
            NSCC: {"TargetQueueDelay": 1_000_000, "OverrideSpecTargetQueueDelay": true,
                "MaxCongestionWindow": 50, "OverrideUetSpecMaxCWind": true}})),
        &[],
    );
    warns(
        "roce",
        block(ROCE, json!({"dcqcn": {"g": 0.5}})),
        &["nic.ScalaRoceTransport.dcqcn = not as usual: has no effect unless rate_control = dcqcn"],
    );
    warns("roce", block(ROCE, json!({"dcqcn": {"g": 0.5}, "rate_control": "dcqcn"})), &[]);
}

#[test]
fn a_window_below_the_acknowledged_number_waits_for_a_timeout() {
    let every = |settings: Value| block(PDS, settings);
    warns("uet", every(json!({"AckRequestEveryNthPacket": 107})), &[]);
    warns(
        "uet",
        every(json!({"AckRequestEveryNthPacket": 108})),
        &["nic.ScalaUETPdsManager.AckRequestEveryNthPacket = 108: the largest window, 450,000 B, \
           holds 107 packets: it fills before an acknowledgement is asked for and waits for a \
           timeout; lower it or set ack_request_when_window_full"],
    );
    let asked = json!({"AckRequestEveryNthPacket": 108, "ack_request_when_window_full": true});
    warns("uet", every(asked), &[]);
}

#[test]
fn attributes_of_another_model_have_no_effect() {
    warns(
        "roce",
        nic(json!({NSCC: {"Gamma": 0.5, "InitialBaseRTT": 7_000_000},
            "fixed_window": {"window": 1_000}, PDS: {"RdmaDataMSS": 4_096}})),
        &[
            "nic.ScalaUETCongestionControl.Gamma = 0.5: has no effect with nic.model = roce",
            "nic.ScalaUETCongestionControl.InitialBaseRTT = 7us: has no effect with nic.model = \
             roce",
            "nic.fixed_window.window = 1KB: has no effect with nic.model = roce",
        ],
    );
    warned(
        nic(json!({"Egress": {"QueueSchedulingType": "RoundRobin"}, ROCE: {"dcqcn": {"g": 0.5}},
            "hosts": {"2": {"HostLink": {"LaneCount": 4}}}})),
        &[
            "nic.Egress.QueueSchedulingType = RoundRobin: has no effect with nic.model = open-loop",
            "nic.ScalaRoceTransport.dcqcn.g = 0.5: has no effect with nic.model = open-loop",
            "nic.hosts.2.HostLink = 4: has no effect with nic.model = open-loop; use receive_rate",
        ],
    );
}

#[test]
fn an_open_loop_has_no_transport_to_record() {
    let tables = json!({"record": {"tables": ["jobs", "transport"]}});
    warned(
        tables.clone(),
        &["record.tables = transport: has no rows with nic.model = open-loop: there is no \
           transport"],
    );
    warns("roce", tables, &[]);
}

#[test]
fn what_flows_ask_for_is_the_nic_s_to_decide() {
    let entry = json!({"pattern": "incast", "senders": 3, "bytes": 100_000, "dscp": 8,
        "packet": 1_000, "rate": 1_000_000_000, "ect": true});
    warns(
        "roce",
        sending(entry.clone()),
        &[
            "traffic[0].packet = 1KB: has no effect with nic.model = roce: packets follow its MSS",
            "traffic[0].rate = 1Gbps: has no effect with nic.model = roce: its window or rate \
             control paces senders",
            "traffic[0].ect = true: has no effect with nic.model = roce: its own settings say \
             whether data is ECN-capable",
        ],
    );
    let flows = json!({"pattern": "flows", "flows": [
        {"src": 0, "dst": 1, "bytes": 9},
        {"src": 0, "dst": 1, "bytes": 9, "role": "control", "dscp": 9},
        {"src": 0, "dst": 1, "bytes": 9, "role": "control", "dscp": 9},
    ]});
    warns(
        "uet",
        sending(flows),
        &[
            "traffic[0].flows[1].role = control: has no effect with nic.model = uet: it sets the \
             code points itself",
            "traffic[0].flows[1].dscp = 9: has no effect with nic.model = uet: data is class 0, \
             what answers it class 1",
        ],
    );
    // These two make sizes of them.
    let bursts = json!({"pattern": "on-off", "senders": 3, "on": 1_000_000, "off": 1, "dscp": 8,
        "packet": 1_000, "rate": 1_000_000_000});
    warns("roce", sending(bursts), &[]);
}

#[test]
fn sizing_counts_the_packets_of_the_nic() {
    // 2 × 400 Gbps × 500 ns ÷ 8 + 2 × 4,136 B.
    let headroom = |bytes: u64| buffer(json!({"HeadRoomPerPortLimit": bytes}));
    warns("roce", headroom(58_272), &[]);
    warns(
        "roce",
        headroom(58_271),
        &["switch.SharedBufferManager.HeadRoomPerPortLimit = 58271B: below the guideline for \
           class 1 at a switch, 58,272 B: packets may be lost after a pause"],
    );
}

#[test]
fn the_frames_of_pauses_have_to_leave_before_they_are_sent_again() {
    let quanta = |size: u64, classes: [i64; 2], quanta: [i64; 2]| {
        let [a, b] = classes;
        let [c, d] = quanta;
        json!({"topology": {"delay": 0}, "nic": {"Egress": {"pfc_frame_size": size},
            "PFCEnableVector": [a, b, 0, 0, 0, 0, 0, 0], "QuantaValue": [c, d, 1, 1, 1, 1, 1, 1]}})
    };
    // At 400 Gbps 84 B take 1,680 ps, a quantum 1,280: half of 3 quanta are 1,920 ps.
    warns("roce", quanta(84, [1, 0], [3, 1]), &[]);
    refuses(
        "roce",
        quanta(84, [1, 0], [2, 1]),
        &["nic.QuantaValue[0] = 2: such a pause is sent again every 1.28ns, before its frame is \
           out: nothing else would be sent; needs 3 or more"],
    );
    refuses(
        "roce",
        quanta(84, [1, 1], [5, 6]),
        &[
            "nic.QuantaValue[0] = 5: such a pause is sent again every 3.2ns, before the frames of 2 \
           classes are out: nothing else would be sent; needs 6 or more",
        ],
    );
    // A cable's delay is part of every pause.
    let mut far = quanta(84, [1, 1], [1, 1]);
    far["topology"]["delay"] = json!(100_000);
    warns("roce", far, &[]);
    for (size, text) in [(17, "17B"), (1_519, "1519B")] {
        let rule = format!("nic.Egress.pfc_frame_size = {text}: must be 18B to 1518B");
        refuses("uet", block("Egress", json!({"pfc_frame_size": size})), &[&rule]);
    }
    for size in [18, 43, 64, 84, 1_518] {
        warns("uet", block("Egress", json!({"pfc_frame_size": size})), &[]);
    }
}
