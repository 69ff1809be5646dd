//! The agent's own tools on a generated database, and the scoring of an answer.

use crate::error::{Error, Result};
use glowworm_database::{NativeDatabase, NativeOptions, Tools};
use rusqlite::Connection;
use rusqlite::types::Value;

/// The bytes of a database's file.
///
/// # Errors
/// When SQLite cannot write them.
pub fn image(db: &mut Connection) -> Result<Vec<u8>> {
    let bytes = db.serialize("main").map_err(|source| Error::Sqlite { sql: "serialize".into(), source })?;
    Ok(bytes.to_vec())
}

/// Puts the tools on a database file that lies in memory.
///
/// They are the program's tools, so that training sees the bytes that inference will see.
///
/// # Errors
/// When the bytes are no database.
pub fn tools_on(image: &[u8]) -> Result<Tools<NativeDatabase>> {
    let native = NativeDatabase::from_bytes(image.to_vec(), None, "generated", NativeOptions::default());
    native.and_then(Tools::new).map_err(|e| Error::Tools(e.to_string()))
}

/// At most `limit` rows of a query.
///
/// # Errors
/// SQLite's message.
pub fn query(db: &Connection, sql: &str, limit: usize) -> std::result::Result<Vec<Vec<Value>>, String> {
    let mut q = db.prepare(sql).map_err(|e| e.to_string())?;
    if !q.readonly() {
        return Err("not a query; write one SELECT statement".into());
    }
    let width = q.column_count();
    let mut rows = q.query([]).map_err(|e| e.to_string())?;
    let mut out = Vec::new();
    while out.len() < limit {
        let Some(row) = rows.next().map_err(|e| e.to_string())? else { break };
        out.push((0..width).map(|i| row.get(i)).collect::<rusqlite::Result<_>>().map_err(|e| e.to_string())?);
    }
    Ok(out)
}

/// Whether two queries give the same rows: as multisets, in order where the gold query's outermost SELECT orders them.
pub fn same_result(db: &Connection, gold: &str, answer: &str) -> bool {
    let (Ok(g), Ok(p)) = (query(db, gold, 2000), query(db, answer, 2000)) else { return false };
    same_rows(&g, &p, orders_outermost(gold))
}

/// Whether two results are the same: in order if they are `ordered`, else as multisets.
pub(crate) fn same_rows(gold: &[Vec<Value>], answer: &[Vec<Value>], ordered: bool) -> bool {
    let lines = |rows: &[Vec<Value>]| -> Vec<String> {
        rows.iter().map(|r| r.iter().map(cell).collect::<Vec<_>>().join("\u{1}")).collect()
    };
    let (mut g, mut p) = (lines(gold), lines(answer));
    if !ordered {
        g.sort();
        p.sort();
    }
    g == p
}

/// A value as it is compared: whole numbers equal the same numbers with a point, four places count.
pub fn cell(value: &Value) -> String {
    match value {
        Value::Integer(n) => format!("{:.4}", *n as f64),
        Value::Real(x) => format!("{x:.4}"),
        other => format!("{other:?}"),
    }
}

/// Whether `ORDER BY` stands outside all parentheses.
pub(crate) fn orders_outermost(sql: &str) -> bool {
    let mut depth = 0i32;
    sql.to_uppercase().match_indices(['(', ')', 'O']).any(|(i, c)| {
        match c {
            "(" => depth += 1,
            ")" => depth -= 1,
            _ => return depth == 0 && sql[i..].to_uppercase().starts_with("ORDER BY"),
        }
        false
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_judged_by_their_rows() {
        let db = Connection::open_in_memory().unwrap();
        db.execute_batch(
            "CREATE TABLE t (a INTEGER, b TEXT); INSERT INTO t VALUES (2, 'x'), (1, 'y'), (1, 'y')",
        )
        .unwrap();
        assert!(same_result(&db, "SELECT a FROM t", "SELECT a FROM t ORDER BY a"));
        assert!(!same_result(&db, "SELECT a FROM t ORDER BY a", "SELECT a FROM t"));
        assert!(same_result(&db, "SELECT a FROM (SELECT a FROM t ORDER BY a)", "SELECT a FROM t"));
        assert!(!same_result(&db, "SELECT a FROM t", "SELECT DISTINCT a FROM t"));
        assert!(!same_result(&db, "SELECT a FROM t", "SELECT nothing FROM t"));
        assert!(same_result(&db, "SELECT 1.0", "SELECT 1"));
    }
}
