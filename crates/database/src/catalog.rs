//! The catalog: what tables and views a database has, with their columns and declared keys.

use std::collections::HashSet;
use std::time::Duration;

use crate::names::{find, quote};
use crate::token::{Kind, tokens};
use crate::{Database, Error, Limits, Statement, Value};

/// All tables and views, in the order of `sqlite_master`, which is the order they were created in.
///
/// Left out are SQLite's own tables (`sqlite_sequence`, …) and the shadow tables in which full-text and R-tree tables
/// keep their content.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Catalog {
    /// Tables and views, mixed as `sqlite_master` has them.
    pub tables: Vec<Table>,
}

/// What kind of object a [`Table`] is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TableKind {
    /// An ordinary table.
    Table,
    /// A view.
    View,
    /// A virtual table, such as a full-text index.
    Virtual,
}

/// A table or view.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    /// Its name, as created.
    pub name: String,
    /// Whether it is a table, a view or a virtual table.
    pub kind: TableKind,
    /// The `CREATE` statement as stored, line breaks and comments included.
    pub sql: String,
    /// Its columns in order.
    pub columns: Vec<Column>,
    /// Its declared foreign keys, in the order of declaration.
    pub foreign_keys: Vec<ForeignKey>,
    /// Why its columns or keys could not be read (a view on a dropped table, a module that this engine lacks).
    pub problem: Option<String>,
}

/// A column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// Its name, as created.
    pub name: String,
    /// The declared type as written; empty where none was.
    pub declared_type: String,
    /// Declared NOT NULL.
    pub not_null: bool,
    /// The default as SQL text.
    pub default: Option<String>,
    /// Its place in the primary key, from 1; 0 outside it.
    pub key: usize,
    /// Whether it is stored, generated, or hidden.
    pub kind: ColumnKind,
}

/// How a column comes by its values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnKind {
    /// Stored.
    Ordinary,
    /// Generated (`GENERATED ALWAYS AS`), whether stored or not.
    Generated,
    /// A hidden column of a virtual table, which `SELECT *` leaves out.
    Hidden,
}

/// A declared foreign key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForeignKey {
    /// The columns of the table that declares it.
    pub columns: Vec<String>,
    /// The table referred to: as the catalog spells it, or as written where there is no such table.
    pub parent: String,
    /// The columns referred to, one for each of `columns`. `REFERENCES parent` without columns means the parent's
    /// primary key; the list is empty where that cannot be told (no such table, or a key of another length).
    pub parent_columns: Vec<String>,
}

impl Table {
    /// The columns of the primary key, in the key's order.
    pub fn primary_key(&self) -> Vec<&Column> {
        let mut key: Vec<&Column> = self.columns.iter().filter(|column| column.key > 0).collect();
        key.sort_by_key(|column| column.key);
        key
    }

    /// A column by name: as spelt, else without regard to case, else with quotes taken off.
    pub fn column(&self, name: &str) -> Option<&Column> {
        let index = find(self.columns.iter().map(|column| column.name.as_str()), name)?;
        self.columns.get(index)
    }
}

impl Catalog {
    /// A table or view by name: as spelt, else without regard to case, else with quotes or `main.` taken off.
    pub fn table(&self, name: &str) -> Option<&Table> {
        self.tables.get(self.index(name)?)
    }

    /// The position of a table in `tables`, by name as for [`Catalog::table`].
    pub fn index(&self, name: &str) -> Option<usize> {
        find(self.tables.iter().map(|table| table.name.as_str()), name)
    }

    /// Reads the catalog through `database`.
    ///
    /// # Errors
    ///
    /// When `sqlite_master` cannot be read.
    pub fn read<D: Database + ?Sized>(database: &mut D) -> Result<Catalog, Error> {
        // Its own limits: a schema is no result, and reading it must not depend on what a query may cost.
        let limits = Limits { rows: 1_000_000, bytes: 1 << 30, time: Duration::from_secs(60) };
        let sql = "SELECT type, name, sql FROM sqlite_master WHERE type IN ('table', 'view') ORDER BY rowid";
        let listed = database.run(&Statement::own(sql), &limits)?;
        let objects: Vec<(bool, String, String)> = listed
            .rows
            .iter()
            .filter_map(|row| match row.as_slice() {
                [kind, name, sql] => {
                    let sql = if *sql == Value::Null { String::new() } else { sql.as_text().into_owned() };
                    Some((kind.as_text() == "view", name.as_text().into_owned(), sql))
                }
                _ => None,
            })
            .collect();

        let mut shadows = HashSet::new();
        for (_, name, sql) in &objects {
            for suffix in shadow_suffixes(sql) {
                shadows.insert(format!("{name}_{suffix}").to_ascii_lowercase());
            }
        }
        let mut tables = Vec::with_capacity(objects.len());
        for (is_view, name, sql) in objects {
            let folded = name.to_ascii_lowercase();
            if folded.starts_with("sqlite_") || (!is_view && shadows.contains(&folded)) {
                continue;
            }
            let kind = match (is_view, module(&sql)) {
                (true, _) => TableKind::View,
                (false, Some(_)) => TableKind::Virtual,
                (false, None) => TableKind::Table,
            };
            let mut table =
                Table { name, kind, sql, columns: Vec::new(), foreign_keys: Vec::new(), problem: None };
            if let Err(error) = read_details(database, &mut table, &limits) {
                match error {
                    Error::Cancelled => return Err(error),
                    other => table.problem = Some(other.to_string()),
                }
            }
            tables.push(table);
        }
        let mut catalog = Catalog { tables };
        catalog.resolve_keys();
        Ok(catalog)
    }

    /// Puts the parents' own spelling, and their primary keys where no columns were named, into the foreign keys.
    fn resolve_keys(&mut self) {
        let parents = self.tables.clone();
        let position = |name: &str| {
            parents
                .iter()
                .position(|table| table.name.eq_ignore_ascii_case(name))
                .map(|index| &parents[index])
        };
        for key in self.tables.iter_mut().flat_map(|table| &mut table.foreign_keys) {
            let Some(parent) = position(&key.parent) else { continue };
            key.parent.clone_from(&parent.name);
            if key.parent_columns.is_empty() {
                let primary: Vec<String> =
                    parent.primary_key().iter().map(|column| column.name.clone()).collect();
                if primary.len() == key.columns.len() {
                    key.parent_columns = primary;
                }
            } else {
                for name in &mut key.parent_columns {
                    let same = parent.columns.iter().find(|column| column.name.eq_ignore_ascii_case(name));
                    if let Some(column) = same {
                        name.clone_from(&column.name);
                    }
                }
            }
        }
    }
}

/// Reads columns and foreign keys of one table. `PRAGMA` and not the table-valued `pragma_…`: a database may hold a
/// table of that name.
fn read_details<D: Database + ?Sized>(
    database: &mut D,
    table: &mut Table,
    limits: &Limits,
) -> Result<(), Error> {
    let sql = format!("PRAGMA main.table_xinfo({})", quote(&table.name));
    for row in database.run(&Statement::own(&sql), limits)?.rows {
        // cid, name, type, notnull, dflt_value, pk, hidden
        let [_, name, declared_type, not_null, default, key, hidden] = row.as_slice() else { continue };
        table.columns.push(Column {
            name: name.as_text().into_owned(),
            declared_type: declared_type.as_text().into_owned(),
            not_null: *not_null != Value::Integer(0),
            default: (*default != Value::Null).then(|| default.as_text().into_owned()),
            key: integer(key),
            kind: match integer(hidden) {
                0 => ColumnKind::Ordinary,
                1 => ColumnKind::Hidden,
                _ => ColumnKind::Generated,
            },
        });
    }
    if table.kind != TableKind::Table {
        return Ok(());
    }
    let sql = format!("PRAGMA main.foreign_key_list({})", quote(&table.name));
    let mut keys: Vec<(usize, ForeignKey)> = Vec::new();
    for row in database.run(&Statement::own(&sql), limits)?.rows {
        // id, seq, table, from, to, on_update, on_delete, match
        let [id, _, parent, from, to, ..] = row.as_slice() else { continue };
        let id = integer(id);
        if keys.last().is_none_or(|(last, _)| *last != id) {
            let parent = parent.as_text().into_owned();
            keys.push((id, ForeignKey { columns: Vec::new(), parent, parent_columns: Vec::new() }));
        }
        if let Some((_, key)) = keys.last_mut() {
            key.columns.push(from.as_text().into_owned());
            if *to != Value::Null {
                key.parent_columns.push(to.as_text().into_owned());
            }
        }
    }
    // SQLite numbers the keys from the last one declared.
    keys.sort_by_key(|(id, _)| std::cmp::Reverse(*id));
    table.foreign_keys = keys.into_iter().map(|(_, key)| key).collect();
    Ok(())
}

fn integer(value: &Value) -> usize {
    match value {
        Value::Integer(number) => usize::try_from(*number).unwrap_or(0),
        _ => 0,
    }
}

/// The module of a `CREATE VIRTUAL TABLE … USING module` statement, in lower case.
fn module(sql: &str) -> Option<String> {
    let mut words = tokens(sql).filter(|token| token.kind != Kind::Space);
    if !words.next()?.is("CREATE") || !words.next()?.is("VIRTUAL") {
        return None;
    }
    words.find(|token| token.is("USING"))?;
    Some(words.next()?.name().to_ascii_lowercase())
}

/// The endings of the shadow tables that the module of a virtual table keeps. Told from the module's name and not by
/// asking SQLite, which knows the shadow tables only of modules it was built with (sql.js has no FTS5 and no R-tree).
fn shadow_suffixes(sql: &str) -> &'static [&'static str] {
    match module(sql).as_deref() {
        Some("fts3" | "fts4") => &["content", "segments", "segdir", "docsize", "stat"],
        Some("fts5") => &["data", "idx", "config", "content", "docsize"],
        Some("rtree" | "rtree_i32" | "geopoly") => &["node", "rowid", "parent"],
        _ => &[],
    }
}
