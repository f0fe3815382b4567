//! Incasts of 64 and of 128 senders, worked out by hand: which byte of which sender pauses it and
//! when, how much of its headroom it takes, which byte resumes it.
//!
//! All links have 100 Gbps and 1,000 ns; a frame takes `t` ns. Sender `i` starts at `i`, or at
//! `i + 1` from 8 on, so that its packet `r` comes at `1,000 + t r` and that offset: rounds of one
//! packet of each. A packet of another host is on the wire until offset 8 of the first round. From
//! then on one packet leaves every `t`, at offset 8, in the order of arrival, and is charged no
//! more: packet 1 of sender `i` at `1,008 + t (i + 1)`, packet `r` another `t` × senders × (r − 1)
//! later. No two of these instants are one.

use super::script::{Script, drops, ends, frames};
use poolsweep::sim::observe::Observations;
use serde_json::{Value, json};

struct Incast {
    senders: u64,
    payload: u64,
    /// Time of a frame.
    t: u64,
}

/// Packets a sender sends.
const PACKETS: u64 = 100;

impl Incast {
    fn offset(i: u64) -> u64 {
        i + u64::from(i >= 8)
    }

    /// Packet `r` (from 1) of sender `i` comes.
    fn arrival(&self, i: u64, r: u64) -> u64 {
        1_000 + self.t * r + Incast::offset(i)
    }

    /// Packet `r` of sender `i` leaves, if nothing that came before it came after a pause.
    fn departure(&self, i: u64, r: u64) -> u64 {
        1_008 + self.t * (self.senders * (r - 1) + i + 1)
    }

    fn script(&self, switch: Value) -> Script {
        let bytes = PACKETS * self.payload;
        let receiver = self.senders as u32 + 1;
        let mut flows: Vec<_> =
            (0..self.senders).map(|i| (i as u32, receiver, 3, bytes, Incast::offset(i))).collect();
        // 548 B: 43 ns and 1,000, then 43 on the wire.
        flows.push((receiver - 1, receiver, 3, 500, self.t - 78));
        Script {
            lines: vec![(100, 1_000); self.senders as usize + 2],
            switch,
            // Only the last packet of a flow is answered, and the other host's not at all.
            nic: json!({"PACKET_PAYLOAD_SIZE": self.payload, "L2_CHUNK_SIZE": bytes,
                "L2_ACK_INTERVAL": bytes}),
            hold: None,
            flows,
            duration: 3 * self.senders * PACKETS * self.t,
            interval: self.senders * PACKETS * self.t,
        }
    }

    /// The first pause and the first resume each sender receives.
    fn first(&self, run: &Observations) -> Vec<[u64; 2]> {
        let frames = frames(run);
        let of = |i: u64, pause: bool| {
            let mut own = frames.iter().filter(|f| u64::from(f.1) == i && f.3 == pause);
            own.next().expect("every sender is paused and resumed").0
        };
        (0..self.senders).map(|i| [of(i, true), of(i, false)]).collect()
    }

    /// Nothing is lost, every pause is taken back, all bytes arrive, and it happens the same way
    /// again.
    fn holds_together(&self, script: &Script, run: &Observations) {
        assert_eq!(drops(run), []);
        let ends = ends(run);
        let (done, starter) = ends.split_at(self.senders as usize);
        assert!(done.iter().all(Option::is_some) && starter == [None]);
        assert_eq!(run.totals.pause_frames, run.totals.resume_frames);
        let payload = self.senders * PACKETS * self.payload + 500;
        assert_eq!(run.totals.payload_bytes, Some(payload));
        assert_eq!(run.totals.delivered_packets, self.senders * PACKETS + 1);
        assert_eq!(run, &script.run());
    }
}

/// `hpcc`, ports with 37,500 B of headroom and a reserve of 4,096, and so much to share.
fn hpcc(ports: u64, shared: u64) -> Value {
    json!({"model": "hpcc", "HPCC": {"BufferSize": shared + ports * (37_500 + 4_096)}})
}

/// A pause or resume is decided at the switch, takes 3 ns and 1,000 more.
const PFC: u64 = 1_003;

/// 64 senders, 1,048 B, 32,000 B to share.
///
/// Packets 1 to 3 are within the reserve. Of the fourth, 96 B are shared, unless a packet of the
/// sender has left: that is so of 0 to 2, and 3 gives its 96 back as its first one leaves at offset
/// 8. So 60 × 96 = 5,760 B are shared after round 4. In round 5 senders 0 to 3 come to 96 B each,
/// 6,144, and the others each to 1,144, 1,048 more; 4 gives them back at offset 8. After sender
/// i ≥ 8 it is 9,288 + 1,048 (i − 7). 1,144 reach the eighth of what is free when less than 9,160
/// are: more than 22,840 shared, as with sender 20's packet, 22,912; with 19's it is 21,864. Sender
/// 20 is paused with nothing in its headroom. 32,000 − 22,912 = 9,088 are free, an eighth is 1,136:
/// the fifth packets of 21 to 63 go to headroom, and the sixth ones of 0 to 19, with a pause each.
///
/// A sender has a pause 1,003 ns after its packet came, 2,086 after that packet was started: it
/// stops after 25 more. So it has at most 26 packets in headroom, and the senders from 29 on have
/// them, none of whose packets has left before the last one comes.
///
/// Headroom is left first. From 21 on: 26 packets in it, 4 in the pool; the first one to leave
/// leaves 25, so it is empty after packet 26, and packet 27 takes the shared 96 with it: resume.
/// Sender 20 has 25 and 5, headroom is empty after packet 25, the pool gives back 1,048 with packet
/// 26, the last shared byte with 27. 5 to 19 have 26 and 5; empty after 26, and with packet 27 they
/// have 96. So they are resumed if 96 + 3,072 are at most an eighth of what is free, or with packet
/// 28. 20 has given back 1,048, and after sender i it is (i − 4) × 1,048 more. With 18: 7,192
/// shared, an eighth of the rest is 3,101; with 19: 6,144 and 3,232, which is enough. 0 to 4 have 26
/// and 4, packet 1 gone before: empty after 27, resumed with 28.
#[test]
fn hpcc_64_to_1() {
    let incast = Incast { senders: 64, payload: 1_000, t: 83 };
    let script = incast.script(hpcc(66, 32_000));
    let run = script.run();
    let expected: Vec<[u64; 2]> = (0..64)
        .map(|i| {
            let (pausing, resuming) = if i < 20 { (6, 28) } else { (5, 27) };
            let resuming = if i == 19 { 27 } else { resuming };
            [incast.arrival(i, pausing) + PFC, incast.departure(i, resuming) + PFC]
        })
        .collect();
    assert_eq!(incast.first(&run), expected);
    assert_eq!(run.totals.peak_headroom, 26 * 1_048);
    incast.holds_together(&script, &run);
}

/// 128 senders, 2,048 B, 113,000 B to share.
///
/// Two packets are the reserve. In round 3 senders 0 and 1 are within it, one of their packets
/// gone; each later one has 2,048 B shared, and 2 gives its own back at offset 8: after sender
/// i ≥ 8 it is 10,240 + 2,048 (i − 7). 2,048 reach the eighth of what is free when less than 16,392
/// are: 98,304 shared, sender 50. An eighth of the rest is 1,837: from 51 on packet 3, and of 0 to
/// 49 packet 4, goes to headroom with a pause.
///
/// Packets start every 163 ns, up to 1,003 ns after that one came, 2,166 after it started: 13 more,
/// 14 packets in headroom. From 51 on: 14 and 2 within the reserve, so packet 14 empties headroom
/// and resumes. 50 has 13 and 3: packet 14 is the shared one. 3 to 49 have 14 and 3, packet 15 is
/// the shared one; 0 to 2 have 14 and 2, without their first one: packet 15.
#[test]
fn hpcc_128_to_1() {
    let incast = Incast { senders: 128, payload: 2_000, t: 163 };
    let script = incast.script(hpcc(130, 113_000));
    let run = script.run();
    let expected: Vec<[u64; 2]> = (0..128)
        .map(|i| {
            let (pausing, resuming) = if i < 50 { (4, 15) } else { (3, 14) };
            [incast.arrival(i, pausing) + PFC, incast.departure(i, resuming) + PFC]
        })
        .collect();
    assert_eq!(incast.first(&run), expected);
    assert_eq!(run.totals.peak_headroom, 14 * 2_048);
    incast.holds_together(&script, &run);
}

/// `ns3-datacenter`, 64 senders, 1,048 B, an ingress pool of 114,000 B, of what is free an eighth.
///
/// Every byte is in the pool. In round 2, after sender i ≥ 8, 64 + i + 1 packets have come and 2
/// have left. 2,096 B are over the threshold when less than 16,768 are free, more than 97,232 used:
/// 93 packets, 97,464 B, sender 30. Its second packet is in headroom then and not in the pool: the
/// next sender finds what it has found, and so on, and those before it in round 3.
///
/// A sender that was paused has headroom in use until it is empty: packets 2 to 27 of 30 on, 3 to
/// 28 of the others, 26 each, and one packet less for each that left meanwhile. Then the pool is
/// left, and a sender is resumed when it has less than 1,248 B, or 2,496 less than its threshold.
/// Packet 26 empties the headroom of 30 on, packet 1 having gone with it: 1,048 B are left, less
/// than 1,248. Of 2 to 29, packet 26 does too, 2,096 are left, and 2,096 + 2,496 are below no
/// threshold before 77,264 B are used: more than 19 of these senders would have left two packets
/// fewer. So packet 27. 0 and 1, whose first packet had gone before, have 1,048 B after packet 27.
#[test]
fn datacenter_64_to_1() {
    let incast = Incast { senders: 64, payload: 1_000, t: 83 };
    let script = incast.script(json!({"model": "ns3-datacenter", "Ns3Datacenter": {
        "IngressPool": 114_000, "AlphaIngress": 0.125, "AlphaEgress": 65_535,
        "BufferPool": 30_000_000, "EgressPoolLossless": 30_000_000}}));
    let run = script.run();
    let first = incast.first(&run);
    let pauses: Vec<u64> = first.iter().map(|own| own[0]).collect();
    let expected: Vec<u64> =
        (0..64).map(|i| incast.arrival(i, if i < 30 { 3 } else { 2 }) + PFC).collect();
    assert_eq!(pauses, expected);
    assert_eq!(run.totals.peak_headroom, 26 * 1_048);
    let resumes: Vec<u64> = first.iter().map(|own| own[1]).collect();
    let expected: Vec<u64> =
        (0..64).map(|i| incast.departure(i, if i < 30 { 27 } else { 26 }) + PFC).collect();
    assert_eq!(resumes, expected);
    incast.holds_together(&script, &run);
}
