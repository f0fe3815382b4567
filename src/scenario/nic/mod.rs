//! Settings of the hosts' NICs.

pub mod roce;
pub mod window;

use super::switch::{Interface, Medium};
use crate::units::{BitRate, Bytes, Ps};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Which sender and receiver a host runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NicModel {
    /// No transport, no loss recovery: an offered load.
    #[default]
    OpenLoop,
    /// A window and line rate. Not built yet: refused by the checks.
    FixedWindow,
    /// Ultra Ethernet transport. Not built yet: refused by the checks.
    Uet,
    /// RoCE. Not built yet: refused by the checks.
    Roce,
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
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[expect(missing_docs, reason = "each attribute is documented in `scenario::attributes`")]
pub struct Nic {
    pub model: NicModel,
    #[serde(rename = "PfcResponseTime")]
    pub pfc_response_time: Ps,
    pub ignore_pfc: bool,
    pub receive_rate: Option<BitRate>,
    pub receive_pool: Bytes,
    #[serde(rename = "PFCEnableVector")]
    pub pfc_enable_vector: [i64; 8],
    #[serde(rename = "PfcStaticXoffThreshold")]
    pub pfc_static_xoff_threshold: [f64; 8],
    #[serde(rename = "PfcXonResumeThreshold")]
    pub pfc_xon_resume_threshold: [f64; 8],
    pub hold: Option<Hold>,
    #[serde(rename = "NetworkInterface")]
    pub interface: Interface,
    #[serde(rename = "TransmissionMedium")]
    pub medium: Medium,
    /// Host number to what differs there.
    pub hosts: BTreeMap<u32, HostNic>,
}

impl Default for Nic {
    fn default() -> Self {
        Nic {
            model: NicModel::default(),
            pfc_response_time: Ps(0),
            ignore_pfc: false,
            receive_rate: None,
            receive_pool: Bytes(3_600_000),
            pfc_enable_vector: [0; 8],
            pfc_static_xoff_threshold: [0.8; 8],
            pfc_xon_resume_threshold: [0.4; 8],
            hold: None,
            interface: Interface::default(),
            medium: Medium::default(),
            hosts: BTreeMap::new(),
        }
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
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hold: Option<Hold>,
}

impl Nic {
    /// The settings of one host, overrides applied (`hosts` of the result is empty).
    pub fn of_host(&self, host: u32) -> Nic {
        let mut nic = Nic { hold: self.hold.clone(), hosts: BTreeMap::new(), ..*self };
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
        if own.hold.is_some() {
            nic.hold = own.hold.clone();
        }
        nic
    }
}
