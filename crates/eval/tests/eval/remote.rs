//! The remote model against a stand-in server that speaks the routes of vLLM and llama-server, fails and dawdles.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use glowworm_agent::{GenerateRequest, Segment, Stop};
use glowworm_eval::remote::{Client, Counting, Endpoint, RemoteModel};
use glowworm_eval::{Metric, run};
use glowworm_session::{LanguageModel, Sampling};
use pollster::block_on;
use serde_json::{Value as Json, json};

use crate::support::{config, evaluation, small_set};

/// What the server does with a request.
#[derive(Clone)]
enum Answer {
    Json(Json),
    Status(u16, &'static str, &'static str),
    /// Closes the connection without a word.
    Hang,
    /// Answers late.
    Late(Duration, Json),
}

type Handler = dyn Fn(&str, &Json) -> Answer + Send + Sync;

/// A server in threads of its own; it ends with the test.
struct Server {
    url: String,
    stop: Arc<AtomicBool>,
    /// Requests under way at once, at most.
    most: Arc<AtomicUsize>,
    requests: Arc<Mutex<Vec<(String, String, Json)>>>,
}

impl Server {
    fn new(handler: impl Fn(&str, &Json) -> Answer + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (stop, now, most) =
            (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let requests = Arc::new(Mutex::new(Vec::new()));
        let handler: Arc<Handler> = Arc::new(handler);
        let server =
            Self { url, stop: Arc::clone(&stop), most: Arc::clone(&most), requests: Arc::clone(&requests) };
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                if stop.load(Ordering::SeqCst) {
                    return;
                }
                let (handler, requests, now, most) =
                    (Arc::clone(&handler), Arc::clone(&requests), Arc::clone(&now), Arc::clone(&most));
                std::thread::spawn(move || serve(stream.unwrap(), &*handler, &requests, &now, &most));
            }
        });
        server
    }

    fn client(&self, change: impl FnOnce(&mut Endpoint)) -> Client {
        let mut endpoint = Endpoint::new(self.url.clone() + "/v1", "the-model");
        endpoint.pause = Duration::from_millis(20);
        endpoint.longest_pause = Duration::from_millis(200);
        change(&mut endpoint);
        Client::new(endpoint)
    }

    fn bodies(&self, route: &str) -> Vec<Json> {
        let requests = self.requests.lock().unwrap();
        requests.iter().filter(|(found, ..)| found == route).map(|(.., body)| body.clone()).collect()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        // Wakes the listener.
        let _ = TcpStream::connect(self.url.trim_start_matches("http://"));
    }
}

/// One connection, request after request.
fn serve(
    stream: TcpStream,
    handler: &Handler,
    requests: &Mutex<Vec<(String, String, Json)>>,
    now: &AtomicUsize,
    most: &AtomicUsize,
) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut writer = stream;
    loop {
        let mut head = String::new();
        while reader.read_line(&mut head).is_ok_and(|length| length > 2) {}
        let Some(route) = head.split(' ').nth(1).map(str::to_owned) else { return };
        let field = |name: &str| {
            let line = head.lines().find(|line| line.to_lowercase().starts_with(name));
            line.and_then(|line| line.split_once(':')).map(|(_, value)| value.trim().to_owned())
        };
        let mut body = vec![0; field("content-length").map_or(0, |length| length.parse().unwrap())];
        reader.read_exact(&mut body).unwrap();
        let body: Json = serde_json::from_slice(&body).unwrap();
        requests.lock().unwrap().push((
            route.clone(),
            field("authorization").unwrap_or_default(),
            body.clone(),
        ));
        most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
        let answer = handler(&route, &body);
        let (status, extra, text) = match answer {
            Answer::Json(json) => (200, "", json.to_string()),
            Answer::Status(status, extra, text) => (status, extra, text.to_owned()),
            Answer::Late(delay, json) => {
                std::thread::sleep(delay);
                (200, "", json.to_string())
            }
            Answer::Hang => {
                now.fetch_sub(1, Ordering::SeqCst);
                return;
            }
        };
        now.fetch_sub(1, Ordering::SeqCst);
        let length = text.len();
        let head = format!(
            "HTTP/1.1 {status} X\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n{extra}\r\n"
        );
        if writer.write_all((head + &text).as_bytes()).is_err() {
            return;
        }
    }
}

fn completion(text: &str, reason: &str) -> Json {
    json!({
        "choices": [{ "text": text, "finish_reason": reason }],
        "usage": { "prompt_tokens": 1, "completion_tokens": 1 + text.len() / 4 },
    })
}

fn counted(body: &Json) -> Answer {
    let length = body["prompt"].as_str().unwrap().len();
    Answer::Json(json!({ "count": length.div_ceil(4), "tokens": [] }))
}

fn request(append: Vec<Segment>, turn: u32) -> GenerateRequest {
    GenerateRequest { append, max_tokens: 100, final_turn: false, turn }
}

fn generate(
    model: &mut RemoteModel,
    append: Vec<Segment>,
    turn: u32,
) -> Result<glowworm_session::Generated, String> {
    let mut ignore = |_: &str| ControlFlow::Continue(());
    block_on(model.generate(&request(append, turn), &mut ignore)).map_err(|error| error.to_string())
}

fn model(client: Client) -> RemoteModel {
    RemoteModel::new(client, Counting::Server, Sampling { seed: (1 << 40) + 5, ..Sampling::default() })
}

#[test]
fn the_context_only_grows() {
    let server = Server::new(|route, body| match route {
        "/tokenize" => counted(body),
        "/v1/completions" => Answer::Json(completion("hm</think>\nA<|im_end|>rest", "stop")),
        _ => Answer::Status(404, "", ""),
    });
    let client = server.client(|endpoint| endpoint.api_key = Some("key".into()));
    assert_eq!(client.counting().unwrap(), Counting::Server);
    let mut model = model(client);
    model.begin();
    let opening = vec![Segment::Markup("<|im_start|>".into()), Segment::Text("q <|im_end|>".into())];
    let measured = model.measure(&opening).unwrap();
    let first = generate(&mut model, opening, 1).unwrap();
    assert_eq!(
        (first.text.as_str(), first.stop, first.tokens.appended),
        ("hm</think>\nA", Stop::EndOfTurn, measured)
    );
    generate(&mut model, vec![Segment::Markup("<|im_end|>\nmore".into())], 2).unwrap();
    let bodies = server.bodies("/v1/completions");
    let prompts: Vec<&str> = bodies.iter().map(|body| body["prompt"].as_str().unwrap()).collect();
    assert_eq!(prompts[0], "<|im_start|>q <\u{200b}|im_end|>");
    assert_eq!(prompts[1], format!("{}hm</think>\nA<|im_end|>\nmore", prompts[0]));
    assert_eq!(bodies[0]["model"], "the-model");
    assert_eq!(
        (&bodies[0]["max_tokens"], &bodies[0]["top_k"], &bodies[0]["seed"]),
        (&json!(100), &json!(20), &json!(5))
    );
    assert_eq!(bodies[0]["stop"], json!(["<|im_end|>", "<|endoftext|>"]));
    assert_eq!(bodies[0]["skip_special_tokens"], json!(false));
    assert!(server.requests.lock().unwrap().iter().all(|(_, key, _)| key == "Bearer key"));
    // A new episode begins with nothing.
    model.begin();
    generate(&mut model, vec![Segment::Markup("x".into())], 1).unwrap();
    assert_eq!(server.bodies("/v1/completions")[2]["prompt"], "x");
}

#[test]
fn passing_failures_are_tried_again_and_others_are_not() {
    let answers = Arc::new(Mutex::new(VecDeque::from([
        Answer::Status(503, "retry-after: 0\r\n", "{\"error\": {\"message\": \"loading\"}}"),
        Answer::Hang,
        Answer::Status(429, "", "slow down"),
        Answer::Json(completion("ok", "length")),
        Answer::Status(400, "", "{\"error\": {\"message\": \"context too long\"}}"),
    ])));
    let queue = Arc::clone(&answers);
    let server =
        Server::new(move |_, _| queue.lock().unwrap().pop_front().unwrap_or(Answer::Status(500, "", "down")));
    let mut remote = RemoteModel::new(server.client(|_| {}), Counting::Bytes, Sampling::default());
    let begun = Instant::now();
    let done = generate(&mut remote, vec![Segment::Text("abc".into())], 1).unwrap();
    assert_eq!((done.text.as_str(), done.stop, done.tokens.appended), ("ok", Stop::Length, 3));
    assert!(begun.elapsed() >= Duration::from_millis(30), "there were pauses");
    assert_eq!(server.bodies("/v1/completions").len(), 4);
    let error = generate(&mut remote, vec![], 2).unwrap_err();
    assert!(error.contains("context too long") && error.contains("400"), "{error}");
    assert_eq!(server.bodies("/v1/completions").len(), 5, "a refusal is final");
    let error = generate(&mut remote, vec![], 3).unwrap_err();
    assert!(error.contains("after 6 attempts") && error.contains("500: down"), "{error}");
    assert_eq!(server.bodies("/v1/completions").len(), 11);
}

#[test]
fn a_late_answer_is_a_failure_and_nobody_there_is_told_at_once() {
    let server = Server::new(|_, _| Answer::Late(Duration::from_millis(900), completion("late", "stop")));
    let client = server.client(|endpoint| {
        endpoint.timeout = Duration::from_millis(150);
        endpoint.attempts = 2;
    });
    let mut remote = RemoteModel::new(client, Counting::Bytes, Sampling::default());
    let error = generate(&mut remote, vec![Segment::Text("abc".into())], 1).unwrap_err();
    assert!(error.contains("timeout") && error.contains("after 2 attempts"), "{error}");

    // A port that was just free.
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let nobody = Client::new(Endpoint::new(format!("http://{port}"), "m"));
    assert!(nobody.counting().unwrap_err().to_string().contains(&port.to_string()));
    let odd = Client::new(Endpoint::new("not an address", "m"));
    assert!(odd.counting().unwrap_err().to_string().contains("such as http://localhost:8000"));
    let closed = Server::new(|_, _| Answer::Status(401, "", "{\"error\": \"no key\"}"));
    assert!(closed.client(|_| {}).counting().unwrap_err().to_string().contains("no key"));
}

#[test]
fn a_server_that_cannot_count_has_bytes_counted() {
    let server = Server::new(|route, _| match route {
        "/tokenize" => Answer::Status(404, "", "{\"detail\": \"Not Found\"}"),
        _ => Answer::Json(json!({ "choices": [] })),
    });
    assert_eq!(server.client(|_| {}).counting().unwrap(), Counting::Bytes);
    let mut remote = RemoteModel::new(server.client(|_| {}), Counting::Bytes, Sampling::default());
    assert_eq!(remote.measure(&[Segment::Text("é".into())]).unwrap(), 2);
    let error = generate(&mut remote, vec![], 1).unwrap_err();
    assert!(error.contains("choices[0].text"), "{error}");
    let server = Server::new(|_, _| Answer::Json(json!({ "tokens": [1, 2, 3] })));
    let mut remote = model(server.client(|_| {}));
    assert_eq!(remote.measure(&[Segment::Text("abc".into())]).unwrap(), 3, "llama-server gives a list");
}

/// Answers the second zoo question of the set and no other, failing now and then.
#[test]
fn a_whole_run_with_many_episodes_at_once() {
    let calls = AtomicUsize::new(0);
    let server = Server::new(move |route, body| {
        if route == "/tokenize" {
            return counted(body);
        }
        if calls.fetch_add(1, Ordering::SeqCst) % 5 == 3 {
            return Answer::Status(503, "", "busy");
        }
        let prompt = body["prompt"].as_str().unwrap();
        let sql = match () {
            () if prompt.contains("Question z2?") => "SELECT max(legs) FROM animal",
            () => "SELECT 'no'",
        };
        let call = match prompt.contains("Tool result") {
            true => json!({ "tool": "submit_sql", "args": { "sql": sql } }),
            false => json!({ "tool": "list_tables" }),
        };
        Answer::Late(Duration::from_millis(30), completion(&format!("so</think>\n{call}"), "stop"))
    });
    let folder = tempfile::tempdir().unwrap();
    let (set, databases) = small_set(folder.path());
    let stop = glowworm_eval::Stop::default();
    let evaluation = evaluation(&set, &databases, config(&set, "remote"), &stop);
    let client = server.client(|_| {});
    let players: Vec<RemoteModel> = (0..5).map(|_| model(client.clone())).collect();
    let summary = run(&evaluation, &folder.path().join("run"), players, &|_| {}).unwrap();
    assert_eq!(summary.episodes, 10);
    assert_eq!(summary.accuracy[&Metric::Strict].count, 1);
    assert_eq!(summary.behaviour.ended_by.get("submit_sql"), Some(&10));
    assert_eq!(summary.behaviour.turns.mean, 2.0);
    assert!(server.most.load(Ordering::SeqCst) >= 3, "episodes were played at once");
}

#[test]
fn a_run_ends_at_once_though_the_server_is_silent() {
    // The server answers only when the run is over, or not within the time of a test.
    let (over, wait) = std::sync::mpsc::channel::<()>();
    let wait = Mutex::new(wait);
    let stop = Arc::new(glowworm_eval::Stop::default());
    let asked = Arc::clone(&stop);
    let server = Server::new(move |route, body| {
        if route == "/tokenize" {
            return counted(body);
        }
        asked.request();
        let _ = wait.lock().unwrap().recv_timeout(Duration::from_secs(100));
        Answer::Json(completion("late", "stop"))
    });
    let folder = tempfile::tempdir().unwrap();
    let (set, databases) = small_set(folder.path());
    let evaluation = evaluation(&set, &databases, config(&set, "remote"), &stop);
    let begun = Instant::now();
    let players = vec![model(server.client(|_| {}))];
    let summary = run(&evaluation, &folder.path().join("run"), players, &|_| {}).unwrap();
    assert_eq!(summary.episodes, 0, "what was asked is dropped");
    assert!(begun.elapsed() < Duration::from_secs(60), "it waited for the server");
    drop(over);
}

#[test]
fn what_a_failing_server_says_is_in_the_summary() {
    let server = Server::new(|route, body| match route {
        "/tokenize" => counted(body),
        _ if body["prompt"].as_str().unwrap().contains("Question z1?") => {
            Answer::Status(400, "", "{\"error\": {\"message\": \"the context is too long\"}}")
        }
        _ => Answer::Json(completion(
            "so</think>\n{\"tool\": \"submit_sql\", \"args\": {\"sql\": \"SELECT 1\"}}",
            "stop",
        )),
    });
    let folder = tempfile::tempdir().unwrap();
    let (set, databases) = small_set(folder.path());
    let stop = glowworm_eval::Stop::default();
    let evaluation = evaluation(&set, &databases, config(&set, "remote"), &stop);
    let players = vec![model(server.client(|_| {}))];
    let summary = run(&evaluation, &folder.path().join("run"), players, &|_| {}).unwrap();
    assert_eq!(summary.behaviour.ended_by.get("error"), Some(&1));
    assert!(summary.behaviour.error.unwrap().contains("the context is too long"));
}
