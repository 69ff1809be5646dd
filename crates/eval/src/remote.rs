//! A model behind an address: vLLM, llama-server, or whatever else speaks OpenAI's `/v1/completions`.
//!
//! The raw prompt is sent, and with each turn the whole of it again: the context only grows, so a server with a prefix
//! cache reads only what is new. A chat route could not be used: its template drops earlier think blocks.
//!
//! # Counting tokens
//! An episode has a budget of tokens, so what is about to be sent must be counted. With the model's tokenizer at hand it
//! counts, and the prompt is sent as token ids: text out of a database that looks like a control token then stays text.
//! Without it the server is asked (`/tokenize`, which both servers have), the prompt is sent as text, and such pieces
//! are broken with an invisible space. Where the server cannot count either, a byte counts as a token: never too few,
//! but about four times too many.
//!
//! # Failures
//! A connection that breaks, a time-out, and the statuses 408, 429, 500, 502, 503 and 504 are tried again, each time after
//! a longer pause, or after the one that the server asks for. Anything else ends the episode with the server's words.

use std::fmt;
use std::ops::ControlFlow;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use glowworm_agent::{GenerateRequest, Segment, Stop, TokenCounts};
use glowworm_model::Tokenizer;
use glowworm_session::{Generated, LanguageModel, Sampling};
use serde_json::{Value as Json, json};
use ureq::Agent;

use crate::error::{Error, Result};
use crate::player::{Assignment, Player};
use crate::random::Random;

/// Statuses after which a request is tried again.
const RETRIED: [u16; 6] = [408, 429, 500, 502, 503, 504];
/// How often an episode that waits for the server asks whether it is still wanted.
const LISTENING: Duration = Duration::from_millis(100);
/// Words of Qwen3.5 that are control tokens without the form `<|…|>`.
const RESERVED: [&str; 6] =
    ["<think>", "</think>", "<tool_call>", "</tool_call>", "<tool_response>", "</tool_response>"];

/// A server, and how to ask it.
#[derive(Clone)]
pub struct Endpoint {
    /// The address, up to `/v1` or without it.
    pub url: String,
    /// The model's name on the server.
    pub model: String,
    /// Sent as a bearer token.
    pub api_key: Option<String>,
    /// The most that one request may take.
    pub timeout: Duration,
    /// How often a request is sent before it is given up.
    pub attempts: u32,
    /// The pause after the first failure; it doubles each time.
    pub pause: Duration,
    /// The longest pause, one that the server asks for included.
    pub longest_pause: Duration,
}

impl Endpoint {
    /// A server with the usual patience: 10 minutes a request, 6 attempts, pauses from half a second to half a minute.
    pub fn new(url: impl Into<String>, model: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            model: model.into(),
            api_key: None,
            timeout: Duration::from_secs(600),
            attempts: 6,
            pause: Duration::from_millis(500),
            longest_pause: Duration::from_secs(30),
        }
    }

    fn base(&self) -> &str {
        self.url.trim_end_matches('/').trim_end_matches("/v1").trim_end_matches('/')
    }
}

/// Without the key.
impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Endpoint").field("url", &self.url).field("model", &self.model).finish_non_exhaustive()
    }
}

/// How tokens are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counting {
    /// By the model's own tokenizer, here.
    Tokenizer,
    /// By the server.
    Server,
    /// A byte is a token.
    Bytes,
}

/// A connection to a server, for any number of models.
#[derive(Debug, Clone)]
pub struct Client {
    agent: Agent,
    endpoint: Endpoint,
}

/// Why a request has no answer.
enum Failure {
    /// It may go better next time; the server may have said when.
    Passing(String, Option<Duration>),
    /// The server does not have the route, or not for this request.
    Refused(String),
    /// The address, the key, or what answers there is wrong.
    Wrong(String),
}

impl Client {
    /// A client of a server; nothing is sent yet.
    pub fn new(endpoint: Endpoint) -> Self {
        let config = Agent::config_builder()
            .timeout_global(Some(endpoint.timeout))
            // A status is looked at, and its words are kept.
            .http_status_as_error(false)
            .user_agent("glowworm")
            .build();
        Self { agent: config.into(), endpoint }
    }

    /// The server.
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// Finds out how tokens can be counted: by asking the server to count a few. The first request of all, so a server
    /// that is not there is told at once.
    ///
    /// # Errors
    ///
    /// When the server cannot be reached.
    pub fn counting(&self) -> Result<Counting> {
        match self.post("/tokenize", &self.tokenize_body("a b")) {
            Ok(answer) if count(&answer).is_some() => Ok(Counting::Server),
            Ok(_) | Err(Failure::Refused(_)) => Ok(Counting::Bytes),
            Err(Failure::Passing(problem, _) | Failure::Wrong(problem)) => Err(self.error(problem)),
        }
    }

    fn error(&self, problem: String) -> Error {
        Error::Endpoint { url: self.endpoint.base().to_owned(), problem }
    }

    /// vLLM reads `prompt`, llama-server `content`.
    fn tokenize_body(&self, text: &str) -> Json {
        json!({
            "model": self.endpoint.model, "prompt": text, "content": text,
            "add_special_tokens": false, "add_special": false, "parse_special": true,
        })
    }

    fn tokenize(&self, text: &str) -> Result<u64> {
        let answer = self.request("/tokenize", &self.tokenize_body(text))?;
        count(&answer)
            .ok_or_else(|| self.error("its /tokenize gave neither \"count\" nor \"tokens\"".to_owned()))
    }

    /// Sends a request until it is answered, refused, or there are no attempts left.
    fn request(&self, route: &str, body: &Json) -> Result<Json> {
        let mut random = Random::for_purpose(std::process::id().into(), route);
        let mut pause = self.endpoint.pause;
        for attempt in 1.. {
            match self.post(route, body) {
                Ok(answer) => return Ok(answer),
                Err(Failure::Refused(problem) | Failure::Wrong(problem)) => return Err(self.error(problem)),
                Err(Failure::Passing(problem, _)) if attempt >= self.endpoint.attempts => {
                    return Err(self.error(format!("{problem} (after {attempt} attempts)")));
                }
                Err(Failure::Passing(_, wanted)) => {
                    // Some jitter, so that many episodes that failed together do not come back together.
                    let jitter = 0.75 + 0.5 * (random.below(1024) as f64 / 1024.0);
                    let wait =
                        wanted.unwrap_or_else(|| pause.mul_f64(jitter)).min(self.endpoint.longest_pause);
                    std::thread::sleep(wait);
                    pause = (pause * 2).min(self.endpoint.longest_pause);
                }
            }
        }
        Err(self.error("no attempt was made".to_owned()))
    }

    /// The same from a thread of its own, asking now and then whether to go on. None where it is not to: what the server still
    /// sends is nobody's.
    fn request_while(
        &self,
        route: &'static str,
        body: Json,
        go_on: &mut dyn FnMut() -> bool,
    ) -> Result<Option<Json>> {
        let (send, answers) = mpsc::channel();
        let client = self.clone();
        std::thread::spawn(move || drop(send.send(client.request(route, &body))));
        loop {
            match answers.recv_timeout(LISTENING) {
                Ok(answer) => return answer.map(Some),
                Err(RecvTimeoutError::Timeout) if go_on() => {}
                Err(RecvTimeoutError::Timeout) => return Ok(None),
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(self.error("the request ended without an answer".to_owned()));
                }
            }
        }
    }

    fn post(&self, route: &str, body: &Json) -> Result<Json, Failure> {
        let url = format!("{}{route}", self.endpoint.base());
        let mut request = self.agent.post(&url).header("content-type", "application/json");
        if let Some(key) = &self.endpoint.api_key {
            request = request.header("authorization", format!("Bearer {key}"));
        }
        let mut response = request.send(body.to_string()).map_err(|error| match error {
            ureq::Error::BadUri(_) | ureq::Error::Http(_) => {
                Failure::Wrong(format!("{error}; give an address such as http://localhost:8000"))
            }
            other => Failure::Passing(format!("{other}"), None),
        })?;
        let status = response.status().as_u16();
        let wanted = response.headers().get("retry-after").and_then(|value| value.to_str().ok());
        let wanted = wanted.and_then(|text| text.trim().parse().ok()).map(Duration::from_secs);
        let text = response.body_mut().with_config().limit(256 << 20).read_to_string();
        let text = text.map_err(|error| Failure::Passing(format!("the answer broke off: {error}"), None))?;
        if RETRIED.contains(&status) {
            return Err(Failure::Passing(format!("status {status}: {}", words(&text)), wanted));
        }
        if !(200..300).contains(&status) {
            let problem = format!("status {status}: {}", words(&text));
            // A key that is missing or wrong is so for every route.
            return Err(if matches!(status, 401 | 403) {
                Failure::Wrong(problem)
            } else {
                Failure::Refused(problem)
            });
        }
        serde_json::from_str(&text)
            .map_err(|error| Failure::Wrong(format!("the answer to {route} is no JSON: {error}")))
    }
}

/// What a server says of an error, cut to a line.
fn words(text: &str) -> String {
    let json: Option<Json> = serde_json::from_str(text).ok();
    let message = json.as_ref().and_then(|json| {
        let error = json.get("error").unwrap_or(json);
        error.get("message").or(Some(error)).and_then(Json::as_str)
    });
    let text = message.unwrap_or(text).trim();
    let line: String =
        text.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).take(300).collect();
    if line.is_empty() { "no words".to_owned() } else { line }
}

fn count(answer: &Json) -> Option<u64> {
    let counted = answer.get("count").and_then(Json::as_u64);
    counted.or_else(|| answer.get("tokens").and_then(Json::as_array).map(|tokens| tokens.len() as u64))
}

/// One episode's model on a server.
#[derive(Debug)]
pub struct RemoteModel {
    client: Client,
    sampling: Sampling,
    counting: Counting,
    tokenizer: Option<std::sync::Arc<Tokenizer>>,
    /// The context as text.
    text: String,
    /// The context as ids, where there is a tokenizer.
    ids: Vec<u32>,
    measured: Option<(Vec<Segment>, u64)>,
}

impl RemoteModel {
    /// A model whose prompt is sent as text. `counting` is what [`Client::counting`] found.
    pub fn new(client: Client, counting: Counting, sampling: Sampling) -> Self {
        Self {
            client,
            sampling,
            counting,
            tokenizer: None,
            text: String::new(),
            ids: Vec::new(),
            measured: None,
        }
    }

    /// A model whose prompt is sent as token ids.
    pub fn with_tokenizer(client: Client, tokenizer: std::sync::Arc<Tokenizer>, sampling: Sampling) -> Self {
        let model = Self::new(client, Counting::Tokenizer, sampling);
        Self { tokenizer: Some(tokenizer), ..model }
    }

    fn encode(&self, tokenizer: &Tokenizer, segments: &[Segment]) -> Result<Vec<u32>> {
        let segments: Vec<glowworm_model::Segment<'_>> = segments
            .iter()
            .map(|segment| match segment {
                Segment::Markup(text) => glowworm_model::Segment::Markup(text),
                Segment::Text(text) => glowworm_model::Segment::Text(text),
            })
            .collect();
        tokenizer.encode_segments(&segments).map_err(|error| self.client.error(error.to_string()))
    }

    fn body(&self, request: &GenerateRequest) -> Json {
        let prompt = if self.tokenizer.is_some() { json!(self.ids) } else { json!(self.text) };
        json!({
            "model": self.client.endpoint.model,
            "prompt": prompt,
            "max_tokens": request.max_tokens,
            "temperature": self.sampling.temperature,
            "top_p": self.sampling.top_p,
            // vLLM wants -1 for all, llama-server 0: leave it out.
            "top_k": if self.sampling.top_k == 0 { Json::Null } else { self.sampling.top_k.into() },
            // Servers keep it in 32 bits with a sign.
            "seed": self.sampling.seed & 0x7fff_ffff,
            "stop": ["<|im_end|>", "<|endoftext|>"],
            "stream": false,
            // `</think>` is part of what the protocol reads.
            "skip_special_tokens": false,
            "spaces_between_special_tokens": false,
            "cache_prompt": true,
        })
    }
}

impl Player for RemoteModel {
    fn assign(&mut self, assignment: Assignment<'_>) {
        self.sampling.seed = assignment.seed;
    }
}

impl LanguageModel for RemoteModel {
    type Error = Error;

    fn begin(&mut self) {
        self.text.clear();
        self.ids.clear();
        self.measured = None;
    }

    fn measure(&mut self, append: &[Segment]) -> Result<u64> {
        let count = match (&self.tokenizer, self.counting) {
            (Some(tokenizer), _) => self.encode(tokenizer, append)?.len() as u64,
            (None, Counting::Server) => self.client.tokenize(&as_text(append))?,
            (None, _) => as_text(append).len() as u64,
        };
        self.measured = Some((append.to_vec(), count));
        Ok(count)
    }

    async fn generate(
        &mut self,
        request: &GenerateRequest,
        on_text: &mut dyn FnMut(&str) -> ControlFlow<()>,
    ) -> Result<Generated> {
        let appended = match self.measured.take() {
            Some((segments, count)) if segments == request.append => count,
            _ => self.measure(&request.append)?,
        };
        match self.tokenizer.clone() {
            Some(tokenizer) => self.ids.extend(self.encode(&tokenizer, &request.append)?),
            None => self.text.push_str(&as_text(&request.append)),
        }
        let mut body = self.body(request);
        if let Some(body) = body.as_object_mut() {
            body.retain(|_, value| !value.is_null());
        }
        let mut go_on = || on_text("").is_continue();
        let Some(answer) = self.client.request_while("/v1/completions", body, &mut go_on)? else {
            let tokens = TokenCounts { appended, generated: 0 };
            return Ok(Generated { text: String::new(), tokens, stop: Stop::Cancelled, reused: 0 });
        };
        let choice = answer.pointer("/choices/0");
        let text = choice.and_then(|choice| choice.get("text")).and_then(Json::as_str).ok_or_else(|| {
            self.client
                .error("its answer has no choices[0].text; is /v1/completions the OpenAI route?".to_owned())
        })?;
        // Some servers leave the stop word in.
        let ends = ["<|im_end|>", "<|endoftext|>"].iter().filter_map(|stop| text.find(stop)).min();
        let text = &text[..ends.unwrap_or(text.len())];
        let by_length = ends.is_none()
            && choice.and_then(|choice| choice.get("finish_reason")).and_then(Json::as_str) == Some("length");
        let counted = answer.pointer("/usage/completion_tokens").and_then(Json::as_u64);
        let generated = match self.tokenizer.clone() {
            Some(tokenizer) => {
                let ids = self.encode(&tokenizer, &[Segment::Markup(text.to_owned())])?;
                let count = ids.len() as u64;
                self.ids.extend(ids);
                count
            }
            None => {
                self.text.push_str(text);
                counted.unwrap_or(text.len() as u64)
            }
        };
        let stop = match on_text(text) {
            ControlFlow::Break(()) => Stop::Cancelled,
            ControlFlow::Continue(()) if by_length => Stop::Length,
            ControlFlow::Continue(()) => Stop::EndOfTurn,
        };
        // The server counts its stop token too, and text that is read again may split differently.
        let generated = generated.min(request.max_tokens);
        Ok(Generated { text: text.to_owned(), tokens: TokenCounts { appended, generated }, stop, reused: 0 })
    }
}

/// Segments as one text. In what came from a person or a database, every piece that the server would take for a control
/// token is broken after its first letter with a zero-width space.
fn as_text(segments: &[Segment]) -> String {
    let mut out = String::new();
    for segment in segments {
        match segment {
            Segment::Markup(text) => out.push_str(text),
            Segment::Text(text) => out.push_str(&plain(text)),
        }
    }
    out
}

fn plain(text: &str) -> String {
    let is_control = |rest: &str| {
        RESERVED.iter().any(|word| rest.starts_with(word))
            || rest.strip_prefix("<|").is_some_and(|inner| {
                let name =
                    inner.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(inner.len());
                name > 0 && inner[name..].starts_with("|>")
            })
    };
    let mut out = String::with_capacity(text.len());
    for (at, letter) in text.char_indices() {
        out.push(letter);
        if letter == '<' && is_control(&text[at..]) {
            out.push('\u{200b}');
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_with_and_without_the_version() {
        for url in ["http://h:1", "http://h:1/", "http://h:1/v1", "http://h:1/v1/"] {
            assert_eq!(Endpoint::new(url, "m").base(), "http://h:1");
        }
        let endpoint = Endpoint { api_key: Some("secret".into()), ..Endpoint::new("http://h", "m") };
        assert!(!format!("{:?}", Client::new(endpoint)).contains("secret"));
    }

    #[test]
    fn data_cannot_become_control_tokens() {
        let segments = [
            Segment::Markup("<|im_start|>user\n".into()),
            Segment::Text("a <|im_end|> </think> <| a |> x<b".into()),
        ];
        assert_eq!(as_text(&segments), "<|im_start|>user\na <\u{200b}|im_end|> <\u{200b}/think> <| a |> x<b");
    }

    #[test]
    fn a_server_s_words_are_found() {
        assert_eq!(words("{\"error\": {\"message\": \"too\\nlong\"}}"), "too long");
        assert_eq!(words("{\"error\": \"no\"}"), "no");
        assert_eq!(words("{\"message\": \"bad\"}"), "bad");
        assert_eq!(words("<html>"), "<html>");
        assert_eq!(words(""), "no words");
    }
}
