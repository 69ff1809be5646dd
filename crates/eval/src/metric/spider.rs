//! Spider's test-suite equality.
//!
//! Zhong, Yu and Klein, "Semantic Evaluation for Text-to-SQL with Distilled Test Suites" (2020). The script tries all
//! permutations of columns; here a column is placed only where the rows so far still agree, which finds the same
//! answer without the factorial.

use std::collections::HashMap;

use super::key::{Key, columns};
use crate::question::Table;

/// Puts together the operators that Spider's files tear apart, as the script does.
pub(super) fn query(sql: &str) -> String {
    sql.replace("> =", ">=").replace("< =", "<=").replace("! =", "!=")
}

/// Whether some order of the predicted columns makes the two the same list, or the same multiset, of rows.
pub(super) fn equal(gold: &Table, predicted: &Table, ordered: bool) -> bool {
    if gold.rows.is_empty() && predicted.rows.is_empty() {
        return true;
    }
    if gold.rows.len() != predicted.rows.len() || gold.columns != predicted.columns {
        return false;
    }
    let (gold, predicted) = (columns(gold), columns(predicted));
    if ordered {
        // Each gold column needs a predicted one that is the same list; equal lists stand for each other.
        let sorted = |mut columns: Vec<Vec<_>>| {
            columns.sort_unstable();
            columns
        };
        return sorted(gold) == sorted(predicted);
    }
    let rows = gold.first().map_or(0, Vec::len);
    place(&gold, &predicted, &mut vec![false; predicted.len()], 0, &vec![0; rows], &vec![0; rows])
}

/// Finds a place for gold column `next` and those after it. `left` and `right` number the rows by what they hold in the
/// columns so far, with the same numbers on both sides.
fn place(
    gold: &[Vec<Key<'_>>],
    predicted: &[Vec<Key<'_>>],
    used: &mut [bool],
    next: usize,
    left: &[usize],
    right: &[usize],
) -> bool {
    let Some(column) = gold.get(next) else { return true };
    for candidate in 0..predicted.len() {
        // A column that is the same as one that was tried already leads nowhere else.
        let tried = (0..candidate).any(|other| !used[other] && predicted[other] == predicted[candidate]);
        if used[candidate] || tried {
            continue;
        }
        if let Some((left, right)) = refine(column, &predicted[candidate], left, right) {
            used[candidate] = true;
            if place(gold, predicted, used, next + 1, &left, &right) {
                return true;
            }
            used[candidate] = false;
        }
    }
    false
}

/// The numbers of the rows once a column is added, where both sides still have each kind of row as often.
fn refine<'a>(
    gold: &'a [Key<'a>],
    predicted: &'a [Key<'a>],
    left: &[usize],
    right: &[usize],
) -> Option<(Vec<usize>, Vec<usize>)> {
    let mut kinds: HashMap<(usize, &Key<'_>), usize> = HashMap::new();
    let mut balance: Vec<i64> = Vec::new();
    let mut number = |rows: &[usize], keys: &'a [Key<'a>], by: i64| -> Vec<usize> {
        rows.iter()
            .zip(keys)
            .map(|(row, key)| {
                let fresh = kinds.len();
                let kind = *kinds.entry((*row, key)).or_insert(fresh);
                if kind == balance.len() {
                    balance.push(0);
                }
                balance[kind] += by;
                kind
            })
            .collect()
    };
    let numbers = (number(left, gold, 1), number(right, predicted, -1));
    balance.iter().all(|count| *count == 0).then_some(numbers)
}
