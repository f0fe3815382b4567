//! The `nic` section as files and results have it.
//!
//! Owns defaults that depend on the model, and what is written: a block that the model reads
//! always, in full; any other only if it says something (so too the quanta of pauses, which NICs
//! with pools write always). So the text of a scenario, and with it the
//! identity of its jobs, does not change when a model it does not use gets a new attribute, and a
//! reactive scenario still shows every value it ran with.

use super::port::EgressInFile;
use super::uet::{CongestionControl, PdsManager};
use super::{
    Egress, FixedWindow, Hold, HostLink, HostNic, HpccNic, Ingress, Nic, NicModel, QUANTA, Roce,
};
use crate::scenario::switch::{Interface, Medium};
use crate::units::{BitRate, Bytes, Ps};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A block of attributes below `nic` that only some models read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NicBlock {
    /// Receive pools.
    Ingress,
    /// Transmit pools and queues.
    Egress,
    /// Link to the host.
    HostLink,
    /// UET: packet delivery.
    PdsManager,
    /// UET: the window.
    CongestionControl,
    /// RoCE.
    Roce,
    /// Fixed window.
    FixedWindow,
    /// HPCC's ns-3 code.
    Hpcc,
}

impl NicBlock {
    /// Every block.
    pub const ALL: [NicBlock; 8] = [
        NicBlock::Ingress,
        NicBlock::Egress,
        NicBlock::HostLink,
        NicBlock::PdsManager,
        NicBlock::CongestionControl,
        NicBlock::Roce,
        NicBlock::FixedWindow,
        NicBlock::Hpcc,
    ];

    /// Its key below `nic`.
    pub fn key(self) -> &'static str {
        match self {
            NicBlock::Ingress => "Ingress",
            NicBlock::Egress => "Egress",
            NicBlock::HostLink => "HostLink",
            NicBlock::PdsManager => "ScalaUETPdsManager",
            NicBlock::CongestionControl => "ScalaUETCongestionControl",
            NicBlock::Roce => "ScalaRoceTransport",
            NicBlock::FixedWindow => "fixed_window",
            NicBlock::Hpcc => "HPCC",
        }
    }

    /// The block of a key below `nic`.
    pub fn of_key(key: &str) -> Option<NicBlock> {
        NicBlock::ALL.into_iter().find(|block| block.key() == key)
    }

    /// Whether a model reads it.
    pub fn is_read_by(self, model: NicModel) -> bool {
        match self {
            NicBlock::Ingress | NicBlock::Egress | NicBlock::HostLink => model.has_pools(),
            NicBlock::PdsManager | NicBlock::CongestionControl => model == NicModel::Uet,
            NicBlock::Roce => model == NicModel::Roce,
            NicBlock::FixedWindow => model == NicModel::FixedWindow,
            NicBlock::Hpcc => model == NicModel::Hpcc,
        }
    }

    /// Whether nothing but the model's defaults stands in it.
    fn is_usual(self, nic: &Nic) -> bool {
        match self {
            NicBlock::Ingress => nic.ingress == Ingress::default(),
            NicBlock::Egress => nic.egress == Egress::of_model(nic.model),
            NicBlock::HostLink => nic.host_link == HostLink::default(),
            NicBlock::PdsManager => nic.pds_manager == PdsManager::default(),
            NicBlock::CongestionControl => nic.congestion_control == CongestionControl::default(),
            NicBlock::Roce => nic.roce == Roce::default(),
            NicBlock::FixedWindow => nic.fixed_window == FixedWindow::default(),
            NicBlock::Hpcc => nic.hpcc == HpccNic::default(),
        }
    }
}

impl Nic {
    /// The blocks that the model does not read although something stands in them.
    pub fn idle_blocks(&self) -> impl Iterator<Item = NicBlock> {
        NicBlock::ALL
            .into_iter()
            .filter(|block| !block.is_read_by(self.model) && !block.is_usual(self))
    }

    /// The section with every block, as values of JSON: what a key comes to, whoever reads it.
    ///
    /// # Errors
    /// None is known; serialization may fail by its type.
    pub fn in_full(&self) -> Result<serde_json::Value, serde_json::Error> {
        serde_json::to_value(NicInFile::new(self, |_| true))
    }
}

/// [`Nic`] as it is read and written.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct NicInFile {
    model: NicModel,
    #[serde(rename = "PfcResponseTime")]
    pfc_response_time: Option<Ps>,
    ignore_pfc: Option<bool>,
    receive_rate: Option<BitRate>,
    receive_pool: Option<Bytes>,
    #[serde(rename = "PFCEnableVector")]
    pfc_enable_vector: Option<[i64; 8]>,
    #[serde(rename = "PfcStaticXoffThreshold")]
    pfc_static_xoff_threshold: Option<[f64; 8]>,
    #[serde(rename = "PfcXonResumeThreshold")]
    pfc_xon_resume_threshold: Option<[f64; 8]>,
    #[serde(rename = "QuantaValue", skip_serializing_if = "Option::is_none")]
    quanta_value: Option<[i64; 8]>,
    hold: Option<Hold>,
    #[serde(skip_serializing_if = "Option::is_none")]
    unscheduled: Option<Bytes>,
    #[serde(rename = "NetworkInterface")]
    interface: Interface,
    #[serde(rename = "TransmissionMedium")]
    medium: Medium,
    #[serde(rename = "Ingress", skip_serializing_if = "Option::is_none")]
    ingress: Option<Ingress>,
    #[serde(rename = "Egress", skip_serializing_if = "Option::is_none")]
    egress: Option<EgressInFile>,
    #[serde(rename = "HostLink", skip_serializing_if = "Option::is_none")]
    host_link: Option<HostLink>,
    #[serde(rename = "ScalaUETPdsManager", skip_serializing_if = "Option::is_none")]
    pds_manager: Option<PdsManager>,
    #[serde(rename = "ScalaUETCongestionControl", skip_serializing_if = "Option::is_none")]
    congestion_control: Option<CongestionControl>,
    #[serde(rename = "ScalaRoceTransport", skip_serializing_if = "Option::is_none")]
    roce: Option<Roce>,
    #[serde(skip_serializing_if = "Option::is_none")]
    fixed_window: Option<FixedWindow>,
    #[serde(rename = "HPCC", skip_serializing_if = "Option::is_none")]
    hpcc: Option<HpccNic>,
    hosts: BTreeMap<u32, HostNic>,
}

impl NicInFile {
    /// With the blocks that `keep` asks for.
    fn new(nic: &Nic, keep: impl Fn(NicBlock) -> bool) -> NicInFile {
        NicInFile {
            model: nic.model,
            pfc_response_time: Some(nic.pfc_response_time),
            ignore_pfc: Some(nic.ignore_pfc),
            receive_rate: nic.receive_rate,
            receive_pool: Some(nic.receive_pool),
            pfc_enable_vector: Some(nic.pfc_enable_vector),
            pfc_static_xoff_threshold: Some(nic.pfc_static_xoff_threshold),
            pfc_xon_resume_threshold: Some(nic.pfc_xon_resume_threshold),
            quanta_value: (keep(NicBlock::Ingress) || nic.quanta_value != QUANTA)
                .then_some(nic.quanta_value),
            hold: nic.hold.clone(),
            unscheduled: nic.unscheduled,
            interface: nic.interface,
            medium: nic.medium,
            ingress: keep(NicBlock::Ingress).then_some(nic.ingress),
            egress: keep(NicBlock::Egress).then(|| nic.egress.into()),
            host_link: keep(NicBlock::HostLink).then_some(nic.host_link),
            pds_manager: keep(NicBlock::PdsManager).then(|| nic.pds_manager.clone()),
            congestion_control: keep(NicBlock::CongestionControl)
                .then(|| nic.congestion_control.clone()),
            roce: keep(NicBlock::Roce).then_some(nic.roce),
            fixed_window: keep(NicBlock::FixedWindow).then_some(nic.fixed_window),
            hpcc: keep(NicBlock::Hpcc).then_some(nic.hpcc),
            hosts: nic.hosts.clone(),
        }
    }
}

impl From<Nic> for NicInFile {
    fn from(nic: Nic) -> Self {
        NicInFile::new(&nic, |block| block.is_read_by(nic.model) || !block.is_usual(&nic))
    }
}

impl From<NicInFile> for Nic {
    fn from(file: NicInFile) -> Self {
        let usual = Nic::of_model(file.model);
        Nic {
            model: file.model,
            pfc_response_time: file.pfc_response_time.unwrap_or(usual.pfc_response_time),
            ignore_pfc: file.ignore_pfc.unwrap_or(usual.ignore_pfc),
            receive_rate: file.receive_rate,
            receive_pool: file.receive_pool.unwrap_or(usual.receive_pool),
            pfc_enable_vector: file.pfc_enable_vector.unwrap_or(usual.pfc_enable_vector),
            pfc_static_xoff_threshold: file
                .pfc_static_xoff_threshold
                .unwrap_or(usual.pfc_static_xoff_threshold),
            pfc_xon_resume_threshold: file
                .pfc_xon_resume_threshold
                .unwrap_or(usual.pfc_xon_resume_threshold),
            quanta_value: file.quanta_value.unwrap_or(usual.quanta_value),
            hold: file.hold,
            unscheduled: file.unscheduled,
            interface: file.interface,
            medium: file.medium,
            ingress: file.ingress.unwrap_or(usual.ingress),
            egress: file.egress.unwrap_or_default().resolve(file.model),
            host_link: file.host_link.unwrap_or(usual.host_link),
            pds_manager: file.pds_manager.unwrap_or_default(),
            congestion_control: file.congestion_control.unwrap_or_default(),
            roce: file.roce.unwrap_or_default(),
            fixed_window: file.fixed_window.unwrap_or_default(),
            hpcc: file.hpcc.unwrap_or_default(),
            hosts: file.hosts,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn nic(json: Value) -> Nic {
        serde_json::from_value(json).unwrap()
    }

    fn keys(nic: &Nic) -> Vec<String> {
        let json = serde_json::to_value(nic).unwrap();
        let known = |key: &&String| NicBlock::of_key(key).is_some();
        json.as_object().unwrap().keys().filter(known).cloned().collect()
    }

    #[test]
    fn a_model_fills_in_its_defaults() {
        assert_eq!(nic(json!({})), Nic::default());
        assert_eq!(nic(json!({"model": "roce"})).pfc_enable_vector[..3], [1, 1, 0]);
        assert_eq!(nic(json!({"model": "uet"})).pfc_enable_vector, [0; 8]);
        let own = nic(json!({"model": "roce", "PFCEnableVector": [0, 0, 0, 0, 0, 0, 0, 0],
            "Egress": {"TotalBufferSize": 1000}}));
        assert_eq!(own.pfc_enable_vector, [0; 8]);
        assert_eq!(own.egress.pools()[..2], [900, 100]);
        assert_eq!(own.egress.wrr_queue_weights[1], 3);
        assert_eq!(nic(json!({"model": "uet", "Egress": {}})).egress.wrr_queue_weights[1], 5);
        // Its pages say 84 B of a RoCE NIC, 64 B of the others.
        assert_eq!(own.egress.pfc_frame_size, Bytes(84));
        assert_eq!(nic(json!({"model": "uet"})).egress.pfc_frame_size, Bytes(64));
        assert_eq!(nic(json!({"model": "fixed-window"})).egress.pfc_frame_size, Bytes(64));
        let small = nic(json!({"model": "roce", "Egress": {"pfc_frame_size": 64}}));
        assert_eq!(small.egress.pfc_frame_size, Bytes(64));
    }

    #[test]
    fn what_a_model_reads_is_written_in_full_and_nothing_else() {
        assert_eq!(keys(&nic(json!({}))), Vec::<String>::new());
        assert_eq!(keys(&nic(json!({"model": "uet"})))[..3], ["Egress", "HostLink", "Ingress"]);
        let idle = nic(json!({"HostLink": {"LaneCount": 8}}));
        assert_eq!(keys(&idle), ["HostLink"]);
        assert_eq!(idle.idle_blocks().collect::<Vec<_>>(), [NicBlock::HostLink]);
        let usual = nic(json!({"HostLink": {"LaneCount": 16}}));
        assert_eq!((keys(&usual).len(), usual.idle_blocks().count()), (0, 0));
        // Who may pause shows for how long; who says nothing of it and has no pools does not.
        let quanta = |nic: &Nic| serde_json::to_value(nic).unwrap()["QuantaValue"][7].as_i64();
        assert_eq!(quanta(&nic(json!({}))), None);
        assert_eq!(quanta(&nic(json!({"QuantaValue": vec![9; 8]}))), Some(9));
        assert_eq!(quanta(&nic(json!({"model": "roce"}))), Some(65_535));
        let full = idle.in_full().unwrap();
        assert!(NicBlock::ALL.iter().all(|block| full[block.key()].is_object()));
    }

    #[test]
    fn what_is_written_reads_back() {
        for json in [
            json!({}),
            json!({"model": "uet", "HostLink": {"LaneCount": 9}}),
            json!({"model": "roce", "hosts": {"3": {"HostLink": {"LaneCount": 2}}}}),
            json!({"model": "fixed-window", "Ingress": {"TotalBufferSize": 7}}),
            json!({"QuantaValue": [1, 2, 3, 4, 5, 6, 7, 8], "hosts": {"1": {"QuantaValue": [9, 9, 9, 9, 9, 9, 9, 9]}}}),
            json!({"model": "roce", "Egress": {"pfc_frame_size": 65}}),
        ] {
            let nic = nic(json);
            let text = serde_json::to_string(&nic).unwrap();
            assert_eq!(serde_json::from_str::<Nic>(&text).unwrap(), nic, "{text}");
        }
    }

    #[test]
    fn unknown_keys_are_refused() {
        for json in [json!({"x": 1}), json!({"Egress": {"x": 1}}), json!({"HostLink": {"x": 1}})] {
            assert!(serde_json::from_value::<Nic>(json).is_err());
        }
    }

    #[test]
    fn one_host_s_quanta_differ() {
        let nic = nic(json!({"hosts": {"3": {"QuantaValue": vec![100; 8]}}}));
        assert_eq!(nic.of_host(3).quanta_value, [100; 8]);
        assert_eq!(nic.of_host(2).quanta_value, [65_535; 8]);
    }

    #[test]
    fn one_host_s_lanes_differ() {
        let nic = nic(json!({"model": "uet", "HostLink": {"LaneCount": 12},
            "hosts": {"3": {"HostLink": {"LaneCount": 4}}}}));
        assert_eq!(nic.of_host(3).host_link.lane_count, 4);
        assert_eq!(nic.of_host(3).host_link.lane_bps, HostLink::default().lane_bps);
        assert_eq!(nic.of_host(2).host_link.lane_count, 12);
    }
}
