//! Questions over three tables: two links in a row, and a junction.

use super::{BETWEEN, Question};
use crate::condition::Speaker;
use crate::frames;
use crate::schema::quoted;

impl Speaker<'_> {
    /// `c` points to `b`, `b` points to `a`; the question joins all three.
    pub(super) fn chain(&mut self, c: usize, b: usize, a: usize) -> Option<Question> {
        self.qualify = true;
        let kind = *self.rng.pick(&["chain_list", "chain_count", "chain_top"]);
        let mut q = Question { kind, ..Question::default() };
        let (_, c_many) = self.noun(c);
        let (b_one, _) = self.noun(b);
        let (a_one, a_many) = self.noun(a);
        let name = |t: usize| quoted(&self.world.tables[t].name);
        let (on1, phrase) = self.on(c, b)?;
        let (on2, phrase2) = self.on(b, a)?;
        let from = format!("{} JOIN {} ON {on1} JOIN {} ON {on2}", name(c), name(b), name(a));
        q.tables = vec![(c_many.clone(), c), (b_one.clone(), b), (a_one.clone(), a)];
        if kind == "chain_top" {
            let label = self.world.tables[a].label();
            let s = self.say(a, label);
            let a_name = self.column(a, label);
            let key = self.column(a, self.world.tables[a].key()?);
            let most = self.rng.chance(0.8);
            let m = if most { "most" } else { "fewest" };
            q.text = self.frame(
                &frames::CHILDREN_TOP,
                &[("a", &a_one), ("A", &a_many), ("B", &c_many), ("ac", &s), ("m", m)],
            );
            q.links.push((s, a_name.clone()));
            q.tables = vec![(a_one, a), (c_many, c), (BETWEEN.into(), b)];
            q.sql = format!(
                "SELECT {a_name} FROM {from} GROUP BY {key} ORDER BY COUNT(*){} LIMIT 1",
                if most { " DESC" } else { "" }
            );
            return Some(q);
        }
        let mut select = "COUNT(*)".to_owned();
        let mut said = String::new();
        if kind == "chain_list" {
            (said, select) = self.listed(c, 1, &mut q)?;
        }
        let (p, test) = self.parent(&mut q, a, &a_one)?;
        let inner = self.relation(&phrase2, &p);
        // With or without the table between.
        let w = if self.rng.chance(0.7) {
            let of = self.relation(&phrase, &format!("a {b_one}"));
            let of = of.replace(" that have a ", " of a ");
            format!("{of}{inner}")
        } else {
            q.tables = vec![(c_many.clone(), c), (a_one, a), (BETWEEN.into(), b)];
            inner
        };
        let e = self.world.tables[c].one.clone();
        q.text = if kind == "chain_list" {
            self.frame(&frames::LIST, &[("cs", &said), ("E", &c_many), ("e", &e), ("W", &w)])
        } else {
            self.frame(&frames::COUNT, &[("E", &c_many), ("W", &w)])
        };
        q.sql = format!("SELECT {select} FROM {from} WHERE {test}");
        Some(q)
    }

    /// `j` points to both `a` and `b`.
    pub(super) fn many(&mut self, a: usize, j: usize, b: usize) -> Option<Question> {
        self.qualify = true;
        let kind = ["many_list", "many_count", "many_pairs", "many_group", "many_top", "many_without"]
            [self.rng.weighted(&[34, 18, 14, 12, 14, 8])];
        let mut q = Question { kind, ..Question::default() };
        let (a_one, a_many) = self.noun(a);
        let (b_one, b_many) = self.noun(b);
        let name = |t: usize| quoted(&self.world.tables[t].name);
        let (on1, _) = self.on(j, a)?;
        let (on2, phrase) = self.on(j, b)?;
        let (ta, tj, tb) = (name(a), name(j), name(b));
        let from = format!("{ta} JOIN {tj} ON {on1} JOIN {tb} ON {on2}");
        q.tables = vec![(a_many.clone(), a), (b_one.clone(), b), (BETWEEN.into(), j)];
        let (la, lb) = (self.world.tables[a].label(), self.world.tables[b].label());
        let key = self.column(a, self.world.tables[a].key()?);
        match kind {
            "many_list" | "many_count" => {
                let (mut said, mut select) = (String::new(), "COUNT(*)".to_owned());
                if kind == "many_list" {
                    (said, select) = self.listed(a, 1, &mut q)?;
                }
                let (p, test) = self.parent(&mut q, b, &b_one)?;
                let w = self.relation(&phrase, &p);
                q.text = if kind == "many_list" {
                    self.frame(&frames::LIST, &[("cs", &said), ("E", &a_many), ("e", &a_one), ("W", &w)])
                } else {
                    self.frame(&frames::COUNT, &[("E", &a_many), ("W", &w)])
                };
                q.sql = format!("SELECT {select} FROM {from} WHERE {test}");
            }
            "many_pairs" => {
                let (os, bs) = (self.say(a, la), self.say(b, lb));
                let (an, bn) = (self.column(a, la), self.column(b, lb));
                q.text = self.frame(
                    &frames::BOTH,
                    &[("oc", &os), ("ac", &bs), ("a", &a_one), ("A", &a_many), ("b", &b_one), ("B", &b_many)],
                );
                q.links = vec![(format!("{a_one} {os}"), an.clone()), (format!("{b_one} {bs}"), bn.clone())];
                q.sql = format!("SELECT {an}, {bn} FROM {from}");
            }
            "many_without" => {
                let s = self.say(a, la);
                let acp = self.plural_of(&s);
                let an = self.column(a, la);
                let link = self.column(j, self.world.tables[j].link_to(a)?);
                q.text = self
                    .frame(&frames::NONE, &[("a", &a_one), ("A", &a_many), ("B", &b_many), ("acp", &acp)]);
                q.links = vec![(s, an.clone())];
                q.sql = format!("SELECT {an} FROM {ta} WHERE {key} NOT IN (SELECT {link} FROM {tj})");
            }
            _ => {
                let s = self.say(a, la);
                let acp = self.plural_of(&s);
                let an = self.column(a, la);
                q.links = vec![(s.clone(), an.clone())];
                let short = format!("{ta} JOIN {tj} ON {on1}");
                let common = [
                    ("a", a_one.as_str()),
                    ("A", &a_many),
                    ("B", &b_many),
                    ("b", &b_one),
                    ("ac", &s),
                    ("acp", &acp),
                ];
                if kind == "many_group" {
                    q.text = self.frame(&frames::CHILDREN, &common);
                    q.sql = format!("SELECT {an}, COUNT(*) FROM {short} GROUP BY {key}");
                } else {
                    let most = self.rng.chance(0.8);
                    let m = if most { "most" } else { "fewest" };
                    let values = [common.as_slice(), &[("m", m)]].concat();
                    q.text = self.frame(&frames::CHILDREN_TOP, &values);
                    q.sql = format!(
                        "SELECT {an} FROM {short} GROUP BY {key} ORDER BY COUNT(*){} LIMIT 1",
                        if most { " DESC" } else { "" }
                    );
                }
            }
        }
        Some(q)
    }
}
