//! The topology file: `nodes switches links`, the switches, then `a b rate delay error_rate`.

use super::Source;
use super::words::{ImportError, Word, Words, words_of};
use crate::scenario::links::{MAX_HOSTS, MAX_LINKS};
use crate::units::{BitRate, Ps};
use std::collections::BTreeSet;

/// ps in a ns.
const NS: u64 = 1_000;

/// Nodes and links of a topology file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Topology {
    /// How many nodes there are, numbered from 0.
    pub nodes: u32,
    /// Those that are switches.
    pub switches: BTreeSet<u32>,
    /// In the order of the file, which numbers the ports.
    pub links: Vec<Link>,
    /// A word that nothing reads.
    rest: Option<String>,
}

/// A link; both ends and directions are alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Link {
    pub a: u32,
    pub b: u32,
    pub rate: BitRate,
    pub delay: Ps,
}

impl Topology {
    /// Reads the file.
    pub fn read(source: Source<'_>) -> Result<Topology, ImportError> {
        refuse_other_header(source)?;
        let mut words = Words::new(source);
        let nodes = count(words.take("the number of nodes")?, "the number of nodes")?;
        let switch_count = count(words.take("the number of switches")?, "the number of switches")?;
        let link_count = count(words.take("the number of links")?, "the number of links")?;
        let mut switches = BTreeSet::new();
        for _ in 0..switch_count {
            let word = words.take("the number of a switch")?;
            let node = node(word, nodes)?;
            if !switches.insert(node) {
                return Err(word.error(format!("switch {node} is listed twice; remove one")));
            }
        }
        let mut links = Vec::new();
        let mut linked = BTreeSet::new();
        for _ in 0..link_count {
            let (place, link) = link(&mut words, nodes)?;
            for node in [link.a, link.b] {
                if !switches.contains(&node) && !linked.insert(node) {
                    let rule = format!("host {node} has a link already; hosts have one link here");
                    return Err(place.error(rule));
                }
            }
            links.push(link);
        }
        let rest = words.rest().map(|word| format!("{}:{}", word.file, word.line));
        Ok(Topology { nodes, switches, links, rest })
    }

    /// Number in a scenario of a host: hosts are numbered from 0 in the order of their nodes.
    pub fn host(&self, node: u32) -> Option<u32> {
        let is_host = node < self.nodes && !self.switches.contains(&node);
        is_host.then(|| node - self.switches.range(..node).count() as u32)
    }

    /// What is simulated otherwise than there.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if self.links.len() as u64 + 1 > u64::from(self.nodes) {
            notes.push(
                "several paths: where costs are equal, switch.EcmpHashMethod chooses by other \
                 hashes than that code's, so flows may take other paths"
                    .into(),
            );
        }
        if let Some(place) = &self.rest {
            notes.push(format!("{place}: what stands after the last link is not read"));
        }
        notes
    }
}

/// ns3-datacenter has one number more in the first line, which would shift all others.
fn refuse_other_header(source: Source<'_>) -> Result<(), ImportError> {
    let first = source.text.lines().next().unwrap_or("");
    match words_of(source.name, 1, first).get(3) {
        Some(fourth) => Err(fourth.error(
            "a fourth number: this is the format of ns3-datacenter (nodes switches tors links); \
             remove the third number for HPCC's",
        )),
        None => Ok(()),
    }
}

fn count(word: Word<'_>, what: &str) -> Result<u32, ImportError> {
    let most = MAX_HOSTS + MAX_LINKS;
    let count: u32 = word.number(what)?;
    if u64::from(count) > most {
        return Err(word.error(format!("{count} is too many; at most {most} are supported")));
    }
    Ok(count)
}

fn node(word: Word<'_>, nodes: u32) -> Result<u32, ImportError> {
    let node: u32 = word.number("the number of a node")?;
    match node < nodes {
        true => Ok(node),
        false => {
            Err(word.error(format!("there is no node {node}: the file has 0 to {}", nodes - 1)))
        }
    }
}

/// A link and the word it starts with.
fn link<'a>(words: &mut Words<'a>, nodes: u32) -> Result<(Word<'a>, Link), ImportError> {
    let first = words.take("a link's first node")?;
    let a = node(first, nodes)?;
    let b = node(words.take("a link's second node")?, nodes)?;
    let word = words.take("a link's rate")?;
    let rate: BitRate = word.text.parse().map_err(|error| word.error(error))?;
    let word = words.take("a link's delay")?;
    let delay: Ps = word.text.parse().map_err(|error| word.error(error))?;
    if !delay.0.is_multiple_of(NS) {
        return Err(word.error(format!("{delay} is not a whole number of ns, as times are there")));
    }
    let word = words.take("a link's error rate")?;
    if word.real("an error rate")? > 0.0 {
        return Err(word.error("links do not lose packets here; set the error rate to 0"));
    }
    Ok((first, Link { a, b, rate, delay }))
}
