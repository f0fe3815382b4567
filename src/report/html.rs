//! The page: a template, its style, its script, and the content as JSON.
//!
//! Everything from the dataset goes in as JSON that cannot end its element, and the script puts it
//! on the page as text; only the title is written here.

use super::{Content, ReportError};

const PAGE: &str = include_str!("page/page.html");
const STYLE: &str = concat!(
    include_str!("page/ramp.css"),
    include_str!("page/page.css"),
    include_str!("page/parts.css"),
    include_str!("page/media.css")
);
/// One scope, in the order in which they need one another.
const SCRIPT: &str = concat!(
    "(function () {\n\"use strict\";\n",
    include_str!("page/base.js"),
    include_str!("page/units.js"),
    include_str!("page/model.js"),
    include_str!("page/head.js"),
    include_str!("page/findings.js"),
    include_str!("page/drops.js"),
    include_str!("page/heat.js"),
    include_str!("page/table.js"),
    include_str!("page/charts.js"),
    include_str!("page/timeline.js"),
    include_str!("page/main.js"),
    "}());\n"
);

/// Fills the template in.
pub fn page(content: &Content) -> Result<String, ReportError> {
    let json = harmless(&serde_json::to_string(content)?);
    let title = escaped(content.head.name());
    let mut page = String::with_capacity(json.len() + SCRIPT.len() + STYLE.len() + PAGE.len());
    // One pass: what is put in is not looked at for the marks of the template.
    for (place, piece) in PAGE.split("{{").enumerate() {
        let Some((mark, rest)) = piece.split_once("}}").filter(|_| place > 0) else {
            page.push_str(piece);
            continue;
        };
        page.push_str(match mark {
            "title" => &title,
            "style" => STYLE,
            "content" => &json,
            _ => SCRIPT,
        });
        page.push_str(rest);
    }
    Ok(page)
}

/// JSON without `<`, by which alone it could end the element it is in.
fn harmless(json: &str) -> String {
    json.replace('<', "\\u003c")
}

/// Text as HTML.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_ends_its_element() {
        assert_eq!(harmless("[\"</script><!--\"]"), "[\"\\u003c/script>\\u003c!--\"]");
        assert_eq!(escaped("a<b>&"), "a&lt;b&gt;&amp;");
    }

    #[test]
    fn the_template_has_each_mark_once_and_loads_nothing() {
        for mark in ["{{title}}", "{{style}}", "{{content}}", "{{script}}"] {
            assert_eq!(PAGE.matches(mark).count(), 1, "{mark}");
        }
        assert_eq!(PAGE.matches("{{").count(), 4);
        for text in [PAGE, STYLE, SCRIPT] {
            for loads in ["src=", "@import", "fetch(", "XMLHttpRequest", "innerHTML"] {
                assert!(!text.contains(loads), "{loads}");
            }
            // Nothing but patterns of the page itself.
            assert_eq!(text.matches("url(").count(), text.matches("url(#").count());
        }
        assert!(!SCRIPT.contains("</script"));
    }
}
