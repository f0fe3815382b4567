//! Settings of the hosts' NICs.
//!
//! Owns the data of the `nic` section as it is once read: what a file leaves out has the default
//! of the model it names. Refuses to judge values: `check` does.

mod effective;
mod file;
pub mod hpcc;
mod packets;
mod port;
pub mod roce;
pub mod uet;
pub mod window;

pub use file::NicBlock;
pub use hpcc::{HpccNic, HpccRateControl};
pub use packets::Packets;
pub use port::{Egress, Ingress, OwnHostLink, QueueScheduling};
pub use roce::Roce;
pub use uet::HostLink;
pub use window::FixedWindow;

use super::links::PAUSE_QUANTA;
use super::switch::{Interface, Medium};
use crate::units::{BitRate, Bytes, Ps};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Quanta that pauses ask for, by class, unless something else is said.
const QUANTA: [i64; 8] = [PAUSE_QUANTA as i64; 8];

/// Which sender and receiver a host runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NicModel {
    /// No transport, no loss recovery: an offered load.
    #[default]
    OpenLoop,
    /// A window and line rate, nothing else.
    FixedWindow,
    /// Ultra Ethernet transport.
    Uet,
    /// RoCE: queue pairs, go-back-N, rate control.
    Roce,
    /// That of HPCC's ns-3 code.
    Hpcc,
}

impl NicModel {
    /// Its name in a file.
    pub fn name(self) -> &'static str {
        match self {
            NicModel::OpenLoop => "open-loop",
            NicModel::FixedWindow => "fixed-window",
            NicModel::Uet => "uet",
            NicModel::Roce => "roce",
            NicModel::Hpcc => "hpcc",
        }
    }

    /// Whether its senders wait for what receivers answer.
    pub fn is_reactive(self) -> bool {
        self != NicModel::OpenLoop
    }

    /// Whether its packets wait in pools of the NIC's.
    pub fn has_pools(self) -> bool {
        !matches!(self, NicModel::OpenLoop | NicModel::Hpcc)
    }

    /// Whether its packets can say that they are unscheduled.
    pub fn labels_unscheduled(self) -> bool {
        matches!(self, NicModel::OpenLoop | NicModel::Hpcc)
    }

    /// Classes for which its NICs send pauses unless something else is said.
    fn pfc_enable_vector(self) -> [i64; 8] {
        match self {
            NicModel::Roce => [1, 1, 0, 0, 0, 0, 0, 0],
            _ => [0; 8],
        }
    }
}

/// A span of time for which a NIC keeps classes of its switch port paused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hold {
    /// The classes to hold, 0 to 7.
    pub classes: Vec<u64>,
    /// When the first pause frame is queued.
    #[serde(default)]
    pub from: Ps,
    /// When the resume is queued; none: never.
    #[serde(default)]
    pub until: Option<Ps>,
}

/// Settings of every NIC, and of single hosts where they differ.
///
/// It is read and written as `NicInFile`: defaults that depend on the model are filled in,
/// and blocks of attributes that the model does not read are left out while they say nothing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(from = "file::NicInFile", into = "file::NicInFile")]
#[expect(missing_docs, reason = "each attribute is documented in `scenario::attributes`")]
pub struct Nic {
    pub model: NicModel,
    pub pfc_response_time: Ps,
    pub ignore_pfc: bool,
    pub receive_rate: Option<BitRate>,
    pub receive_pool: Bytes,
    pub pfc_enable_vector: [i64; 8],
    pub pfc_static_xoff_threshold: [f64; 8],
    pub pfc_xon_resume_threshold: [f64; 8],
    pub quanta_value: [i64; 8],
    pub hold: Option<Hold>,
    /// Bytes of a flow whose packets are unscheduled; none: as the model has it.
    pub unscheduled: Option<Bytes>,
    pub interface: Interface,
    pub medium: Medium,
    pub ingress: Ingress,
    pub egress: Egress,
    pub host_link: HostLink,
    pub pds_manager: uet::PdsManager,
    pub congestion_control: uet::CongestionControl,
    pub roce: Roce,
    pub fixed_window: FixedWindow,
    pub hpcc: HpccNic,
    /// Host number to what differs there.
    pub hosts: BTreeMap<u32, HostNic>,
}

impl Default for Nic {
    fn default() -> Self {
        Nic::of_model(NicModel::default())
    }
}

/// What differs at one host; `None` means as every NIC.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[expect(missing_docs, reason = "as the fields of `Nic`")]
pub struct HostNic {
    #[serde(rename = "PfcResponseTime", skip_serializing_if = "Option::is_none")]
    pub pfc_response_time: Option<Ps>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ignore_pfc: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receive_rate: Option<BitRate>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receive_pool: Option<Bytes>,
    #[serde(rename = "PFCEnableVector", skip_serializing_if = "Option::is_none")]
    pub pfc_enable_vector: Option<[i64; 8]>,
    #[serde(rename = "PfcStaticXoffThreshold", skip_serializing_if = "Option::is_none")]
    pub pfc_static_xoff_threshold: Option<[f64; 8]>,
    #[serde(rename = "PfcXonResumeThreshold", skip_serializing_if = "Option::is_none")]
    pub pfc_xon_resume_threshold: Option<[f64; 8]>,
    #[serde(rename = "QuantaValue", skip_serializing_if = "Option::is_none")]
    pub quanta_value: Option<[i64; 8]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hold: Option<Hold>,
    #[serde(rename = "HostLink", skip_serializing_if = "OwnHostLink::is_none")]
    pub host_link: OwnHostLink,
}

impl Nic {
    /// What every NIC of a model has unless something else is said.
    pub fn of_model(model: NicModel) -> Nic {
        Nic {
            model,
            pfc_response_time: Ps(0),
            ignore_pfc: false,
            receive_rate: None,
            receive_pool: Bytes(3_600_000),
            pfc_enable_vector: model.pfc_enable_vector(),
            pfc_static_xoff_threshold: [0.8; 8],
            pfc_xon_resume_threshold: [0.4; 8],
            quanta_value: QUANTA,
            hold: None,
            unscheduled: None,
            interface: Interface::default(),
            medium: Medium::default(),
            ingress: Ingress::default(),
            egress: Egress::of_model(model),
            host_link: HostLink::default(),
            pds_manager: uet::PdsManager::default(),
            congestion_control: uet::CongestionControl::default(),
            roce: Roce::default(),
            fixed_window: FixedWindow::default(),
            hpcc: HpccNic::default(),
            hosts: BTreeMap::new(),
        }
    }

    /// The settings of one host, overrides applied (`hosts` of the result is empty).
    pub fn of_host(&self, host: u32) -> Nic {
        let mut nic = Nic {
            hold: self.hold.clone(),
            pds_manager: self.pds_manager.clone(),
            congestion_control: self.congestion_control.clone(),
            hosts: BTreeMap::new(),
            ..*self
        };
        let Some(own) = self.hosts.get(&host) else { return nic };
        if let Some(v) = own.pfc_response_time {
            nic.pfc_response_time = v;
        }
        if let Some(v) = own.ignore_pfc {
            nic.ignore_pfc = v;
        }
        if own.receive_rate.is_some() {
            nic.receive_rate = own.receive_rate;
        }
        if let Some(v) = own.receive_pool {
            nic.receive_pool = v;
        }
        if let Some(v) = own.pfc_enable_vector {
            nic.pfc_enable_vector = v;
        }
        if let Some(v) = own.pfc_static_xoff_threshold {
            nic.pfc_static_xoff_threshold = v;
        }
        if let Some(v) = own.pfc_xon_resume_threshold {
            nic.pfc_xon_resume_threshold = v;
        }
        if let Some(v) = own.quanta_value {
            nic.quanta_value = v;
        }
        if own.hold.is_some() {
            nic.hold = own.hold.clone();
        }
        if let Some(v) = own.host_link.lane_bps {
            nic.host_link.lane_bps = v;
        }
        if let Some(v) = own.host_link.lane_count {
            nic.host_link.lane_count = v;
        }
        nic
    }
}
