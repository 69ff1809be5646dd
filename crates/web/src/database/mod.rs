//! The database worker's half: sql.js behind the database crate's trait, the tools and results for people.

mod host;
mod picture;
mod results;
mod sqljs;
mod trace;

pub use host::DatabaseHost;
pub use sqljs::{SqlJs, SqlJsDatabase};
pub use trace::{check_trace, read_trace};
