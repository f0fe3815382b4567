//! A scenario's canonical text with gaps for what varies.
//!
//! Owns the fast path of planning: the JSON of a block's scenario is written once, and a point is
//! that text with its own values in the gaps. Refuses to know where the values come from.

use super::base::{self, canonical};
use super::keys::{Path, Step};
use serde_json::{Map as JsonMap, Value as Json};

/// What fills a gap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Slot {
    /// A member of an axis.
    Axis { axis: usize, member: usize },
    /// A derived value.
    Derived(usize),
}

/// Text with gaps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Template {
    /// One more than there are gaps.
    parts: Vec<String>,
    slots: Vec<Slot>,
}

impl Template {
    /// Cuts gaps into a scenario at the given paths.
    ///
    /// # Errors
    /// The path that leads nowhere, or below a single value.
    pub fn new(json: &Json, gaps: &[(Path, Slot)]) -> Result<Template, Path> {
        let mut json = json.clone();
        for (i, (path, _)) in gaps.iter().enumerate() {
            // No text of a file holds a zero character, so these marks are found again.
            put(&mut json, path, Json::from(format!("\0{i}\0"))).ok_or_else(|| path.clone())?;
        }
        Ok(Template::cut(&json, gaps))
    }

    /// The same without what is no part of a job's identity.
    pub fn identity(json: &Json, gaps: &[(Path, Slot)]) -> Result<Template, Path> {
        let mut json = json.clone();
        for (i, (path, _)) in gaps.iter().enumerate() {
            put(&mut json, path, Json::from(format!("\0{i}\0"))).ok_or_else(|| path.clone())?;
        }
        strip(&mut json);
        Ok(Template::cut(&json, gaps))
    }

    fn cut(json: &Json, gaps: &[(Path, Slot)]) -> Template {
        let mut text = String::new();
        canonical(json, &mut text);
        let (mut parts, mut slots) = (Vec::new(), Vec::new());
        let mut rest = text.as_str();
        const MARK: &str = "\\u0000";
        while let Some(at) = rest.find(MARK) {
            // The quote before the mark, the number, the closing mark and its quote.
            let after = &rest[at + MARK.len()..];
            let Some((number, tail)) = after.split_once(MARK) else { break };
            let Some((_, slot)) = number.parse::<usize>().ok().and_then(|i| gaps.get(i)) else {
                break;
            };
            parts.push(rest[..at - 1].to_owned());
            slots.push(*slot);
            rest = &tail[1..];
        }
        parts.push(rest.to_owned());
        Template { parts, slots }
    }

    /// Writes the text of a point.
    pub fn fill(&self, out: &mut String, mut value: impl FnMut(Slot, &mut String)) {
        out.clear();
        for (part, slot) in self.parts.iter().zip(&self.slots) {
            out.push_str(part);
            value(*slot, out);
        }
        if let Some(last) = self.parts.last() {
            out.push_str(last);
        }
    }
}

/// Removes what does not decide a job's result: what is recorded, how often, and where a trace
/// lies (its hash stays).
pub(crate) fn strip(json: &mut Json) {
    if let Some(map) = json.as_object_mut() {
        map.remove("record");
    }
    if let Some(Json::Object(map)) = json.pointer_mut("/switch/SharedBufferManager") {
        map.remove("BufferStatsReportInterval");
    }
    if let Some(Json::Array(entries)) = json.get_mut("traffic") {
        for entry in entries {
            if let Json::Object(map) = entry
                && map.get("pattern").and_then(Json::as_str) == Some("trace")
            {
                map.remove("file");
            }
        }
    }
}

/// Puts a value at a path; mappings on the way are made. `None` if the path leads nowhere.
pub(crate) fn put(json: &mut Json, path: &Path, value: Json) -> Option<()> {
    let mut place = json;
    for step in &path.0 {
        place = match step {
            Step::Key(key) => {
                if place.is_null() {
                    *place = Json::Object(JsonMap::new());
                }
                place.as_object_mut()?.entry(key.as_str()).or_insert(Json::Null)
            }
            Step::At(i) => place.as_array_mut()?.get_mut(*i)?,
            Step::Each => return None,
        };
    }
    *place = value;
    Some(())
}

/// The value at a path.
pub(crate) fn get<'a>(json: &'a Json, path: &Path) -> Option<&'a Json> {
    json.pointer(&base::pointer(path))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn gaps_are_filled_in_the_order_of_the_text() {
        let path = |t: &str| Path::parse(t).unwrap();
        let gaps = [
            (path("z"), Slot::Derived(0)),
            (path("a.list[1]"), Slot::Axis { axis: 0, member: 1 }),
            (path("record.interval"), Slot::Derived(7)),
        ];
        let base = json!({"z": 1, "a": {"list": [1, 2], "b": "x"}, "record": {}});
        let template = Template::new(&base, &gaps).unwrap();
        let mut out = String::new();
        let mut seen = Vec::new();
        template.fill(&mut out, |slot, out| {
            seen.push(slot);
            out.push_str("99");
        });
        assert_eq!(out, r#"{"a":{"b":"x","list":[1,99]},"record":{"interval":99},"z":99}"#);
        assert_eq!(seen, [gaps[1].1, gaps[2].1, gaps[0].1]);
        let identity = Template::identity(&base, &gaps).unwrap();
        identity.fill(&mut out, |_, out| out.push('0'));
        assert_eq!(out, r#"{"a":{"b":"x","list":[1,0]},"z":0}"#);
        assert_eq!(
            Template::new(&base, &[(path("a.list[9]"), Slot::Derived(0))]),
            Err(path("a.list[9]"))
        );
    }

    #[test]
    fn only_what_is_recorded_is_stripped() {
        let mut json = json!({
            "record": {"interval": 3}, "duration": 5,
            "switch": {"SharedBufferManager": {"BufferStatsReportInterval": 1, "PlaneBDP": 2}},
            "traffic": [{"pattern": "trace", "file": "a.csv", "blake3": "00"}]
        });
        strip(&mut json);
        assert_eq!(
            json,
            json!({"duration": 5, "switch": {"SharedBufferManager": {"PlaneBDP": 2}},
                "traffic": [{"pattern": "trace", "blake3": "00"}]})
        );
    }
}
