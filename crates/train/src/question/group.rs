//! Groups: counts and aggregates of each value of a column, the largest group, groups that pass a test.

use super::Question;
use super::single::Single;
use crate::condition::{Speaker, plain};
use crate::frames;
use rusqlite::types::Value;

impl Speaker<'_> {
    /// Groups of one table.
    pub(super) fn groups(&mut self, subject: Single) -> Option<Question> {
        let Single { mut q, t, many, from, .. } = subject;
        let kind = q.kind;
        let (mut before, mut w, mut sql) = (String::new(), String::new(), String::new());
        let g = self.group(t)?;
        let c = self.say(t, g);
        let cp = self.plural_of(&c);
        let name = self.column(t, g);
        q.links.push((c.clone(), name.clone()));
        let group = format!("GROUP BY {name}");
        match kind {
            "group_count" => {
                if self.rng.chance(0.15) {
                    (before, w, sql) = self.conditions(&mut q, t, &[g])?;
                }
                let noun = before + &many;
                q.text = self.frame(&frames::GROUP_COUNT, &[("c", &c), ("cp", &cp), ("E", &noun), ("W", &w)]);
                q.sql = format!("SELECT {name}, COUNT(*) FROM {from}{sql} {group}");
                if self.rng.chance(0.08) {
                    q.text = q.text.trim_end_matches(['.', '?']).to_owned()
                        + *self.rng.pick(&[
                            ", most first.",
                            ", largest count first.",
                            ", sorted by the count descending.",
                            ", in descending order of the count.",
                        ]);
                    q.sql += " ORDER BY COUNT(*) DESC";
                }
            }
            "group_aggregate" => {
                let x = self.number(t, true)?;
                let (f, words) = self.aggregate();
                let said = self.say(t, x);
                let col = self.column(t, x);
                if self.rng.chance(0.1) {
                    (before, w, sql) = self.conditions(&mut q, t, &[g, x])?;
                }
                q.links.push((said.clone(), col.clone()));
                let noun = before + &many;
                q.text = self.frame(
                    &frames::GROUP_AGGREGATE,
                    &[("c", &c), ("w", words), ("x", &said), ("E", &noun), ("W", &w)],
                );
                q.sql = format!("SELECT {name}, {f}({col}) FROM {from}{sql} {group}");
            }
            "group_top" => {
                if self.world.tables[t].columns[g].has_null() {
                    return None;
                }
                let most = self.rng.chance(0.75);
                let m = if most {
                    self.of(
                        &["most", "highest number of", "largest number of", "greatest number of"],
                        &["most"],
                    )
                } else {
                    self.of(&["fewest", "least", "lowest number of", "smallest number of"], &["fewest"])
                };
                q.text = if most && self.rng.chance(0.25) {
                    self.frame(&frames::COMMON, &[("c", &c), ("E", &many), ("W", "")])
                } else {
                    self.frame(&frames::GROUP_TOP, &[("c", &c), ("m", m), ("E", &many), ("W", "")])
                };
                q.sql = format!(
                    "SELECT {name} FROM {from} {group} ORDER BY COUNT(*){} LIMIT 1",
                    if most { " DESC" } else { "" }
                );
            }
            "group_best" => {
                let x = self.number(t, true)?;
                let (f, words) = if self.rng.chance(0.7) {
                    ("AVG", self.of(frames::AVERAGE.0, frames::AVERAGE.1))
                } else {
                    ("SUM", self.of(&["total", "combined", "overall"], &["total"]))
                };
                let said = self.say(t, x);
                let col = self.column(t, x);
                q.links.push((said.clone(), col.clone()));
                let high = self.rng.chance(0.7);
                let hi = self.high_low(high);
                q.text = self.frame(
                    &frames::GROUP_BEST,
                    &[("c", &c), ("hi", hi), ("w", words), ("x", &said), ("E", &many), ("W", "")],
                );
                q.sql = format!(
                    "SELECT {name} FROM {from} {group} ORDER BY {f}({col}){} LIMIT 1",
                    if high { " DESC" } else { "" }
                );
            }
            _ => {
                if self.rng.chance(0.35) {
                    let x = self.number(t, true)?;
                    let value =
                        self.world.tables[t].columns[x].values.iter().find(|v| **v != Value::Null)?.clone();
                    let (f, words) = if self.rng.chance(0.6) {
                        ("AVG", self.of(frames::AVERAGE.0, frames::AVERAGE.1))
                    } else {
                        ("SUM", self.of(&["total", "combined"], &["total"]))
                    };
                    let said = self.say(t, x);
                    let col = self.column(t, x);
                    let n = self.say_number(&value);
                    let (op, op_words) = if self.rng.chance(0.65) {
                        (
                            ">",
                            self.of(
                                &["above", "over", "more than", "greater than", "higher than"],
                                &["above", "over"],
                            ),
                        )
                    } else {
                        ("<", self.of(&["below", "under", "less than", "lower than"], &["below"]))
                    };
                    q.links.push((said.clone(), col.clone()));
                    q.text = self.frame(
                        &frames::HAVING_AGGREGATE,
                        &[
                            ("c", &c),
                            ("cp", &cp),
                            ("w", words),
                            ("x", &said),
                            ("E", &many),
                            ("op", op_words),
                            ("n", &n),
                        ],
                    );
                    q.sql =
                        format!("SELECT {name} FROM {from} {group} HAVING {f}({col}) {op} {}", plain(&value));
                } else {
                    let (n, words, test) = self.threshold(4);
                    q.text = self.frame(
                        &frames::HAVING,
                        &[("c", &c), ("cp", &cp), ("op", &words), ("n", &n), ("E", &many), ("W", "")],
                    );
                    q.sql = format!("SELECT {name} FROM {from} {group} HAVING COUNT(*) {test}");
                }
            }
        }
        Some(q)
    }
}
