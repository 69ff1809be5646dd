//! Superlatives: the row, or the few rows, with the highest or lowest value of a column.

use super::Question;
use super::single::Single;
use crate::condition::Speaker;
use crate::frames;
use crate::lexicon::Split;
use crate::schema::ColumnKind;
use crate::text::number_word;

impl Speaker<'_> {
    /// One row, or some, at the top of an order.
    pub(super) fn top(&mut self, subject: Single) -> Option<Question> {
        let Single { mut q, t, e, many, from, label, rows, .. } = subject;
        let kind = q.kind;
        let (mut before, mut w, mut sql) = (String::new(), String::new(), String::new());
        let by = self.columns(t, |c| (c.numeric() || c.kind == ColumnKind::Date) && !c.has_null());
        if by.is_empty() {
            return None;
        }
        let c = *self.rng.pick(&by);
        let date = self.world.tables[t].columns[c].kind == ColumnKind::Date;
        let high = self.rng.chance(0.6);
        let words = self.world.tables[t].columns[c].words.clone();
        let adjective = self.lexicon.adjectives.get(&words).and_then(|a| a.extremes.clone());
        let adjective = adjective.filter(|_| self.split == Split::Train && self.rng.chance(0.5));
        let hi = if date {
            if high {
                self.of(&["latest", "most recent", "newest"], &["latest"])
            } else {
                self.of(&["earliest", "oldest", "first"], &["earliest"])
            }
        } else {
            self.high_low(high)
        };
        let said = self.say(t, c);
        let name = self.column(t, c);
        let mut oc = if self.rng.chance(0.6) { label } else { *self.shown(t, 1).first()? };
        if oc == c {
            oc = label;
        }
        if oc == c {
            return None;
        }
        let oc_said = self.say(t, oc);
        let oc_name = self.column(t, oc);
        if self.rng.chance(0.18) {
            (before, w, sql) = self.conditions(&mut q, t, &[c, oc])?;
        }
        let (one, noun) = (format!("{before}{e}"), format!("{before}{many}"));
        if kind == "top_n" {
            let n = self.rng.range(2, (rows as i64 - 1).clamp(2, 5));
            let said_n = if self.rng.chance(0.35) {
                number_word(n).unwrap_or("two").to_owned()
            } else {
                n.to_string()
            };
            let named = self.rng.chance(0.7) || oc == label;
            let mut ocs = self.plural_of(&oc_said);
            if self.rng.chance(0.3) {
                ocs = oc_said.clone();
            }
            let frame = self.of(frames::TOP_N.0, frames::TOP_N.1);
            let (asked, oc_name) = if frame.contains("{ocs}") {
                (ocs.clone(), oc_name)
            } else {
                (many.clone(), self.column(t, label))
            };
            let top = if frame.contains("{top}") {
                if !named && !high {
                    return None;
                }
                if high { "top " } else { "bottom " }
            } else {
                ""
            };
            if let (Some((a, b)), true) = (&adjective, self.rng.chance(0.6)) {
                let a = if high { a } else { b };
                let frame = *self.rng.pick(&[
                    "[Which|What] are the {n} {a} {E}{W}?",
                    "[List|Show|Find] the {n} {a} {E}{W}.",
                    "{n} {a} {E}{W}",
                ]);
                q.text = self.fill(frame, &[("n", &said_n), ("a", a), ("E", &noun), ("W", &w)]);
                let l = self.column(t, label);
                q.links.insert(0, (a.clone(), name.clone()));
                q.links.insert(0, (many, l.clone()));
                q.sql = format!(
                    "SELECT {l} FROM {from}{sql} ORDER BY {name}{} LIMIT {n}",
                    if high { " DESC" } else { "" }
                );
                return Some(q);
            }
            q.links.insert(0, (said.clone(), name.clone()));
            q.links.insert(0, (asked, oc_name.clone()));
            q.text = self.fill(
                frame,
                &[
                    ("ocs", &ocs),
                    ("n", &said_n),
                    ("E", &noun),
                    ("W", &w),
                    ("hi", hi),
                    ("c", &said),
                    ("top", top),
                ],
            );
            q.sql = format!(
                "SELECT {oc_name} FROM {from}{sql} ORDER BY {name}{} LIMIT {n}",
                if high { " DESC" } else { "" }
            );
            return Some(q);
        }
        let (select, phrase, by_phrase);
        if let Some((a, b)) = adjective {
            let a = if high { a } else { b };
            let frame = self.of(frames::TOP_ADJECTIVE.0, frames::TOP_ADJECTIVE.1);
            q.text = self.fill(frame, &[("a", &a), ("oc", &oc_said), ("e", &one), ("E", &noun), ("W", &w)]);
            (select, phrase) =
                if frame.contains("{oc}") { (oc_name, oc_said) } else { (self.column(t, label), e) };
            by_phrase = a;
        } else if oc == label && self.rng.chance(0.6) {
            q.text = self
                .frame(&frames::TOP_WHICH, &[("e", &one), ("E", &noun), ("W", &w), ("hi", hi), ("c", &said)]);
            (select, phrase, by_phrase) = (oc_name, e, said);
        } else {
            q.text = self
                .frame(&frames::TOP, &[("oc", &oc_said), ("e", &one), ("W", &w), ("hi", hi), ("c", &said)]);
            (select, phrase, by_phrase) = (oc_name, oc_said, said);
        }
        q.links.insert(0, (by_phrase, name.clone()));
        q.links.insert(0, (phrase, select.clone()));
        q.sql = format!(
            "SELECT {select} FROM {from}{sql} ORDER BY {name}{} LIMIT 1",
            if high { " DESC" } else { "" }
        );
        Some(q)
    }
}
