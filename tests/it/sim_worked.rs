//! The worked numbers of the switch model, through the whole simulator.
//!
//! Everything here runs at the defaults: 128 ports at 400 Gbps and 500 ns, packets of 4,000 B.

use poolsweep::scenario::{
    Common, FlowEntry, Flows, Hold, HostNic, Nic, Record, Role, Scenario, Switch, Table, Topology,
    Traffic, Until,
};
use poolsweep::sim::observe::{BuffId, DropReason, End, Observations};
use poolsweep::sim::random::Seeds;
use poolsweep::sim::run;
use poolsweep::sim::traffic::Traces;
use poolsweep::units::{BitRate, Bytes, Ps};

/// Wire time of one packet: 4,018 B at 20 ps each.
const PACKET_TIME: u64 = 80_360;
/// One-way delay of a link.
const DELAY: u64 = 500_000;
/// Wire time of a PFC frame.
const PFC_TIME: u64 = 1_280;
/// The switch of 128 hosts.
const SWITCH: u32 = 128;
/// How long a pause lasts from its arrival.
const PAUSE: u64 = 84_384_800;

/// `packets` packets of a class from one host to another.
fn flow(src: u32, dst: u32, tc: u64, packets: u64) -> FlowEntry {
    FlowEntry {
        src,
        dst,
        bytes: Bytes(packets * 4_000),
        packet: None,
        dscp: Some(tc * 8),
        ect: None,
        role: None,
        start: Ps(0),
        rate: None,
    }
}

fn scenario(duration: u64, flows: Vec<FlowEntry>) -> Scenario {
    Scenario {
        duration: Ps(duration),
        stop_on_deadlock: false,
        until: Default::default(),
        warm_up: Ps(0),
        seed_streams: Default::default(),
        timing: Default::default(),
        topology: Topology::SingleSwitch {
            hosts: 128,
            rate: Some(BitRate(400_000_000_000)),
            delay: Some(Ps(DELAY)),
        },
        switch: Switch::default(),
        nic: Nic::default(),
        traffic: vec![Traffic::Flows(Flows { flows, common: Common::default() })],
        record: Record {
            interval: None,
            tables: vec![Table::Jobs, Table::PortBuffers, Table::Drops, Table::Pfc, Table::Flows],
            zeros: false,
        },
        budget: Default::default(),
    }
}

/// As `scenario`, with the receiver's switch port held for a class until some time, and senders
/// that ignore PFC.
fn held(duration: u64, until: Option<u64>, flows: Vec<FlowEntry>) -> Scenario {
    let mut s = scenario(duration, flows);
    let hold = Hold { classes: vec![0, 1], from: Ps(0), until: until.map(Ps) };
    s.nic.ignore_pfc = true;
    s.nic.hosts.insert(127, HostNic { hold: Some(hold), ..HostNic::default() });
    s
}

fn observe(s: &Scenario) -> Observations {
    run(s, Seeds::default(), &Traces::default()).expect("the scenario runs")
}

/// When packet `n` (from 1) of a host that sends back to back has arrived at the switch.
fn arrival(n: u64) -> u64 {
    n * PACKET_TIME + DELAY
}

/// Largest value of a counter of the switch over the job.
fn largest(o: &Observations, port: u32, pool: u8, buff: BuffId) -> u64 {
    let rows = o.port_buffers.iter();
    let ours = rows.filter(|r| (r.node, r.port, r.pool, r.buff) == (SWITCH, port, pool, buff));
    ours.map(|r| r.occupancy.max).max().unwrap_or(0)
}

#[test]
fn packet_176_pauses_177_to_240_fill_the_headroom_and_241_is_dropped() {
    // The job ends just after the arrival of packet n.
    let after = |n: u64| observe(&held(arrival(n) + 1, None, vec![flow(1, 127, 0, 300)]));
    let counters = |o: &Observations| {
        [BuffId::Ingress, BuffId::Headroom, BuffId::Egress]
            .map(|buff| largest(o, if buff == BuffId::Egress { 127 } else { 1 }, 0, buff))
    };
    let o = after(175);
    assert_eq!(counters(&o), [700_000, 0, 700_000]);
    let o = after(176);
    assert_eq!(counters(&o), [704_000, 0, 704_000]);
    let o = after(177);
    assert_eq!(counters(&o), [704_000, 4_000, 708_000]);
    let o = after(240);
    assert_eq!(counters(&o), [704_000, 256_000, 960_000]);
    assert_eq!((o.totals.drops, o.totals.first_drop), ([0; 7], None));
    let o = after(241);
    assert_eq!(counters(&o), [704_000, 256_000, 960_000]);
    assert_eq!(o.totals.drops, [1, 0, 0, 0, 0, 0, 0]);
    assert_eq!(o.totals.first_drop, Some(arrival(241)));
    assert_eq!((o.totals.drops_without_pause, o.totals.dropped_bytes), (0, 4_000));
    let d = o.drops[0];
    assert_eq!((d.node, d.port, d.tc, d.pool), (SWITCH, 1, 0, 0));
    assert_eq!((d.reason, d.packets, d.bytes), (DropReason::IngressHeadroom, 1, 4_000));
    // One pause frame to the sender, besides the two of the receiver's hold.
    let sent: u64 = o.pfc.iter().filter(|r| r.node == SWITCH).map(|r| r.xoff_tx).sum();
    assert_eq!((sent, o.totals.pause_frames), (1, 3));
}

#[test]
fn the_pause_leaves_with_packet_176_and_again_every_half_pause_time() {
    let frames = |duration: u64| {
        let o = observe(&held(duration, None, vec![flow(1, 127, 0, 300)]));
        let ours = o.pfc.iter().filter(|r| (r.node, r.port, r.tc) == (SWITCH, 1, 0));
        ours.map(|r| r.xoff_tx).max().unwrap_or(0)
    };
    let first = arrival(176) + PFC_TIME;
    assert_eq!((frames(first), frames(first + 1)), (0, 1));
    let second = arrival(176) + PAUSE / 2 + PFC_TIME;
    assert_eq!((frames(second), frames(second + 1)), (1, 2));
    let third = arrival(176) + PAUSE + PFC_TIME;
    assert_eq!((frames(third), frames(third + 1)), (2, 3));
}

/// When the `n`-th packet (from 1) has left a port that was held until its host's resume.
fn departure(released: u64, n: u64) -> u64 {
    released + n * PACKET_TIME
}

/// Time of the resume of port 1, found by jobs that end around it.
fn assert_resume_on_departure(s: &dyn Fn(u64) -> Scenario, released: u64, n: u64) {
    let resumes = |duration: u64| {
        let o = observe(&s(duration));
        let ours = o.pfc.iter().filter(|r| (r.node, r.port, r.tc) == (SWITCH, 1, 0));
        ours.map(|r| r.xon_tx).max().unwrap_or(0)
    };
    let sent = departure(released, n) + PFC_TIME;
    assert_eq!((resumes(sent), resumes(sent + 1)), (0, 1));
}

#[test]
fn the_release_resumes_the_sender_on_departure_165() {
    let until = 30_000_000;
    // The resumes of classes 0 and 1 leave the host one after the other; ours is the first.
    let released = until + PFC_TIME + DELAY;
    let s = |duration| held(duration, Some(until), vec![flow(1, 127, 0, 240)]);
    let o = observe(&s(departure(released, 64) + 1));
    assert_eq!(largest(&o, 1, 0, BuffId::Headroom), 256_000);
    assert_resume_on_departure(&s, released, 165);
    let o = observe(&s(60_000_000));
    assert_eq!(o.totals.drops, [0; 7]);
    assert_eq!(o.totals.resume_frames, 1 + 2);
    assert_eq!(o.flows[0].end, Some(departure(released, 240) + DELAY));
}

#[test]
fn with_xon_equal_to_xoff_the_sender_resumes_on_departure_65() {
    let until = 30_000_000;
    let s = |duration| {
        let mut s = held(duration, Some(until), vec![flow(1, 127, 0, 240)]);
        s.switch.shared_buffer_manager.static_pool_xon_threshold = Bytes(700_000);
        s
    };
    assert_resume_on_departure(&s, until + PFC_TIME + DELAY, 65);
}

#[test]
fn pool_1_holds_the_pause_points_of_31_senders() {
    // Each sends exactly up to its pause point; the 32nd finds 499,200 B, 124 packets.
    let o = |senders: u32| {
        let flows = (0..senders).map(|k| flow(k, 127, 1, 176)).collect();
        observe(&held(arrival(176) + 1, None, flows))
    };
    let fits = o(31);
    assert_eq!((fits.totals.drops, fits.totals.peak_ingress), ([0; 7], 704_000));
    let full = o(32);
    // The senders run side by side, so all 32 fall short together: 5,580 packets fit, and with
    // nothing draining the other 52 are dropped, none of them after a pause.
    assert_eq!(full.totals.drops, [0, 32 * 176 - 5_580, 0, 0, 0, 0, 0]);
    let paused: u64 = full.pfc.iter().filter(|r| r.node == SWITCH).map(|r| r.xoff_tx).sum();
    assert_eq!(full.totals.drops_without_pause, 52);
    // Drops come while occupancies are at 174 or 175 packets: nobody has reached 176.
    assert_eq!(paused, 0);
}

#[test]
fn lossy_queues_stop_at_each_form_of_their_limit() {
    // Class 2 is lossy in pool 0, class 3 lossy in pool 1; ten senders, nothing drains.
    let peak = |alpha: f64, cap: bool, tc: u64| {
        let flows = (0..10).map(|k| flow(k, 127, tc, 4_000)).collect();
        let mut s = held(arrival(4_000), None, flows);
        let hold = Hold { classes: vec![2, 3], from: Ps(0), until: None };
        s.nic.hosts.insert(127, HostNic { hold: Some(hold), ..HostNic::default() });
        let buffer = &mut s.switch.shared_buffer_manager;
        buffer.traffic_class_pool_mapping = [0, 1, 0, 1, 0, 0, 0, 0];
        buffer.lossy_alpha = alpha;
        buffer.queue_drop_threshold_enable = cap;
        s.record.tables = vec![Table::Jobs];
        let o = observe(&s);
        // Every packet that is not inside was dropped at its egress.
        let dropped = [0, 0, 40_000 - 10 - o.totals.peak_egress / 4_000, 0, 0, 0, 0];
        assert_eq!(o.totals.drops, dropped, "{alpha} {cap} {tc}");
        o.totals.peak_egress
    };
    // Even split: 1,569,600 and 174,400 B, in whole packets.
    assert_eq!((peak(0.0, false, 2), peak(0.0, false, 3)), (1_568_000, 172_000));
    // Fixed cap: 1,500,000 B for both.
    assert_eq!((peak(0.0, true, 2), peak(0.0, true, 3)), (1_500_000, 1_500_000));
    // Dynamic: alpha ÷ (1 + alpha) of 22,323,200 B, one packet more or less.
    assert_eq!(peak(1.0, false, 3), 11_160_000);
    assert_eq!(peak(0.5, false, 3), 7_440_000);
}

#[test]
fn a_cap_that_falls_due_after_the_end_is_never_due() {
    // 12,288 switch ports leave 2^49 ps, 563 s, to a key; a packet of 65,553 B at 1 kbps keeps
    // the next one waiting for 524 s.
    let mut flow = flow(0, 4_095, 1, 1);
    flow.bytes = Bytes(2 * 65_535);
    flow.packet = Some(Bytes(65_535));
    flow.start = Ps(50_000_000_000_000);
    flow.rate = Some(BitRate(1_000));
    let mut s = scenario(100_000_000_000_000, vec![flow]);
    s.topology = Topology::LeafSpine {
        leaves: 64,
        hosts_per_leaf: 64,
        spines: 64,
        links_per_spine: 1,
        rate: None,
        delay: None,
        fabric_rate: None,
        fabric_delay: None,
    };
    s.record.tables = vec![Table::Jobs, Table::Flows];
    let seen = run(&s, Seeds::default(), &Traces::default()).expect("a valid scenario");
    let row = seen.flows[0];
    assert_eq!((row.sent_packets, row.received_bytes, row.end), (1, 65_535, None));
    assert_eq!(seen.totals.end_time, 100_000_000_000_000);
    assert_eq!(seen.totals.packet_hops, 3);
}

#[test]
fn the_packet_that_finds_its_queue_full_arrives_trimmed_before_the_one_ahead_of_it() {
    let sent = |src: u32| FlowEntry { role: Some(Role::Trimmable), ..flow(src, 0, 0, 2) };
    let mut s = scenario(10_000_000, vec![sent(1), sent(2)]);
    s.until = Until::Drained;
    let buffer = &mut s.switch.shared_buffer_manager;
    buffer.uet_policy_enabled = true;
    buffer.enable_pfc = [0; 8];
    buffer.plane_bdp = Bytes(8_000);
    s.switch.packet_trimmer.trimming_enabled = true;
    s.record.tables.push(Table::PortCounters);
    let o = observe(&s);
    // Two packets fill the queue; the second of host 2 finds 4,000 B in transmission and the
    // second of host 1 ahead of it. Class 1 goes first: it is sent with the port's next frame.
    assert_eq!((o.totals.trims, o.totals.trim_cut_bytes, o.totals.drops), (1, 3_954, [0; 7]));
    let end = arrival(3) + 62 * 20 + PACKET_TIME + DELAY;
    assert_eq!(end, 1_322_680);
    let ends: Vec<_> =
        o.flows.iter().map(|f| (f.end, f.received_packets, f.received_bytes)).collect();
    assert_eq!(ends, [(Some(end), 2, 8_000), (None, 1, 4_000)]);
    assert_eq!((o.flows[0].received_trimmed, o.flows[1].received_trimmed), (0, 1));
    assert_eq!((o.totals.end, o.totals.end_time), (End::Drained, end + 1));
    assert_eq!((o.totals.delivered_packets, o.totals.delivered_bytes), (3, 12_000));
    // The charge that was undone never shows; 46 B in pool 1 do.
    let of_pool = |pool| {
        [(2, BuffId::Ingress), (0, BuffId::Egress)]
            .map(|(port, buff)| largest(&o, port, pool, buff))
    };
    assert_eq!((of_pool(0), of_pool(1)), ([4_000, 8_000], [46, 46]));
    let port = o.port_counters.iter().find(|c| (c.node, c.port) == (SWITCH, 0)).expect("a row");
    assert_eq!((port.trims, port.trim_cut_bytes, port.tx_drops), (1, 3_954, 0));
    assert_eq!((port.packets_tx, port.bytes_tx), (4, 3 * 4_018 + 62));
}
