//! Larger databases around a question: tables grown along foreign keys from the gold tables.
//!
//! A generated database has a dozen tables at most. Here tables of several are put together, and of those a part is chosen
//! that hangs together where it can: neighbours of the gold tables, their neighbours, and so on. Their order is
//! shuffled, so that it says nothing about the question.

use crate::error::{Error, Result};
use crate::rng::Rng;
use crate::schema::{ColumnKind, World, quoted};
use crate::tools::image;
use rusqlite::{Connection, params_from_iter, types::Value};
use std::collections::BTreeSet;

/// The fewest tables of a database.
pub const LEAST: usize = 4;
/// The most.
pub const MOST: usize = 64;

/// How many tables a database gets: as often 4 to 8 as 8 to 16 or 16 to 32, up to `most`.
pub fn size(most: usize, rng: &mut Rng) -> usize {
    let most = most.clamp(LEAST, MOST);
    let unit = rng.below(1 << 20) as f64 / f64::from(1u32 << 20);
    let size = (LEAST as f64 * (most as f64 / LEAST as f64).powf(unit)).round() as usize;
    size.clamp(LEAST, most)
}

/// Chooses `wanted` of `tables` tables, the gold ones among them: again and again a random neighbour of those that are
/// chosen already, in either direction of a key; where there is none, any table. In random order.
pub fn grow(
    gold: &[usize],
    keys: &[(usize, usize)],
    tables: usize,
    wanted: usize,
    rng: &mut Rng,
) -> Vec<usize> {
    let mut chosen: BTreeSet<usize> = gold.iter().copied().collect();
    while chosen.len() < wanted.min(tables) {
        let neighbours: BTreeSet<usize> = keys
            .iter()
            .flat_map(|&(a, b)| [(a, b), (b, a)])
            .filter(|(a, b)| chosen.contains(a) && !chosen.contains(b))
            .map(|(_, b)| b)
            .collect();
        let candidates: Vec<usize> = match neighbours.is_empty() {
            false => neighbours.into_iter().collect(),
            true => (0..tables).filter(|t| !chosen.contains(t)).collect(),
        };
        chosen.insert(*rng.pick(&candidates));
    }
    let mut order: Vec<usize> = chosen.into_iter().collect();
    rng.shuffle(&mut order);
    order
}

/// A table of the pool: its database among the worlds, and its place in it.
#[derive(Clone, Copy)]
struct Place<'a> {
    world: &'a World,
    table: usize,
}

/// The file of a database with `wanted` tables: of the first world those that `gold` names, and others of all worlds.
///
/// # Errors
/// When SQLite refuses a table.
pub fn build(worlds: &[&World], gold: &[usize], wanted: usize, rng: &mut Rng) -> Result<Vec<u8>> {
    let (mut pool, mut keys, mut names) = (Vec::new(), Vec::new(), BTreeSet::new());
    for world in worlds {
        let mut at = vec![None; world.tables.len()];
        for (table, t) in world.tables.iter().enumerate() {
            // Two worlds may have tables of one name; the first has it.
            if names.insert(t.name.to_lowercase()) {
                at[table] = Some(pool.len());
                pool.push(Place { world, table });
            }
        }
        for (table, t) in world.tables.iter().enumerate() {
            for column in &t.columns {
                if let ColumnKind::Link(to, _) = column.kind
                    && let (Some(a), Some(b)) = (at[table], at[to])
                {
                    keys.push((a, b));
                }
            }
        }
    }
    let order = grow(gold, &keys, pool.len(), wanted.max(gold.len()), rng);
    let mut db = Connection::open_in_memory().map_err(refused("opening a database"))?;
    // A key may point to a table that was not chosen.
    const FREE: &str = "PRAGMA foreign_keys = OFF";
    db.execute_batch(FREE).map_err(refused(FREE))?;
    for index in order {
        let Place { world, table } = pool[index];
        copy(&world.connection, &db, &world.tables[table].name)?;
    }
    image(&mut db)
}

fn refused(sql: &str) -> impl FnOnce(rusqlite::Error) -> Error {
    let sql = sql.to_owned();
    move |source| Error::Sqlite { sql, source }
}

/// Copies a table with its rows.
fn copy(from: &Connection, to: &Connection, name: &str) -> Result<()> {
    const DEFINITION: &str = "SELECT sql FROM sqlite_master WHERE type = 'table' AND name = ?1";
    let sql: String = from.query_row(DEFINITION, [name], |row| row.get(0)).map_err(refused(DEFINITION))?;
    to.execute_batch(&sql).map_err(refused(&sql))?;
    let all = format!("SELECT * FROM {}", quoted(name));
    let mut read = from.prepare(&all).map_err(refused(&all))?;
    let width = read.column_count();
    let places = vec!["?"; width].join(", ");
    let insert = format!("INSERT INTO {} VALUES ({places})", quoted(name));
    let mut write = to.prepare(&insert).map_err(refused(&insert))?;
    let mut rows = read.query([]).map_err(refused(&all))?;
    while let Some(row) = rows.next().map_err(refused(&all))? {
        let values = (0..width).map(|i| row.get(i)).collect::<rusqlite::Result<Vec<Value>>>();
        write.execute(params_from_iter(values.map_err(refused(&all))?)).map_err(refused(&insert))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::Judge;
    use crate::lexicon::{Lexicon, Split};
    use crate::sample::sample;
    use crate::tools::query;

    #[test]
    fn grows_along_keys_and_then_anywhere() {
        // 0 – 1 – 2 – 3 in a line, 4 and 5 apart.
        let keys = [(0, 1), (2, 1), (3, 2)];
        let mut seen = BTreeSet::new();
        for seed in 0..50 {
            let mut rng = Rng::new(seed);
            let mut three = grow(&[1], &keys, 6, 3, &mut rng);
            seen.insert(three.clone());
            three.sort_unstable();
            assert!([vec![0, 1, 2], vec![1, 2, 3]].contains(&three), "{three:?}");
            let mut four = grow(&[1], &keys, 6, 4, &mut rng);
            four.sort_unstable();
            assert_eq!(four, [0, 1, 2, 3]);
            assert!(grow(&[1, 4], &keys, 6, 2, &mut rng).iter().all(|t| [1, 4].contains(t)));
            assert_eq!(grow(&[1], &keys, 6, 64, &mut rng).len(), 6);
        }
        assert!(seen.len() > 4, "the order is shuffled");
    }

    #[test]
    fn sizes_go_from_4_to_64() {
        let mut rng = Rng::new(1);
        let sizes: Vec<usize> = (0..2000).map(|_| size(64, &mut rng)).collect();
        assert_eq!((sizes.iter().min(), sizes.iter().max()), (Some(&4), Some(&64)));
        let small = sizes.iter().filter(|n| **n <= 16).count();
        assert!((900..1150).contains(&small), "half lie below the geometric middle, 16: {small}");
        assert!((0..100).all(|_| size(2, &mut rng) == 4));
    }

    #[test]
    fn gold_gives_the_same_result_in_the_larger_database() {
        let lexicon = Lexicon::load().unwrap();
        for seed in 0..20 {
            let own = sample(&lexicon, Split::Train, seed).unwrap();
            let others: Vec<_> =
                (1..6).map(|i| sample(&lexicon, Split::Train, 1000 + 10 * seed + i).unwrap()).collect();
            let worlds: Vec<&World> =
                [&own.world].into_iter().chain(others.iter().map(|s| &s.world)).collect();
            let gold: Vec<usize> = own.question.tables.iter().map(|t| t.1).collect();
            let mut rng = Rng::new(seed);
            let file = build(&worlds, &gold, 20, &mut rng).unwrap();
            let mut db = Connection::open_in_memory().unwrap();
            db.deserialize_read_exact("main", &file[..], file.len(), true).unwrap();
            let count = query(&db, "SELECT COUNT(*) FROM sqlite_master WHERE type = 'table'", 1).unwrap();
            assert!(matches!(count[0][0], Value::Integer(12..=20)), "{count:?}");
            let judge = Judge::new(&own.world.image, &[&own.question.sql]).unwrap();
            assert!(judge.is_right(Some(&own.question.sql)));
            assert_eq!(
                query(&db, &own.question.sql, 2000),
                query(&own.world.connection, &own.question.sql, 2000)
            );
        }
    }
}
