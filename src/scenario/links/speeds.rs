//! Rate and delay of a link: what the topology says, else what the devices at its ends say.

use super::{DEFAULT_DELAY, DEFAULT_RATE, LinksError, MAX_DELAY, MAX_RATE, MIN_RATE, Tier, refuse};
use crate::scenario::Scenario;
use crate::units::{BitRate, Ps};
use std::borrow::Cow;

/// What a topology says of a link, under which keys.
#[derive(Debug, Clone)]
pub(super) struct Said {
    /// Path of the rate's key.
    pub rate_key: Cow<'static, str>,
    /// Rate of both ends.
    pub rate: Option<BitRate>,
    /// Path of the delay's key.
    pub delay_key: Cow<'static, str>,
    /// One-way delay.
    pub delay: Option<Ps>,
}

impl Said {
    /// What keys of fixed paths say.
    pub fn new(
        rate_key: &'static str,
        rate: Option<BitRate>,
        delay_key: &'static str,
        delay: Option<Ps>,
    ) -> Said {
        Said { rate_key: rate_key.into(), rate, delay_key: delay_key.into(), delay }
    }
}

/// Path and value of a device's own attribute.
type Own<T> = (String, Option<T>);

/// Rate (bit/s) and delay (ps) of a link between a lower end (`None`: a host) and a switch.
///
/// The topology's word holds, and no device may contradict it; without it the lower rate of the
/// two ends and the delay of the lower end.
pub(super) fn speeds(
    scenario: &Scenario,
    said: &Said,
    lower: Option<Tier>,
    upper: Tier,
) -> Result<(u64, u64), LinksError> {
    const UP: &str = "NetworkInterface.UplinkNetworkInterface.DataRate";
    const DOWN: &str = "NetworkInterface.DownlinkNetworkInterface.DataRate";
    const MEDIUM: &str = "NetworkInterface.TransmissionMedium.Delay";
    let own = |tier: Tier| scenario.switch.interface_of(tier.settings());
    let path = |tier: Tier, key: &str| scenario.switch.path(tier.settings(), key);
    let (low_rate, low_delay): (Own<BitRate>, Own<Ps>) = match lower {
        None => (
            ("nic.NetworkInterface.DataRate".into(), scenario.nic.interface.data_rate),
            ("nic.TransmissionMedium.Delay".into(), scenario.nic.medium.delay),
        ),
        Some(tier) => (
            (path(tier, UP), own(tier).uplink.data_rate),
            (path(tier, MEDIUM), own(tier).medium.delay),
        ),
    };
    let high_rate = (path(upper, DOWN), own(upper).downlink.data_rate);
    Ok((rate(said, [low_rate, high_rate])?, delay(said, low_delay)?))
}

fn rate(said: &Said, ends: [Own<BitRate>; 2]) -> Result<u64, LinksError> {
    let in_range = |attribute: &str, rate: BitRate| {
        if (MIN_RATE..=MAX_RATE).contains(&rate.0) {
            return Ok(());
        }
        refuse(attribute.to_owned(), rate, "a link's rate must be 1kbps to 100Tbps")
    };
    if let Some(rate) = said.rate {
        in_range(&said.rate_key, rate)?;
    }
    let mut lowest = None;
    for (attribute, own) in ends {
        let Some(own) = own else {
            lowest = Some(lowest.unwrap_or(DEFAULT_RATE).min(DEFAULT_RATE));
            continue;
        };
        in_range(&attribute, own)?;
        if let Some(word) = said.rate.filter(|&word| word != own) {
            let key = &said.rate_key;
            let rule =
                format!("disagrees with {key} = {word}; remove one of them or make them equal");
            return refuse(attribute, own, rule);
        }
        lowest = Some(lowest.map_or(own.0, |rate: u64| rate.min(own.0)));
    }
    Ok(said.rate.map_or(lowest.unwrap_or(DEFAULT_RATE), |rate| rate.0))
}

fn delay(said: &Said, (attribute, own): Own<Ps>) -> Result<u64, LinksError> {
    for (key, delay) in [(&*said.delay_key, said.delay), (&attribute, own)] {
        if let Some(delay) = delay.filter(|d| d.0 > MAX_DELAY) {
            return refuse(key.to_owned(), delay, "a link's one-way delay must be 0s to 1s");
        }
    }
    match (said.delay, own) {
        (Some(word), Some(own)) if word != own => {
            let key = &said.delay_key;
            let rule =
                format!("disagrees with {key} = {word}; remove one of them or make them equal");
            refuse(attribute, own, rule)
        }
        _ => Ok(said.delay.or(own).map_or(DEFAULT_DELAY, |d| d.0)),
    }
}
