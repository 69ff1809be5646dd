//! BIRD's execution accuracy and the strict one.

use std::collections::HashSet;

use super::key::rows;
use crate::question::Table;

/// `set(predicted) == set(gold)` over tuples, as BIRD's `evaluation.py` has it. Two empty results are equal whatever
/// their columns: neither has a tuple.
pub(super) fn official(gold: &Table, predicted: &Table) -> bool {
    let set = |table| rows(table).into_iter().collect::<HashSet<_>>();
    set(gold) == set(predicted)
}

/// The same rows as often, in the same order where it counts. Rows are all that is compared: two empty results are equal
/// here too.
pub(super) fn strict(gold: &Table, predicted: &Table, ordered: bool) -> bool {
    let (mut gold_rows, mut predicted_rows) = (rows(gold), rows(predicted));
    if !ordered {
        gold_rows.sort_unstable();
        predicted_rows.sort_unstable();
    }
    gold_rows == predicted_rows
}
