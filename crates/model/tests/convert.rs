//! Our converter against llama.cpp's: the same checkpoints, the files that it wrote.

// A panic in a helper of a test is the report, as it is in the test itself.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use glowworm_gguf::{Header, Metadata, TensorType, Value, blocks};
use glowworm_model::convert::{Options, convert, convert_to};
use glowworm_model::prompt::SYSTEM_PROMPT_KEY;
use glowworm_model::{Config, Tokenizer, tensors};
use glowworm_tests::{Fixture, shared};
use safetensors::SafeTensors;

/// A whole file in memory.
struct File {
    header: Header,
    bytes: Vec<u8>,
}

impl File {
    fn new(bytes: Vec<u8>) -> Self {
        let header = Header::read_from(&mut bytes.as_slice(), bytes.len() as u64).unwrap();
        File { header, bytes }
    }

    fn open(fixture: &str, kind: &str) -> Self {
        Self::new(fs::read(Fixture::open(fixture).gguf(kind)).unwrap())
    }

    fn convert(fixture: &str, kind: TensorType) -> Self {
        let mut options = Options::new(kind);
        // llama.cpp writes a folder's name with a capital.
        options.name = Some(fixture[..1].to_uppercase() + &fixture[1..]);
        Self::new(convert_to(Fixture::open(fixture).folder(), Vec::new(), &options, |_| {}).unwrap().1)
    }

    fn raw(&self, name: &str) -> &[u8] {
        let range = self.header.data_range(self.header.tensor(name).unwrap());
        &self.bytes[range.start as usize..range.end as usize]
    }

    fn weights(&self, name: &str) -> Vec<f32> {
        let tensor = self.header.tensor(name).unwrap();
        let mut out = vec![0.0; tensor.elements() as usize];
        blocks::dequantize(tensor.kind, self.raw(name), &mut out).unwrap();
        out
    }
}

/// Largest difference, relative to the root mean square of the first.
fn difference(a: &[f32], b: &[f32]) -> f32 {
    let scale = (a.iter().map(|a| a * a).sum::<f32>() / a.len() as f32).sqrt();
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max) / scale
}

fn without<'m>(metadata: &'m Metadata, keys: &[&str]) -> BTreeMap<&'m str, &'m Value> {
    metadata.iter().filter(|(key, _)| !keys.contains(key)).collect()
}

#[test]
fn eq_is_converted_bit_for_bit() {
    for (name, kind) in [("Q8_0", TensorType::Q8_0), ("Q4_0", TensorType::Q4_0)] {
        let (ours, theirs) = (File::convert("eq", kind), File::open("eq", name));
        assert_eq!(ours.header.tensors.len(), theirs.header.tensors.len());
        let mut equal = 0;
        for expected in &theirs.header.tensors {
            let found = ours.header.tensor(&expected.name).unwrap_or_else(|| panic!("no {}", expected.name));
            assert_eq!((&found.dims, found.kind), (&expected.dims, expected.kind), "{}", expected.name);
            if ours.raw(&expected.name) == theirs.raw(&expected.name) {
                equal += 1;
                continue;
            }
            // The exponential may differ in its last bit; our Q6_K searches less than llama.cpp's, so that a weight may
            // land on the next step.
            let tolerance = match (expected.name.as_str(), expected.kind) {
                (name, TensorType::F32) if name.ends_with("ssm_a") => 1e-6,
                ("token_embd.weight", TensorType::Q6K) => 0.2,
                _ => panic!("{name}: {} differs", expected.name),
            };
            let difference = difference(&theirs.weights(&expected.name), &ours.weights(&expected.name));
            assert!(difference <= tolerance, "{name}: {} differs by {difference}", expected.name);
        }
        assert!(equal >= theirs.header.tensors.len() - 4, "{equal}");
        assert_eq!(without(&ours.header.metadata, &[]), without(&theirs.header.metadata, &[]), "{name}");
        let keys =
            |file: &File| file.header.metadata.iter().map(|(key, _)| key.to_owned()).collect::<Vec<_>>();
        assert_eq!(keys(&ours), keys(&theirs), "the order of keys");
    }
}

#[test]
fn grp_has_its_value_heads_reordered_and_no_prediction_block() {
    let (ours, theirs) = (File::convert("grp", TensorType::F32), File::open("grp", "Q4_K_M"));
    let trunk: Vec<_> =
        theirs.header.tensors.iter().filter(|tensor| !tensor.name.starts_with("blk.4.")).collect();
    assert_eq!(ours.header.tensors.len(), trunk.len());
    for expected in trunk {
        let found = ours.header.tensor(&expected.name).unwrap_or_else(|| panic!("no {}", expected.name));
        assert_eq!((&found.dims, found.kind), (&expected.dims, TensorType::F32), "{}", expected.name);
        // Quantisation moves a weight by a fraction of the root mean square; a wrong order of heads by several.
        let tolerance = if expected.kind == TensorType::F32 { 1e-6 } else { 0.5 };
        let difference = difference(&theirs.weights(&expected.name), &ours.weights(&expected.name));
        assert!(difference <= tolerance, "{} differs by {difference}", expected.name);
    }
    let block = "qwen35.";
    let differing = [
        &format!("{block}block_count"),
        &format!("{block}nextn_predict_layers"),
        &format!("{block}attention.recurrent_layers"),
        "general.size_label",
        "general.file_type",
    ];
    assert_eq!(without(&ours.header.metadata, &differing), without(&theirs.header.metadata, &differing));
    assert_eq!(ours.header.metadata.u32("qwen35.block_count").unwrap(), 4);
    assert_eq!(
        ours.header.metadata.opt_bools("qwen35.attention.recurrent_layers").unwrap().unwrap(),
        [true, true, true, false]
    );
}

/// Text and markup give the same ids as with the checkpoint's own tokenizer.json.
fn same_tokens(tokenizer: &Tokenizer, folder: &Path) {
    let expected = Tokenizer::from_json(fs::read(folder.join("tokenizer.json")).unwrap()).unwrap();
    let texts = [
        "SELECT name FROM planets WHERE id = 12345;\n",
        "café naïve Größe — 東京 数据库 e\u{301}",
        "  don't we'LL  x\n\n\ty <think>\nx</think>\n\n<|im_end|>",
        "{\"tool\": \"list_tables\"} Tool result:\n COUNT(*)",
    ];
    for text in texts {
        assert_eq!(tokenizer.encode_text(text).unwrap(), expected.encode_text(text).unwrap(), "{text}");
        let ids = tokenizer.encode_template(text).unwrap();
        assert_eq!(ids, expected.encode_template(text).unwrap(), "{text}");
        assert_eq!(tokenizer.decode(&ids, true), expected.decode(&ids, true), "{text}");
    }
}

#[test]
fn what_is_converted_is_what_the_configuration_expects() {
    for (fixture, kind) in [("eq", TensorType::BF16), ("grp", TensorType::F16), ("grp", TensorType::Q8_0)] {
        let file = File::convert(fixture, kind);
        let config = Config::from_gguf(&file.header).unwrap();
        tensors::check(&config, &file.header).unwrap();
        let json = fs::read_to_string(Fixture::open(fixture).folder().join("config.json")).unwrap();
        let mut expected = Config::from_hf_json(&json).unwrap();
        expected.value_heads_order = config.value_heads_order;
        expected.mtp_layers = 0;
        assert_eq!(config, expected);
    }
    // And its tokenizer is the one of tokenizer.json.
    for fixture in ["eq", "grp"] {
        let file = File::convert(fixture, TensorType::Q8_0);
        same_tokens(&Tokenizer::from_gguf(&file.header.metadata).unwrap(), Fixture::open(fixture).folder());
    }
    // The checkpoint's matrices are BF16: nothing is lost.
    let (exact, wide) = (File::convert("eq", TensorType::BF16), File::convert("eq", TensorType::F32));
    for tensor in &exact.header.tensors {
        assert_eq!(exact.weights(&tensor.name), wide.weights(&tensor.name), "{}", tensor.name);
    }
}

#[test]
fn the_embedded_model_carries_its_tokenizer_and_prompts() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("tiny.gguf");
    let mut options = Options::new(TensorType::Q8_0);
    options.system_prompt = Some("You answer questions.".into());
    options.chat_template = Some("{{ messages[0].content }}".into());
    let mut last = (0, 0);
    let summary =
        convert(&shared("models/tiny"), &out, &options, |step| last = (step.written, step.total)).unwrap();
    assert_eq!(last, (summary.bytes, summary.bytes));
    assert!(summary.fallbacks.is_empty(), "{:?}", summary.fallbacks);
    let file = File::new(fs::read(&out).unwrap());
    let config = Config::from_gguf(&file.header).unwrap();
    tensors::check(&config, &file.header).unwrap();
    let metadata = &file.header.metadata;
    let json = fs::read_to_string(shared("models/tiny/tokenizer.json")).unwrap();
    assert_eq!(metadata.str("tokenizer.huggingface.json").unwrap(), json);
    same_tokens(&Tokenizer::from_gguf(metadata).unwrap(), &shared("models/tiny"));
    assert_eq!(metadata.str("tokenizer.ggml.pre").unwrap(), "default");
    assert_eq!(metadata.strings("tokenizer.ggml.tokens").unwrap().get(2014).unwrap(), "Tool result:\n");
    assert_eq!(metadata.integers("tokenizer.ggml.token_type").unwrap()[2003..2007], [3, 3, 3, 4]);
    assert_eq!(metadata.u32("tokenizer.ggml.eos_token_id").unwrap(), 2003);
    assert_eq!(metadata.str(SYSTEM_PROMPT_KEY).unwrap(), "You answer questions.");
    assert_eq!(metadata.str("tokenizer.chat_template").unwrap(), "{{ messages[0].content }}");
    assert_eq!(metadata.str("general.name").unwrap(), "tiny");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing else is left behind");
}

/// A copy of the eq fixture with its tensors spread over two files and an index.
fn sharded(folder: &Path) {
    let eq = Fixture::open("eq");
    for name in ["config.json", "tokenizer.json", "tokenizer_config.json", "generation_config.json"] {
        fs::copy(eq.folder().join(name), folder.join(name)).unwrap();
    }
    let bytes = fs::read(eq.folder().join("model.safetensors")).unwrap();
    let file = SafeTensors::deserialize(&bytes).unwrap();
    let mut shards = [Vec::new(), Vec::new()];
    let mut map = Vec::new();
    for (index, (name, view)) in file.tensors().into_iter().enumerate() {
        map.push(format!("\"{name}\": \"model-0000{}-of-00002.safetensors\"", index % 2 + 1));
        shards[index % 2].push((name, view));
    }
    for (index, shard) in shards.into_iter().enumerate() {
        let path = folder.join(format!("model-0000{}-of-00002.safetensors", index + 1));
        safetensors::serialize_to_file(shard, None, &path).unwrap();
    }
    let index = format!("{{\"weight_map\": {{{}}}}}", map.join(", "));
    fs::write(folder.join("model.safetensors.index.json"), index).unwrap();
}

#[test]
fn shards_give_the_same_file() {
    let folder = tempfile::tempdir().unwrap();
    sharded(folder.path());
    let mut options = Options::new(TensorType::Q8_0);
    options.name = Some("Eq".into());
    let (_, from_shards) = convert_to(folder.path(), Vec::new(), &options, |_| {}).unwrap();
    // The folder has no chat_template.jinja: the template comes out of tokenizer_config.json.
    assert!(from_shards == File::convert("eq", TensorType::Q8_0).bytes);
}

#[test]
fn broken_checkpoints_are_errors_that_name_the_culprit() {
    let fails = |folder: &Path, needles: &[&str]| {
        let out = folder.join("out.gguf");
        let error = convert(folder, &out, &Options::new(TensorType::F16), |_| {}).unwrap_err().to_string();
        needles.iter().for_each(|needle| assert!(error.contains(needle), "{error} lacks {needle}"));
        assert!(!out.exists() && !folder.join("out.gguf.part").exists());
    };
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fails(folder, &["config.json"]);
    sharded(folder);
    let index = folder.join("model.safetensors.index.json");
    let good = fs::read_to_string(&index).unwrap();

    fs::write(&index, good.replace("model-00001-of", "../model-00001-of")).unwrap();
    fails(folder, &["not a file of the folder"]);
    fs::write(&index, "{}").unwrap();
    fails(folder, &["weight_map"]);
    // Only the second shard: half of the tensors are missing.
    fs::write(&index, "{\"weight_map\": {\"x\": \"model-00002-of-00002.safetensors\"}}").unwrap();
    fails(folder, &["is missing"]);
    fs::write(&index, good).unwrap();

    let shard = folder.join("model-00002-of-00002.safetensors");
    let bytes = fs::read(&shard).unwrap();
    fs::write(&shard, &bytes[..bytes.len() - 1000]).unwrap();
    fails(folder, &["model-00002-of-00002.safetensors", "ends before tensor"]);
    fs::write(&shard, [&[0xff; 8], &bytes[8..]].concat()).unwrap();
    fails(folder, &["no safetensors file"]);
    fs::write(&shard, &bytes).unwrap();

    let config = fs::read_to_string(folder.join("config.json")).unwrap();
    fs::write(
        folder.join("config.json"),
        config.replace("\"intermediate_size\": 256", "\"intermediate_size\": 512"),
    )
    .unwrap();
    fails(folder, &["mlp.", "[512, 256]"]);
    fs::write(folder.join("config.json"), config.replace("\"vocab_size\": 512", "\"vocab_size\": 500"))
        .unwrap();
    fails(folder, &["embed_tokens.weight"]);
    fs::write(folder.join("config.json"), config).unwrap();
    convert(folder, &folder.join("out.gguf"), &Options::new(TensorType::F16), |_| {}).unwrap();

    let error = convert(folder, &folder.join("q.gguf"), &Options::new(TensorType::Q6K), |_| {}).unwrap_err();
    assert!(error.to_string().contains("Q6_K"), "{error}");
}
