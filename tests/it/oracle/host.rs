//! Hosts of the literal simulator: turns, rate caps, the receive pool, `hold`.

use super::{Event, Kind, Packet, World, time_on_wire};
use poolsweep::scenario::{Hold, Nic};
use poolsweep::sim::observe::DropReason;
use poolsweep::sim::traffic::FlowStart;
use std::collections::VecDeque;

/// A flow and what became of its bytes.
#[derive(Debug)]
pub struct FlowState {
    pub spec: FlowStart,
    /// It has joined its class's turn.
    pub started: bool,
    /// IP bytes not yet cut into packets.
    pub remaining: u64,
    /// When its next packet may start.
    due: u64,
    pub sent_packets: u64,
    pub sent_bytes: u64,
    pub received_packets: u64,
    pub received_bytes: u64,
    pub received_trimmed: u64,
    /// What the packets that arrived trimmed had been sent with.
    pub trimmed_bytes: u64,
    pub received_ce: u64,
    pub lost: u64,
    pub end: Option<u64>,
}

impl FlowState {
    pub fn new(spec: FlowStart) -> FlowState {
        FlowState {
            spec,
            started: false,
            remaining: spec.bytes,
            due: spec.start,
            sent_packets: 0,
            sent_bytes: 0,
            received_packets: 0,
            received_bytes: 0,
            received_trimmed: 0,
            trimmed_bytes: 0,
            received_ce: 0,
            lost: 0,
            end: None,
        }
    }
}

#[derive(Debug)]
pub struct Host {
    pub response: u64,
    pub ignore_pfc: bool,
    pub quanta: [u16; 8],
    hold: Option<Hold>,
    /// Flows taking turns, by class.
    turns: [VecDeque<usize>; 8],
    receive_rate: Option<u64>,
    receive_pool: u64,
    sends_pfc: [bool; 8],
    xoff: [f64; 8],
    xon: [f64; 8],
    /// Bytes in the receive pool of each class.
    occupancy: [u64; 8],
    /// Packets waiting for service, the one being served first.
    waiting: VecDeque<Packet>,
    /// A pause of the class is outstanding.
    pausing: [bool; 8],
    /// Number of the class's last pause, to forget the refreshes of earlier ones.
    rounds: [u64; 8],
}

impl Host {
    pub fn new(nic: Nic) -> Host {
        let pool = nic.receive_pool.0;
        Host {
            response: nic.pfc_response_time.0,
            ignore_pfc: nic.ignore_pfc,
            quanta: nic.quanta_value.map(|quanta| quanta as u16),
            hold: nic.hold,
            turns: Default::default(),
            receive_rate: nic.receive_rate.map(|rate| rate.0),
            receive_pool: pool,
            sends_pfc: nic.pfc_enable_vector.map(|on| on != 0),
            xoff: nic.pfc_static_xoff_threshold.map(|share| share * pool as f64),
            xon: nic.pfc_xon_resume_threshold.map(|share| share * pool as f64),
            occupancy: [0; 8],
            waiting: VecDeque::new(),
            pausing: [false; 8],
            rounds: [0; 8],
        }
    }
}

impl World {
    /// Starts of flows, and what `hold` asks for.
    pub fn schedule_hosts(&mut self) {
        let mut starts: Vec<(u64, usize)> =
            self.flows.iter().map(|f| (f.spec.start, f.spec.src as usize)).collect();
        starts.sort_unstable();
        starts.dedup();
        for (start, host) in starts {
            self.schedule(start, Kind::FlowStart, host, 0, Event::FlowStart(host));
        }
        for host in 0..self.hosts.len() {
            if let Some(hold) = self.hosts[host].hold.clone() {
                for tc in hold.classes.iter().map(|&class| class as u8) {
                    let event = Event::Hold { host, tc, pause: true };
                    self.schedule(hold.from.0, Kind::Refresh, host, tc, event);
                    if let Some(until) = hold.until {
                        let event = Event::Hold { host, tc, pause: false };
                        self.schedule(until.0, Kind::Refresh, host, tc, event);
                    }
                }
            }
        }
    }

    pub fn hold(&mut self, host: usize, tc: u8, pause: bool) {
        self.send_pfc(host, 1 << tc, pause);
        let again = self.now + self.half_time(host, tc);
        let until = self.hosts[host].hold.as_ref().and_then(|hold| hold.until);
        if pause && until.is_none_or(|until| again < until.0) {
            let event = Event::Hold { host, tc, pause: true };
            self.schedule(again, Kind::Refresh, host, tc, event);
        }
    }

    pub fn flow_start(&mut self, host: usize) {
        let mut joining: Vec<usize> = (0..self.flows.len())
            .filter(|&place| {
                let spec = &self.flows[place].spec;
                spec.src as usize == host && spec.start == self.now
            })
            .collect();
        joining.sort_by_key(|&place| self.flows[place].spec.id);
        for place in joining {
            let flow = &mut self.flows[place];
            flow.started = true;
            self.hosts[host].turns[usize::from(flow.spec.tc)].push_back(place);
        }
        self.pick(host);
    }

    /// The next packet of a host's flows, if one may start now.
    pub fn pick_flow(&mut self, host: usize) -> Option<Packet> {
        for tc in (0..8).rev() {
            if self.ports[host].held[tc].is_some() {
                continue;
            }
            let turn = &mut self.hosts[host].turns[tc];
            let Some(at) = turn.iter().position(|&place| self.flows[place].due <= self.now) else {
                continue;
            };
            let place = turn.remove(at).expect("found there");
            let flow = &mut self.flows[place];
            let ip = flow.remaining.min(u64::from(flow.spec.packet));
            flow.remaining -= ip;
            if flow.remaining > 0 {
                turn.push_back(place);
            }
            let mut due = None;
            if flow.spec.rate > 0 {
                flow.due = self.now + time_on_wire(ip + 18, flow.spec.rate);
                due = Some(flow.due);
            }
            let packet = Packet {
                flow: place,
                ip,
                sent: ip,
                tc: flow.spec.tc,
                role: flow.spec.role,
                trimmed: false,
                ect: flow.spec.ect,
                ce: false,
                from: 0,
            };
            if let Some(due) = due {
                self.schedule(due, Kind::Timer, host, 0, Event::Timer(host));
            }
            self.inside += 1;
            return Some(packet);
        }
        None
    }

    /// A data packet has arrived at its host.
    pub fn receive(&mut self, host: usize, packet: Packet) {
        let tc = usize::from(packet.tc);
        let Some(rate) = self.hosts[host].receive_rate else {
            self.inside -= 1;
            self.accepted(packet);
            return;
        };
        let to_be = self.hosts[host].occupancy[tc] + packet.ip;
        let h = &self.hosts[host];
        if h.sends_pfc[tc] && !h.pausing[tc] && to_be as f64 >= h.xoff[tc] {
            self.hosts[host].pausing[tc] = true;
            self.nic_pause(host, packet.tc);
        }
        if to_be > self.hosts[host].receive_pool {
            self.dropped(host, &packet, packet.tc, DropReason::NicReceivePool);
            return;
        }
        self.hosts[host].occupancy[tc] = to_be;
        self.hosts[host].waiting.push_back(packet);
        self.accepted(packet);
        if self.hosts[host].waiting.len() == 1 {
            let end = self.now + time_on_wire(packet.ip, rate);
            self.schedule(end, Kind::Service, host, 0, Event::Service(host));
        }
    }

    fn accepted(&mut self, packet: Packet) {
        let flow = &mut self.flows[packet.flow];
        if packet.trimmed {
            flow.received_trimmed += 1;
            flow.trimmed_bytes += packet.sent;
            flow.received_ce += u64::from(packet.ce);
            return;
        }
        flow.received_packets += 1;
        flow.received_bytes += packet.ip;
        flow.received_ce += u64::from(packet.ce);
        if flow.received_bytes == flow.spec.bytes {
            flow.end = Some(self.now);
        }
        self.meters.delivered(packet.ip);
    }

    pub fn service_end(&mut self, host: usize) {
        let h = &mut self.hosts[host];
        let packet = h.waiting.pop_front().expect("a packet in service");
        let tc = usize::from(packet.tc);
        h.occupancy[tc] -= packet.ip;
        self.inside -= 1;
        if h.pausing[tc] && h.occupancy[tc] as f64 <= h.xon[tc] {
            h.pausing[tc] = false;
            self.send_pfc(host, 1 << tc, false);
        }
        let h = &self.hosts[host];
        if let (Some(next), Some(rate)) = (h.waiting.front(), h.receive_rate) {
            let end = self.now + time_on_wire(next.ip, rate);
            self.schedule(end, Kind::Service, host, 0, Event::Service(host));
        }
    }

    /// Sends a pause of a class and comes back after half of its time.
    fn nic_pause(&mut self, host: usize, tc: u8) {
        let h = &mut self.hosts[host];
        h.rounds[usize::from(tc)] += 1;
        let round = h.rounds[usize::from(tc)];
        self.send_pfc(host, 1 << tc, true);
        let again = self.now + self.half_time(host, tc);
        let event = Event::NicRefresh { host, tc, round };
        self.schedule(again, Kind::Refresh, host, tc, event);
    }

    pub fn nic_refresh(&mut self, host: usize, tc: u8, round: u64) {
        let h = &mut self.hosts[host];
        let class = usize::from(tc);
        if !h.pausing[class] || h.rounds[class] != round {
            return;
        }
        if h.occupancy[class] as f64 >= h.xoff[class] {
            self.nic_pause(host, tc);
        } else {
            h.pausing[class] = false;
            self.send_pfc(host, 1 << tc, false);
        }
    }
}
