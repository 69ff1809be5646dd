//! The answers of the tools over Chinook, byte for byte.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod common;

use common::{call, error, text, tools};
use serde_json::json;

#[test]
fn list_tables_in_order_of_creation() {
    assert_eq!(
        text(&mut tools("chinook.sqlite"), "list_tables", json!({})),
        "Album\nArtist\nCustomer\nEmployee\nGenre\nInvoice\nInvoiceLine\nMediaType\nPlaylist\nPlaylistTrack\nTrack"
    );
}

#[test]
fn describe_table_on_one_line() {
    let mut tools = tools("chinook.sqlite");
    let expected = "CREATE TABLE [Album] ([AlbumId] INTEGER NOT NULL, [Title] NVARCHAR(160) NOT NULL, \
        [ArtistId] INTEGER NOT NULL, CONSTRAINT [PK_Album] PRIMARY KEY ([AlbumId]), FOREIGN KEY ([ArtistId]) \
        REFERENCES [Artist] ([ArtistId]) ON DELETE NO ACTION ON UPDATE NO ACTION)";
    for name in ["Album", "album", "\"Album\"", "[Album]", "`album`", "main.Album", " Album "] {
        assert_eq!(text(&mut tools, "describe_table", json!({ "table_name": name })), expected, "{name}");
    }
    assert_eq!(
        error(&mut tools, "describe_table", json!({ "table_name": "Albums" })),
        "Error: no such table: Albums\nSimilar names: Album"
    );
    assert_eq!(
        error(&mut tools, "describe_table", json!({ "table_name": "line" })),
        "Error: no such table: line\nSimilar names: InvoiceLine"
    );
    assert_eq!(
        error(&mut tools, "describe_table", json!({ "table_name": "zzzzzz" })),
        "Error: no such table: zzzzzz"
    );
}

#[test]
fn foreign_keys_of_all_tables_and_of_one() {
    let mut tools = tools("chinook.sqlite");
    assert_eq!(
        text(&mut tools, "foreign_keys", json!({})),
        "Album.ArtistId -> Artist.ArtistId\n\
         Customer.SupportRepId -> Employee.EmployeeId\n\
         Employee.ReportsTo -> Employee.EmployeeId\n\
         Invoice.CustomerId -> Customer.CustomerId\n\
         InvoiceLine.InvoiceId -> Invoice.InvoiceId\n\
         InvoiceLine.TrackId -> Track.TrackId\n\
         PlaylistTrack.PlaylistId -> Playlist.PlaylistId\n\
         PlaylistTrack.TrackId -> Track.TrackId\n\
         Track.AlbumId -> Album.AlbumId\n\
         Track.GenreId -> Genre.GenreId\n\
         Track.MediaTypeId -> MediaType.MediaTypeId"
    );
    assert_eq!(
        text(&mut tools, "foreign_keys", json!({ "table_name": "playlisttrack" })),
        "PlaylistTrack.PlaylistId -> Playlist.PlaylistId\nPlaylistTrack.TrackId -> Track.TrackId"
    );
    assert_eq!(text(&mut tools, "foreign_keys", json!({ "table_name": "Genre" })), "None");
}

#[test]
fn join_path_over_keys_in_both_directions() {
    let mut tools = tools("chinook.sqlite");
    assert_eq!(
        text(&mut tools, "join_path", json!({ "table_a": "Artist", "table_b": "customer" })),
        "Artist -> Album -> Track -> InvoiceLine -> Invoice -> Customer\n\
         Artist.ArtistId = Album.ArtistId\n\
         Album.AlbumId = Track.AlbumId\n\
         Track.TrackId = InvoiceLine.TrackId\n\
         InvoiceLine.InvoiceId = Invoice.InvoiceId\n\
         Invoice.CustomerId = Customer.CustomerId"
    );
    assert_eq!(
        text(&mut tools, "join_path", json!({ "table_a": "Employee", "table_b": "Employee" })),
        "Employee -> Employee\nEmployee.ReportsTo = Employee.EmployeeId"
    );
    assert_eq!(
        text(&mut tools, "join_path", json!({ "table_a": "Genre", "table_b": "Genre" })),
        "No chain of declared foreign keys joins Genre and Genre"
    );
}

#[test]
fn sample_rows_and_distinct_values() {
    let mut tools = tools("chinook.sqlite");
    assert_eq!(
        text(&mut tools, "sample_rows", json!({ "table_name": "Artist", "limit": 2 })),
        "ArtistId | Name\n1 | AC/DC\n2 | Accept"
    );
    let five = text(&mut tools, "sample_rows", json!({ "table_name": "Artist" }));
    assert_eq!(five.lines().count(), 6);
    assert_eq!(text(&mut tools, "sample_rows", json!({ "table_name": "Artist", "limit": "5" })), five);
    assert_eq!(
        text(
            &mut tools,
            "distinct_values",
            json!({ "table_name": "genre", "column_name": "NAME", "limit": 3 })
        ),
        "Rock\nJazz\nMetal\n..."
    );
    // Exactly as many as shown: no dots.
    assert_eq!(
        text(
            &mut tools,
            "distinct_values",
            json!({ "table_name": "MediaType", "column_name": "MediaTypeId", "limit": 5 })
        ),
        "1\n2\n3\n4\n5"
    );
    let default =
        text(&mut tools, "distinct_values", json!({ "table_name": "Genre", "column_name": "Name" }));
    assert_eq!(default.lines().count(), 21);
    assert!(default.ends_with("\n..."));
    // A name that is no column would be a string to SQLite if it were pasted in double quotes.
    assert_eq!(
        error(&mut tools, "distinct_values", json!({ "table_name": "Genre", "column_name": "Nam" })),
        "Error: no such column: Nam\nSimilar names: Name"
    );
}

#[test]
fn run_query_shows_five_rows() {
    let mut tools = tools("chinook.sqlite");
    let mut run = |sql: &str| text(&mut tools, "run_query", json!({ "sql": sql }));
    assert_eq!(
        run("SELECT InvoiceId, BillingCity, BillingState, Total FROM Invoice"),
        "InvoiceId | BillingCity | BillingState | Total\n\
         1 | Stuttgart | None | 1.98\n\
         2 | Oslo | None | 3.96\n\
         3 | Brussels | None | 5.94\n\
         4 | Edmonton | AB | 8.91\n\
         5 | Boston | MA | 13.86\n\
         ... (showing first 5 rows; more rows exist)"
    );
    assert_eq!(
        run("SELECT ArtistId FROM Artist ORDER BY 1 LIMIT 5"),
        "ArtistId\n1\n2\n3\n4\n5",
        "exactly five rows carry no line"
    );
    assert_eq!(run("SELECT ArtistId, Name FROM Artist WHERE 0;"), "ArtistId | Name");
    assert_eq!(
        run("SELECT 1 AS a, 2 AS a, 20.90, 1.0, NULL, ''"),
        "a | a | 20.90 | 1.0 | NULL | ''\n1 | 2 | 20.9 | 1.0 | None | "
    );
    // 26 of 216 in percent, as in the episode that the project page shows.
    assert_eq!(run("SELECT 26 * 100.0 / 216 AS p"), "p\n12.037037037037036");
}

#[test]
fn submit_sql_shows_what_run_query_shows() {
    let mut tools = tools("chinook.sqlite");
    for sql in ["SELECT Name FROM Artist", "SELECT Nme FROM Artist", "DELETE FROM Artist"] {
        let run = call(&mut tools, "run_query", json!({ "sql": sql }));
        assert_eq!(call(&mut tools, "submit_sql", json!({ "sql": sql })), run);
    }
}

#[test]
fn errors_of_sqlite_are_told_in_its_words() {
    let mut tools = tools("chinook.sqlite");
    for (sql, expected) in [
        ("SELECT * FROM Artists", "Error: no such table: Artists"),
        ("SELECT nme FROM Artist", "Error: no such column: nme"),
        ("SELECT * FORM Artist", "Error: near \"FORM\": syntax error"),
        ("SELECT Name FROM Artist WHERE", "Error: incomplete input"),
        ("SELECT 'abc", "Error: unrecognized token: \"'abc\""),
        ("SELECT count(1, 2)", "Error: wrong number of arguments to function count()"),
        ("SELECT ArtistId FROM Artist, Album", "Error: ambiguous column name: ArtistId"),
    ] {
        assert_eq!(error(&mut tools, "run_query", json!({ "sql": sql })), expected);
    }
}

#[test]
fn arguments_that_are_missing_or_of_another_type() {
    let mut tools = tools("chinook.sqlite");
    for (name, arguments, expected) in [
        (
            "drop_table",
            json!({}),
            "Error: unknown tool: drop_table. The tools are: list_tables, describe_table, foreign_keys, join_path, sample_rows, distinct_values, run_query, submit_sql",
        ),
        ("describe_table", json!({}), "Error: describe_table needs the argument \"table_name\""),
        (
            "describe_table",
            json!({ "table_name": null }),
            "Error: describe_table needs the argument \"table_name\"",
        ),
        (
            "run_query",
            json!({ "sql": ["SELECT 1"] }),
            "Error: the argument \"sql\" of run_query must be a string, not [\"SELECT 1\"]",
        ),
        (
            "sample_rows",
            json!({ "table_name": "Artist", "limit": 0 }),
            "Error: the argument \"limit\" of sample_rows must be a whole number of at least 1, not 0",
        ),
        (
            "sample_rows",
            json!({ "table_name": "Artist", "limit": "all" }),
            "Error: the argument \"limit\" of sample_rows must be a whole number of at least 1, not \"all\"",
        ),
        (
            "sample_rows",
            json!({ "table_name": "Artist", "limit": -3 }),
            "Error: the argument \"limit\" of sample_rows must be a whole number of at least 1, not -3",
        ),
    ] {
        assert_eq!(error(&mut tools, name, arguments), expected);
    }
    // What a tool does not know it ignores; a huge limit is lowered.
    let many = text(&mut tools, "sample_rows", json!({ "table_name": "Genre", "limit": 1e12, "order": "x" }));
    assert_eq!(many.lines().count(), 26);
}
