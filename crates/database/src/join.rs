//! The shortest chain of declared foreign keys between two tables.

use std::collections::VecDeque;

use crate::{Catalog, ForeignKey};

/// One step of a path: from a table to its neighbour, over every key that is declared between the two.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Step {
    /// Positions in the catalog.
    pub from: usize,
    pub to: usize,
    /// How the two are joined, e.g. `Album.ArtistId = Artist.ArtistId`; one entry for each key between them.
    pub conditions: Vec<String>,
}

/// The shortest path from table `from` to table `to` (positions in the catalog), each key walked in either direction.
/// Of several shortest paths the one through tables that come first in the catalog. From a table to itself the path is
/// a self reference, if one is declared.
pub(crate) fn path(catalog: &Catalog, from: usize, to: usize) -> Option<Vec<Step>> {
    let neighbours = neighbours(catalog);
    if from == to {
        return neighbours.get(from)?.contains(&from).then(|| vec![step(catalog, from, from)]);
    }
    // Breadth first from the start, neighbours in catalog order: the first way found to a table is a shortest one, and
    // among those the one whose tables come first.
    let mut came_from: Vec<Option<usize>> = vec![None; catalog.tables.len()];
    let mut queue = VecDeque::from([from]);
    while let Some(table) = queue.pop_front() {
        if table == to {
            break;
        }
        for &next in &neighbours[table] {
            if next != from && came_from[next].is_none() {
                came_from[next] = Some(table);
                queue.push_back(next);
            }
        }
    }
    let mut steps = Vec::new();
    let mut at = to;
    while at != from {
        let before = came_from[at]?;
        steps.push(step(catalog, before, at));
        at = before;
    }
    steps.reverse();
    Some(steps)
}

/// For each table the tables it shares a key with, in catalog order.
fn neighbours(catalog: &Catalog) -> Vec<Vec<usize>> {
    let mut neighbours: Vec<Vec<usize>> = vec![Vec::new(); catalog.tables.len()];
    for (child, table) in catalog.tables.iter().enumerate() {
        for key in &table.foreign_keys {
            if let Some(parent) = parent(catalog, key) {
                neighbours[child].push(parent);
                neighbours[parent].push(child);
            }
        }
    }
    for list in &mut neighbours {
        list.sort_unstable();
        list.dedup();
    }
    neighbours
}

/// The position of a key's parent. Exact: a key is no user's spelling, quotes in it belong to the name.
fn parent(catalog: &Catalog, key: &ForeignKey) -> Option<usize> {
    catalog.tables.iter().position(|table| table.name == key.parent)
}

fn step(catalog: &Catalog, from: usize, to: usize) -> Step {
    let mut conditions = Vec::new();
    // Keys that `from` declares come first, then those that point back at it.
    let directions: &[(usize, usize)] = if from == to { &[(from, to)] } else { &[(from, to), (to, from)] };
    for &(child, parent_index) in directions {
        for key in &catalog.tables[child].foreign_keys {
            if parent(catalog, key) == Some(parent_index) {
                let child = (catalog.tables[child].name.as_str(), &key.columns);
                let parent = (key.parent.as_str(), &key.parent_columns);
                let ends = if parent_index == to { (child, parent) } else { (parent, child) };
                conditions.push(condition(ends.0, ends.1));
            }
        }
    }
    Step { from, to, conditions }
}

/// `a.x = b.y`, joined with ` AND ` for a composite key.
fn condition(left: (&str, &Vec<String>), right: (&str, &Vec<String>)) -> String {
    let side = |(table, columns): (&str, &Vec<String>), i: usize| match columns.get(i) {
        Some(column) => format!("{table}.{column}"),
        // The primary key of a parent that does not say which it is.
        None => table.to_owned(),
    };
    let pairs = left.1.len().max(right.1.len());
    let pairs: Vec<String> = (0..pairs).map(|i| format!("{} = {}", side(left, i), side(right, i))).collect();
    pairs.join(" AND ")
}
