//! Switches of the models without pools: what each queue of a port may hold.

use super::{Page, class_list, plural, size};
use crate::scenario::check::Started;
use crate::scenario::links::LinkKind;
use crate::scenario::{Scenario, SwitchModel};
use crate::units::{BitRate, Ps};

impl Page {
    /// The section of a kind of switch; `links` are those it has.
    pub(super) fn queues(
        &mut self,
        scenario: &Scenario,
        started: &Started,
        links: &[LinkKind],
        host_rate: u64,
    ) {
        let (kind, switch) = (&started.kind, &scenario.switch);
        self.title(format!(
            "{} of {}: {} down, {} up; {}",
            plural(kind.count, kind.tier.name()),
            plural(u64::from(kind.ports()), "port"),
            kind.down,
            kind.up,
            switch.model.name()
        ));
        self.line(format!("  lossless: {}", class_list(started.startup.lossless, "none")));
        match switch.model {
            SwitchModel::Ns3Datacenter => {
                let own = &switch.datacenter;
                self.line(format!(
                    "  buffer {}, ingress pool {}, egress pools {} lossless and {} lossy",
                    size(own.buffer_pool.0),
                    size(own.ingress_pool.0),
                    size(own.egress_pool_lossless.0),
                    size(own.egress_pool_lossy.0)
                ));
                self.line(format!("  reserve of a queue {}", size(own.ingress_reserve.0)));
                self.headrooms(scenario, links, |link| own.headroom(link.rate, link.delay));
            }
            SwitchModel::Hpcc | SwitchModel::Scala => {
                let own = &switch.hpcc;
                self.line(format!(
                    "  buffer {}, reserve of a queue {}",
                    size(own.buffer_size.0),
                    size(own.reserve.0)
                ));
                self.headrooms(scenario, links, |link| own.headroom(link.rate, link.delay));
                for link in links {
                    self.line(format!(
                        "  a queue of a port at {} may share 1/{} of what is free",
                        BitRate(link.rate),
                        1u64 << own.shift_at(link.rate, host_rate)
                    ));
                }
            }
        }
    }

    fn headrooms(
        &mut self,
        scenario: &Scenario,
        links: &[LinkKind],
        of: impl Fn(&LinkKind) -> u64,
    ) {
        for link in links {
            let (rate, delay) = (BitRate(link.rate), Ps(link.delay));
            self.line(format!("  headroom of a queue at {rate}, {delay}: {}", size(of(link))));
            // A map without this rate is among the refusals.
            if let Ok(marks) = scenario.switch.ecn_maps.marks(link.rate)
                && marks.kmin.is_finite()
            {
                self.line(format!(
                    "  marks at {rate}: above {} B up to {} with {} B, all beyond",
                    marks.kmin, marks.pmax, marks.kmax
                ));
            }
        }
    }
}
