//! Which tables of a database an episode sees.
//!
//! # How tables are hidden
//! A hidden table must not be there at all: not in `list_tables`, not for `run_query`, not in `sqlite_master`. So an
//! episode with fewer tables runs on a copy of the file from whose schema the others were deleted. Their pages stay in
//! the copy as dead weight, and everything else keeps its place: indexes, row ids, and so the order in which rows come
//! without ORDER BY. Filtering what the tools say would have to find every way in which SQL can name a table; copying
//! the rows would change their order. The cost is a copy of the file for each choice of tables.
//!
//! Scores are always computed on the whole file.

use std::collections::BTreeSet;
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use glowworm_database::{Catalog, Database, NativeDatabase, Table, TableKind};
use rusqlite::Connection;
use serde::{Deserialize, Serialize};

use crate::databases::{Databases, Schema, open};
use crate::error::{Error, Result};
use crate::question::Question;
use crate::random::Random;
use crate::sql::names;

/// Which tables are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TableMode {
    /// All of them.
    All,
    /// At most so many: those of the gold query, the others drawn.
    Cap(usize),
    /// Those of the gold query alone.
    GoldOnly,
    /// Those of the gold query and so many others, drawn.
    GoldPlus(usize),
}

impl fmt::Display for TableMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TableMode::All => f.write_str("all"),
            TableMode::Cap(count) => write!(f, "cap:{count}"),
            TableMode::GoldOnly => f.write_str("gold"),
            TableMode::GoldPlus(count) => write!(f, "gold+{count}"),
        }
    }
}

impl FromStr for TableMode {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let count = |text: &str| text.parse::<usize>().ok().filter(|count| *count > 0);
        match text {
            "all" => return Ok(TableMode::All),
            "cap" => return Ok(TableMode::Cap(64)),
            "gold" => return Ok(TableMode::GoldOnly),
            _ => {}
        }
        let cap = text.strip_prefix("cap:").and_then(count).map(TableMode::Cap);
        let plus = || text.strip_prefix("gold+").and_then(count).map(TableMode::GoldPlus);
        cap.or_else(plus)
            .ok_or_else(|| format!("{text:?} says no tables; give all, cap:64, gold, or gold+32"))
    }
}

/// What is known of a question's database before its episodes.
#[derive(Debug)]
pub struct Stage {
    /// The file that the episodes run on.
    pub path: PathBuf,
    /// Its catalog.
    pub catalog: Catalog,
    /// Its schema, to tell which tables a query reads.
    pub schema: Schema,
    /// Tables that a gold query reads: of the gold with the fewest, where several are accepted.
    pub gold_tables: BTreeSet<String>,
    /// A copy that goes when this does.
    _copy: Option<tempfile::TempPath>,
}

impl Stage {
    /// Opens the database of a question and hides what is not to be seen. `seed` decides what is drawn, the question's
    /// id included: the same for every sample and every model.
    ///
    /// # Errors
    ///
    /// When the database cannot be opened or copied.
    pub fn new(databases: &Databases, question: &Question, mode: TableMode, seed: u64) -> Result<Self> {
        let path = databases.path(&question.db_id)?;
        let catalog = read_catalog(&question.db_id, &mut open(&question.db_id, &path)?)?;
        let schema = Schema::new(&catalog)?;
        // What a view reads is not what the query asks for: only tables that it names.
        let named = |sql: &str| {
            let words = names(sql);
            let read = schema.tables(sql)?.into_iter();
            Some(read.filter(|table| words.contains(&table.to_lowercase())).collect::<BTreeSet<String>>())
        };
        let gold_tables = question.queries().filter_map(named).min_by_key(BTreeSet::len).unwrap_or_default();
        let needed: BTreeSet<String> =
            question.queries().filter_map(|sql| schema.tables(sql)).flatten().collect();
        let mut random = Random::for_purpose(seed, &format!("tables of {}", question.id));
        let shown = choose(&catalog, &needed, mode, &mut random);
        let is_shown = |table: &Table| table.kind == TableKind::View || shown.contains(&table.name);
        if catalog.tables.iter().all(is_shown) {
            return Ok(Self { path, catalog, schema, gold_tables, _copy: None });
        }
        let copy = hide(databases, &question.db_id, &path, &catalog, &shown, &schema)?;
        let catalog = read_catalog(&question.db_id, &mut open(&question.db_id, &copy)?)?;
        let schema = Schema::new(&catalog)?;
        Ok(Self { path: copy.to_path_buf(), catalog, schema, gold_tables, _copy: Some(copy) })
    }

    /// Opens the database that the episodes see.
    ///
    /// # Errors
    ///
    /// When the file cannot be opened.
    pub fn open(&self, db_id: &str) -> Result<NativeDatabase> {
        open(db_id, &self.path)
    }

    /// Number of tables that the episodes see, views not counted.
    pub fn tables(&self) -> usize {
        self.catalog.tables.iter().filter(|table| table.kind != TableKind::View).count()
    }
}

fn read_catalog(db_id: &str, database: &mut NativeDatabase) -> Result<Catalog> {
    database
        .catalog()
        .map_err(|error| Error::Database { db_id: db_id.to_owned(), problem: error.to_string() })
}

/// The graph-aware sampler: the needed tables, then neighbours of what is chosen over declared foreign keys, in either
/// direction, drawn one by one; where there are none left, any table. So the others are those that a person would
/// confuse with the needed ones, rather than a random corner of the database. Views go with the tables they read.
fn choose(
    catalog: &Catalog,
    needed: &BTreeSet<String>,
    mode: TableMode,
    random: &mut Random,
) -> BTreeSet<String> {
    let all: BTreeSet<String> = catalog.tables.iter().map(|table| table.name.clone()).collect();
    // Where it is not known what is needed, nothing can be left out.
    if needed.is_empty() {
        return all;
    }
    let tables: Vec<&str> = catalog
        .tables
        .iter()
        .filter(|table| table.kind != TableKind::View)
        .map(|table| table.name.as_str())
        .collect();
    let mut chosen: BTreeSet<String> = needed.clone();
    let count = |chosen: &BTreeSet<String>| tables.iter().filter(|table| chosen.contains(**table)).count();
    let wanted = match mode {
        TableMode::All => return all,
        TableMode::GoldOnly => 0,
        TableMode::Cap(most) => most,
        TableMode::GoldPlus(more) => count(&chosen) + more,
    };
    let edges: Vec<(&str, &str)> = catalog
        .tables
        .iter()
        .flat_map(|table| table.foreign_keys.iter().map(|key| (table.name.as_str(), key.parent.as_str())))
        .collect();
    while count(&chosen) < wanted.min(tables.len()) {
        let is_near = |table: &str| {
            edges.iter().any(|(child, parent)| {
                (*child == table && chosen.contains(*parent)) || (*parent == table && chosen.contains(*child))
            })
        };
        let rest: Vec<&str> = tables.iter().copied().filter(|table| !chosen.contains(*table)).collect();
        let near: Vec<&str> = rest.iter().copied().filter(|table| is_near(table)).collect();
        let from = if near.is_empty() { &rest } else { &near };
        let drawn = from[random.below(from.len())].to_owned();
        chosen.insert(drawn);
    }
    chosen
}

/// Copies the file and deletes from the copy's schema what is not in `shown`.
fn hide(
    databases: &Databases,
    db_id: &str,
    path: &Path,
    catalog: &Catalog,
    shown: &BTreeSet<String>,
    schema: &Schema,
) -> Result<tempfile::TempPath> {
    let problem = |problem: String| Error::Database { db_id: db_id.to_owned(), problem };
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    if std::fs::metadata(&log).is_ok_and(|log| log.len() > 0) {
        return Err(problem(
            "a write-ahead log lies beside it, and tables can only be hidden in a file that is whole; open and close it \
             once with the sqlite3 program"
                .to_owned(),
        ));
    }
    let copy = tempfile::Builder::new()
        .suffix(".sqlite")
        .tempfile_in(databases.temporary())
        .map_err(Error::writing(databases.temporary()))?
        .into_temp_path();
    // Not fs::copy, which would copy the permissions too: the set may be write-protected.
    let bytes = std::fs::File::open(path)
        .and_then(|mut from| std::io::copy(&mut from, &mut std::fs::File::create(&copy)?));
    bytes.map_err(Error::reading(path))?;
    let is_shown = |name: &str| {
        let reads = |view: &str| schema.tables(&format!("SELECT * FROM {}", glowworm_database::quote(view)));
        match catalog.table(name) {
            Some(table) if table.kind == TableKind::View => {
                let of_tables =
                    |read: &String| shown.contains(read) || read == name || is_view(catalog, read);
                reads(name).is_some_and(|tables| tables.iter().all(of_tables))
            }
            _ => shown.contains(name),
        }
    };
    let hidden: Vec<&str> =
        catalog.tables.iter().map(|table| table.name.as_str()).filter(|name| !is_shown(name)).collect();
    let edit = || -> rusqlite::Result<()> {
        let mut connection = Connection::open(&copy)?;
        connection.execute_batch("PRAGMA writable_schema = ON; PRAGMA journal_mode = OFF;")?;
        let change = connection.transaction()?;
        for name in &hidden {
            // Indexes and triggers go with their table.
            change.execute("DELETE FROM sqlite_master WHERE tbl_name = ?1", [name])?;
        }
        change.commit()?;
        connection.close().map_err(|(_, error)| error)
    };
    edit().map_err(|error| problem(format!("its tables cannot be hidden in a copy: {error}")))?;
    Ok(copy)
}

fn is_view(catalog: &Catalog, name: &str) -> bool {
    catalog.tables.iter().any(|table| table.name == name && table.kind == TableKind::View)
}

#[cfg(test)]
mod tests {
    use glowworm_database::{Limits, Tools};

    use super::*;

    /// A chain t0 ← t1 ← … ← t19, and twenty tables without keys.
    fn databases() -> (tempfile::TempDir, Databases) {
        let folder = tempfile::tempdir().unwrap();
        let mut sql = String::new();
        for i in 0..20 {
            let key = if i > 0 { format!(", up INTEGER REFERENCES t{}(id)", i - 1) } else { String::new() };
            sql.push_str(&format!("CREATE TABLE t{i} (id INTEGER PRIMARY KEY, v TEXT{key}); INSERT INTO t{i} (v) VALUES ('v{i}'); CREATE TABLE lone{i} (x);"));
        }
        sql.push_str("CREATE VIEW few AS SELECT v FROM t3; CREATE VIEW many AS SELECT v FROM t3 JOIN lone1; CREATE INDEX i9 ON t9(v);");
        Connection::open(folder.path().join("chain.sqlite")).unwrap().execute_batch(&sql).unwrap();
        let databases = Databases::new(folder.path()).unwrap();
        (folder, databases)
    }

    fn question(sql: &str) -> Question {
        Question::new("q", "chain", "?", vec![sql.to_owned()])
    }

    fn shown(stage: &Stage) -> Vec<&str> {
        stage.catalog.tables.iter().map(|table| table.name.as_str()).collect()
    }

    #[test]
    fn gold_only_hides_all_others_from_every_query() {
        let (_folder, databases) = databases();
        let question = question("SELECT v FROM t3");
        let stage = Stage::new(&databases, &question, TableMode::GoldOnly, 1).unwrap();
        assert_eq!(shown(&stage), ["t3", "few"]);
        assert_eq!(stage.tables(), 1);
        let mut tools = Tools::new(stage.open("chain").unwrap()).unwrap();
        let one = |tools: &mut Tools<_>, sql: &str| tools.query(sql, &Limits::default());
        assert_eq!(one(&mut tools, "SELECT v FROM few").unwrap().rows.len(), 1);
        assert_eq!(
            one(&mut tools, "SELECT * FROM sqlite_master WHERE type = 'table'").unwrap().rows.len(),
            1
        );
        assert_eq!(one(&mut tools, "SELECT * FROM t4").unwrap_err().to_string(), "no such table: t4");
        let copy = stage.path.clone();
        drop(stage);
        assert!(!copy.exists());
    }

    #[test]
    fn neighbours_are_drawn_before_strangers() {
        let (_folder, databases) = databases();
        let question = question("SELECT v FROM t3");
        let stage = Stage::new(&databases, &question, TableMode::GoldPlus(5), 1).unwrap();
        let tables: Vec<&str> = shown(&stage).into_iter().filter(|name| *name != "few").collect();
        assert_eq!(tables.len(), 6);
        assert!(tables.iter().all(|name| name.starts_with('t')), "{tables:?}");
        let again = Stage::new(&databases, &question, TableMode::GoldPlus(5), 1).unwrap();
        assert_eq!(shown(&stage), shown(&again));
        let draws: BTreeSet<Vec<String>> = (0..20)
            .map(|seed| {
                let stage = Stage::new(&databases, &question, TableMode::GoldPlus(5), seed).unwrap();
                shown(&stage).into_iter().map(str::to_owned).collect()
            })
            .collect();
        assert!(draws.len() > 2, "the seed decides");
        // Once the chain is used up, strangers come.
        let stage = Stage::new(&databases, &question, TableMode::Cap(25), 1).unwrap();
        assert_eq!(stage.tables(), 25);
        assert_eq!(shown(&stage).iter().filter(|name| name.starts_with('t')).count(), 20);
    }

    #[test]
    fn a_cap_that_is_not_reached_changes_nothing() {
        let (folder, databases) = databases();
        let question = question("SELECT v FROM t3");
        let stage = Stage::new(&databases, &question, TableMode::Cap(64), 1).unwrap();
        assert_eq!(stage.path, folder.path().join("chain.sqlite"));
        assert_eq!(stage.gold_tables, BTreeSet::from(["t3".to_owned()]));
    }

    #[test]
    fn modes_have_names() {
        for mode in [TableMode::All, TableMode::Cap(64), TableMode::GoldOnly, TableMode::GoldPlus(32)] {
            assert_eq!(mode.to_string().parse(), Ok(mode));
        }
        assert_eq!("cap".parse(), Ok(TableMode::Cap(64)));
        assert!("cap:0".parse::<TableMode>().is_err() && "some".parse::<TableMode>().is_err());
    }
}
