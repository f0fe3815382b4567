//! Whole pages, as a person reads them.

use super::*;
use serde_json::json;

fn page(scenario: serde_json::Value) -> String {
    inspect(&serde_json::from_value(scenario).unwrap())
}

#[test]
fn the_default_switch_with_128_ports() {
    let page = page(json!({
        "duration": 2_000_000_000u64,
        "topology": {"kind": "single-switch", "hosts": 128},
        "traffic": [{"pattern": "incast", "senders": 32, "bytes": 4_000_000, "dscp": 8}],
    }));
    insta::assert_snapshot!(page, @r"
    Scenario
      runs for 2ms
      traffic[0]: incast, class 1, packets of 4,000 B

    Links (128 links in all; guideline for packets of 4,000 B)
      host to switch: 128 links at 400Gbps, 500ns one way
        a pause lasts 84.3848us, is sent again every 42.1924us; headroom guideline 58,000 B

    1 switch of 128 ports: 128 down, 0 up
      1. Headroom
         total headroom  256,000 B x 128 ports = 32,768,000 B
         sizing total    256,000,000 B - 32,768,000 B = 223,232,000 B
      2. Pools
         pool 0  share 0.9: 200,908,800 B
         pool 1  share 0.1: 22,323,200 B
      3. Classes
         pool 0  lossless: class 0; lossy: classes 2, 3, 4, 5, 6, 7; headroom of a port 256,000 B
         pool 1  lossless: class 1; lossy: none; headroom of a port 256,000 B
      4. Egress limit of a lossy queue
         LossyAlpha 1: 1 x what is left of the pool
         pool 0  static limit 200,908,800 B, ECN band 40,181,760 B to 160,727,040 B
         pool 1  static limit 22,323,200 B, ECN band 4,464,640 B to 17,858,560 B
      5. PFC
         Xoff 700,000 B, Xon 300,000 B
      Sizing of lossless class 0, pool 0 (carries no traffic here)
        ok    1. headroom of a port 256,000 B >= 58,000 B = 2 x 400Gbps x 500ns / 8 + 2 x 4,000 B
        ok    2. pool 200,908,800 B >= 90,112,000 B = 128 ports x (Xoff 700,000 B + 4,000 B); it holds the pause points of 285 ports
        ok    3. pool to itself (mapped too: classes 2, 3, 4, 5, 6, 7, idle)
      Sizing of lossless class 1, pool 1
        ok    1. headroom of a port 256,000 B >= 58,000 B = 2 x 400Gbps x 500ns / 8 + 2 x 4,000 B
        MISS  2. pool 22,323,200 B <  90,112,000 B = 128 ports x (Xoff 700,000 B + 4,000 B); it holds the pause points of 31 ports
              met by an Xoff of at most 170,400 B
        ok    3. pool to itself

    Warnings
      - switch.SharedBufferManager.HeadRoomPerPortLimit = 256KB: overcommitted: reserved once a port, but each of the 2 lossless pools may use all of it
      - switch.SharedBufferManager.PoolAllocationMap[1] = 22,323,200 B: pool 1 of a switch holds the pause points of 31 of its 128 ports; class 1 needs 90,112,000 B to lose nothing, or StaticPoolXoffThreshold at most 170,400 B
    ");
}

#[test]
fn two_tiers_with_a_fixed_cap_and_a_miss_of_everything() {
    let page = page(json!({
        "duration": 1_000_000,
        "until": "drained",
        "warm_up": 1_000,
        "nic": {"PfcResponseTime": 100_000, "receive_rate": 200_000_000_000u64,
            "hold": {"classes": [1, 3]}, "hosts": {"0": {"ignore_pfc": true}}},
        "topology": {"kind": "leaf-spine", "leaves": 2, "hosts_per_leaf": 3, "spines": 2,
            "fabric_delay": 2_000_000},
        "switch": {
            "EcnHandler": {"EnableEcn": false},
            "SharedBufferManager": {"LossyAlpha": 0, "QueueDropThresholdEnable": true,
                "TotalSharedBufferSize": 2_000_000,
                "PoolAllocationMap": [0.5, 0.4, 0, 0, 0, 0, 0, 0],
                "TrafficClassPoolMapping": [0, 1, 1, 0, 0, 0, 0, 6],
                "EnablePFC": [0, 1, 0, 0, 0, 0, 0, 0]}},
        "traffic": [
            {"pattern": "permutation", "bytes": 4_000_000, "dscp": 8},
            {"pattern": "all-to-all", "bytes": 4_000_000, "dscp": 16, "packet": 1000},
        ],
    }));
    insta::assert_snapshot!(page, @r"
    Scenario
      runs until drained, at most 1us
      statistics of `jobs` begin at 1ns
      hosts act on PFC after 100ns; take what they receive at 200Gbps; hold class 1, 3 from 0s to the end; have their own settings at host 0
      traffic[0]: permutation, class 1, packets of 4,000 B
      traffic[1]: all-to-all, class 2, packets of 1,000 B

    Links (10 links in all; guideline for packets of 4,000 B)
      host to leaf: 6 links at 400Gbps, 500ns one way
        a pause lasts 84.3848us, is sent again every 42.1924us; headroom guideline 58,000 B
      leaf to spine: 4 links at 400Gbps, 2us one way
        a pause lasts 85.8848us, is sent again every 42.9424us; headroom guideline 208,000 B

    2 leaves of 5 ports: 3 down, 2 up
      1. Headroom
         total headroom  256,000 B x 5 ports = 1,280,000 B
         sizing total    2,000,000 B - 1,280,000 B = 720,000 B
      2. Pools
         pool 0  share 0.5: 360,000 B
         pool 1  share 0.4: 360,000 B (nominal 288,000 B, and the rest of the buffer)
      3. Classes
         pool 0  lossless: none; lossy: classes 0, 3, 4, 5, 6; headroom of a port 0 B
         pool 1  lossless: class 1; lossy: class 2; headroom of a port 256,000 B
         pool 6  does not exist; mapped to it: class 7
      4. Egress limit of a lossy queue
         LossyAlpha 0: 5 x 300,000 B (QueueDropThreshold x PlaneBDP)
         pool 0  static limit 1,500,000 B, ECN band 300,000 B to 1,200,000 B (EnableEcn is off)
         pool 1  static limit 1,500,000 B, ECN band 300,000 B to 1,200,000 B (EnableEcn is off)
      5. PFC
         Xoff 700,000 B, Xon 300,000 B
      Sizing of lossless class 1, pool 1
        ok    1. headroom of a port 256,000 B >= 208,000 B = 2 x 400Gbps x 2us / 8 + 2 x 4,000 B
        MISS  2. pool 360,000 B <  3,520,000 B = 5 ports x (Xoff 700,000 B + 4,000 B); it holds the pause points of 0 ports
              met by an Xoff of at most 68,000 B
        MISS  3. pool to itself: shared with class 2

    2 spines of 2 ports: 2 down, 0 up
      1. Headroom
         total headroom  256,000 B x 2 ports = 512,000 B
         sizing total    2,000,000 B - 512,000 B = 1,488,000 B
      2. Pools
         pool 0  share 0.5: 744,000 B
         pool 1  share 0.4: 744,000 B (nominal 595,200 B, and the rest of the buffer)
      3. Classes
         pool 0  lossless: none; lossy: classes 0, 3, 4, 5, 6; headroom of a port 0 B
         pool 1  lossless: class 1; lossy: class 2; headroom of a port 256,000 B
         pool 6  does not exist; mapped to it: class 7
      4. Egress limit of a lossy queue
         LossyAlpha 0: 5 x 300,000 B (QueueDropThreshold x PlaneBDP)
         pool 0  static limit 1,500,000 B, ECN band 300,000 B to 1,200,000 B (EnableEcn is off)
         pool 1  static limit 1,500,000 B, ECN band 300,000 B to 1,200,000 B (EnableEcn is off)
      5. PFC
         Xoff 700,000 B, Xon 300,000 B
      Sizing of lossless class 1, pool 1
        ok    1. headroom of a port 256,000 B >= 208,000 B = 2 x 400Gbps x 2us / 8 + 2 x 4,000 B
        MISS  2. pool 744,000 B <  1,408,000 B = 2 ports x (Xoff 700,000 B + 4,000 B); it holds the pause points of 1 port
              met by an Xoff of at most 368,000 B
        MISS  3. pool to itself: shared with class 2

    Warnings
      - switch.SharedBufferManager.PoolAllocationMap = [0.5, 0.4, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]: sums to 0.9, not 1; the last pool takes up the difference
      - switch.SharedBufferManager.TrafficClassPoolMapping = [0, 1, 1, 0, 0, 0, 0, 6]: pool 1 holds lossy class 2 beside lossless class 1: lossy bytes count towards Xoff, and a port they keep above Xon when its last lossless packet leaves stays paused for ever (stuck_pauses)
      - switch.SharedBufferManager.QueueDropThreshold = 1,500,000 B: 5 ports may each fill this cap: 7,500,000 B, 2083 % of pool 0 = 360,000 B; the pool holds 0 full caps and binds first
      - switch.SharedBufferManager.QueueDropThreshold = 1,500,000 B: 5 ports may each fill this cap: 7,500,000 B, 2083 % of pool 1 = 360,000 B; the pool holds 0 full caps and binds first
      - switch.SharedBufferManager.PoolAllocationMap[1] = 360,000 B: pool 1 of a leaf holds the pause points of 0 of its 5 ports; class 1 needs 3,520,000 B to lose nothing, or StaticPoolXoffThreshold at most 68,000 B
      - switch.SharedBufferManager.TrafficClassPoolMapping[1] = 1: lossless class 1 shares its pool with class 2; it needs a pool to itself to lose nothing
      - switch.SharedBufferManager.QueueDropThreshold = 1,500,000 B: 2 ports may each fill this cap: 3,000,000 B, 403 % of pool 0 = 744,000 B; the pool holds 0 full caps and binds first
      - switch.SharedBufferManager.QueueDropThreshold = 1,500,000 B: 2 ports may each fill this cap: 3,000,000 B, 403 % of pool 1 = 744,000 B; the pool holds 0 full caps and binds first
      - switch.SharedBufferManager.PoolAllocationMap[1] = 744,000 B: pool 1 of a spine holds the pause points of 1 of its 2 ports; class 1 needs 1,408,000 B to lose nothing, or StaticPoolXoffThreshold at most 368,000 B
    ");
}

#[test]
fn the_uet_policy_with_trimming() {
    let page = page(json!({
        "duration": 2_000_000_000u64,
        "topology": {"kind": "single-switch", "hosts": 128},
        "switch": {
            "SharedBufferManager":
                {"UETPolicyEnabled": true, "EnablePFC": [0, 0, 0, 0, 0, 0, 0, 0]},
            "PacketTrimmer": {"TrimmingEnabled": true},
        },
        "traffic": [
            {"pattern": "incast", "senders": 32, "bytes": 4_000_000, "role": "trimmable"},
            {"pattern": "permutation", "bytes": 64, "packet": 64, "role": "control"},
        ],
    }));
    insta::assert_snapshot!(page, @r"
    Scenario
      runs for 2ms
      traffic[0]: incast, class 0, packets of 4,000 B
      traffic[1]: permutation, class 2, packets of 64 B

    Links (128 links in all; guideline for packets of 4,000 B)
      host to switch: 128 links at 400Gbps, 500ns one way
        a pause lasts 84.3848us, is sent again every 42.1924us; headroom guideline 58,000 B

    1 switch of 128 ports: 128 down, 0 up
      1. Headroom
         total headroom  256,000 B x 128 ports = 32,768,000 B
         sizing total    256,000,000 B - 32,768,000 B = 223,232,000 B
      2. Pools
         pool 0  share 1.5 of 3.5: 95,670,857 B
         pool 1  share 1 of 3.5: 63,780,571 B
         pool 2  share 1 of 3.5: 63,780,572 B
      3. Classes
         UETPolicyEnabled: the role decides; data 0, trimmed 1, control 2
         pool 0  lossless: none; lossy: class 0; headroom of a port 0 B
         pool 1  lossless: none; lossy: class 1; headroom of a port 0 B
         pool 2  lossless: none; lossy: class 2; headroom of a port 0 B
      4. Egress limit of a lossy queue
         UETPolicyEnabled: 300,000 B (PlaneBDP), beyond it packets are trimmed; 1.5 times that for trimmable retransmits
         pool 0  static limit 300,000 B, ECN band 60,000 B to 240,000 B
         pool 1  static limit 300,000 B, ECN band 60,000 B to 240,000 B
         pool 2  static limit 300,000 B, ECN band 60,000 B to 240,000 B
      5. PFC
         no lossless class: nothing is paused

    No refusals, no warnings
    ");
}

#[test]
fn a_scenario_that_is_refused_says_why() {
    let page = page(json!({
        "duration": 1_000,
        "topology": {"kind": "single-switch", "hosts": 4},
        "switch": {"SharedBufferManager": {"HeadRoomPerPortLimit": 100_000_000}},
        "traffic": [
            {"pattern": "flows", "flows": []},
            {"pattern": "trace", "file": "burst.csv"},
        ],
    }));
    insta::assert_snapshot!(page, @r"
    Scenario
      runs for 1ns
      traffic[0]: flows, 0 flows
      traffic[1]: trace, burst.csv

    Links (4 links in all; guideline for packets of 4,000 B)
      host to switch: 4 links at 400Gbps, 500ns one way
        a pause lasts 84.3848us, is sent again every 42.1924us; headroom guideline 58,000 B

    REFUSED: this scenario would not run
      - switch.SharedBufferManager.HeadRoomPerPortLimit = 100MB: reserves 400,000,000 B on 4 connected ports, more than TotalSharedBufferSize = 256MB; lower the one or raise the other

    Warnings
      - traffic[0].flows = []: nothing of it is sent
    ");
}

#[test]
fn amounts_show_a_tenth_only_where_there_is_one() {
    assert_eq!(amount(40_181_760.0), "40,181,760 B");
    assert_eq!(amount(1_234.5), "1,234.5 B");
    assert_eq!(amount(0.0), "0 B");
}

/// The section about NICs of a scenario with one incast.
fn nics(nic: serde_json::Value) -> String {
    let page = page(json!({
        "duration": 2_000_000_000u64,
        "topology": {"kind": "single-switch", "hosts": 4},
        "nic": nic,
        "traffic": [{"pattern": "incast", "senders": 3, "bytes": 4_000_000, "dscp": 8}],
    }));
    let from = page.find("  traffic[0]").unwrap();
    page[from..page.find("\nLinks").unwrap()].to_owned()
}

#[test]
fn a_uet_nic_says_its_window_and_timeouts() {
    insta::assert_snapshot!(nics(json!({"model": "uet"})), @r"
      traffic[0]: incast, class 0, packets of up to 4,184 B

    NICs: uet at 400Gbps
      a full packet carries 4,096 B: 4,184 B of IP, 4,202 B on the wire
      data is class 0 in the NIC, what answers it class 1 (up to 60 B of IP)
      at switches without UETPolicyEnabled too; with it data is TC0, control TC2
      receive pools   class 0 3,600,000 B (860 full), class 1 400,000 B (95 full)
      transmit pools  class 0 230,400 B (54 full), class 1 25,600 B (6 full); the highest class first
      host link  16 lanes, 504.32Gbps; payload at 472.9Gbps
      BDP 300,000 B = 400Gbps x 6us (InitialBaseRTT)
      first and largest window (1.5 x BDP) 450,000 B: 107 full packets, 9us at line rate
      target queueing delay 6us
      retransmission timeout 150us, doubled up to 4.8ms
      one transmission in 1 asks for an acknowledgement
    ");
    let changed = json!({"model": "uet", "PFCEnableVector": [1, 0, 0, 0, 0, 0, 0, 0],
        "HostLink": {"LaneCount": 13}, "hosts": {"2": {"HostLink": {"LaneCount": 4}}},
        "ScalaUETPdsManager": {"TrimmingEnabled": true, "FixedRexmitTimeEnable": true},
        "ScalaUETCongestionControl": {"OverrideUetSpecMaxCWind": true, "PassThrough": true}});
    insta::assert_snapshot!(nics(changed), @r"
      traffic[0]: incast, class 0, packets of up to 4,184 B

    NICs: uet at 400Gbps
      a full packet carries 4,096 B: 4,184 B of IP, 4,202 B on the wire
      data is class 0 in the NIC, what answers it class 1 (up to 60 B of IP)
      at switches without UETPolicyEnabled too; with it data is TC0, control TC2
      receive pools   class 0 3,600,000 B (860 full), class 1 400,000 B (95 full)
        class 0 is paused from 2,880,000 B held, resumed at 1,440,000 B; 65,535 quanta, frames of 64 B
      transmit pools  class 0 230,400 B (54 full), class 1 25,600 B (6 full); the highest class first
      host link  13 lanes, 409.76Gbps; payload at 384.2Gbps, less than the network brings
      host link of host 2  4 lanes, 126.08Gbps; payload at 118.2Gbps, less than the network brings
      BDP 300,000 B = 400Gbps x 6us (InitialBaseRTT)
      first and largest window (MaxCongestionWindow, not enforced (PassThrough)) 447,688 B: 107 full packets, 8.95376us at line rate
      target queueing delay 4.5us
      retransmission timeout 150us, constant
      one transmission in 1 asks for an acknowledgement
    ");
}

#[test]
fn a_roce_nic_says_its_rate_loop() {
    insta::assert_snapshot!(nics(json!({"model": "roce"})), @r"
      traffic[0]: incast, class 1, packets of up to 4,136 B

    NICs: roce at 400Gbps
      a full packet carries 4,096 B: 4,136 B of IP, 4,154 B on the wire
      data is class 1 in the NIC, what answers it class 1 (up to 108 B of IP)
      receive pools   class 0 3,600,000 B (870 full), class 1 400,000 B (96 full)
        class 0 is paused from 2,880,000 B held, resumed at 1,440,000 B; 65,535 quanta, frames of 84 B
        class 1 is paused from 320,000 B held, resumed at 160,000 B; 65,535 quanta, frames of 84 B
      transmit pools  class 0 230,400 B (55 full), class 1 25,600 B (6 full); the highest class first
      host link  16 lanes, 504.32Gbps; payload at 472.9Gbps
      no window: the transmit pool and the allowed rate limit what is outstanding
      rate control: a half every 22.5us, steps of 4Gbps, never below 40Gbps; under lasting congestion one increase in 270us
      retransmission timeout 64ms, constant
      an acknowledgement every 17 packets, or after 1ms
    ");
    let dcqcn = json!({"model": "roce", "Egress": {"QueueSchedulingType": "WeightedRoundRobin"},
        "ScalaRoceTransport": {"rate_control": "dcqcn", "AckCoalescingEnabled": false,
            "EnableECN": false}});
    insta::assert_snapshot!(nics(dcqcn), @r"
      traffic[0]: incast, class 1, packets of up to 4,136 B

    NICs: roce at 400Gbps
      a full packet carries 4,096 B: 4,136 B of IP, 4,154 B on the wire
      data is class 1 in the NIC, what answers it class 1 (up to 108 B of IP)
      receive pools   class 0 3,600,000 B (870 full), class 1 400,000 B (96 full)
        class 0 is paused from 2,880,000 B held, resumed at 1,440,000 B; 65,535 quanta, frames of 84 B
        class 1 is paused from 320,000 B held, resumed at 160,000 B; 65,535 quanta, frames of 84 B
      transmit pools  class 0 230,400 B (55 full), class 1 25,600 B (6 full); packets a class in turn [1, 3, 0, 0, 0, 0, 0, 0]
      host link  16 lanes, 504.32Gbps; payload at 472.9Gbps
      no window: the transmit pool and the allowed rate limit what is outstanding
      rate control: DCQCN, steps of 40Mbps every 55us or 10MB, never below 100Mbps; a notification every 50us at most
      EnableECN is off: data is never marked, nothing slows a sender
      retransmission timeout 64ms, constant
      every packet is acknowledged
    ");
}

#[test]
fn a_fixed_window_says_itself() {
    insta::assert_snapshot!(nics(json!({"model": "fixed-window"})), @r"
      traffic[0]: incast, class 1, packets of up to 4,184 B

    NICs: fixed-window at 400Gbps
      a full packet carries 4,096 B: 4,184 B of IP, 4,202 B on the wire
      data is class 1 in the NIC, what answers it class 1 (up to 60 B of IP)
      receive pools   class 0 3,600,000 B (860 full), class 1 400,000 B (95 full)
      transmit pools  class 0 230,400 B (54 full), class 1 25,600 B (6 full); the highest class first
      host link  16 lanes, 504.32Gbps; payload at 472.9Gbps
      window 450,000 B: 107 full packets, 9us at line rate
      retransmission timeout 6ms, constant
    ");
}
