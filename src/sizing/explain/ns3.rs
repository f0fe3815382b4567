//! Headroom of the models of ns-3 projects, where a drop asks for more.
//!
//! Owns what the guideline asks of a setting in multiples of rate × delay. The three sizing
//! conditions are those of `scala`; here one port's headroom is all there is to ask for.

use super::cause::{Advice, Because, DropSite, PortNeed, needs};
use crate::scenario::links::NetworkPlan;
use crate::scenario::offered::Offered;
use crate::scenario::{HpccBuffer, Scenario, SwitchModel};
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
    let (setting, from, in_bytes) = match (scenario.switch.model, site.reason) {
        (SwitchModel::Hpcc, DropReason::IngressAdmission) => {
            ("HPCC.HeadroomFactor", hpcc.headroom_factor, false)
        }
        (SwitchModel::Ns3Datacenter, DropReason::IngressHeadroom) => match own.xoff {
            Some(xoff) => ("Ns3Datacenter.Xoff", xoff.0 as f64, true),
            None => ("Ns3Datacenter.XoffFactor", own.xoff_factor, false),
        },
        _ => return None,
    };
    let mtu = offered.largest_packet();
    let ports = needs(scenario, &scenario.switch, plan, site.node, mtu);
    // Both models count headroom alike.
    let times = |factor: f64, port: &PortNeed| {
        HpccBuffer { headroom_factor: factor, ..*hpcc }.headroom(port.rate, port.delay)
    };
    let value = |port: &PortNeed| match in_bytes {
        true => port.need as f64,
        // Rounded up to a hundredth; a link without delay has no multiple of it.
        false => (port.need as f64 / times(1.0, port) as f64 * 100.0).ceil() / 100.0,
    };
    let asks = ports.iter().map(|port| (value(port), port)).filter(|(to, _)| to.is_finite());
    let (to, &PortNeed { rate, delay, response, need }) =
        asks.max_by(|a, b| a.0.total_cmp(&b.0))?;
    let all = ports.iter().map(|port| if in_bytes { to as u64 } else { times(to, port) });
    let all = all.fold(0, u64::saturating_add);
    let fits = match scenario.switch.model {
        SwitchModel::Hpcc => {
            let reserves = hpcc.reserve.0.saturating_mul(ports.len() as u64);
            all.saturating_add(reserves) < hpcc.buffer_size.0
        }
        _ => all < own.buffer_pool.0,
    };
    let unit = if in_bytes { "B" } else { "" };
    let because = Because::HeadroomOfQueue { rate, delay, mtu, response, need };
    (to > from).then(|| Advice { setting: setting.into(), from, to, unit, because, fits })
}
