//! The databases of a question set: found by name, opened, and their tables told apart by query.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use glowworm_database::{Catalog, NativeDatabase, NativeOptions, TableKind};
use rusqlite::Connection;
use rusqlite::hooks::{AuthAction, AuthContext, Authorization};
use tempfile::TempDir;

use crate::error::{Error, Result};

/// Where the databases of a set lie.
///
/// A database `db` is one of the files `db.sqlite`, `db.db`, `db/db.sqlite` and `db/db.db`, in the folder itself or in
/// one of the folders that the public sets have it in. `db.sql` is a script that makes it; the file is then made once,
/// in a temporary folder.
#[derive(Debug)]
pub struct Databases {
    folder: PathBuf,
    made: Mutex<HashMap<String, PathBuf>>,
    temporary: TempDir,
}

/// Folders of the public sets, below the one that is given.
const FOLDERS: [&str; 7] =
    ["", "database", "databases", "dev_databases", "test_database", "spider2-localdb", "dbs"];

impl Databases {
    /// The databases below a folder.
    ///
    /// # Errors
    ///
    /// When the folder is not there, or no temporary folder can be made.
    pub fn new(folder: impl Into<PathBuf>) -> Result<Self> {
        let folder = folder.into();
        std::fs::read_dir(&folder).map_err(Error::reading(&folder))?;
        let temporary = tempfile::Builder::new()
            .prefix("glowworm-eval-")
            .tempdir()
            .map_err(Error::writing(&std::env::temp_dir()))?;
        Ok(Self { folder, made: Mutex::default(), temporary })
    }

    /// The file of a database.
    ///
    /// # Errors
    ///
    /// When there is none, or its script does not run.
    pub fn path(&self, db_id: &str) -> Result<PathBuf> {
        let mut tried = Vec::new();
        // A name is no way out of the folder.
        let is_name = !db_id.is_empty() && db_id != ".." && !db_id.contains(['/', '\\', '\0']);
        for name in Some(db_id).filter(|_| is_name).into_iter().flat_map(spellings) {
            for below in FOLDERS {
                let folder = self.folder.join(below);
                for ending in ["sqlite", "db"] {
                    let file = format!("{name}.{ending}");
                    for path in [folder.join(&file), folder.join(&name).join(&file)] {
                        if path.is_file() {
                            return Ok(path);
                        }
                        tried.push(path);
                    }
                }
                let script = folder.join(format!("{name}.sql"));
                if script.is_file() {
                    return self.make(db_id, &script);
                }
            }
        }
        tried.truncate(2);
        let tried: Vec<String> = tried.iter().map(|path| path.display().to_string()).collect();
        let tried = if tried.is_empty() { "a plain file name".to_owned() } else { tried.join(", ") };
        Err(Error::NoDatabase { db_id: db_id.to_owned(), folder: self.folder.clone(), tried })
    }

    /// All files of a Spider test suite: the `.sqlite` files beside the database's own, in a folder of its name.
    ///
    /// # Errors
    ///
    /// As [`Databases::path`].
    pub fn suite(&self, db_id: &str) -> Result<Vec<PathBuf>> {
        let path = self.path(db_id)?;
        let Some(folder) =
            path.parent().filter(|folder| folder.file_name().is_some_and(|name| name == db_id))
        else {
            return Ok(vec![path]);
        };
        let entries = std::fs::read_dir(folder).map_err(Error::reading(folder))?;
        let mut files: Vec<PathBuf> = entries
            .filter_map(|entry| entry.ok().map(|entry| entry.path()))
            .filter(|path| path.extension().is_some_and(|ending| ending == "sqlite"))
            .collect();
        files.sort();
        if files.is_empty() {
            files.push(path);
        }
        Ok(files)
    }

    /// Opens a database, for one thread.
    ///
    /// # Errors
    ///
    /// As [`Databases::path`]; when the file cannot be opened.
    pub fn open(&self, db_id: &str) -> Result<NativeDatabase> {
        open(db_id, &self.path(db_id)?)
    }

    /// A place for temporary files that lasts as long as this.
    pub(crate) fn temporary(&self) -> &Path {
        self.temporary.path()
    }

    fn make(&self, db_id: &str, script: &Path) -> Result<PathBuf> {
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(path) = made.get(db_id) {
            return Ok(path.clone());
        }
        let sql = crate::files::read_text(script)?;
        let path = self.temporary.path().join(format!("made-{}.sqlite", made.len()));
        let fill = || Connection::open(&path)?.execute_batch(&sql);
        fill().map_err(|error| Error::Database {
            db_id: db_id.to_owned(),
            problem: format!("its script {} does not run: {error}", script.display()),
        })?;
        made.insert(db_id.to_owned(), path.clone());
        Ok(path)
    }
}

/// Opens a file as the database `db_id`.
pub(crate) fn open(db_id: &str, path: &Path) -> Result<NativeDatabase> {
    NativeDatabase::open(path, NativeOptions::default())
        .map_err(|error| Error::Database { db_id: db_id.to_owned(), problem: error.to_string() })
}

/// A name as it is, and as SQaLe's library writes it into a file name.
fn spellings(db_id: &str) -> Vec<String> {
    let safe =
        |letter: char| if letter.is_alphanumeric() || letter == '_' || letter == '-' { letter } else { '_' };
    let mut names = vec![db_id.to_owned()];
    let other: String = db_id.chars().map(safe).collect();
    if other != db_id {
        names.push(other);
    }
    names
}

/// Tells which tables a query reads: SQLite compiles it against empty tables of the same schema, and reports.
pub struct Schema {
    connection: Connection,
    read: Arc<Mutex<BTreeSet<String>>>,
    /// Names of tables in lower case, with the catalog's spelling.
    names: HashMap<String, String>,
    /// Names of tables and columns in lower case.
    words: BTreeSet<String>,
}

impl std::fmt::Debug for Schema {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Schema").field("tables", &self.names.len()).finish()
    }
}

impl Schema {
    /// The schema of a catalog. What this SQLite cannot make (a view on a dropped table) is left out.
    ///
    /// # Errors
    ///
    /// When SQLite cannot be opened in memory.
    pub fn new(catalog: &Catalog) -> Result<Self> {
        let failed = |error: rusqlite::Error| Error::Database {
            db_id: ":memory:".into(),
            problem: format!("its schema cannot be made in memory: {error}"),
        };
        let mut connection = Connection::open_in_memory().map_err(failed)?;
        let (tables, views): (Vec<_>, Vec<_>) =
            catalog.tables.iter().partition(|table| table.kind != TableKind::View);
        for table in tables.iter().chain(&views) {
            let _ = connection.execute_batch(&table.sql);
        }
        let read = Arc::new(Mutex::new(BTreeSet::new()));
        let seen = Arc::clone(&read);
        let watch = move |context: AuthContext<'_>| {
            if let AuthAction::Read { table_name, .. } = context.action {
                seen.lock().unwrap_or_else(PoisonError::into_inner).insert(table_name.to_owned());
            }
            Authorization::Allow
        };
        connection.authorizer(Some(watch)).map_err(failed)?;
        let names =
            catalog.tables.iter().map(|table| (table.name.to_lowercase(), table.name.clone())).collect();
        let columns = catalog.tables.iter().flat_map(|table| table.columns.iter().map(|column| &column.name));
        let words =
            catalog.tables.iter().map(|table| &table.name).chain(columns).map(|name| name.to_lowercase());
        let words = words.collect();
        Ok(Self { connection, read, names, words })
    }

    /// The tables that a query reads, through views too, in the catalog's spelling; none where it does not compile.
    pub fn tables(&self, sql: &str) -> Option<BTreeSet<String>> {
        let clear = || std::mem::take(&mut *self.read.lock().unwrap_or_else(PoisonError::into_inner));
        clear();
        let compiled = self.connection.prepare(sql).is_ok();
        let read = clear();
        let known = read.iter().filter_map(|name| self.names.get(&name.to_lowercase()).cloned());
        compiled.then(|| known.collect())
    }

    /// Whether a word names a table or a column.
    pub fn is_name(&self, word: &str) -> bool {
        self.words.contains(&word.to_lowercase())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(names: &[&str]) -> BTreeSet<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn files_scripts_and_folders_are_found() {
        let folder = tempfile::tempdir().unwrap();
        let at = |path: &str| folder.path().join(path);
        std::fs::create_dir_all(at("database/nested")).unwrap();
        for path in
            ["flat.sqlite", "database/nested/nested.sqlite", "database/nested/nested_v2.sqlite", "a_b.db"]
        {
            Connection::open(at(path)).unwrap().execute_batch("CREATE TABLE t (a)").unwrap();
        }
        std::fs::write(at("made.sql"), "CREATE TABLE m (a); INSERT INTO m VALUES (1);").unwrap();
        std::fs::write(at("broken.sql"), "CREATE TABLE").unwrap();
        let databases = Databases::new(folder.path()).unwrap();
        assert_eq!(databases.path("flat").unwrap(), at("flat.sqlite"));
        assert_eq!(databases.path("nested").unwrap(), at("database/nested/nested.sqlite"));
        assert_eq!(databases.suite("nested").unwrap().len(), 2);
        assert_eq!(databases.suite("flat").unwrap().len(), 1);
        assert_eq!(databases.path("a/b").unwrap_err().to_string().matches("a plain file name").count(), 1);
        assert_eq!(databases.path("a b").unwrap(), at("a_b.db"));
        assert_eq!(databases.path("made").unwrap(), databases.path("made").unwrap());
        databases.open("made").unwrap();
        assert!(databases.path("broken").unwrap_err().to_string().contains("does not run"));
        assert!(databases.path("none").unwrap_err().to_string().contains("none.sqlite"));
        assert!(databases.path("..").is_err());
    }

    #[test]
    fn the_tables_of_a_query() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.sqlite");
        let sql = "CREATE TABLE Singer (id INTEGER, name TEXT); CREATE TABLE concert (id, singer); CREATE TABLE other (x);\
                   CREATE VIEW both AS SELECT name FROM Singer JOIN concert ON singer = Singer.id;\
                   CREATE VIEW lost AS SELECT * FROM absent;";
        Connection::open(&path).unwrap().execute_batch(sql).unwrap();
        let mut database = open("x", &path).unwrap();
        let catalog = glowworm_database::Database::catalog(&mut database).unwrap();
        let schema = Schema::new(&catalog).unwrap();
        assert_eq!(schema.tables("SELECT count(*) FROM singer"), Some(set(&["Singer"])));
        assert_eq!(
            schema.tables("SELECT * FROM concert WHERE singer IN (SELECT id FROM singer)"),
            Some(set(&["Singer", "concert"]))
        );
        let through_view = schema.tables("SELECT * FROM both").unwrap();
        assert!(through_view.is_superset(&set(&["Singer", "concert"])), "{through_view:?}");
        assert_eq!(schema.tables("SELECT 'singer'"), Some(set(&[])));
        assert_eq!(schema.tables("SELECT * FROM missing"), None);
        assert!(schema.is_name("NAME") && !schema.is_name("France"));
    }
}
