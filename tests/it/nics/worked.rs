//! The worked numbers of the endpoints, through the whole simulator.

use poolsweep::scenario::{Scenario, Table, Until, refusals};
use poolsweep::sim::nic::stats::NicStats;
use poolsweep::sim::observe::{DropReason, End, Observations};
use poolsweep::sim::random::Seeds;
use poolsweep::sim::run;
use poolsweep::sim::traffic::Traces;
use poolsweep::units::Ps;
use serde_json::{Value, json};

/// Wire time of a full UET packet, 4,202 B at 400 Gbps.
const PACKET: u64 = 84_040;
/// Delay of the link of a NIC.
const DELAY: u64 = 100_000;
/// Charge of a full UET packet.
const CHARGE: u64 = 4_184;

fn one_switch(hosts: u32) -> Value {
    json!({"kind": "single-switch", "hosts": hosts, "rate": 400_000_000_000u64, "delay": DELAY})
}

fn two_tiers(leaves: u32, hosts: u32, spines: u32) -> Value {
    json!({"kind": "leaf-spine", "leaves": leaves, "hosts_per_leaf": hosts, "spines": spines,
        "rate": 400_000_000_000u64, "delay": DELAY, "fabric_delay": 500_000u64})
}

/// A switch without lossless classes, marks and limits that matter.
fn roomy() -> Value {
    json!({
        "SharedBufferManager": {"EnablePFC": [0, 0, 0, 0, 0, 0, 0, 0], "LossyAlpha": 0.0,
            "QueueDropThresholdEnable": true, "QueueDropThreshold": 1, "PlaneBDP": 20_000_000},
        "EcnHandler": {"EnableEcn": false},
    })
}

fn scenario(topology: Value, switch: Value, nic: Value, traffic: Value) -> Scenario {
    let scenario = json!({
        "duration": 50_000_000_000u64,
        "until": "drained",
        "topology": topology,
        "switch": switch,
        "nic": nic,
        "traffic": traffic,
        "record": {"interval": 50_000_000_000u64,
            "tables": ["jobs", "flows", "transport", "pfc", "drops"]},
    });
    let scenario = serde_json::from_value(scenario).expect("a scenario");
    assert_eq!(refusals(&scenario), []);
    scenario
}

fn observe(s: &Scenario) -> Observations {
    run(s, Seeds::default(), &Traces::default()).expect("the scenario runs")
}

fn flows(list: &[(u32, u32, u64, u64)]) -> Value {
    let list: Vec<Value> = list
        .iter()
        .map(|(src, dst, bytes, start)| {
            json!({"src": src, "dst": dst, "bytes": bytes, "start": start})
        })
        .collect();
    json!([{"pattern": "flows", "flows": list}])
}

/// What a host counted over the whole job; there is one interval.
fn stats(o: &Observations, host: u32) -> NicStats {
    let mut rows = o.transport.iter().filter(|row| row.node == host);
    let row = rows.next().expect("the host has done something");
    assert!(rows.next().is_none(), "one interval");
    row.stats
}

/// Pause frames a node has sent.
fn pauses_sent(o: &Observations, node: u32) -> u64 {
    o.pfc.iter().filter(|row| row.node == node).map(|row| row.xoff_tx).sum()
}

/// U4.
#[test]
fn the_rtt_of_a_packet_alone_is_the_computed_one() {
    let uet = json!({"model": "uet"});
    let rack = scenario(one_switch(2), roomy(), uet.clone(), flows(&[(0, 1, 4_096, 0)]));
    // 66,370.56 ps of hold, which the acknowledgement reports as 0 steps of 128 ns.
    let rtt = stats(&observe(&rack), 0).rtt;
    assert_eq!((rtt.count, rtt.min, rtt.max), (1, 553_531, 553_531));
    let tiers = scenario(two_tiers(2, 1, 1), roomy(), uet, flows(&[(0, 1, 4_096, 0)]));
    let rtt = stats(&observe(&tiers), 0).rtt;
    assert_eq!((rtt.count, rtt.min, rtt.max), (1, 2_724_731, 2_724_731));
}

/// U5. The first message ends before its first acknowledgement comes, so the probe has the path
/// to itself; the second one joins its group and shows the window before and after.
#[test]
fn the_probe_lowers_the_window_on_two_tiers_to_61_packets() {
    let first = (0, 1, 28 * 4_096, 0);
    let second = (0, 1, 1 << 20, 4_000_000);
    let s = scenario(two_tiers(2, 1, 1), roomy(), json!({"model": "uet"}), flows(&[first, second]));
    let o = observe(&s);
    let window = stats(&o, 0).window;
    assert_eq!(window.max, 450_000);
    assert!(window.min.abs_diff(255_747) <= 1, "{window:?}");
    // Alone, the first acknowledgement shows in the first window of the second message.
    let only = scenario(
        two_tiers(2, 1, 1),
        roomy(),
        json!({"model": "uet"}),
        flows(&[first, (0, 1, 4_096, 4_000_000)]),
    );
    let window = stats(&observe(&only), 0).window;
    assert_eq!(window.count, 29);
    assert!(window.min.abs_diff(279_354) <= 1, "{window:?}");
}

/// U13.
#[test]
fn a_packet_of_each_of_32_nics_stands_in_one_queue_at_once() {
    let run = |model: &str, warm_up: u64| {
        let incast = json!([{"pattern": "incast", "receiver": 32, "senders": 32, "bytes": 4_096}]);
        let mut s = scenario(one_switch(33), roomy(), json!({"model": model}), incast);
        s.warm_up = Ps(warm_up);
        let o = observe(&s);
        assert_eq!((o.totals.drops, o.totals.end), ([0; 7], End::Drained));
        o.totals.peak_egress
    };
    assert_eq!(run("uet", 0), 133_888);
    // Without fetches and probes, the same packets: peaks after a warm-up start at what is held.
    let empty = PACKET + DELAY + 32 * PACKET;
    assert_eq!(run("fixed-window", PACKET + DELAY + 1), 133_888);
    assert_eq!(run("fixed-window", empty), CHARGE);
    assert!(run("fixed-window", empty + 1) <= 60, "acknowledgements only");
}

/// U14.
#[test]
fn quick_adapt_needs_many_senders_and_few_leave_a_standing_queue() {
    // Receivers' leaf, and eight senders on each of the other two.
    let run = |senders: u32| {
        let list: Vec<_> = (0..senders).map(|k| (8 + k, 0, 3_000_000, 0)).collect();
        let nic = json!({"model": "uet"});
        let mut s = scenario(two_tiers(3, 8, 8), roomy(), nic, flows(&list));
        // Past the burst of the first windows, before the first sender ends.
        s.warm_up = Ps(u64::from(senders) * 25_000_000);
        s.record.interval = Some(Ps(u64::from(senders) * 10_000_000));
        let o = observe(&s);
        assert_eq!((o.totals.drops, o.totals.end), ([0; 7], End::Drained));
        assert_eq!((o.totals.ecn_marks, o.totals.flows_unfinished), (0, 0));
        o
    };
    for senders in [2, 4, 6] {
        let o = run(senders);
        assert!(o.transport.iter().all(|row| row.stats.num_quick_adapt == 0), "{senders}");
        // Each keeps the window its first samples left it; the path holds what 2.4 us bring.
        let third = u64::from(senders) * 30_000_000;
        let rows = o.transport.iter().filter(|row| row.sim_time == third && row.node >= 8);
        let windows: Vec<u64> = rows.map(|row| row.stats.window.max).collect();
        assert_eq!(windows.len() as u32, senders);
        assert!(windows.iter().all(|window| (255_000..300_000).contains(window)), "{windows:?}");
        let expected = windows.iter().sum::<u64>() - 120_500;
        let queue = o.totals.peak_egress;
        assert!(queue.abs_diff(expected) < expected / 10, "{queue} B for {expected} B");
    }
    let many = run(16);
    assert!(many.transport.iter().any(|row| row.stats.num_quick_adapt > 0));
}

/// R5. A short packet makes one packet of the message find its queue full on its last hop.
#[test]
fn a_loss_on_two_tiers_wastes_what_was_sent_until_the_nak_is_back() {
    let mut switch = roomy();
    // Room for a full packet and the short one, not for two full packets of 4,136 B.
    switch["SharedBufferManager"]["PlaneBDP"] = json!(6_000);
    let nic = |stale: &str| {
        json!({"model": "roce", "PFCEnableVector": [0, 0, 0, 0, 0, 0, 0, 0],
            "ScalaRoceTransport": {"stale_packets": stale}})
    };
    // Hosts 0 and 1 on one leaf, 2 and 3 on the other.
    let list = flows(&[(0, 2, 300 * 4_096, 0), (3, 2, 1_000, 10_000_000)]);
    let run =
        |stale| observe(&scenario(two_tiers(2, 2, 1), switch.clone(), nic(stale), list.clone()));
    let o = run("flushed");
    let egress = DropReason::EgressQueueLimit as usize;
    assert_eq!((o.totals.drops[egress], o.totals.drops.iter().sum::<u64>()), (1, 1));
    // 33 behind the lost one, and the 34th on the wire, are sent again with it.
    assert_eq!(stats(&o, 2).num_out_of_order_events_on_nic, 34);
    assert_eq!((o.totals.retransmitted, o.totals.timeouts), (35, 0));
    assert_eq!((o.totals.end, o.totals.flows_unfinished), (End::Drained, 0));
    assert_eq!(o.totals.payload_bytes, Some(300 * 4_096 + 1_000));
    // What was queued already is sent for nothing as well.
    let o = run("sent");
    assert!(stats(&o, 2).num_out_of_order_events_on_nic > 50, "{:?}", stats(&o, 2));
    assert_eq!((o.totals.timeouts, o.totals.flows_unfinished), (0, 0));
}

/// P5, at every alignment of a frame of the switch's own: at most four packets follow the one that
/// made it pause.
#[test]
fn a_paused_nic_sends_four_packets_into_the_headroom_at_most() {
    let mut switch = roomy();
    switch["SharedBufferManager"]["EnablePFC"] = json!([1, 0, 0, 0, 0, 0, 0, 0]);
    switch["SharedBufferManager"]["StaticPoolXoffThreshold"] = json!(50_000);
    switch["SharedBufferManager"]["StaticPoolXonThreshold"] = json!(40_000);
    let nic = json!({"model": "uet", "hosts": {"1": {"hold": {"classes": [0], "from": 0,
        "until": 60_000_000u64}}}});
    let peaks: Vec<u64> = (0..14)
        .map(|step| {
            let list =
                flows(&[(0, 1, 800_000, 1_000_000), (2, 0, 800_000, 500_000 + step * 6_000)]);
            let o = observe(&scenario(one_switch(3), switch.clone(), nic.clone(), list));
            assert_eq!((o.totals.drops, o.totals.flows_unfinished), ([0; 7], 0));
            assert!(pauses_sent(&o, 3) > 0, "the switch pauses");
            o.totals.peak_headroom
        })
        .collect();
    // The packet that does not fit below Xoff is itself in the headroom.
    assert_eq!(peaks.iter().max(), Some(&(4 * CHARGE)), "{peaks:?}");
    assert!(peaks.iter().all(|&peak| peak >= 3 * CHARGE), "{peaks:?}");
}

/// P7.
#[test]
fn a_host_with_13_lanes_falls_behind_and_one_with_14_does_not() {
    let run = |lanes: u32, pause: u32, threshold: u32| {
        let nic = json!({"model": "uet", "hosts": {"0": {"HostLink": {"LaneCount": lanes},
            "PFCEnableVector": [pause, 0, 0, 0, 0, 0, 0, 0]}},
            "Ingress": {"TotalBufferSize": 100_000},
            "ScalaUETCongestionControl": {"ReceiverCongestionLowThreshold": threshold,
                "ReceiverCongestionHighThreshold": 100}});
        let mut switch = roomy();
        switch["SharedBufferManager"]["EnablePFC"] = json!([1, 0, 0, 0, 0, 0, 0, 0]);
        let list = flows(&[(1, 0, 6_000_000, 0), (2, 0, 6_000_000, 0), (3, 0, 6_000_000, 0)]);
        let o = observe(&scenario(one_switch(4), switch, nic, list));
        assert_eq!((o.totals.end, o.totals.flows_unfinished), (End::Drained, 0));
        o
    };
    let lost = |o: &Observations| o.totals.drops[DropReason::NicReceivePool as usize];
    let keeps_up = run(14, 1, 99);
    assert_eq!((pauses_sent(&keeps_up, 0), lost(&keeps_up)), (0, 0));
    let behind = run(13, 1, 99);
    assert!(pauses_sent(&behind, 0) > 0);
    assert_eq!(lost(&behind), 0, "pauses come in time: 20,000 B are left");
    let not_paused = run(13, 0, 99);
    assert!(lost(&not_paused) > 0 && not_paused.totals.timeouts > 0);
    assert_eq!(lost(&run(14, 0, 99)), 0);
    // The receiver penalty alone keeps the pool from filling.
    let limited = run(13, 0, 25);
    assert_eq!(lost(&limited), 0);
}

/// Frames of a NIC that does nothing but hold a class, from 1 us to 4 us.
#[test]
fn a_nic_s_pause_frames_have_its_size_and_its_quanta() {
    let run = |model: &str, own: Value| {
        let mut nic = json!({"model": model, "hosts": {"2": {"hold":
            {"classes": [0], "from": 1_000_000, "until": 4_000_000}}}});
        if let (Some(nic), Value::Object(own)) = (nic.as_object_mut(), own) {
            nic.extend(own);
        }
        nic["PFCEnableVector"] = json!(vec![0; 8]);
        let mut s = scenario(one_switch(3), roomy(), nic, flows(&[(0, 1, 400_000, 0)]));
        s.duration = Ps(100_000_000);
        s.until = Until::Duration;
        s.record.interval = Some(s.duration);
        s.record.tables = vec![Table::Jobs, Table::Pfc, Table::PortCounters];
        let o = observe(&s);
        assert_eq!((o.totals.end, o.totals.drops), (End::Duration, [0; 7]));
        let counted = |node: u32, port: u32| {
            let mut rows = o.port_counters.iter().filter(|r| (r.node, r.port) == (node, port));
            rows.next().copied().expect("the port has counted")
        };
        let (sent, received) = (counted(2, 0), counted(3, 2));
        assert_eq!((sent.packets_tx, sent.bytes_tx), (received.packets_rx, received.bytes_rx));
        let held = o.pfc.iter().find(|r| (r.node, r.port, r.tc) == (3, 2, 0)).expect("a hold");
        assert_eq!(held.xoff_rx + held.xon_rx, sent.packets_tx);
        (held.xoff_rx, sent.bytes_tx, held.paused)
    };
    // One pause and one resume, of the size that each NIC's pages give; the port is held from the
    // arrival of the first to that of the second.
    assert_eq!(run("roce", json!({})), (1, 2 * 84, 3_000_000));
    assert_eq!(run("uet", json!({})), (1, 2 * 64, 3_000_000));
    assert_eq!(run("fixed-window", json!({})), (1, 2 * 64, 3_000_000));
    for size in [64, 84, 300] {
        let own = json!({"Egress": {"pfc_frame_size": size}});
        assert_eq!(run("roce", own.clone()), (1, 2 * size, 3_000_000));
        assert_eq!(run("uet", own), (1, 2 * size, 3_000_000));
    }
    // 1,000 quanta last 1,380 ns and are asked for again every 690: at 1, 1.69, 2.38, 3.07, 3.76.
    assert_eq!(run("roce", json!({"QuantaValue": vec![1_000; 8]})), (5, 6 * 84, 3_000_000));
}

/// A receive pool that stays above its pause point is paused again every half pause.
#[test]
fn a_nic_asks_again_after_half_of_its_own_quanta() {
    let run = |quanta: i64| {
        let nic = json!({"model": "roce", "hosts": {"0": {"HostLink": {"LaneCount": 2},
            "QuantaValue": vec![quanta; 8]}}});
        let mut switch = roomy();
        switch["SharedBufferManager"]["EnablePFC"] = json!([1, 0, 0, 0, 0, 0, 0, 0]);
        let list = flows(&[(1, 0, 8_000_000, 0)]);
        let o = observe(&scenario(one_switch(2), switch, nic, list));
        assert_eq!((o.totals.end, o.totals.drops), (End::Drained, [0; 7]));
        let row = o.pfc.iter().find(|r| (r.node, r.port, r.tc) == (2, 0, 0)).expect("a hold");
        (pauses_sent(&o, 0), row.paused)
    };
    // What comes after a pause has left keeps the pool above its pause point for about 2 us: longer
    // than half of a short pause, 690 ns, and shorter than half of the usual one, 42 us.
    let (usual, short) = (run(65_535), run(1_000));
    assert!(short.0 > usual.0, "{short:?} {usual:?}");
    assert!(usual.1 > 0 && short.1 > 0);
}

#[test]
fn marks_slow_queue_pairs_down_on_the_wire() {
    let mut switch = roomy();
    switch["EcnHandler"] = json!({"MinThreshold": 0.001, "MaxThreshold": 0.002});
    let run = |control: &str, pacing: &str| {
        let nic = json!({"model": "roce", "PFCEnableVector": [0, 0, 0, 0, 0, 0, 0, 0],
            "ScalaRoceTransport": {"rate_control": control, "pacing": pacing}});
        let incast =
            json!([{"pattern": "incast", "receiver": 0, "senders": 4, "bytes": 5_000_000}]);
        let o = observe(&scenario(one_switch(5), switch.clone(), nic, incast));
        assert_eq!((o.totals.end, o.totals.drops), (End::Drained, [0; 7]));
        assert!(o.totals.ecn_marks > 0, "data is ECN-capable whatever the pattern says");
        o
    };
    let free = run("none", "occupies");
    // Four at line rate into one port: three quarters of all that is sent wait in its queue.
    assert!(free.totals.peak_egress > 14_000_000, "{}", free.totals.peak_egress);
    for pacing in ["occupies", "spaced"] {
        let slowed = run("scala", pacing);
        assert!(stats(&slowed, 1).num_cnp_recvd > 0);
        let (peak, most) = (slowed.totals.peak_egress, free.totals.peak_egress);
        assert!(5 * peak < 4 * most, "{pacing}: {peak} of {most}");
    }
}

#[test]
fn a_host_link_slower_than_the_timeout_does_not_stop_a_queue_pair() {
    // A payload takes 350 us to fetch, a packet that is not acknowledged in 100 us goes again.
    let nic = json!({"model": "roce", "hosts": {"0": {"HostLink": {"LaneBps": 100_000_000u64,
        "LaneCount": 1}}}, "ScalaRoceTransport": {"RetransmitTimeout": 100_000_000u64,
        "AckCoalescingEnabled": false}});
    let messages = flows(&[(0, 1, 6 * 4_096, 0), (0, 2, 6 * 4_096, 0)]);
    let o = observe(&scenario(one_switch(3), roomy(), nic, messages));
    assert_eq!((o.totals.end, o.totals.flows_unfinished), (End::Drained, 0));
    assert_eq!(o.totals.payload_bytes, Some(12 * 4_096));
}
