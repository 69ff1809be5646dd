//! The commands about model files: inspect, tokenize, logits, convert, bench.

use glowworm_gguf::{Metadata, TensorType, Writer, write::Declaration};
use glowworm_tests::{Fixture, Matrix, compare};
use safetensors::{Dtype, SafeTensors};
use serde_json::{Value, json};

use crate::support::{command, file, folder, glowworm, repository, run, text};

fn builtin() -> String {
    text(&repository("models/builtin.gguf")).to_owned()
}

fn ids(list: &[u32]) -> String {
    list.iter().map(u32::to_string).collect::<Vec<_>>().join(",")
}

/// The program's logits for a prompt, and the ids it generates after it.
fn logits(model: &str, prompt: &[u32], generate: usize, device: &[&str]) -> (Matrix, Vec<i64>) {
    let folder = folder();
    let out = folder.path().join("out.safetensors");
    let (prompt, generate) = (ids(prompt), generate.to_string());
    let mut arguments = vec!["logits", "--model", model, "--ids", &prompt, "--generate", &generate];
    arguments.extend(["--output", text(&out)].iter().chain(device));
    glowworm(arguments).expect(0);
    let bytes = std::fs::read(&out).unwrap();
    let tensors = SafeTensors::deserialize(&bytes).unwrap();
    let logits = tensors.tensor("logits").unwrap();
    assert_eq!(logits.dtype(), Dtype::F32);
    let values = logits.data().as_chunks::<4>().0.iter().map(|word| f32::from_le_bytes(*word)).collect();
    let logits = Matrix { shape: logits.shape().to_vec(), values };
    let greedy = match tensors.tensor("greedy") {
        Ok(greedy) => {
            assert_eq!(greedy.dtype(), Dtype::I64);
            greedy.data().as_chunks::<8>().0.iter().map(|word| i64::from_le_bytes(*word)).collect()
        }
        Err(_) => Vec::new(),
    };
    (logits, greedy)
}

const ON_LAVAPIPE: [&str; 2] = ["--adapter", "llvmpipe"];

#[test]
fn logits_are_those_of_llama_cpp() {
    let fixture = Fixture::open("eq");
    let oracle = fixture.llama_cpp();
    for (kind, length) in [("Q8_0", 7), ("Q4_K_M", 70)] {
        let prompt = fixture.prompt(length);
        let model = fixture.gguf(kind);
        let (logits, greedy) = logits(text(&model), &prompt, 32, &ON_LAVAPIPE);
        assert_eq!(logits.shape, [length, 512]);
        let expected = oracle.floats(&format!("{kind}.deq.logits_{length}"));
        compare(expected, &logits.values).assert_logits(&format!("{kind}, {length} tokens"));
        let expected = oracle.ids(&format!("{kind}.deq.greedy_{length}"));
        let expected: Vec<i64> = expected.into_iter().map(i64::from).collect();
        assert_eq!(greedy.len(), 32);
        // A near tie may turn out the other way, and what follows is then another text: the beginning must agree.
        assert_eq!(greedy[..8], expected[..8], "{kind}, {length} tokens");
    }
}

#[test]
fn a_checkpoints_folder_is_a_model_too() {
    let fixture = Fixture::open("eq");
    let prompt = fixture.prompt(70);
    let (logits, greedy) = logits(text(fixture.folder()), &prompt, 0, &ON_LAVAPIPE);
    let reference = fixture.reference();
    compare(reference.floats("logits_70"), &logits.values).assert_logits("the checkpoint's folder");
    assert_eq!(greedy, Vec::<i64>::new());
}

#[cfg(feature = "reference")]
#[test]
fn the_cpu_device_gives_the_same_logits() {
    let fixture = Fixture::open("grp");
    let prompt = fixture.prompt(7);
    let model = fixture.gguf("Q4_K_M");
    let (logits, greedy) = logits(text(&model), &prompt, 8, &["--device", "cpu"]);
    let oracle = fixture.llama_cpp();
    compare(oracle.floats("Q4_K_M.deq.logits_7"), &logits.values).assert_logits("the CPU device");
    let expected = oracle.ids("Q4_K_M.deq.greedy_7");
    assert!(greedy.iter().zip(&expected).all(|(id, expected)| *id == i64::from(*expected)));
    let ran = crate::support::run(
        crate::support::command([
            "ask",
            "--device",
            "cpu",
            "--db",
            text(&crate::support::chinook()),
            "How many artists are there?",
        ]),
        "",
    );
    assert!(ran.expect(0).out.starts_with("SELECT COUNT(*) FROM Artist\n"));
}

#[cfg(not(feature = "reference"))]
#[test]
fn without_the_cpu_device_the_program_says_how_to_get_it() {
    let folder = folder();
    let out = folder.path().join("x.safetensors");
    let ran = glowworm(["logits", "--device", "cpu", "--ids", "1", "--output", text(&out)]).expect(2);
    assert!(ran.err.contains("--features reference"), "{}", ran.err);
    assert!(!out.exists());
}

#[test]
fn inspect_tells_shape_types_and_memory() {
    let report = glowworm(["inspect", "--json", "--tensors", &builtin()]).expect(0).json().remove(0);
    let bytes = std::fs::metadata(builtin()).unwrap().len();
    assert_eq!((&report["runs"], &report["bytes"]), (&json!(true), &json!(bytes)));
    assert_eq!(report["model"]["context"], json!(4096));
    assert_eq!(report["model"]["has_prompt"], json!(true));
    assert_eq!(report["model"]["sampling"]["temperature"], json!(0.0));
    assert_eq!(report["metadata"]["general.architecture"], json!("qwen35"));
    let sum = |list: &Value, key: &str| {
        list.as_array().unwrap().iter().map(|row| row[key].as_u64().unwrap()).sum::<u64>()
    };
    assert_eq!(sum(&report["types"], "bytes"), sum(&report["tensors"], "bytes"));
    assert_eq!(sum(&report["types"], "weights"), report["model"]["parameters"].as_u64().unwrap());
    let memory = &report["memory"];
    let parts: u64 = ["weights", "kv_cache", "states", "activations"]
        .iter()
        .map(|key| memory[key].as_u64().unwrap())
        .sum();
    assert_eq!(memory["total"], json!(parts));
    assert_eq!(memory["weights"], json!(sum(&report["types"], "bytes")));

    let words = glowworm(["inspect", "builtin"]).expect(0).out;
    for line in ["GGUF v3", "GPU memory with 4,096 tokens", "Q8_0", "glowworm.user_template  {question}"] {
        assert!(words.contains(line), "{line} in\n{words}");
    }
    let fixture = glowworm(["inspect", "--json", text(&Fixture::open("grp").gguf("Q4_K_M"))])
        .expect(0)
        .json()
        .remove(0);
    assert_eq!(fixture["model"]["layers"], json!(4), "the block that predicts several tokens is no layer");
}

#[test]
fn a_model_of_another_kind_can_be_inspected_and_not_run() {
    let folder = folder();
    let mut metadata = Metadata::new();
    metadata.set("general.architecture", "llama");
    let declaration =
        Declaration { name: "token_embd.weight".into(), dims: vec![32, 2], kind: TensorType::F32 };
    let mut writer = Writer::new(Vec::new(), &metadata, vec![declaration]).unwrap();
    writer.write(&[0; 256]).unwrap();
    let model = file(&folder, "llama.gguf", writer.finish().unwrap());
    let report = glowworm(["inspect", "--json", text(&model)]).expect(0).json().remove(0);
    assert_eq!(report["runs"], json!(false));
    assert!(report["problem"].as_str().unwrap().contains("llama"), "{report}");
    assert!(glowworm(["inspect", text(&model)]).expect(0).out.contains("cannot be run: "));
    let out = folder.path().join("x.safetensors");
    glowworm(["logits", "--model", text(&model), "--ids", "1", "--output", text(&out)]).expect(2);
}

#[test]
fn tokens_go_there_and_back() {
    let sentence = "How many caf\u{e9}s <|im_end|> are there?";
    let tokens = glowworm(["tokenize", "--json", sentence]).expect(0).json().remove(0);
    let list: Vec<u32> = serde_json::from_value(tokens["ids"].clone()).unwrap();
    assert!(list.len() > 8);
    let back = glowworm(["tokenize", "--decode", &ids(&list)]).expect(0).out;
    assert_eq!(back, format!("{sentence}\n"));
    // The same as markup is shorter: the end of the turn is one token there.
    let markup = glowworm(["tokenize", "--json", "--markup", sentence]).expect(0).json().remove(0);
    assert!(markup["tokens"].as_array().unwrap().contains(&json!("<|im_end|>")), "{markup}");
    assert!(!tokens["tokens"].as_array().unwrap().contains(&json!("<|im_end|>")), "{tokens}");
    // From standard input, for people.
    let ran = run(command(["tokenize", "--markup"]), "SELECT 1<|im_end|>").expect(0);
    assert!(ran.out.contains("<|im_end|>  markup"), "{}", ran.out);
    glowworm(["tokenize", "--decode", "999999"]).expect(2);
}

#[test]
fn a_converted_checkpoint_is_what_was_asked_for() {
    let fixture = Fixture::open("eq");
    let folder = folder();
    let prompt = file(&folder, "system.txt", "Be brief.\n");
    let template = file(&folder, "user.txt", "Q: {question}\n");
    let out = folder.path().join("eq.gguf");
    let convert = |kind: &str, more: &[&str]| {
        let mut arguments = vec!["convert", text(fixture.folder()), text(&out), "--type", kind];
        arguments.extend(more);
        glowworm(arguments)
    };
    let made = ["--metadata", "glowworm.training.steps=12", "--metadata", "general.author=a=b"];
    let named = ["--system-prompt", text(&prompt), "--user-template", text(&template), "--name", "Eq"];
    convert("q8_0", &[&named[..], &made].concat()).expect(0);
    let report = glowworm(["inspect", "--json", text(&out)]).expect(0).json().remove(0);
    let metadata = &report["metadata"];
    assert_eq!(metadata["general.name"], json!("Eq"));
    assert_eq!(metadata["glowworm.system_prompt"], json!("Be brief."));
    assert_eq!(metadata["glowworm.user_template"], json!("Q: {question}"));
    assert_eq!(metadata["glowworm.training.steps"], json!(12));
    assert_eq!(metadata["general.author"], json!("a=b"));
    for wrong in ["steps=12", "general.=1", "tokenizer.ggml.model=none", "general.author"] {
        assert!(
            convert("q8_0", &["--force", "--metadata", wrong]).expect(2).err.contains("write general.KEY")
        );
    }
    assert!(report["types"].as_array().unwrap().iter().any(|kind| kind["type"] == json!("Q8_0")));

    // llama.cpp's own conversion to the same type gives the same weights, so the same logits.
    let ids = fixture.prompt(7);
    let (logits, _) = logits(text(&out), &ids, 0, &ON_LAVAPIPE);
    compare(fixture.llama_cpp().floats("Q8_0.deq.logits_7"), &logits.values).assert_logits("our Q8_0");

    let ran = convert("q8_0", &[]).expect(2);
    assert!(ran.err.contains("exists already"), "{}", ran.err);
    convert("q4_0", &["--force"]).expect(0);
    let ran = convert("q3_k", &["--force"]).expect(2);
    assert!(ran.err.contains("f32, f16, bf16, q8_0, q4_0"), "{}", ran.err);
    glowworm(["convert", text(folder.path()), text(&folder.path().join("none.gguf")), "--type", "f32"])
        .expect(2);
    assert!(!folder.path().join("none.gguf").exists() && !folder.path().join("none.gguf.part").exists());
}

#[test]
fn bench_accounts_for_a_token() {
    let arguments = ["bench", "--json", "--plan", "--prompt", "20", "--generate", "12", "--repeat", "1"];
    let report = glowworm(arguments.iter().chain(&ON_LAVAPIPE)).expect(0).json().remove(0);
    let number =
        |pointer: &str| report.pointer(pointer).unwrap_or_else(|| panic!("{pointer}")).as_f64().unwrap();
    // More than any model can hold is refused at once.
    glowworm(["bench", "--prompt", "18446744073709551615"]).expect(2);
    for pointer in [
        "/load_seconds",
        "/prefill/tokens_per_second",
        "/decode/tokens_per_second",
        "/memory/host_peak_bytes",
    ] {
        assert!(number(pointer) > 0.0, "{pointer} in {report}");
    }
    let plan = report["plan"].as_array().unwrap();
    let bytes: u64 = plan.iter().map(|step| step["weight_bytes"].as_u64().unwrap()).sum();
    assert_eq!(report["per_token"]["weight_bytes"], json!(bytes));
    // Every weight is read once, but for the row of the embedding: within the weights and one row more.
    let inspect = glowworm(["inspect", "--json", "builtin"]).expect(0).json().remove(0);
    let weights = inspect["memory"]["weights"].as_u64().unwrap();
    assert!(bytes <= weights + 1024 && bytes >= weights * 95 / 100, "{bytes} of {weights}");
    assert!(
        (number("/per_token/dispatches") - plan.len() as f64).abs() < 1e-9,
        "a token costs what is planned"
    );
    assert!(number("/per_token/submits") <= 1.0 && number("/per_token/readbacks") <= 1.0);
    assert!(number("/memory/gpu_bytes") >= weights as f64);
    // The state of this model's three delta nets, and the keys and values of its three attention layers.
    let column = |name: &str| plan.iter().map(|step| step[name].as_u64().unwrap()).sum::<u64>();
    let state = inspect["memory"]["states"].as_u64().unwrap();
    let read = column("state_bytes");
    assert!(read > state / 2 && read <= state, "{read} of {state} bytes of state");
    let keys_and_values = inspect["memory"]["kv_cache_per_token"].as_u64().unwrap();
    assert_eq!(column("cache_bytes_per_position"), keys_and_values);
    let position = 20 + 12 / 2;
    let all = bytes + read + column("cache_bytes_per_position") * position + column("other_bytes");
    assert_eq!(report["per_token"]["read_bytes"], json!(all));
    assert!(number("/per_token/read_ratio") < 1.2, "small inputs weigh more in a small model");
    assert!(number("/per_token/encode_milliseconds") > 0.0);
    assert!(number("/drafts/decode/tokens_per_second") > 0.0);
    let words = glowworm(
        ["bench", "--plan", "--prompt", "4", "--generate", "4", "--repeat", "1"].iter().chain(&ON_LAVAPIPE),
    );
    assert!(words.expect(0).out.contains("dispatches, "));
}
