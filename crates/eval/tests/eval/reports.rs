//! What is written for people.

use glowworm_agent::SchemaMode;
use glowworm_eval::scripted::Script;
use glowworm_eval::{Metric, Run, compare, markdown, report};

use crate::support::{config, make, play, small_set};

fn two_runs(folder: &std::path::Path) -> Vec<Run> {
    let (mut set, databases) = small_set(folder);
    set.questions[0].text = "Is <script>alert(1)</script> & \"this\" text?".into();
    set.questions[0].evidence = Some("see </pre><img src=x onerror=alert(2)>".into());
    make(&folder.join("evil.sqlite"), "CREATE TABLE \"<b>bold</b>\" (a TEXT)");
    set.questions[1].db_id = "evil".into();
    let plain = config(&set, "a <model>");
    play(&set, &databases, plain.clone(), Script::NeedsSchema, &folder.join("withheld"));
    let mut shown = plain;
    shown.schema = SchemaMode::Shown;
    play(&set, &databases, shown, Script::NeedsSchema, &folder.join("shown"));
    ["withheld", "shown"].map(|name| Run::read(&folder.join(name)).unwrap()).to_vec()
}

#[test]
fn the_page_is_whole_and_nothing_in_it_is_foreign_markup() {
    let folder = tempfile::tempdir().unwrap();
    let runs = two_runs(folder.path());
    let page = report::html(&runs).unwrap();
    for foreign in ["<script", "<img", "<b>bold", "a <model>", "http://", "https://", "url("] {
        assert!(!page.contains(foreign), "{foreign}");
    }
    for expected in [
        "prefers-color-scheme: dark",
        "What changed",
        "&lt;script&gt;alert(1)",
        "McNemar",
        "default-src 'none'",
    ] {
        assert!(page.contains(expected), "{expected}");
    }
    assert_eq!(page.matches("<svg").count(), 4, "tables, calls, budget, changes");
    assert_eq!(page.matches("class=\"episode\"").count(), 20);
    for (tag, end) in [
        ("<details", "</details>"),
        ("<table", "</table>"),
        ("<div", "</div>"),
        ("<pre", "</pre>"),
        ("<svg", "</svg>"),
    ] {
        assert_eq!(page.matches(tag).count(), page.matches(end).count(), "{tag}");
    }
    // Every link leads somewhere within the page.
    let links: Vec<&str> = page.split("href=\"#").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    assert!(!links.is_empty());
    assert!(links.iter().all(|link| page.contains(&format!("id=\"{link}\""))));
    assert!(!report::html(&runs[..1]).unwrap().contains("What changed"));
}

#[test]
fn the_tables_are_markdown() {
    let folder = tempfile::tempdir().unwrap();
    let runs = two_runs(folder.path());
    let text = markdown::runs(&runs);
    assert!(text.contains("| strict EX | 0.0 (0.0–"), "{text}");
    for line in text.lines().filter(|line| line.starts_with('|')) {
        assert!(line.ends_with('|'), "{line}");
    }
    let paired = compare(&runs[0], &runs[1], Metric::Strict).unwrap();
    let text = markdown::comparison(&runs[0], &runs[1], &paired);
    assert!(text.contains("Difference +100.0 points"), "{text}");
    assert!(text.contains("differ in schema"), "{text}");
}
