//! The checks that a statement passes before either engine sees it.
//!
//! sql.js has no authorizer, and its one switch against writing can be turned off by the SQL itself. So the decision
//! whether a text is one reading query is made here, on tokens, in plain Rust. Natively it is made as well: both
//! engines then refuse the same statements with the same words, and the authorizer stands behind it.

use crate::error::Refusal;
use crate::token::{Kind, Token, tokens};

/// The longest statement that is looked at, in bytes.
pub const MAX_SQL_BYTES: usize = 1_000_000;

/// The pragmas that a statement may use, as `PRAGMA name(…)` or as the table `pragma_name(…)`. They report on the
/// schema and change nothing whatever their argument.
pub const ALLOWED_PRAGMAS: [&str; 7] = [
    "table_info",
    "table_xinfo",
    "table_list",
    "foreign_key_list",
    "index_list",
    "index_info",
    "index_xinfo",
];

/// Functions that reach outside the query: code from a file, a tokenizer by its address, a rewrite of a full-text
/// index.
pub(crate) const REFUSED_FUNCTIONS: [&str; 3] = ["load_extension", "fts3_tokenizer", "optimize"];

/// Every other pragma that SQLite offers as a table `pragma_name`. Some of them have effects (`optimize`), some are slow
/// (`integrity_check`) and some tell about the machine (`database_list`).
const REFUSED_PRAGMA_TABLES: [&str; 57] = [
    "analysis_limit",
    "application_id",
    "auto_vacuum",
    "automatic_index",
    "busy_timeout",
    "cache_size",
    "cache_spill",
    "cell_size_check",
    "checkpoint_fullfsync",
    "collation_list",
    "compile_options",
    "count_changes",
    "data_version",
    "database_list",
    "default_cache_size",
    "defer_foreign_keys",
    "empty_result_callbacks",
    "encoding",
    "foreign_key_check",
    "foreign_keys",
    "freelist_count",
    "full_column_names",
    "fullfsync",
    "function_list",
    "hard_heap_limit",
    "ignore_check_constraints",
    "integrity_check",
    "journal_mode",
    "journal_size_limit",
    "legacy_alter_table",
    "lock_status",
    "locking_mode",
    "max_page_count",
    "module_list",
    "optimize",
    "page_count",
    "page_size",
    "pragma_list",
    "query_only",
    "quick_check",
    "read_uncommitted",
    "recursive_triggers",
    "reverse_unordered_selects",
    "schema_version",
    "secure_delete",
    "short_column_names",
    "soft_heap_limit",
    "stats",
    "synchronous",
    "temp_store",
    "threads",
    "trusted_schema",
    "user_version",
    "wal_autocheckpoint",
    "wal_checkpoint",
    "writable_schema",
    "mmap_size",
];

/// Words that begin a statement which is refused.
const OTHER_VERBS: [&str; 21] = [
    "INSERT",
    "UPDATE",
    "DELETE",
    "REPLACE",
    "CREATE",
    "DROP",
    "ALTER",
    "ATTACH",
    "DETACH",
    "VACUUM",
    "REINDEX",
    "ANALYZE",
    "BEGIN",
    "COMMIT",
    "END",
    "ROLLBACK",
    "SAVEPOINT",
    "RELEASE",
    "PRAGMA",
    "EXPLAIN",
    "TRUNCATE",
];

/// The text of exactly one statement that only reads: SELECT, VALUES, WITH … SELECT, EXPLAIN of one of these, or one of
/// [`ALLOWED_PRAGMAS`].
///
/// There is no other way for a caller to hand SQL to a [`crate::Database`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Statement<'a> {
    sql: &'a str,
}

impl<'a> Statement<'a> {
    /// Checks `sql`. White space, comments and semicolons may stand around the statement.
    ///
    /// The check is about what the statement would do, not about whether it is correct: SQLite reports a misspelt
    /// column when it runs.
    ///
    /// # Errors
    ///
    /// A [`Refusal`] that says what is wrong.
    pub fn check(sql: &'a str) -> Result<Self, Refusal> {
        if sql.len() > MAX_SQL_BYTES {
            return Err(Refusal::TooLong { bytes: sql.len() });
        }
        if sql.contains('\0') {
            return Err(Refusal::Nul);
        }
        if sql.trim_start().starts_with("```") {
            return Err(Refusal::Fence);
        }
        let all: Vec<Token<'_>> = tokens(sql).filter(|token| token.kind != Kind::Space).collect();
        let is_semicolon = |token: &Token<'_>| token.kind == Kind::Semicolon;
        let start = all.iter().position(|token| !is_semicolon(token)).ok_or(Refusal::Empty)?;
        let all = &all[start..];
        let end = all.iter().position(is_semicolon).unwrap_or(all.len());
        if !all[end..].iter().all(is_semicolon) {
            return Err(Refusal::Several);
        }
        let statement = &all[..end];
        check_verb(statement)?;
        check_names(statement)?;
        Ok(Statement { sql })
    }

    /// The SQL.
    pub fn sql(&self) -> &'a str {
        self.sql
    }

    /// A statement of this crate's own making, which needs no check.
    pub(crate) fn own(sql: &'a str) -> Self {
        Statement { sql }
    }
}

/// Refuses what does not begin as a reading statement.
fn check_verb(tokens: &[Token<'_>]) -> Result<(), Refusal> {
    let mut rest = tokens;
    let explained = rest.first().is_some_and(|token| token.is("EXPLAIN"));
    if explained {
        rest = &rest[1..];
        if rest.len() > 1 && rest[0].is("QUERY") && rest[1].is("PLAN") {
            rest = &rest[2..];
        }
    }
    let first = rest.first().ok_or(Refusal::Incomplete)?;
    if first.is("WITH") {
        rest = after_common_tables(&rest[1..])?;
    } else if first.is("PRAGMA") && !explained {
        return check_pragma(&rest[1..]);
    }
    let verb = rest.first().ok_or(Refusal::Incomplete)?;
    if verb.is("SELECT") || verb.is("VALUES") {
        return Ok(());
    }
    match OTHER_VERBS.iter().find(|word| verb.is(word)) {
        Some(word) => Err(Refusal::ReadOnly { verb: (*word).to_owned() }),
        None => Err(Refusal::Syntax { near: shown(verb) }),
    }
}

/// What follows `WITH [RECURSIVE] name [(columns)] AS [[NOT] MATERIALIZED] (query), …`: the statement proper. Anything
/// that does not have this form is refused, since what follows it could not be told.
fn after_common_tables<'s, 'a>(tokens: &'s [Token<'a>]) -> Result<&'s [Token<'a>], Refusal> {
    let mut rest = tokens;
    let expect = |rest: &'s [Token<'a>], good: bool| match rest.first() {
        Some(_) if good => Ok(&rest[1..]),
        Some(token) => Err(Refusal::Syntax { near: shown(token) }),
        None => Err(Refusal::Incomplete),
    };
    let next_is = |rest: &[Token<'a>], word: &str| rest.first().is_some_and(|token| token.is(word));
    if next_is(rest, "RECURSIVE") {
        rest = &rest[1..];
    }
    loop {
        rest = expect(rest, rest.first().is_some_and(Token::is_name))?;
        if rest.first().is_some_and(|token| token.kind == Kind::Open) {
            rest = after_parentheses(rest)?;
        }
        rest = expect(rest, next_is(rest, "AS"))?;
        if next_is(rest, "NOT") {
            rest = &rest[1..];
            rest = expect(rest, next_is(rest, "MATERIALIZED"))?;
        } else if next_is(rest, "MATERIALIZED") {
            rest = &rest[1..];
        }
        rest = after_parentheses(rest)?;
        match rest.first() {
            Some(token) if token.kind == Kind::Comma => rest = &rest[1..],
            _ => return Ok(rest),
        }
    }
}

/// What follows the parenthesis that opens here, once it is closed.
fn after_parentheses<'s, 'a>(tokens: &'s [Token<'a>]) -> Result<&'s [Token<'a>], Refusal> {
    match tokens.first() {
        Some(token) if token.kind == Kind::Open => {}
        Some(token) => return Err(Refusal::Syntax { near: shown(token) }),
        None => return Err(Refusal::Incomplete),
    }
    let mut depth = 0usize;
    for (i, token) in tokens.iter().enumerate() {
        match token.kind {
            Kind::Open => depth += 1,
            Kind::Close => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Ok(&tokens[i + 1..]);
        }
    }
    Err(Refusal::Incomplete)
}

/// `PRAGMA [schema.]name`, `PRAGMA name(argument)` or `PRAGMA name = argument`, of an allowed name.
fn check_pragma(tokens: &[Token<'_>]) -> Result<(), Refusal> {
    let name = match tokens {
        [] => return Err(Refusal::Incomplete),
        [_, dot, name, ..] if dot.kind == Kind::Dot => name,
        [name, ..] => name,
    };
    if !name.is_name() {
        return Err(Refusal::Syntax { near: shown(name) });
    }
    let name = name.name().to_ascii_lowercase();
    if ALLOWED_PRAGMAS.contains(&name.as_str()) { Ok(()) } else { Err(Refusal::Pragma { name }) }
}

/// Refuses placeholders, pragmas in the form of tables, and functions that reach outside.
fn check_names(tokens: &[Token<'_>]) -> Result<(), Refusal> {
    for (i, token) in tokens.iter().enumerate() {
        if token.kind == Kind::Placeholder {
            return Err(Refusal::Placeholder { text: token.text.to_owned() });
        }
        if !token.is_name() {
            continue;
        }
        let name = token.name().to_ascii_lowercase();
        // A column may have such a name without harm, but then it is not in the list.
        if token.kind != Kind::Text
            && let Some(pragma) = name.strip_prefix("pragma_")
            && REFUSED_PRAGMA_TABLES.contains(&pragma)
        {
            return Err(Refusal::Pragma { name: pragma.to_owned() });
        }
        let called = tokens.get(i + 1).is_some_and(|next| next.kind == Kind::Open);
        if called && REFUSED_FUNCTIONS.contains(&name.as_str()) {
            return Err(Refusal::Function { name });
        }
    }
    Ok(())
}

/// A token for a message: long ones are cut.
fn shown(token: &Token<'_>) -> String {
    let mut text: String = token.text.chars().take(60).collect();
    if text.len() < token.text.len() {
        text.push_str("...");
    }
    text
}
