//! Questions about the rows that point to each row of another table: how many, none, the most, their aggregates.

use super::Question;
use super::pair::Pair;
use crate::condition::Speaker;
use crate::frames;

impl Speaker<'_> {
    /// Counts and aggregates for each parent.
    pub(super) fn children(&mut self, pair: Pair) -> Option<Question> {
        let Pair { mut q, a, b, a_one, a_many, b_one, b_many, from, a_label, a_name, group, .. } = pair;
        let kind = q.kind;
        let s = self.say(a, a_label);
        let acp = self.plural_of(&s);
        q.links.push((s.clone(), a_name.clone()));
        let common =
            [("a", a_one.as_str()), ("A", &a_many), ("B", &b_many), ("b", &b_one), ("ac", &s), ("acp", &acp)];
        match kind {
            "children_count" => {
                q.text = self.frame(&frames::CHILDREN, &common);
                q.sql = format!("SELECT {a_name}, COUNT(*) FROM {from} {group}");
            }
            "children_top" => {
                let most = self.rng.chance(0.78);
                let m = if most {
                    self.of(&["most", "highest number of", "largest number of", "most"], &["most"])
                } else {
                    self.of(&["fewest", "least", "smallest number of"], &["fewest"])
                };
                let values = [common.as_slice(), &[("m", m)]].concat();
                q.text = self.frame(&frames::CHILDREN_TOP, &values);
                q.sql = format!(
                    "SELECT {a_name} FROM {from} {group} ORDER BY COUNT(*){} LIMIT 1",
                    if most { " DESC" } else { "" }
                );
            }
            "children_having" => {
                let (n, words, test) = self.threshold(4);
                let values = [common.as_slice(), &[("op", &words), ("n", &n)]].concat();
                q.text = self.frame(&frames::CHILDREN_HAVING, &values);
                q.sql = format!("SELECT {a_name} FROM {from} {group} HAVING COUNT(*) {test}");
            }
            _ => {
                let x = self.number(b, true)?;
                let said = self.say(b, x);
                let col = self.column(b, x);
                q.links.push((said.clone(), col.clone()));
                if kind == "children_aggregate" {
                    let (f, words) = self.aggregate();
                    let values = [common.as_slice(), &[("w", words), ("x", &said)]].concat();
                    q.text = self.frame(&frames::CHILDREN_AGGREGATE, &values);
                    q.sql = format!("SELECT {a_name}, {f}({col}) FROM {from} {group}");
                } else {
                    let high = self.rng.chance(0.75);
                    let hi = self.high_low(high);
                    let (f, words) = if self.rng.chance(0.4) {
                        ("AVG", self.of(frames::AVERAGE.0, frames::AVERAGE.1))
                    } else {
                        ("SUM", self.of(&["total", "combined", "overall"], &["total"]))
                    };
                    let values = [common.as_slice(), &[("hi", hi), ("w", words), ("x", &said)]].concat();
                    q.text = self.frame(&frames::CHILDREN_BEST, &values);
                    q.sql = format!(
                        "SELECT {a_name} FROM {from} {group} ORDER BY {f}({col}){} LIMIT 1",
                        if high { " DESC" } else { "" }
                    );
                }
            }
        }
        Some(q)
    }

    /// Parents that have children, or none.
    pub(super) fn with_or_without(&mut self, pair: Pair) -> Option<Question> {
        let Pair { mut q, a, b, a_one, a_many, b_one, b_many, ta, tb, a_label, a_key, a_name, .. } = pair;
        let kind = q.kind;
        let s = self.say(a, a_label);
        let acp = self.plural_of(&s);
        let link = self.column(b, self.world.tables[b].link_to(a)?);
        let (mut w, mut inner) = (String::new(), String::new());
        if kind == "with_children" && self.rng.chance(0.6) {
            let (_, c) = self.condition(b, &[])?;
            if c.before.is_empty() {
                w.clone_from(&c.after);
                inner = format!(" WHERE {}", c.sql);
                q.links.extend(c.links);
                q.lookups.extend(c.lookups);
            }
        }
        let common =
            [("a", a_one.as_str()), ("A", &a_many), ("B", &b_many), ("b", &b_one), ("acp", &acp), ("W", &w)];
        let not = if kind == "with_children" { "" } else { "NOT " };
        let frame = match kind {
            "without_children" => &frames::NONE,
            "count_without" => &frames::COUNT_NONE,
            _ => &frames::SOME,
        };
        q.text = self.frame(frame, &common);
        let select = if kind == "count_without" { "COUNT(*)".to_owned() } else { a_name.clone() };
        if kind != "count_without" {
            q.links.insert(0, (s, a_name));
        }
        q.sql = format!("SELECT {select} FROM {ta} WHERE {a_key} {not}IN (SELECT {link} FROM {tb}{inner})");
        Some(q)
    }

    /// The parent of the child at the top of an order.
    pub(super) fn parent_of_top(&mut self, pair: Pair) -> Option<Question> {
        let Pair { mut q, a, b, a_one, b_one, from, a_label, a_name, .. } = pair;
        let by = self.columns(b, |c| c.numeric() && !c.has_null());
        if by.is_empty() {
            return None;
        }
        let c = *self.rng.pick(&by);
        let high = self.rng.chance(0.65);
        let hi = self.high_low(high);
        let (s, said) = (self.say(a, a_label), self.say(b, c));
        let col = self.column(b, c);
        q.text = self.frame(
            &frames::PARENT_TOP,
            &[("ac", &s), ("a", &a_one), ("b", &b_one), ("hi", hi), ("c", &said)],
        );
        q.links = vec![(s, a_name.clone()), (said, col.clone())];
        q.sql =
            format!("SELECT {a_name} FROM {from} ORDER BY {col}{} LIMIT 1", if high { " DESC" } else { "" });
        Some(q)
    }

    /// Children counted by a column of their parents.
    pub(super) fn grouped_by_parent(&mut self, pair: Pair) -> Option<Question> {
        let Pair { mut q, a, b, a_one, b_many, from, .. } = pair;
        let g = self.group(a)?;
        let said = self.say(a, g);
        let col = self.column(a, g);
        let c = format!("{a_one} {said}");
        let cp = self.plural_of(&c);
        q.links.push((c.clone(), col.clone()));
        if self.rng.chance(0.6) {
            q.text = self.frame(&frames::GROUP_COUNT, &[("c", &c), ("cp", &cp), ("E", &b_many), ("W", "")]);
            q.sql = format!("SELECT {col}, COUNT(*) FROM {from} GROUP BY {col}");
        } else {
            let x = self.number(b, true)?;
            let (f, words) = self.aggregate();
            let xs = self.say(b, x);
            let xc = self.column(b, x);
            q.links.push((xs.clone(), xc.clone()));
            q.text = self.frame(
                &frames::GROUP_AGGREGATE,
                &[("c", &c), ("w", words), ("x", &xs), ("E", &b_many), ("W", "")],
            );
            q.sql = format!("SELECT {col}, {f}({xc}) FROM {from} GROUP BY {col}");
        }
        Some(q)
    }
}
