//! The configuration: one `KEY value…` a line.
//!
//! Owns what every key becomes. What that code reads and this program does not simulate is refused
//! unless it is switched off.

use super::Source;
use super::flows::nanoseconds;
use super::words::{ImportError, Word, words_of};
use crate::units::Bytes;
use std::collections::BTreeMap;

/// Buffer of a switch without `BUFFER_SIZE`, MiB.
const USUAL_BUFFER: u64 = 16;
/// Largest buffer, MiB: byte counts have 32 bits there.
const MAX_BUFFER: u64 = 4_095;

/// What becomes of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rule {
    /// It is read, and has to be there.
    Needed,
    /// It is read where it is there.
    Read,
    /// Nothing follows from it.
    Idle(&'static str),
    /// Every value but 0 is refused.
    Off(&'static str),
}

const NO_CONTROL: &str = "it belongs to congestion control, which CC_MODE 0 switches off";
const NO_WINDOW: &str = "it belongs to the window, which HAS_WIN 0 switches off";
const NO_TELEMETRY: &str = "it belongs to in-band telemetry, which CC_MODE 0 does not use";
const EXPORTED: &str = "results are tables; `poolsweep export` writes this file from them";
const SAMPLED: &str = "record the table port_buffers for occupancies";

/// Every key that code reads.
const KEYS: &[(&str, Rule)] = &[
    ("ACK_HIGH_PRIO", Rule::Read),
    ("ALPHA_RESUME_INTERVAL", Rule::Idle(NO_CONTROL)),
    ("BUFFER_SIZE", Rule::Read),
    ("CC_MODE", Rule::Needed),
    ("CLAMP_TARGET_RATE", Rule::Idle(NO_CONTROL)),
    ("DATA_RATE", Rule::Idle("the topology file gives every link's rate")),
    ("DCTCP_RATE_AI", Rule::Idle(NO_CONTROL)),
    ("ENABLE_QCN", Rule::Needed),
    ("ENABLE_TRACE", Rule::Idle("there is no trace of packets")),
    ("ERROR_RATE_PER_LINK", Rule::Off("links do not lose packets here")),
    ("EWMA_GAIN", Rule::Idle(NO_CONTROL)),
    ("FAST_REACT", Rule::Idle(NO_CONTROL)),
    ("FAST_RECOVERY_TIMES", Rule::Idle(NO_CONTROL)),
    ("FCT_OUTPUT_FILE", Rule::Idle(EXPORTED)),
    ("FLOW_FILE", Rule::Needed),
    ("GLOBAL_T", Rule::Idle(NO_WINDOW)),
    ("HAS_WIN", Rule::Needed),
    ("INT_MULTI", Rule::Idle(NO_TELEMETRY)),
    ("KMAX_MAP", Rule::Read),
    ("KMIN_MAP", Rule::Read),
    ("L2_ACK_INTERVAL", Rule::Needed),
    ("L2_BACK_TO_ZERO", Rule::Off("a lost packet makes senders go back to it, not to the start")),
    ("L2_CHUNK_SIZE", Rule::Needed),
    ("LINK_DELAY", Rule::Idle("the topology file gives every link's delay")),
    ("LINK_DOWN", Rule::Off("links do not go down here")),
    ("MIN_RATE", Rule::Idle(NO_CONTROL)),
    ("MI_THRESH", Rule::Idle(NO_CONTROL)),
    ("MULTI_RATE", Rule::Idle(NO_CONTROL)),
    ("PACKET_PAYLOAD_SIZE", Rule::Needed),
    ("PAUSE_TIME", Rule::Idle("pauses do not run out there: a resume ends them")),
    ("PFC_OUTPUT_FILE", Rule::Idle(EXPORTED)),
    ("PINT_LOG_BASE", Rule::Idle(NO_TELEMETRY)),
    ("PINT_PROB", Rule::Idle(NO_TELEMETRY)),
    ("PMAX_MAP", Rule::Read),
    ("QLEN_MON_END", Rule::Idle(SAMPLED)),
    ("QLEN_MON_FILE", Rule::Idle(SAMPLED)),
    ("QLEN_MON_START", Rule::Idle(SAMPLED)),
    ("RATE_AI", Rule::Idle(NO_CONTROL)),
    ("RATE_BOUND", Rule::Idle(NO_CONTROL)),
    ("RATE_DECREASE_INTERVAL", Rule::Idle(NO_CONTROL)),
    ("RATE_HAI", Rule::Idle(NO_CONTROL)),
    ("RP_TIMER", Rule::Idle(NO_CONTROL)),
    ("SAMPLE_FEEDBACK", Rule::Idle(NO_TELEMETRY)),
    ("SIMULATOR_STOP_TIME", Rule::Needed),
    ("TOPOLOGY_FILE", Rule::Needed),
    ("TRACE_FILE", Rule::Idle("there is no trace of packets")),
    ("TRACE_OUTPUT_FILE", Rule::Idle("there is no trace of packets")),
    (
        "USE_DYNAMIC_PFC_THRESHOLD",
        Rule::Idle("thresholds of that code's switches are dynamic whatever it says"),
    ),
    ("U_TARGET", Rule::Idle(NO_CONTROL)),
    ("VAR_WIN", Rule::Idle(NO_WINDOW)),
];

/// Names of the values of `CC_MODE`.
const CONTROLS: [(u64, &str); 5] =
    [(1, "DCQCN"), (3, "HPCC"), (7, "TIMELY"), (8, "DCTCP"), (10, "HPCC-PINT")];

/// The files a configuration names, as it names them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Files {
    /// `TOPOLOGY_FILE`.
    pub topology: String,
    /// `FLOW_FILE`.
    pub flows: String,
}

/// A configuration, read and found to be something that can be simulated.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// Its own name, as messages give it.
    pub file: String,
    /// The files it names.
    pub files: Files,
    pub(super) payload: u64,
    pub(super) chunk: u64,
    pub(super) ack_interval: u64,
    pub(super) ack_high_prio: bool,
    pub(super) marking: bool,
    /// `KMIN_MAP`, `KMAX_MAP`, `PMAX_MAP`: rate in bit/s and value, as written.
    pub(super) maps: [Option<Vec<(u64, String)>>; 3],
    pub(super) buffer: Bytes,
    /// ns.
    pub(super) stop: u64,
    /// Keys without effect, and why.
    pub(super) notes: Vec<String>,
}

/// A key's line: the key, then its values.
struct Line<'a> {
    key: Word<'a>,
    values: Vec<Word<'a>>,
}

impl<'a> Line<'a> {
    /// Its only value.
    fn value(&self) -> Result<Word<'a>, ImportError> {
        match self.values[..] {
            [value] => Ok(value),
            [] => Err(self.key.error(format!("{} has no value; give one", self.key.text))),
            [_, second, ..] => {
                Err(second.error(format!("{} has one value; remove this", self.key.text)))
            }
        }
    }

    fn number(&self) -> Result<u64, ImportError> {
        self.value()?.number("a whole number, 0 or more")
    }

    /// 0 or 1.
    fn flag(&self) -> Result<bool, ImportError> {
        match self.value()?.text {
            "0" => Ok(false),
            "1" => Ok(true),
            other => Err(self.value()?.error(format!("{other:?} must be 0 or 1"))),
        }
    }

    /// Pairs of rate and value, after their number.
    fn map(&self, most: f64) -> Result<Vec<(u64, String)>, ImportError> {
        let (Some(first), pairs) = (self.values.first(), self.values.get(1..).unwrap_or(&[]))
        else {
            return Err(self.key.error(format!("{} has no value; give one", self.key.text)));
        };
        let count: usize = first.number("the number of pairs that follow")?;
        if pairs.len() != count.saturating_mul(2) {
            return Err(first.error(format!(
                "{count} pairs of a rate and a value must follow; here are {} numbers",
                pairs.len()
            )));
        }
        let pair = |pair: &[Word<'a>]| {
            let rate = pair[0].number("a rate in bit/s")?;
            if pair[1].real("a number, 0 or more")? > most {
                return Err(pair[1].error(format!("{} must be 0 to {most}", pair[1].text)));
            }
            Ok((rate, pair[1].text.to_owned()))
        };
        pairs.chunks_exact(2).map(pair).collect()
    }
}

impl Config {
    /// Reads a configuration.
    ///
    /// # Errors
    /// A key that is unknown, missing, given twice, malformed, or asks for what is not simulated.
    pub fn read(source: Source<'_>) -> Result<Config, ImportError> {
        let lines = lines(source)?;
        let get = |key: &str| lines.get(key);
        // Those that are needed are there: `lines` has seen to it.
        let need = |key: &str| {
            let end = Word { file: source.name, text: "", line: 1, column: 1 };
            get(key).ok_or_else(|| end.error(format!("{key} is missing; add it")))
        };
        let congestion = need("CC_MODE")?;
        let mode = congestion.number()?;
        if mode != 0 {
            let name = CONTROLS.iter().find(|(known, _)| *known == mode);
            let name = name.map(|(_, name)| format!(" ({name})")).unwrap_or_default();
            return Err(congestion.value()?.error(format!(
                "CC_MODE {mode}{name} is not simulated; set CC_MODE 0 for line rate without \
                 congestion control"
            )));
        }
        let window = need("HAS_WIN")?;
        if window.flag()? {
            let rule = "hosts have no window here; set HAS_WIN 0";
            return Err(window.value()?.error(rule));
        }
        let marking = need("ENABLE_QCN")?.flag()?;
        let map = |key, most| {
            let Some(line) = get(key) else {
                return match marking {
                    true => need(key).map(|_| None),
                    false => Ok(None),
                };
            };
            line.map(most).map(Some)
        };
        let maps = [map("KMIN_MAP", f64::MAX)?, map("KMAX_MAP", f64::MAX)?, map("PMAX_MAP", 1.0)?];
        let buffer = match get("BUFFER_SIZE") {
            Some(line) => line.number()?,
            None => USUAL_BUFFER,
        };
        if let Some(line) = get("BUFFER_SIZE").filter(|_| !(1..=MAX_BUFFER).contains(&buffer)) {
            let rule = format!("{buffer} must be 1 to {MAX_BUFFER} (MiB)");
            return Err(line.value()?.error(rule));
        }
        let stop = need("SIMULATOR_STOP_TIME")?.value()?;
        let mut in_order: Vec<&Line<'_>> = lines.values().collect();
        in_order.sort_by_key(|line| line.key.line);
        let notes = in_order.into_iter().filter_map(note).collect();
        Ok(Config {
            file: source.name.to_owned(),
            files: Files {
                topology: need("TOPOLOGY_FILE")?.value()?.text.to_owned(),
                flows: need("FLOW_FILE")?.value()?.text.to_owned(),
            },
            payload: need("PACKET_PAYLOAD_SIZE")?.number()?,
            chunk: need("L2_CHUNK_SIZE")?.number()?,
            ack_interval: need("L2_ACK_INTERVAL")?.number()?,
            ack_high_prio: get("ACK_HIGH_PRIO").map_or(Ok(false), Line::flag)?,
            marking,
            maps,
            buffer: Bytes(buffer << 20),
            stop: nanoseconds(stop)?,
            notes,
        })
    }
}

/// The lines by key, each key known and once, nothing refused among them, none missing.
fn lines(source: Source<'_>) -> Result<BTreeMap<&str, Line<'_>>, ImportError> {
    let mut lines: BTreeMap<&str, Line<'_>> = BTreeMap::new();
    let mut last = 1;
    for (at, text) in source.text.lines().enumerate() {
        last = at + 1;
        let mut words = words_of(source.name, last, text).into_iter();
        let Some(key) = words.next() else { continue };
        let Some((_, rule)) = KEYS.iter().find(|(name, _)| *name == key.text) else {
            return Err(key.error(format!(
                "unknown key {:?}; the nearest known one is {}",
                key.text,
                nearest(key.text)
            )));
        };
        let line = Line { key, values: words.collect() };
        if let Rule::Off(why) = rule {
            for value in &line.values {
                if value.real("a number, 0 or more")? > 0.0 {
                    return Err(value.error(format!("{why}; set {} to 0", key.text)));
                }
            }
        }
        if let Some(before) = lines.insert(key.text, line) {
            let rule = format!("{} stands in line {} too; remove one", key.text, before.key.line);
            return Err(key.error(rule));
        }
    }
    let end = Word { file: source.name, text: "", line: last, column: 1 };
    for (key, rule) in KEYS {
        if *rule == Rule::Needed && !lines.contains_key(key) {
            return Err(end.error(format!("{key} is missing; add it")));
        }
    }
    Ok(lines)
}

/// What is said of a key without effect.
fn note(line: &Line<'_>) -> Option<String> {
    let key = line.key;
    let (_, rule) = KEYS.iter().find(|(name, _)| *name == key.text)?;
    match rule {
        Rule::Idle(why) => {
            Some(format!("{}:{}: {} has no effect: {why}", key.file, key.line, key.text))
        }
        _ => None,
    }
}

fn nearest(key: &str) -> &'static str {
    let key = key.to_uppercase();
    let distance = |known: &str| strsim::damerau_levenshtein(&key, known);
    KEYS.iter().map(|(known, _)| *known).min_by_key(|known| distance(known)).unwrap_or("")
}
