//! `train`: from an empty folder to a GGUF file that the program reads, and on from where it stopped.

use std::fs;

use serde_json::Value;
use tempfile::tempdir;

use crate::support::glowworm;

const TINY: &str = r#"{"hidden_size": 96, "intermediate_size": 96, "num_hidden_layers": 2, "num_attention_heads": 2,
    "num_key_value_heads": 1, "head_dim": 32, "linear_num_key_heads": 2, "linear_num_value_heads": 2,
    "linear_key_head_dim": 16, "linear_value_head_dim": 16}"#;

#[test]
fn from_nothing_to_a_model_file() {
    let folder = tempdir().unwrap();
    let run = folder.path().join("run");
    let out = folder.path().join("export");
    let train = |more: &[&str]| {
        let mut arguments = vec!["train", "--run", run.to_str().unwrap()];
        arguments.extend(more);
        glowworm(arguments).expect(0).json()
    };
    let data = ["--shards", "1", "--per-shard", "24", "--vocabulary", "1100", "--vocabulary-samples", "60"];
    let first = [&data[..], &["--ranks", "1", "--config", TINY, "--warmup", "1", "--steps", "2"]].concat();
    let lines = train(&first);
    assert!(lines[0]["parameters"].as_u64().unwrap() > 100_000);
    assert_eq!((&lines[1]["step"], &lines[1]["saved"]), (&Value::from(2), &Value::from(true)));

    let second = [&data[..], &["--ranks", "1", "--warmup", "1", "--steps", "3", "--commit", "abc"]].concat();
    let results = ["--evaluate", "1", "--export", out.to_str().unwrap(), "--type", "q8_0"];
    let lines = train(&[&second[..], &results].concat());
    assert_eq!((&lines[0]["step"], &lines[1]["step"]), (&Value::from(2), &Value::from(3)));
    assert_eq!(lines[2]["evaluation"]["right"]["of"], 1);
    assert_eq!(lines[3]["step"], 3);
    for name in ["model.safetensors", "config.json", "tokenizer.json", "chat_template.jinja"] {
        assert!(out.join(name).exists(), "{name}");
    }
    let log = fs::read_to_string(run.join("log.jsonl")).unwrap();
    assert_eq!(log.lines().count(), 6);

    let file = out.join("model.gguf");
    let inspected = glowworm(["inspect", file.to_str().unwrap(), "--json"]).expect(0);
    assert!(inspected.out.contains("glowworm-small"));

    // Another run begins with it: what it exports at once is the same, and it can be trained.
    let (other, again) = (folder.path().join("other"), folder.path().join("again"));
    let begin = ["train", "--run", other.to_str().unwrap(), "--weights", out.to_str().unwrap()];
    glowworm([&begin[..], &["--export", again.to_str().unwrap()]].concat()).expect(0);
    let weights = |folder: &std::path::Path| fs::read(folder.join("model.safetensors")).unwrap();
    assert_eq!(weights(&out), weights(&again));
    let shards = run.join("shards");
    let more = ["--data", shards.to_str().unwrap(), "--ranks", "1", "--steps", "1"];
    let lines = glowworm([&begin[..], &more].concat()).expect(0).json();
    assert_eq!((&lines[0]["step"], &lines[1]["step"]), (&Value::from(0), &Value::from(1)));
}

#[test]
fn nothing_to_do_and_nothing_to_go_on_from() {
    let folder = tempdir().unwrap();
    let run = folder.path().to_str().unwrap();
    assert!(glowworm(["train", "--run", run]).expect(2).err.contains("--steps"));
    assert!(glowworm(["train", "--run", run, "--export", run]).expect(2).err.contains("no trained model"));
    let missing = glowworm(["train", "--run", run, "--weights", "nowhere", "--export", run]).expect(2).err;
    assert!(missing.contains("nowhere"), "{missing}");
}
