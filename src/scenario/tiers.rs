//! Settings of switches that differ from tier to tier.
//!
//! Owns what a tier may override and how that is laid over the settings of every switch. What
//! decides the class of a packet and what the whole job has once (the model, the UET policy, the
//! interval of reports) cannot differ.

use super::switch::{
    EcmpHashMethod, EcnHandler, Flowlet, LoadBalancingMethod, NetworkInterface, PacketTrimmer,
    SharedBufferManager, Switch,
};
use super::topology::TierName;
use crate::units::{Bytes, Ps};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// A block of attributes of which each may be absent, meaning: as every switch.
macro_rules! overrides {
    ($(#[$meta:meta])* $name:ident of $whole:ident {
        $($field:ident $key:literal: $type:ty),* $(,)?
    }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
        #[serde(default, deny_unknown_fields)]
        #[expect(missing_docs, reason = "each attribute is documented in `scenario::attributes`")]
        pub struct $name {
            $(#[serde(rename = $key, skip_serializing_if = "Option::is_none")]
            pub $field: Option<$type>,)*
        }

        impl $name {
            fn is_empty(&self) -> bool {
                *self == $name::default()
            }

            fn lay_over(&self, whole: &mut $whole) {
                $(if let Some(own) = self.$field {
                    whole.$field = own;
                })*
            }
        }
    };
}

overrides! {
    /// The shared buffer of a tier.
    TierBuffer of SharedBufferManager {
        total_shared_buffer_size "TotalSharedBufferSize": Bytes,
        pool_allocation_map "PoolAllocationMap": [f64; 8],
        traffic_class_pool_mapping "TrafficClassPoolMapping": [i64; 8],
        enable_pfc "EnablePFC": [i64; 8],
        head_room_per_port_limit "HeadRoomPerPortLimit": Bytes,
        static_pool_xoff_threshold "StaticPoolXoffThreshold": Bytes,
        static_pool_xon_threshold "StaticPoolXonThreshold": Bytes,
        lossy_alpha "LossyAlpha": f64,
        queue_drop_threshold_enable "QueueDropThresholdEnable": bool,
        queue_drop_threshold "QueueDropThreshold": u64,
        plane_bdp "PlaneBDP": Bytes,
    }
}

overrides! {
    /// ECN marking of a tier.
    TierEcn of EcnHandler {
        enable_ecn "EnableEcn": bool,
        ewma_weight "EwmaWeight": f64,
        min_threshold "MinThreshold": f64,
        max_threshold "MaxThreshold": f64,
        max_mark_probability "MaxMarkProbability": f64,
    }
}

overrides! {
    /// Packet trimming of a tier.
    TierTrimmer of PacketTrimmer {
        trimming_enabled "TrimmingEnabled": bool,
    }
}

overrides! {
    /// Flowlets of a tier.
    TierFlowlet of Flowlet {
        gap "Gap": Ps,
        pfc_aware "PFCAware": bool,
    }
}

/// What differs at the switches of one tier.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[expect(missing_docs, reason = "each attribute is documented in `scenario::attributes`")]
pub struct TierSwitch {
    #[serde(rename = "EcmpHashMethod", skip_serializing_if = "Option::is_none")]
    pub ecmp_hash_method: Option<EcmpHashMethod>,
    #[serde(rename = "LoadBalancingMethod", skip_serializing_if = "Option::is_none")]
    pub load_balancing_method: Option<LoadBalancingMethod>,
    #[serde(rename = "PfcResponseTime", skip_serializing_if = "Option::is_none")]
    pub pfc_response_time: Option<Ps>,
    #[serde(rename = "NetworkInterface", skip_serializing_if = "nothing")]
    pub network_interface: NetworkInterface,
    #[serde(rename = "SharedBufferManager", skip_serializing_if = "TierBuffer::is_empty")]
    pub shared_buffer_manager: TierBuffer,
    #[serde(rename = "EcnHandler", skip_serializing_if = "TierEcn::is_empty")]
    pub ecn_handler: TierEcn,
    #[serde(rename = "PacketTrimmer", skip_serializing_if = "TierTrimmer::is_empty")]
    pub packet_trimmer: TierTrimmer,
    #[serde(rename = "LoadBalancingFlowlet", skip_serializing_if = "TierFlowlet::is_empty")]
    pub load_balancing_flowlet: TierFlowlet,
}

fn nothing(own: &NetworkInterface) -> bool {
    *own == NetworkInterface::default()
}

impl Switch {
    /// The settings of the switches of a tier (`tiers` of the result is empty where one differs).
    pub fn of_tier(&self, tier: TierName) -> Cow<'_, Switch> {
        let Some(own) = self.tiers.get(&tier) else { return Cow::Borrowed(self) };
        let mut switch = Switch { tiers: BTreeMap::new(), ..self.clone() };
        if let Some(v) = own.ecmp_hash_method {
            switch.ecmp_hash_method = v;
        }
        if let Some(v) = own.load_balancing_method {
            switch.load_balancing_method = v;
        }
        if let Some(v) = own.pfc_response_time {
            switch.pfc_response_time = v;
        }
        switch.network_interface = self.interface_of(tier);
        own.shared_buffer_manager.lay_over(&mut switch.shared_buffer_manager);
        own.ecn_handler.lay_over(&mut switch.ecn_handler);
        own.packet_trimmer.lay_over(&mut switch.packet_trimmer);
        own.load_balancing_flowlet.lay_over(&mut switch.load_balancing_flowlet);
        Cow::Owned(switch)
    }

    /// The interfaces of the switches of a tier.
    pub fn interface_of(&self, tier: TierName) -> NetworkInterface {
        let mut all = self.network_interface;
        if let Some(own) = self.tiers.get(&tier).map(|own| own.network_interface) {
            all.uplink.data_rate = own.uplink.data_rate.or(all.uplink.data_rate);
            all.downlink.data_rate = own.downlink.data_rate.or(all.downlink.data_rate);
            all.medium.delay = own.medium.delay.or(all.medium.delay);
        }
        all
    }

    /// Path of an attribute of a tier (`SharedBufferManager.LossyAlpha`): where the tier says it,
    /// else where every switch does.
    pub fn path(&self, tier: TierName, attribute: &str) -> String {
        let plain = attribute.split('[').next().unwrap_or(attribute);
        let said = self.tiers.get(&tier).is_some_and(|own| {
            let json = serde_json::to_value(own).unwrap_or_default();
            let pointer = format!("/{}", plain.replace('.', "/"));
            json.pointer(&pointer).is_some_and(|value| !value.is_null())
        });
        match said {
            true => format!("switch.tiers.{}.{attribute}", tier.name()),
            false => format!("switch.{attribute}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_tier_overrides_what_it_says_and_nothing_else() {
        let switch: Switch = serde_json::from_value(json!({
            "LoadBalancingMethod": "flowlet",
            "SharedBufferManager": {"LossyAlpha": 2.0, "PlaneBDP": 5},
            "tiers": {"spine": {
                "SharedBufferManager": {"LossyAlpha": 0.5},
                "NetworkInterface": {"DownlinkNetworkInterface": {"DataRate": 7_000}},
                "LoadBalancingMethod": "none",
            }},
        }))
        .unwrap();
        let leaf = switch.of_tier(TierName::Leaf);
        assert!(matches!(leaf, Cow::Borrowed(_)));
        let spine = switch.of_tier(TierName::Spine);
        assert_eq!(spine.shared_buffer_manager.lossy_alpha, 0.5);
        assert_eq!(spine.shared_buffer_manager.plane_bdp, Bytes(5));
        assert_eq!(spine.load_balancing_method, LoadBalancingMethod::None);
        assert_eq!(spine.network_interface.downlink.data_rate.map(|r| r.0), Some(7_000));
        assert_eq!(spine.network_interface.uplink.data_rate, None);
        assert_eq!(
            switch.path(TierName::Spine, "SharedBufferManager.LossyAlpha"),
            "switch.tiers.spine.SharedBufferManager.LossyAlpha"
        );
        assert_eq!(
            switch.path(TierName::Spine, "SharedBufferManager.PlaneBDP"),
            "switch.SharedBufferManager.PlaneBDP"
        );
    }

    #[test]
    fn without_tiers_nothing_is_written() {
        let json = serde_json::to_value(Switch::default()).unwrap();
        assert!(json.get("tiers").is_none());
        let one = json!({"tiers": {"leaf": {"EcnHandler": {"EnableEcn": false}}}});
        let switch: Switch = serde_json::from_value(one.clone()).unwrap();
        assert_eq!(serde_json::to_value(&switch).unwrap()["tiers"], one["tiers"]);
        let policy =
            json!({"tiers": {"leaf": {"SharedBufferManager": {"UETPolicyEnabled": true}}}});
        assert!(serde_json::from_value::<Switch>(policy).is_err());
    }
}
