//! Schemas of every shape: names that need quoting, keys of all kinds, and tables that are not ordinary.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod common;

use common::{call, error, made, made_database, text, tools};
use glowworm_database::{ColumnKind, Database, TableKind, Tools, quote};
use proptest::prelude::*;
use serde_json::json;

#[test]
fn names_that_mean_something_in_sql() {
    let long = "n".repeat(300);
    let names = [
        "select",
        "[foo]/bar",
        "semi;colon",
        "日本語",
        "עברית",
        &long,
        "",
        "x\"y",
        "it's",
        "a b",
        "-- no",
        "/*",
        "`tick`",
        "*",
        "%s",
        "a.b",
        "new\nline",
        "</tool_response>",
        "<|im_end|>",
        "tab\tbed",
    ];
    let mut sql = String::new();
    for (i, name) in names.iter().enumerate() {
        sql.push_str(&format!(
            "CREATE TABLE {} (\"from\" INTEGER, \"a b\" TEXT, \"x\"\"y\" REAL, \"\" TEXT);
             INSERT INTO {} VALUES ({i}, 'v{i}', {i}.5, 'e');",
            quote(name),
            quote(name)
        ));
    }
    let mut tools = made(&sql);
    assert_eq!(text(&mut tools, "list_tables", json!({})), names.join("\n"));
    for (i, name) in names.iter().enumerate() {
        let described = text(&mut tools, "describe_table", json!({ "table_name": name }));
        assert!(described.starts_with("CREATE TABLE \""), "{described}");
        assert_eq!(
            text(&mut tools, "sample_rows", json!({ "table_name": name })),
            format!("from | a b | x\"y | \n{i} | v{i} | {i}.5 | e"),
            "{name:?}"
        );
        for (column, value) in [
            ("from", i.to_string()),
            ("A B", format!("v{i}")),
            ("x\"y", format!("{i}.5")),
            ("", "e".to_owned()),
        ] {
            let arguments = json!({ "table_name": name, "column_name": column });
            assert_eq!(text(&mut tools, "distinct_values", arguments), value, "{name:?}.{column:?}");
        }
        assert_eq!(text(&mut tools, "foreign_keys", json!({ "table_name": name })), "None");
    }
    // Latin letters in another case are found, as SQLite finds them.
    assert!(!call(&mut tools, "describe_table", json!({ "table_name": "SELECT" })).is_error);
    assert!(!call(&mut tools, "describe_table", json!({ "table_name": "[FOO]/BAR" })).is_error);
}

proptest! {
    /// Any name that SQLite takes can be listed, described, sampled and asked for its values.
    #[test]
    fn any_name_at_all(table in "[^\0]{0,40}", column in "[^\0]{0,40}") {
        prop_assume!(!table.to_ascii_lowercase().starts_with("sqlite_"));
        let sql = format!(
            "CREATE TABLE {t} ({c} INTEGER); INSERT INTO {t} VALUES (7);",
            t = quote(&table), c = quote(&column),
        );
        let mut tools = made(&sql);
        prop_assert_eq!(&tools.catalog().tables[0].name, &table);
        prop_assert_eq!(&tools.catalog().tables[0].columns[0].name, &column);
        prop_assert_eq!(text(&mut tools, "list_tables", json!({})), table.clone());
        prop_assert_eq!(
            text(&mut tools, "sample_rows", json!({ "table_name": table })),
            format!("{column}\n7")
        );
        prop_assert_eq!(
            text(&mut tools, "distinct_values", json!({ "table_name": table, "column_name": column })),
            "7"
        );
        prop_assert_eq!(tools.count_rows(&table, std::time::Duration::from_secs(5)).unwrap(), 1);
    }

    /// Names that do not exist, injections among them, are answered with an error, and nothing happens to the data.
    #[test]
    fn any_name_that_is_not_there(name in "[^\0]{1,60}", column in "[^\0]{1,60}") {
        prop_assume!(!name.trim().eq_ignore_ascii_case("t") && !name.contains(['t', 'T']));
        prop_assume!(!column.contains(['x', 'X']));
        let mut tools = made("CREATE TABLE t (x); INSERT INTO t VALUES (1)");
        let said = error(&mut tools, "describe_table", json!({ "table_name": name }));
        prop_assert!(said.starts_with("Error: no such table: "), "{}", said);
        let said = error(&mut tools, "distinct_values", json!({ "table_name": "t", "column_name": column }));
        prop_assert!(said.starts_with("Error: no such column: "), "{}", said);
        prop_assert_eq!(text(&mut tools, "sample_rows", json!({ "table_name": "t" })), "x\n1");
    }
}

#[test]
fn keys_of_every_kind() {
    let mut tools = made(
        "CREATE TABLE Parent (Id INTEGER PRIMARY KEY, name TEXT);
         CREATE TABLE pair (a INTEGER, b INTEGER, PRIMARY KEY (b, a));
         CREATE TABLE implicit (p INTEGER REFERENCES parent);
         CREATE TABLE composite (x, y, FOREIGN KEY (x, y) REFERENCES PAIR);
         CREATE TABLE spelt (x, y, FOREIGN KEY (y, x) REFERENCES pair (A, B));
         CREATE TABLE gone (m INTEGER REFERENCES missing, n INTEGER REFERENCES missing (k));
         CREATE TABLE self (id INTEGER PRIMARY KEY, up INTEGER REFERENCES self);
         CREATE TABLE two (home INTEGER REFERENCES parent (id), away INTEGER REFERENCES parent (id));
         CREATE TABLE loop_a (id INTEGER PRIMARY KEY, b REFERENCES loop_b);
         CREATE TABLE loop_b (id INTEGER PRIMARY KEY, a REFERENCES loop_a);
         CREATE TABLE no_key (v TEXT);
         CREATE TABLE to_no_key (v TEXT REFERENCES no_key, w REFERENCES no_key (v));",
    );
    assert_eq!(
        text(&mut tools, "foreign_keys", json!({})),
        "implicit.p -> Parent.Id\n\
         composite.x -> pair.b\n\
         composite.y -> pair.a\n\
         spelt.y -> pair.a\n\
         spelt.x -> pair.b\n\
         gone.m -> missing\n\
         gone.n -> missing.k\n\
         self.up -> self.id\n\
         two.home -> Parent.Id\n\
         two.away -> Parent.Id\n\
         loop_a.b -> loop_b.id\n\
         loop_b.a -> loop_a.id\n\
         to_no_key.v -> no_key\n\
         to_no_key.w -> no_key.v"
    );
    let mut path = |a: &str, b: &str| text(&mut tools, "join_path", json!({ "table_a": a, "table_b": b }));
    assert_eq!(path("composite", "pair"), "composite -> pair\ncomposite.x = pair.b AND composite.y = pair.a");
    assert_eq!(path("pair", "composite"), "pair -> composite\npair.b = composite.x AND pair.a = composite.y");
    assert_eq!(path("two", "Parent"), "two -> Parent\ntwo.home = Parent.Id\nor two.away = Parent.Id");
    assert_eq!(
        path("implicit", "TWO"),
        "implicit -> Parent -> two\nimplicit.p = Parent.Id\nParent.Id = two.home\nor Parent.Id = two.away"
    );
    assert_eq!(path("self", "self"), "self -> self\nself.up = self.id");
    assert_eq!(path("loop_a", "loop_b"), "loop_a -> loop_b\nloop_a.b = loop_b.id\nor loop_a.id = loop_b.a");
    assert_eq!(
        path("to_no_key", "no_key"),
        "to_no_key -> no_key\nto_no_key.v = no_key\nor to_no_key.w = no_key.v"
    );
    assert_eq!(path("gone", "Parent"), "No chain of declared foreign keys joins gone and Parent");
    assert_eq!(path("no_key", "no_key"), "No chain of declared foreign keys joins no_key and no_key");
    assert_eq!(
        error(&mut tools, "join_path", json!({ "table_a": "two", "table_b": "parents" })),
        "Error: no such table: parents\nSimilar names: Parent"
    );
}

#[test]
fn the_shortest_path_and_ties_by_the_order_of_the_catalog() {
    let mut tools = made(
        "CREATE TABLE start (id INTEGER PRIMARY KEY);
         CREATE TABLE second (id INTEGER PRIMARY KEY, s REFERENCES start, f REFERENCES finish);
         CREATE TABLE first (id INTEGER PRIMARY KEY, s REFERENCES start, f REFERENCES finish);
         CREATE TABLE finish (id INTEGER PRIMARY KEY);
         CREATE TABLE long_a (id INTEGER PRIMARY KEY, s REFERENCES start);
         CREATE TABLE long_b (id INTEGER PRIMARY KEY, a REFERENCES long_a, f REFERENCES finish);",
    );
    // `second` was created first.
    assert_eq!(
        text(&mut tools, "join_path", json!({ "table_a": "start", "table_b": "finish" })),
        "start -> second -> finish\nstart.id = second.s\nsecond.f = finish.id"
    );
    assert_eq!(
        text(&mut tools, "join_path", json!({ "table_a": "finish", "table_b": "start" })),
        "finish -> second -> start\nfinish.id = second.f\nsecond.s = start.id"
    );
}

#[test]
fn tables_that_are_not_ordinary() {
    let mut database = made_database(
        "CREATE TABLE plain (id INTEGER PRIMARY KEY AUTOINCREMENT, v TEXT DEFAULT 'x' NOT NULL);
         CREATE TABLE wr (a TEXT, b TEXT, PRIMARY KEY (a, b)) WITHOUT ROWID;
         CREATE TABLE st (i INTEGER, t TEXT, any ANY) STRICT;
         CREATE TABLE gen (a INTEGER, b INTEGER AS (a * 2), c INTEGER GENERATED ALWAYS AS (a + 1) STORED);
         INSERT INTO plain (v) VALUES ('p'); INSERT INTO wr VALUES ('k', 'l'); INSERT INTO st VALUES (1, 'one', 1.5);
         INSERT INTO gen (a) VALUES (20);",
    );
    let catalog = database.catalog().unwrap();
    let names: Vec<&str> = catalog.tables.iter().map(|table| table.name.as_str()).collect();
    assert_eq!(names, ["plain", "wr", "st", "gen"], "sqlite_sequence is SQLite's own");
    let plain = &catalog.tables[0];
    assert_eq!(plain.columns[1].default.as_deref(), Some("'x'"));
    assert!(plain.columns[1].not_null && !plain.columns[0].not_null);
    assert_eq!((plain.columns[0].key, plain.columns[0].declared_type.as_str()), (1, "INTEGER"));
    assert_eq!(catalog.table("WR").unwrap().primary_key().len(), 2);
    let kinds: Vec<ColumnKind> = catalog.tables[3].columns.iter().map(|column| column.kind).collect();
    assert_eq!(kinds, [ColumnKind::Ordinary, ColumnKind::Generated, ColumnKind::Generated]);
    let mut tools = Tools::new(database).unwrap();
    assert_eq!(text(&mut tools, "sample_rows", json!({ "table_name": "gen" })), "a | b | c\n20 | 40 | 21");
    assert_eq!(text(&mut tools, "sample_rows", json!({ "table_name": "st" })), "i | t | any\n1 | one | 1.5");
    assert_eq!(text(&mut tools, "sample_rows", json!({ "table_name": "wr" })), "a | b\nk | l");
    assert_eq!(text(&mut tools, "distinct_values", json!({ "table_name": "gen", "column_name": "b" })), "40");
}

#[test]
fn views_come_after_the_tables() {
    let sql = "CREATE TABLE a (x); CREATE VIEW v AS SELECT x, x + 1 AS y FROM a; CREATE TABLE b (z);
               CREATE TABLE dropped (q); CREATE VIEW broken AS SELECT q FROM dropped; DROP TABLE dropped;
               CREATE VIEW circle AS SELECT * FROM circle; INSERT INTO a VALUES (1);";
    let mut tools = made(sql);
    assert_eq!(text(&mut tools, "list_tables", json!({})), "a\nb\nv\nbroken\ncircle");
    assert_eq!(
        text(&mut tools, "describe_table", json!({ "table_name": "v" })),
        "CREATE VIEW v AS SELECT x, x + 1 AS y FROM a"
    );
    assert_eq!(text(&mut tools, "sample_rows", json!({ "table_name": "v" })), "x | y\n1 | 2");
    assert_eq!(text(&mut tools, "distinct_values", json!({ "table_name": "v", "column_name": "y" })), "2");
    // The catalog keeps SQLite's order and says what is broken.
    let catalog = tools.catalog();
    let kinds: Vec<(&str, TableKind)> =
        catalog.tables.iter().map(|table| (table.name.as_str(), table.kind)).collect();
    assert_eq!(
        kinds,
        [
            ("a", TableKind::Table),
            ("v", TableKind::View),
            ("b", TableKind::Table),
            ("broken", TableKind::View),
            ("circle", TableKind::View)
        ]
    );
    assert_eq!(catalog.table("v").unwrap().columns.len(), 2);
    assert_eq!(catalog.table("v").unwrap().problem, None);
    assert_eq!(catalog.table("broken").unwrap().problem.as_deref(), Some("no such table: main.dropped"));
    assert_eq!(
        catalog.table("circle").unwrap().problem.as_deref(),
        Some("view circle is circularly defined")
    );
    assert_eq!(
        error(&mut tools, "sample_rows", json!({ "table_name": "broken" })),
        "Error: no such table: main.dropped"
    );
    let options = glowworm_database::ToolOptions { list_views: false, ..Default::default() };
    let mut tools = Tools::with_options(made_database(sql), options).unwrap();
    assert_eq!(text(&mut tools, "list_tables", json!({})), "a\nb");
}

#[test]
fn northwind_has_tables_with_spaces_and_sixteen_views() {
    let mut tools = tools("northwind.sqlite");
    let listed = text(&mut tools, "list_tables", json!({}));
    let names: Vec<&str> = listed.lines().collect();
    assert_eq!(names.len(), 13 + 16);
    assert_eq!(names[12], "Territories");
    assert_eq!(names[13], "Alphabetical list of products");
    let first = text(&mut tools, "sample_rows", json!({ "table_name": "order details", "limit": 1 }));
    assert_eq!(first, "OrderID | ProductID | UnitPrice | Quantity | Discount\n10248 | 11 | 14 | 12 | 0.0");
    for name in &names {
        let sample = call(&mut tools, "sample_rows", json!({ "table_name": name }));
        assert!(!sample.is_error, "{name}: {}", sample.text);
        assert!(sample.text.len() < 18_000, "{name}: pictures are cut");
    }
}

#[test]
fn full_text_and_r_tree_tables_are_one_table_each() {
    let mut tools = made(
        "CREATE VIRTUAL TABLE docs USING fts5(title, body);
         INSERT INTO docs VALUES ('glow', 'a worm that glows'), ('dark', 'nothing here');
         CREATE VIRTUAL TABLE old USING fts4(body); INSERT INTO old VALUES ('one two three');
         CREATE VIRTUAL TABLE boxes USING rtree(id, x0, x1); INSERT INTO boxes VALUES (1, 0, 10), (2, 20, 30);
         CREATE TABLE docs_notes (n); CREATE TABLE fts5_data (n);",
    );
    assert_eq!(text(&mut tools, "list_tables", json!({})), "docs\nold\nboxes\ndocs_notes\nfts5_data");
    assert!(tools.catalog().tables.iter().all(|table| table.problem.is_none()), "{:?}", tools.catalog());
    let mut run = |sql: &str| text(&mut tools, "run_query", json!({ "sql": sql }));
    assert_eq!(run("SELECT title FROM docs WHERE docs MATCH 'worm'"), "title\nglow");
    assert_eq!(
        run("SELECT title, bm25(docs) < 0 FROM docs('glows') ORDER BY rank"),
        "title | bm25(docs) < 0\nglow | 1"
    );
    assert_eq!(
        run("SELECT snippet(docs, 1, '[', ']', '', 5) AS s FROM docs('worm')"),
        "s\na [worm] that glows"
    );
    assert_eq!(run("SELECT body FROM old WHERE body MATCH 'two'"), "body\none two three");
    assert_eq!(run("SELECT id, x0, x1 FROM boxes WHERE x0 < 15"), "id | x0 | x1\n1 | 0.0 | 10.0");
    assert_eq!(
        text(&mut tools, "sample_rows", json!({ "table_name": "docs", "limit": 1 })),
        "title | body\nglow | a worm that glows"
    );
    let hidden = tools.catalog().tables[0].columns.iter().filter(|column| column.kind == ColumnKind::Hidden);
    assert!(hidden.count() > 0, "the rank column");
}

#[test]
fn five_hundred_tables_and_two_thousand_columns() {
    let mut sql = String::from("BEGIN;");
    for i in 0..500 {
        sql.push_str(&format!(
            "CREATE TABLE table_number_{i} (id INTEGER PRIMARY KEY, v REFERENCES table_number_0);"
        ));
    }
    let columns: Vec<String> = (0..2000).map(|i| format!("column_{i}")).collect();
    sql.push_str(&format!("CREATE TABLE wide ({});", columns.join(", ")));
    sql.push_str(&format!("INSERT INTO wide VALUES ({}); COMMIT;", vec!["1"; 2000].join(", ")));
    let mut tools = made(&sql);
    assert_eq!(tools.catalog().tables.len(), 501);
    assert_eq!(text(&mut tools, "list_tables", json!({})).lines().count(), 501);
    let path =
        text(&mut tools, "join_path", json!({ "table_a": "table_number_3", "table_b": "table_number_499" }));
    assert!(path.starts_with("table_number_3 -> table_number_0 -> table_number_499\n"));
    // More than is shown: cut, and said so.
    let described = text(&mut tools, "describe_table", json!({ "table_name": "wide" }));
    assert!(
        described.len() < 17_000 && described.contains("\n... (result cut at 16384 of "),
        "{}",
        described.len()
    );
    let sample = text(&mut tools, "sample_rows", json!({ "table_name": "wide" }));
    assert!(sample.len() < 20_000 && sample.contains("\n... (result cut at 16384 of "), "{}", sample.len());
    let arguments = json!({ "table_name": "WIDE", "column_name": "column_1999" });
    assert_eq!(text(&mut tools, "distinct_values", arguments), "1");
}

#[test]
fn a_table_that_takes_the_name_of_a_pragma() {
    let mut tools = made(
        "CREATE TABLE p (id INTEGER PRIMARY KEY); CREATE TABLE pragma_table_xinfo (x REFERENCES p);
         CREATE TABLE pragma_foreign_key_list (y);",
    );
    assert_eq!(text(&mut tools, "foreign_keys", json!({})), "pragma_table_xinfo.x -> p.id");
    assert_eq!(text(&mut tools, "sample_rows", json!({ "table_name": "pragma_table_xinfo" })), "x");
}

#[test]
fn statements_are_described_on_one_line_as_python_would() {
    let mut tools = made(
        "CREATE TABLE users (\n    id INTEGER PRIMARY KEY NOT NULL,\n\tusername\u{a0}TEXT \n)\n;
         CREATE TABLE   spaced  ( a  INTEGER ( 10 ) , b TEXT DEFAULT ( ' x  y ' )  , -- note\n c CHECK ( c > 0 ) );",
    );
    assert_eq!(
        text(&mut tools, "describe_table", json!({ "table_name": "users" })),
        "CREATE TABLE users (id INTEGER PRIMARY KEY NOT NULL, username\u{a0}TEXT)".replace('\u{a0}', " ")
    );
    assert_eq!(
        text(&mut tools, "describe_table", json!({ "table_name": "spaced" })),
        "CREATE TABLE spaced (a INTEGER (10) , b TEXT DEFAULT (' x y ') , -- note c CHECK (c > 0))"
    );
}
