//! What reactive NICs start with: packets, pools, windows, timeouts.

use super::{Page, class_list, size};
use crate::scenario::links::{DEFAULT_RATE, Outline};
use crate::scenario::nic::Packets;
use crate::scenario::offered::{FRAME_OVERHEAD, Offered};
use crate::scenario::roce::RateControl;
use crate::scenario::{HpccRateControl, Nic, NicModel, QueueScheduling, Scenario};
use crate::units::{BitRate, Ps, thousands};

impl Page {
    /// The section about reactive NICs; nothing for the open-loop one.
    pub(super) fn transports(&mut self, scenario: &Scenario, offered: &Offered) {
        let nic = &scenario.nic;
        let Some(packets) = nic.packets() else { return };
        let line = Outline::new(scenario).map_or(DEFAULT_RATE, |o| o.host_links.rate);
        self.title(format!("NICs: {} at {}", nic.model.name(), BitRate(line)));
        self.packets(nic, &packets, offered);
        if nic.model.has_pools() {
            self.pools(nic, &packets);
            self.host_links(nic, line);
        }
        match nic.model {
            NicModel::OpenLoop => {}
            NicModel::FixedWindow => self.fixed_window(nic, line),
            NicModel::Hpcc => self.hpcc(nic),
            NicModel::Uet => self.uet(nic, line),
            NicModel::Roce => self.roce(nic, line),
        }
    }

    fn packets(&mut self, nic: &Nic, packets: &Packets, offered: &Offered) {
        let ip = packets.largest(u64::MAX);
        self.line(format!(
            "  a full packet carries {}: {} of IP, {} on the wire",
            size(packets.mss),
            size(ip),
            size(ip.saturating_add(FRAME_OVERHEAD))
        ));
        let data = match packets.data_class {
            Some(class) => format!("class {class}"),
            None => class_list(offered.data, "no class"),
        };
        self.line(format!(
            "  data is {data} in the NIC, what answers it class {} (up to {} of IP)",
            packets.control_class,
            size(packets.control)
        ));
        if nic.model == NicModel::Uet {
            self.line(
                "  at switches without UETPolicyEnabled too; with it data is TC0, control TC2",
            );
        }
    }

    fn pools(&mut self, nic: &Nic, packets: &Packets) {
        let list = |pools: [u64; 8], packet: u64| {
            let own = pools.iter().enumerate().filter(|(_, pool)| **pool > 0);
            let text = |(class, &pool): (usize, &u64)| {
                format!("class {class} {} ({} full)", size(pool), thousands(pool / packet.max(1)))
            };
            own.map(text).collect::<Vec<_>>().join(", ")
        };
        let ip = packets.largest(u64::MAX);
        let receive = nic.ingress.pools();
        self.line(format!("  receive pools   {}", list(receive, ip)));
        for (class, &pool) in receive.iter().enumerate() {
            if nic.pfc_enable_vector[class] == 1 && pool > 0 {
                let at = |share: f64| size((share * pool as f64).floor() as u64);
                self.line(format!(
                    "    class {class} is paused from {} held, resumed at {}; {} quanta, frames of {}",
                    at(nic.pfc_static_xoff_threshold[class]),
                    at(nic.pfc_xon_resume_threshold[class]),
                    thousands(nic.quanta_value[class]),
                    size(nic.egress.pfc_frame_size.0)
                ));
            }
        }
        let turns = match nic.egress.queue_scheduling_type {
            QueueScheduling::StrictPriority => "the highest class first".to_owned(),
            QueueScheduling::RoundRobin => "one packet a class in turn".to_owned(),
            QueueScheduling::WeightedRoundRobin => {
                format!("packets a class in turn {:?}", nic.egress.wrr_queue_weights)
            }
        };
        self.line(format!(
            "  transmit pools  {}; {turns}",
            list(nic.egress.pools(), ip.saturating_add(FRAME_OVERHEAD))
        ));
    }

    fn host_links(&mut self, nic: &Nic, line: u64) {
        self.host_link("host link", nic, line);
        for (host, own) in &nic.hosts {
            if !own.host_link.is_none() {
                self.host_link(&format!("host link of host {host}"), &nic.of_host(*host), line);
            }
        }
    }

    fn host_link(&mut self, name: &str, nic: &Nic, line: u64) {
        let (rate, payload) = (nic.host_link.rate(), nic.host_link.payload_rate());
        let slow = if payload < line { ", less than the network brings" } else { "" };
        self.line(format!(
            "  {name}  {} lanes, {}; payload at {:.1}Gbps{slow}",
            thousands(nic.host_link.lane_count),
            BitRate(rate),
            payload as f64 / 1e9
        ));
    }

    fn window(&mut self, name: &str, bytes: u64, line: u64, packet: u64) {
        self.line(format!(
            "  {name} {}: {} full packets, {} at line rate",
            size(bytes),
            thousands(bytes / packet.max(1)),
            Ps(time(bytes, line))
        ));
    }

    fn hpcc(&mut self, nic: &Nic) {
        let own = &nic.hpcc;
        self.line(match own.rate_control {
            HpccRateControl::None => "  line rate, no window; go-back-N".to_owned(),
            law => {
                format!("  rate and window by the law {law:?} with a base RTT of {}", own.base_rtt)
            }
        });
        self.line(format!(
            "  an answer at every {} in order and to every packet from {} on",
            size(own.chunk.0),
            size(own.ack_interval.0)
        ));
    }

    fn fixed_window(&mut self, nic: &Nic, line: u64) {
        let own = &nic.fixed_window;
        let packet = own.mss.0.saturating_add(own.header.0);
        self.window("window", own.window.0, line, packet);
        self.line(format!("  retransmission timeout {}, constant", own.retransmit_timeout));
    }

    fn uet(&mut self, nic: &Nic, line: u64) {
        let (pds, nscc) = (&nic.pds_manager, &nic.congestion_control);
        let window = nic.uet_window(line);
        self.line(format!(
            "  BDP {} = {} x {} (InitialBaseRTT)",
            size(window.bdp),
            BitRate(line),
            nscc.initial_base_rtt
        ));
        let gate = if nscc.pass_through { ", not enforced (PassThrough)" } else { "" };
        let name = match nscc.override_uet_spec_max_cwind {
            true => format!("first and largest window (MaxCongestionWindow{gate})"),
            false => format!("first and largest window (1.5 x BDP{gate})"),
        };
        self.window(&name, window.largest, line, window.packet);
        self.line(match nscc.nscc_enable {
            true => format!("  target queueing delay {}", window.target),
            false => "  NSCCEnable is off: the window stays the largest one".to_owned(),
        });
        let (first, last) = nic.uet_timeouts();
        self.line(match first == last {
            true => format!("  retransmission timeout {first}, constant"),
            false => format!("  retransmission timeout {first}, doubled up to {last}"),
        });
        self.line(format!(
            "  one transmission in {} asks for an acknowledgement",
            thousands(pds.ack_request_every_nth_packet)
        ));
    }

    fn roce(&mut self, nic: &Nic, line: u64) {
        let roce = &nic.roce;
        self.line("  no window: the transmit pool and the allowed rate limit what is outstanding");
        match roce.rate_control {
            RateControl::Scala => {
                let own = nic.roce_loop(line);
                self.line(format!(
                    "  rate control: a half every {}, steps of {}, never below {}; under lasting \
                     congestion one increase in {}",
                    own.half,
                    BitRate(own.step),
                    BitRate(own.least),
                    own.increase
                ));
            }
            RateControl::Dcqcn => self.line(format!(
                "  rate control: DCQCN, steps of {} every {} or {}, never below {}; a notification \
                 every {} at most",
                roce.dcqcn.rate_ai,
                roce.dcqcn.rate_timer,
                roce.dcqcn.byte_counter,
                roce.dcqcn.min_rate,
                roce.effective_cnp_interval()
            )),
            RateControl::None => self.line("  rate control: none, always at line rate"),
        }
        if !roce.enable_ecn {
            self.line("  EnableECN is off: data is never marked, nothing slows a sender");
        }
        self.line(format!("  retransmission timeout {}, constant", roce.retransmit_timeout));
        self.line(match roce.ack_coalescing_enabled {
            true => format!(
                "  an acknowledgement every {} packets, or after {}",
                thousands(roce.ack_threshold.saturating_add(1)),
                roce.ack_delay
            ),
            false => "  every packet is acknowledged".to_owned(),
        });
    }
}

/// Time that bytes take on a line, rounded down to a picosecond. Saturates.
fn time(bytes: u64, line: u64) -> u64 {
    let time = u128::from(bytes) * 8 * 1_000_000_000_000 / u128::from(line.max(1));
    u64::try_from(time).unwrap_or(u64::MAX)
}
