// In place of a second format where a dispatch has one matrix only (PAIR is false): never called.
fn load_item_2(row: u32, item: u32) -> Item { return load_item(row, item); }
fn run_a_2(item: u32) -> u32 { return run_a(item); }
fn run_b_2(item: u32) -> u32 { return run_b(item); }
