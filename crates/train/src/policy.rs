//! The policy of ideal episodes: the next turn, from what the tools have returned so far.
//!
//! [`crate::oracle`] plays whole episodes with it. It can also go on with a conversation that another has led so far:
//! [`Seen::note`] takes in what that one did, so that a model learns what to do after its own mistakes
//! (`training/corrections.py`).

use crate::condition::Lookup;
use crate::oracle::call_text;
use crate::question::{BETWEEN, Question};
use crate::schema::{ColumnKind, World, quoted};
use crate::tools;
use glowworm_agent::parse::{Found, parse_turn};
use std::collections::BTreeSet;

/// A call of a tool: its name, and the names and values of its arguments.
pub type Call<'a> = (&'static str, Vec<(&'static str, &'a str)>);

/// A turn: a line of reasoning, then calls.
#[derive(Clone, Debug, PartialEq)]
pub struct Turn<'a> {
    /// The reasoning.
    pub think: String,
    /// The calls.
    pub calls: Vec<Call<'a>>,
}

impl Turn<'_> {
    /// As the model writes it.
    pub fn text(&self) -> String {
        let calls: Vec<String> = self.calls.iter().map(|(tool, args)| call_text(tool, args)).collect();
        format!("{}\n</think>\n\n{}", self.think, calls.join("\n"))
    }
}

/// What a conversation has brought to light.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Seen {
    listed: bool,
    /// Places in [`Question::tables`].
    described: BTreeSet<usize>,
    joined: bool,
    /// Tables and columns whose values were listed.
    looked: BTreeSet<(usize, usize)>,
    /// The last query that gave gold's result.
    ran: Option<String>,
}

impl Seen {
    /// Takes in what a turn did, whoever wrote it.
    pub fn note(&mut self, world: &World, q: &Question, text: &str) {
        let called =
            |name: &str| q.tables.iter().position(|(_, t)| world.tables[*t].name.eq_ignore_ascii_case(name));
        for found in parse_turn(text, true).found {
            let Found::Call(call) = found else { continue };
            let argument = |key: &str| call.text(key).unwrap_or("");
            match call.name.as_str() {
                "list_tables" => self.listed = true,
                "describe_table" => self.described.extend(called(argument("table_name"))),
                "join_path" => {
                    let ends: BTreeSet<_> = ["table_a", "table_b"].map(|key| called(argument(key))).into();
                    self.joined |= ends == [Some(0), Some(1)].into();
                }
                "distinct_values" => {
                    if let Some(at) = called(argument("table_name")) {
                        let table = q.tables[at].1;
                        let columns = &world.tables[table].columns;
                        let column =
                            columns.iter().position(|c| c.name.eq_ignore_ascii_case(argument("column_name")));
                        self.looked.extend(column.map(|column| (table, column)));
                    }
                }
                "run_query" if tools::same_result(&world.connection, &q.sql, argument("sql")) => {
                    self.ran = Some(argument("sql").to_owned());
                }
                _ => {}
            }
        }
    }
}

/// The policy for one question.
pub struct Policy<'a> {
    world: &'a World,
    q: &'a Question,
    /// The tables that the question needs, as the schema calls them.
    pub names: Vec<&'a str>,
    /// The place among them of a table that the question does not name and whose own name does not say what it joins: it is
    /// looked for when the tables that are named turn out to have no link.
    pub later: Option<usize>,
}

impl<'a> Policy<'a> {
    /// The policy for a question about a database.
    pub fn new(world: &'a World, q: &'a Question) -> Self {
        let names: Vec<&str> = q.tables.iter().map(|(_, t)| world.tables[*t].name.as_str()).collect();
        let hidden = q.tables.iter().position(|(n, _)| n == BETWEEN);
        let later = hidden.filter(|h| !joins_by_name(names[*h], &names[..*h]));
        Self { world, q, names, later }
    }

    /// The text of the next turn, with `left` turns of tools to go; nothing where they are too few to know what one answers.
    pub fn next(&self, seen: &Seen, left: u32) -> Option<String> {
        let tables = self.describe(seen);
        let link = self.later.filter(|h| !seen.joined && !seen.described.contains(h));
        let look_up = self.look_up(seen);
        let open = [!tables.calls.is_empty(), link.is_some(), !look_up.calls.is_empty()];
        let open = u32::from(!seen.listed) + open.into_iter().map(u32::from).sum::<u32>();
        let sql = seen.ran.as_ref().unwrap_or(&self.q.sql);
        let think = if seen.ran.is_some() { "Submit.".to_owned() } else { self.run().think };
        if left == 0 && open == 0 {
            return Some(format!("{think}\n</think>\n\n{sql}"));
        }
        if open + 1 > left {
            return None;
        }
        let turn = match () {
            () if !seen.listed => self.list(),
            () if !tables.calls.is_empty() => tables,
            () if link.is_some() => self.link()?,
            () if !look_up.calls.is_empty() => look_up,
            () if seen.ran.is_none() && left > 1 => self.run(),
            () => return Some(Turn { think, calls: vec![("submit_sql", vec![("sql", sql)])] }.text()),
        };
        Some(turn.text())
    }

    /// Asks for the tables' names.
    pub fn list(&self) -> Turn<'a> {
        Turn { think: "List tables.".into(), calls: vec![("list_tables", vec![])] }
    }

    /// Describes the tables that the list tells, but for those that were.
    pub fn describe(&self, seen: &Seen) -> Turn<'a> {
        let wanted: Vec<usize> =
            (0..self.names.len()).filter(|i| self.later != Some(*i) && !seen.described.contains(i)).collect();
        let think: Vec<String> =
            wanted.iter().map(|&i| format!("{} = {}", self.q.tables[i].0, self.names[i])).collect();
        let call = |i: &usize| ("describe_table", vec![("table_name", self.names[*i])]);
        Turn { think: think.join(", "), calls: wanted.iter().map(call).collect() }
    }

    /// Looks for what links two tables that do not point to each other, where the question needs it.
    pub fn link(&self) -> Option<Turn<'a>> {
        let h = self.later?;
        Some(if self.world.declared {
            let ends = vec![("table_a", self.names[0]), ("table_b", self.names[1])];
            Turn { think: "link = none".into(), calls: vec![("join_path", ends)] }
        } else {
            let call = ("describe_table", vec![("table_name", self.names[h])]);
            Turn { think: format!("link = none, {BETWEEN} = {}", self.names[h]), calls: vec![call] }
        })
    }

    /// The columns through which the tables are joined, then what the question's phrases mean.
    pub fn columns(&self) -> String {
        let keys = self.keys();
        let link = (!keys.is_empty()).then(|| format!("link = {}", keys.join(", ")));
        let said = self.q.links.iter().map(|(said, column)| format!("{said} = {column}"));
        let columns: Vec<String> = link.into_iter().chain(said).collect();
        if columns.is_empty() { "count rows".into() } else { columns.join(", ") }
    }

    /// The keys by which the question's tables point to each other, as gold's query writes them.
    fn keys(&self) -> Vec<String> {
        let mine = |table: usize| self.q.tables.iter().any(|(_, t)| *t == table);
        let tables = self.q.tables.iter().map(|(_, t)| &self.world.tables[*t]);
        tables
            .flat_map(|t| t.columns.iter().map(move |c| (t, c)))
            .filter(|(_, c)| matches!(&c.kind, ColumnKind::Link(to, _) if mine(*to)))
            .map(|(t, c)| format!("{}.{}", quoted(&t.name), quoted(&c.name)))
            .filter(|key| self.q.sql.contains(key))
            .collect()
    }

    /// Lists the values of columns whose spelling is unsure, but for those that were.
    pub fn look_up(&self, seen: &Seen) -> Turn<'a> {
        let mut known = seen.looked.clone();
        let call = |l: &Lookup| {
            let (t, c) = (&self.world.tables[l.table], &self.world.tables[l.table].columns[l.column]);
            let args = vec![("table_name", t.name.as_str()), ("column_name", c.name.as_str())];
            known.insert((l.table, l.column)).then_some(("distinct_values", args))
        };
        let calls = self.q.lookups.iter().filter_map(call).collect();
        Turn { think: self.columns(), calls }
    }

    /// Runs gold's query.
    pub fn run(&self) -> Turn<'a> {
        let think = match self.q.lookups.as_slice() {
            [] => self.columns(),
            found => {
                found.iter().map(|l| format!("{} = {}", l.spoken, l.literal)).collect::<Vec<_>>().join(", ")
            }
        };
        Turn { think, calls: vec![("run_query", vec![("sql", &self.q.sql)])] }
    }

    /// Submits it.
    pub fn submit(&self) -> Turn<'a> {
        Turn { think: "Submit.".into(), calls: vec![("submit_sql", vec![("sql", &self.q.sql)])] }
    }
}

/// Whether the name of a table between others tells so: it holds the beginnings of all their names.
fn joins_by_name(name: &str, others: &[&str]) -> bool {
    let plain = |s: &str| s.to_lowercase().replace(|c: char| !c.is_alphanumeric(), "");
    let name = plain(name);
    others.iter().all(|o| {
        let stem: String = plain(o).trim_start_matches("tbl").chars().take(4).collect();
        name.contains(&stem)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lexicon::{Lexicon, Split};
    use crate::machine::{Machine, Next};
    use crate::sample::sample;

    /// Plays an episode in which another writes the turns `before`, and the policy the rest. Whether the answer is right;
    /// nothing where the policy gives up.
    fn play(world: &World, q: &Question, before: &[&str]) -> Option<bool> {
        let (mut machine, _) = Machine::start(&world.image, &q.text).unwrap();
        let (policy, mut seen) = (Policy::new(world, q), Seen::default());
        let mut before = before.iter();
        loop {
            let text = match before.next() {
                Some(text) => (*text).to_owned(),
                None => policy.next(&seen, machine.left())?,
            };
            seen.note(world, q, &text);
            if let Next::Done(outcome) = machine.reply(&text).unwrap() {
                let sql = outcome.sql.clone().unwrap_or_default();
                return Some(tools::same_result(&world.connection, &q.sql, &sql));
            }
        }
    }

    #[test]
    fn it_answers_every_question_from_the_start_and_after_turns_of_another() {
        let lexicon = Lexicon::load().unwrap();
        let list = "\n</think>\n\n{\"tool\": \"list_tables\"}";
        let wrong =
            "\n</think>\n\n{\"tool\": \"run_query\", \"args\": {\"sql\": \"SELECT nothing FROM nowhere\"}}";
        let (mut taken_over, mut given_up) = (0, 0);
        for seed in 0..120 {
            let s = sample(&lexicon, Split::Train, seed).unwrap();
            let (world, q) = (&s.world, &s.question);
            assert_eq!(play(world, q, &[]), Some(true), "seed {seed}");
            for before in [&[list, wrong][..], &[list, list, wrong], &[list, wrong, wrong, wrong]] {
                match play(world, q, before) {
                    Some(right) => {
                        assert!(right, "seed {seed}");
                        taken_over += 1;
                    }
                    None => given_up += 1,
                }
            }
            // What was done already is not done again.
            let described = Policy::new(world, q).describe(&Seen::default()).text();
            let mut seen = Seen::default();
            seen.note(world, q, &described);
            assert!(Policy::new(world, q).describe(&seen).calls.is_empty(), "seed {seed}");
        }
        assert!(taken_over > 250 && given_up > 0, "{taken_over} and {given_up}");
    }

    #[test]
    fn tables_in_between_tell_themselves_by_their_names() {
        assert!(joins_by_name("prize_attendees", &["prizes", "attendee"]));
        assert!(joins_by_name("tblHorseFarm", &["tblHorses", "Farm"]));
        assert!(!joins_by_name("enrolment", &["students", "courses"]));
    }
}
