//! When two values are one.
//!
//! The official scripts compare Python values, where `1 == 1.0` and `'1' != 1`. A [`Key`] is equal to another exactly
//! where Python's values are, and can be hashed and sorted.

use glowworm_database::Value;

use crate::question::Table;

/// A value, in a form in which equal values are the same.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Key<'a> {
    Null,
    /// A whole number, wherever it was stored as one or as a REAL: Python compares the two exactly.
    Whole(i64),
    /// Any other REAL, by its bits: no two different ones are equal, and NaN cannot be stored.
    Real(u64),
    Text(&'a str),
    Blob(&'a [u8]),
}

impl<'a> From<&'a Value> for Key<'a> {
    fn from(value: &'a Value) -> Self {
        match value {
            Value::Null => Key::Null,
            Value::Integer(number) => Key::Whole(*number),
            Value::Real(number) => match whole(*number) {
                Some(number) => Key::Whole(number),
                None => Key::Real(number.to_bits()),
            },
            Value::Text(text) => Key::Text(text),
            Value::Blob(bytes) => Key::Blob(bytes),
        }
    }
}

/// The REAL as the 64-bit integer that it equals. −2^63 is one, 2^63 is none; −0.0 is 0.
fn whole(number: f64) -> Option<i64> {
    const END: f64 = 9_223_372_036_854_775_808.0;
    let fits = number.fract() == 0.0 && (-END..END).contains(&number);
    fits.then_some(number as i64)
}

/// The rows of a table as keys.
pub(super) fn rows(table: &Table) -> Vec<Vec<Key<'_>>> {
    table.rows.iter().map(|row| row.iter().map(Key::from).collect()).collect()
}

/// The columns of a table as keys.
pub(super) fn columns(table: &Table) -> Vec<Vec<Key<'_>>> {
    (0..table.columns).map(|index| table.column(index).into_iter().map(Key::from).collect()).collect()
}

/// What a majority vote counts: the same for two results with the same rows, in whatever order.
pub fn fingerprint(table: &Table) -> String {
    use std::fmt::Write;
    let mut rows = rows(table);
    rows.sort_unstable();
    let mut text = format!("{}", table.columns);
    for row in &rows {
        text.push('\u{1e}');
        for key in row {
            // Writing to a String cannot fail.
            let _ = write!(text, "{key:?}\u{1f}");
        }
    }
    format!("{:016x}", crate::random::fingerprint(text.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn same(a: Value, b: Value) -> bool {
        Key::from(&a) == Key::from(&b)
    }

    #[test]
    fn values_are_equal_as_in_python() {
        assert!(same(Value::Integer(1), Value::Real(1.0)));
        assert!(same(Value::Real(-0.0), Value::Integer(0)));
        assert!(same(Value::Null, Value::Null));
        assert!(!same(Value::Text("1".into()), Value::Integer(1)));
        assert!(!same(Value::Text("a".into()), Value::Blob(b"a".to_vec())));
        assert!(!same(Value::Null, Value::Text(String::new())));
        // 2^53 + 1 has no REAL; Python compares exactly and not after rounding.
        assert!(!same(Value::Integer((1 << 53) + 1), Value::Real(9_007_199_254_740_992.0)));
        assert!(same(Value::Integer(i64::MIN), Value::Real(-9_223_372_036_854_775_808.0)));
        assert!(!same(Value::Integer(i64::MAX), Value::Real(9_223_372_036_854_775_808.0)));
        assert!(same(Value::Real(f64::INFINITY), Value::Real(f64::INFINITY)));
        assert!(!same(Value::Real(0.1 + 0.2), Value::Real(0.3)));
    }

    #[test]
    fn a_vote_ignores_the_order_of_rows_only() {
        let table = |rows: &[[i64; 2]]| {
            Table::new(2, rows.iter().map(|row| row.iter().map(|n| Value::Integer(*n)).collect()).collect())
        };
        assert_eq!(fingerprint(&table(&[[1, 2], [3, 4]])), fingerprint(&table(&[[3, 4], [1, 2]])));
        assert_ne!(fingerprint(&table(&[[1, 2]])), fingerprint(&table(&[[2, 1]])));
        assert_ne!(fingerprint(&table(&[[1, 2]])), fingerprint(&table(&[[1, 2], [1, 2]])));
        assert_ne!(fingerprint(&Table::new(1, vec![])), fingerprint(&Table::new(2, vec![])));
    }
}
