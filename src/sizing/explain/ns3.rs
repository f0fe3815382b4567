//! Headroom of the models of ns-3 projects, where a drop asks for more.
//!
//! Owns what the guideline asks of a setting in multiples of rate × delay. The three sizing
//! conditions are those of `scala`; here one port's headroom is all there is to ask for.

use super::cause::{Advice, Because, DropSite};
use crate::scenario::links::NetworkPlan;
use crate::scenario::offered::Offered;
use crate::scenario::sizing::{guideline, response_bytes};
use crate::scenario::{Scenario, SwitchModel};
use crate::sim::observe::DropReason;

/// Lossless packets that found no headroom: the setting that gives every port what the guideline
/// asks for. `None`: another reason, or there is as much already.
pub(super) fn headroom(
    scenario: &Scenario,
    plan: &NetworkPlan,
    site: &DropSite,
    offered: &Offered,
) -> Option<Advice> {
    let (hpcc, own) = (&scenario.switch.hpcc, &scenario.switch.datacenter);
    let (setting, from) = match (scenario.switch.model, site.reason) {
        (SwitchModel::Hpcc, DropReason::IngressAdmission) => {
            ("HPCC.HeadroomFactor", hpcc.headroom_factor)
        }
        (SwitchModel::Ns3Datacenter, DropReason::IngressHeadroom) => match own.xoff {
            Some(xoff) => ("Ns3Datacenter.Xoff", xoff.0 as f64),
            None => ("Ns3Datacenter.XoffFactor", own.xoff_factor),
        },
        _ => return None,
    };
    let in_bytes = setting == "Ns3Datacenter.Xoff";
    let mtu = offered.largest_packet();
    let ports = &plan.switches.iter().find(|switch| switch.node == site.node)?.ports;
    let asks = ports.iter().map(|port| {
        let link = plan.links[port.link];
        let (rate, delay) = (link.rate, link.delay);
        let response = match port.peer.node < plan.hosts {
            true => scenario.nic.of_host(port.peer.node).pfc_response_time.0,
            false => scenario.switch.pfc_response_time.0,
        };
        let need = guideline(rate, delay, mtu).saturating_add(response_bytes(rate, response));
        // As the models do: whole bytes of rate × delay.
        let product = u128::from(rate) * u128::from(delay) / 8_000_000_000_000;
        let to = match in_bytes {
            true => need as f64,
            // Rounded up to a hundredth.
            false => (need as f64 / product as f64 * 100.0).ceil() / 100.0,
        };
        (to, Because::HeadroomOfQueue { rate, delay, mtu, response, need })
    });
    // A link without delay has no multiple of it.
    let asks = asks.filter(|(to, _)| to.is_finite());
    let (to, because) = asks.max_by(|a, b| a.0.total_cmp(&b.0))?;
    let all = |factor: f64| -> u128 {
        let of = |link: usize| {
            let link = plan.links[link];
            let product = u128::from(link.rate) * u128::from(link.delay) / 8_000_000_000_000;
            if in_bytes { factor as u128 } else { (factor * product as f64) as u128 }
        };
        ports.iter().map(|port| of(port.link)).sum()
    };
    let fits = match scenario.switch.model {
        SwitchModel::Hpcc => {
            let reserves = u128::from(hpcc.reserve.0) * ports.len() as u128;
            all(to) + reserves < u128::from(hpcc.buffer_size.0)
        }
        _ => all(to) < u128::from(own.buffer_pool.0),
    };
    let unit = if in_bytes { "B" } else { "" };
    (to > from).then(|| Advice { setting: setting.into(), from, to, unit, because, fits })
}
