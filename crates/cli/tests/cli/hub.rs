//! `--model hf:…` against a stand-in for the hub on this machine.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::{Arc, Mutex};

use glowworm_agent::{PromptOrigin, Trace};
use glowworm_gguf::write::Declaration;
use glowworm_gguf::{Header, TensorInfo, Writer};
use glowworm_tests::Fixture;
use serde_json::json;

use crate::support::{Ran, ask_command, command, database, file, folder, run, text};

/// A repository's name and files.
type Repository = (&'static str, Vec<(&'static str, Vec<u8>)>);

/// A server of some repositories that knows the two requests a download takes.
struct Hub {
    address: String,
    requests: Arc<Mutex<Vec<String>>>,
}

impl Hub {
    fn start(repositories: Vec<Repository>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let requests = Arc::new(Mutex::new(Vec::new()));
        let seen = requests.clone();
        let mut replies = BTreeMap::new();
        for (repository, files) in repositories {
            let siblings: Vec<_> = files.iter().map(|(name, _)| json!({ "rfilename": name })).collect();
            let info = json!({ "siblings": siblings, "sha": "abc" }).to_string();
            replies.insert(format!("/api/models/{repository}/revision/main"), info.into_bytes());
            for (name, bytes) in files {
                replies.insert(format!("/{repository}/resolve/main/{name}"), bytes);
            }
        }
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                answer(stream, &replies, &seen);
            }
        });
        Self { address, requests }
    }

    fn run(&self, mut command: std::process::Command, cache: &Path) -> Ran {
        command.env("HF_ENDPOINT", &self.address).env("HF_HOME", cache);
        run(command, "")
    }

    /// Paths asked for since the last time.
    fn requests(&self) -> Vec<String> {
        std::mem::take(&mut self.requests.lock().unwrap())
    }
}

fn answer(mut stream: TcpStream, replies: &BTreeMap<String, Vec<u8>>, seen: &Mutex<Vec<String>>) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut request = String::new();
    reader.read_line(&mut request).unwrap();
    let path = request.split(' ').nth(1).unwrap_or_default().to_owned();
    let mut range = None;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).unwrap() == 0 || line.trim().is_empty() {
            break;
        }
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("range: bytes=") {
            let (first, last) = value.trim().split_once('-').unwrap();
            range = Some((first.parse::<usize>().unwrap(), last.parse::<usize>().ok()));
        }
    }
    seen.lock().unwrap().push(path.clone());
    let (status, headers, body) = match (replies.get(&path), range) {
        (None, _) => ("404 Not Found", String::new(), Vec::new()),
        (Some(bytes), None) => ("200 OK", String::new(), bytes.clone()),
        (Some(bytes), Some((first, last))) => {
            let length = bytes.len();
            let end = last.map_or(length, |last| (last + 1).min(length));
            let range = format!("content-range: bytes {first}-{}/{length}", end.saturating_sub(1));
            let headers = format!("x-repo-commit: abc\r\netag: \"{length:x}\"\r\n{range}\r\n");
            ("206 Partial Content", headers, bytes[first..end].to_vec())
        }
    };
    let length = body.len();
    let head = format!("HTTP/1.1 {status}\r\n{headers}content-length: {length}\r\nconnection: close\r\n\r\n");
    // A client that has what it needs may be gone.
    let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(&body));
}

const PROMPT: &str = "SYSTEM_PROMPT = 'The words of the trained model.'\nUSER_TEMPLATE = '{question}'\n";

fn tiny() -> Hub {
    let fixture = Fixture::open("eq");
    let read = |kind: &str| std::fs::read(fixture.gguf(kind)).unwrap();
    let files = vec![
        ("README.md", b"x".to_vec()),
        ("tiny.Q4_K_M.gguf", read("Q4_K_M")),
        ("tiny.Q8_0.gguf", read("Q8_0")),
        ("sqale_agent.py", PROMPT.into()),
    ];
    Hub::start(vec![("someone/tiny-GGUF", files)])
}

#[test]
fn a_model_and_its_prompt_are_downloaded_once() {
    let hub = tiny();
    let folder = folder();
    let db = database(&folder, "CREATE TABLE pen (id INTEGER PRIMARY KEY, name TEXT)");
    let saved = folder.path().join("trace.json");
    let ask = || {
        let arguments = [
            "--model",
            "hf:someone/tiny-GGUF:q8_0",
            "--max-tokens",
            "500",
            "--save-trace",
            text(&saved),
            "How many pens?",
        ];
        hub.run(ask_command(&db, &arguments), folder.path()).expect(1)
    };
    let ran = ask();
    assert!(!ran.err.contains("stand in"), "the model's own prompt is used: {}", ran.err);
    let trace = Trace::from_json(&std::fs::read_to_string(&saved).unwrap()).unwrap();
    let PromptOrigin::File { location, constant } = &trace.config.prompt.system_from else { panic!() };
    assert!(location.ends_with("sqale_agent.py") && constant == "SYSTEM_PROMPT", "{location} {constant}");
    // Where Hugging Face's own tools look.
    let snapshot = folder.path().join("hub/models--someone--tiny-GGUF/snapshots/abc");
    assert!(snapshot.join("tiny.Q8_0.gguf").exists() && snapshot.join("sqale_agent.py").exists());
    assert!(!snapshot.join("tiny.Q4_K_M.gguf").exists());
    let requests = hub.requests();
    assert!(requests.iter().any(|path| path.ends_with("/resolve/main/tiny.Q8_0.gguf")), "{requests:?}");

    ask();
    assert_eq!(hub.requests(), ["/api/models/someone/tiny-GGUF/revision/main"]);
}

#[test]
fn without_a_type_the_best_is_taken_and_the_cache_does_without_a_network() {
    let hub = tiny();
    let folder = folder();
    let inspect = || command(["inspect", "--json", "hf:someone/tiny-GGUF"]);
    let report = hub.run(inspect(), folder.path()).expect(0).json().remove(0);
    assert_eq!(report["file"], json!("tiny.Q4_K_M.gguf"));
    // `command` points at a hub that is not there.
    let mut offline = inspect();
    offline.env("HF_HOME", folder.path());
    let ran = run(offline, "").expect(0);
    assert!(ran.err.contains("using what is in the cache"), "{}", ran.err);
    assert_eq!(ran.json().remove(0)["file"], json!("tiny.Q4_K_M.gguf"));
}

#[test]
fn what_is_not_there_is_said() {
    let hub = tiny();
    let folder = folder();
    let inspect = |model: &str| hub.run(command(["inspect", model]), folder.path());
    let ran = inspect("hf:someone/tiny-GGUF:Q6_K").expect(2);
    assert!(ran.err.contains("there is no Q6_K") && ran.err.contains("tiny.Q8_0.gguf"), "{}", ran.err);
    let ran = inspect("hf:someone/else").expect(1);
    assert!(ran.err.contains("404") && ran.err.contains("check the name"), "{}", ran.err);
    for spec in ["hf:", "hf:tiny", "hf:../x", "hf:a/b:", "hf:a/b/c"] {
        let ran = inspect(spec).expect(2);
        assert!(ran.err.contains("hf:OWNER/NAME"), "{}", ran.err);
    }
    let ran = run(command(["inspect", "hf:a/b"]), "").expect(1);
    assert!(ran.err.contains("check the network connection"), "{}", ran.err);
}

#[test]
fn a_checkpoint_is_converted_where_there_is_no_gguf() {
    let fixture = Fixture::open("eq");
    let names = [
        "config.json",
        "tokenizer.json",
        "tokenizer_config.json",
        "chat_template.jinja",
        "model.safetensors",
    ];
    let files = names.map(|name| (name, std::fs::read(fixture.folder().join(name)).unwrap())).to_vec();
    let hub = Hub::start(vec![("someone/eq", files)]);
    let folder = folder();
    let report =
        hub.run(command(["inspect", "--json", "hf:someone/eq"]), folder.path()).expect(0).json().remove(0);
    assert_eq!((&report["file"], &report["runs"]), (&json!("someone/eq"), &json!(true)));
    assert!(report["types"].as_array().unwrap().iter().any(|kind| kind["type"] == json!("BF16")));
}

/// A fixture's file that says which repository its model was made from.
fn converted(address: &str) -> Vec<u8> {
    let bytes = std::fs::read(Fixture::open("eq").gguf("Q8_0")).unwrap();
    let header = Header::read_from(&mut &bytes[..], bytes.len() as u64).unwrap();
    let mut metadata = header.metadata.clone();
    metadata.set("general.base_model.0.repo_url", address);
    let declaration = |tensor: &TensorInfo| Declaration {
        name: tensor.name.clone(),
        dims: tensor.dims.clone(),
        kind: tensor.kind,
    };
    let declarations = header.tensors.iter().map(declaration).collect();
    let mut writer = Writer::new(Vec::new(), &metadata, declarations).unwrap();
    for tensor in &header.tensors {
        let range = header.data_range(tensor);
        writer.write(&bytes[range.start as usize..range.end as usize]).unwrap();
    }
    writer.finish().unwrap()
}

#[test]
fn the_prompt_is_found_where_the_model_was_made() {
    let model = converted("https://huggingface.co/lab/base");
    let hub = Hub::start(vec![
        ("someone/base-GGUF", vec![("base.Q8_0.gguf", model.clone())]),
        ("lab/base", vec![("config.json", b"{}".to_vec()), ("protocol.py", PROMPT.into())]),
    ]);
    let folder = folder();
    let db = database(&folder, "CREATE TABLE pen (id INTEGER PRIMARY KEY, name TEXT)");
    let saved = folder.path().join("trace.json");
    let origin = |model: &str| {
        let more = ["--model", model, "--max-tokens", "500", "--save-trace", text(&saved), "How many pens?"];
        hub.run(ask_command(&db, &more), folder.path()).expect(1);
        let trace = Trace::from_json(&std::fs::read_to_string(&saved).unwrap()).unwrap();
        trace.config.prompt.system_from
    };
    let is_found = |origin: PromptOrigin| match origin {
        PromptOrigin::File { location, .. } => location.ends_with("protocol.py"),
        _ => false,
    };
    let local = file(&folder, "base.gguf", &model);
    // For a file of one's own the network is not asked.
    assert_eq!(origin(text(&local)), PromptOrigin::Reconstruction);
    assert_eq!(hub.requests(), Vec::<String>::new());
    assert!(is_found(origin("hf:someone/base-GGUF")));
    assert!(hub.requests().iter().any(|path| path == "/lab/base/resolve/main/protocol.py"));
    // The cache is.
    assert!(is_found(origin(text(&local))));
    assert_eq!(hub.requests(), Vec::<String>::new());
}
