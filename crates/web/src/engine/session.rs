//! [`Session`]: a loaded model that answers one question after another.

use std::collections::BTreeMap;

use glowworm_agent::{Episode, EpisodeConfig, Limits, RunInfo};
use glowworm_engine::{Engine, Gpu, GpuOptions, LoadOptions};
use glowworm_gguf::Header;
use glowworm_model::{Prompt, PromptSource};
use glowworm_session::{
    EngineDecoder, Memory, ModelFile, Opening, Question, Sampling, TokenModel, longest_context, run,
};
use js_sys::Function;
use serde::Deserialize;
use serde_json::{Map, Value as Json, json};
use wasm_bindgen::prelude::*;
use web_sys::Blob;

use super::counted::Counted;
use super::host::{Host, RemoteTools, Watcher};
use super::scripted::Scripted;
use super::source::BlobSource;
use crate::thrown;

/// Tokens of one prefill pass. Small on a software adapter, where a pass takes long and stopping waits for it.
const BATCH: usize = 256;
const SOFTWARE_BATCH: usize = 64;

/// A model on the GPU.
#[wasm_bindgen]
pub struct Session {
    name: String,
    model: TokenModel<Counted>,
    opening: Opening,
    sampling: Sampling,
    facts: Json,
    context: usize,
    adapter: String,
}

/// One question.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Request {
    question: String,
    evidence: Option<String>,
    schema: Option<String>,
    temperature: f32,
    seed: u64,
    token_budget: u64,
    database: String,
    started_at: String,
}

#[wasm_bindgen]
impl Session {
    /// Loads a model. `prompt_text` is a Python file with the words that the model was trained on, `prompt_name` its
    /// name. `progress` is called with the bytes of weights read so far and with how many there are; after the last of
    /// them the driver still has kernels to compile.
    ///
    /// # Errors
    ///
    /// A sentence about what is wrong with the file, the prompt or the GPU.
    pub async fn load(
        name: String,
        blob: Blob,
        prompt_name: Option<String>,
        prompt_text: Option<String>,
        context: usize,
        progress: Function,
    ) -> Result<Session, JsValue> {
        let mut source = BlobSource::new(&name, blob);
        let file = ModelFile::read(&mut source).await.map_err(|error| thrown(&error))?;
        let prompt = prompt(&file, prompt_name.as_deref(), prompt_text.as_deref())?;
        let context = context.clamp(1, longest_context(&file.config));
        let gpu = Gpu::open(&GpuOptions::default()).await.map_err(|error| thrown(&error))?;
        let batch = if gpu.is_software() { SOFTWARE_BATCH } else { BATCH };
        let memory = Memory::of(&file.header, &file.config, context, batch);
        let facts = facts(&file, &prompt, context, memory.total());
        let options =
            LoadOptions { context, batch, vocabulary: Some(file.tokenizer.len()), ..LoadOptions::default() };
        let total = (file.weight_bytes() as f64).into();
        let mut told = |bytes: u64| {
            // The page's own progress line; a failure in it must not stop the loading.
            let _ = progress.call2(&JsValue::NULL, &(bytes as f64).into(), &total);
        };
        let engine = Engine::load(&gpu, &mut source, &file.header, &file.config, options, &mut told)
            .await
            .map_err(|error| thrown(&error))?;
        let sampling = file.sampling();
        let decoder = Counted::new(EngineDecoder::new(engine));
        Ok(Self {
            name,
            model: TokenModel::new(decoder, file.tokenizer, sampling),
            opening: Opening::new(file.template, prompt),
            sampling,
            facts,
            context,
            adapter: gpu.description(),
        })
    }

    /// What there is to say of the model, as JSON.
    pub fn facts(&self) -> String {
        self.facts.to_string()
    }

    /// Runs an episode and returns its trace as JSON. `request` is a question with its settings, as JSON. With a
    /// `script`, for tests, the model says its parts, one a turn, whatever it would have said itself.
    ///
    /// # Errors
    ///
    /// Settings that no episode can run with. What goes wrong later is in the trace.
    pub async fn ask(
        &mut self,
        request: &str,
        script: Option<Vec<String>>,
        host: Host,
    ) -> Result<String, JsValue> {
        let request: Request = serde_json::from_str(request).map_err(|error| thrown(&error))?;
        let config = self.config(&request)?;
        let sampling = Sampling { temperature: request.temperature, seed: request.seed, ..self.sampling };
        self.model.set_sampling(sampling);
        let first = Episode::new(config.clone()).map_err(|error| thrown(&error))?;
        let first = serde_json::to_value(first.trace()).map_err(|error| thrown(&error))?;
        let mut tools = RemoteTools(host);
        let mut watcher = Watcher { host: tools.0.clone(), tokens: self.model.decoder().tokens() };
        watcher.begins(&first);
        let trace = match script {
            Some(replies) => run(config, &mut Scripted::new(replies), &mut tools, &mut watcher).await,
            None => run(config, &mut self.model, &mut tools, &mut watcher).await,
        };
        let trace = trace.map_err(|error| thrown(&error))?;
        trace.to_json().map_err(|error| thrown(&error))
    }

    fn config(&self, request: &Request) -> Result<EpisodeConfig, JsValue> {
        let question = Question {
            text: &request.question,
            evidence: request.evidence.as_deref(),
            schema: request.schema.as_deref(),
        };
        let mut config = self.opening.config(&question).map_err(|error| thrown(&error))?;
        config.limits = Limits::with_token_budget(request.token_budget.min(self.context as u64));
        let mut sampling = Map::new();
        sampling.insert("temperature".into(), json!(request.temperature));
        sampling.insert("top_k".into(), json!(self.sampling.top_k));
        sampling.insert("top_p".into(), json!(self.sampling.top_p));
        sampling.insert("seed".into(), json!(request.seed));
        let mut notes = Map::new();
        notes.insert("adapter".into(), json!(self.adapter));
        config.run = RunInfo {
            model: self.name.clone(),
            database: request.database.clone(),
            started_at: Some(request.started_at.clone()),
            sampling,
            notes,
        };
        Ok(config)
    }

    /// For measurements: tokens that went through the model since it was loaded, dispatches, readbacks, and the milliseconds
    /// that recording and submitting the passes of generation took, as JSON.
    pub fn counters(&self) -> String {
        let counters = self.model.decoder().counters();
        json!({
            "tokens": counters.tokens,
            "dispatches": counters.dispatches,
            "readbacks": counters.readbacks,
            "encodeMilliseconds": counters.encode_nanos as f64 / 1e6,
        })
        .to_string()
    }

    /// For tests: the logits after each of `ids`, one row of the vocabulary after another. What the model held is
    /// forgotten.
    ///
    /// # Errors
    ///
    /// Ids outside the vocabulary, a lost device.
    pub async fn logits(self, ids: Vec<u32>) -> Result<Logits, JsValue> {
        let (decoder, tokenizer) = self.model.into_parts();
        let mut engine = decoder.into_inner().into_engine();
        engine.reset();
        let values = engine.append_with_logits(&ids).await.map_err(|error| thrown(&error))?;
        let decoder = Counted::new(EngineDecoder::new(engine));
        let model = TokenModel::new(decoder, tokenizer, self.sampling);
        Ok(Logits { session: Self { model, ..self }, values })
    }
}

/// Logits, and the session they come from.
#[wasm_bindgen]
pub struct Logits {
    session: Session,
    values: Vec<f32>,
}

#[wasm_bindgen]
impl Logits {
    /// The numbers.
    pub fn values(&self) -> Vec<f32> {
        self.values.clone()
    }

    /// The session, to go on with.
    #[wasm_bindgen(js_name = intoSession)]
    pub fn into_session(self) -> Session {
        self.session
    }
}

/// What a file says of itself, before it is loaded: as [`Session::facts`].
///
/// # Errors
///
/// No GGUF file of this family.
#[wasm_bindgen(js_name = inspectModel)]
pub async fn inspect_model(name: String, blob: Blob, context: usize) -> Result<String, JsValue> {
    let file = ModelFile::read(&mut BlobSource::new(&name, blob)).await.map_err(|error| thrown(&error))?;
    let context = context.clamp(1, longest_context(&file.config));
    let memory = Memory::of(&file.header, &file.config, context, BATCH);
    let prompt = prompt(&file, None, None)?;
    Ok(facts(&file, &prompt, context, memory.total()).to_string())
}

/// Checks that a Python file holds a prompt.
///
/// # Errors
///
/// What is wrong with it, with the line.
#[wasm_bindgen(js_name = checkPrompt)]
pub fn check_prompt(name: &str, text: &str) -> Result<(), JsValue> {
    Prompt::from_python(name, text).map(drop).map_err(|error| thrown(&error))
}

fn prompt(file: &ModelFile, name: Option<&str>, text: Option<&str>) -> Result<Prompt, JsValue> {
    match (text, &file.prompt) {
        (Some(text), _) => {
            Prompt::from_python(name.unwrap_or("the prompt"), text).map_err(|error| thrown(&error))
        }
        (None, Some(prompt)) => Ok(prompt.clone()),
        (None, None) => Ok(Opening::reconstruction()),
    }
}

fn facts(file: &ModelFile, prompt: &Prompt, context: usize, memory: u64) -> Json {
    let (kind, source) = match &prompt.source {
        PromptSource::File { name, constant } => ("training", format!("{constant} of {name}")),
        PromptSource::Metadata => ("training", "the model file".to_owned()),
        PromptSource::Reconstructed => ("reconstructed", "Glowworm's own words".to_owned()),
    };
    json!({
        "title": file.name(),
        "baseRepository": file.base_repository(),
        "quantisation": quantisation(&file.header),
        "context": context,
        "longestContext": longest_context(&file.config),
        "memory": memory,
        "temperature": file.sampling().temperature,
        "prompt": { "kind": kind, "source": source },
    })
}

/// The type that most of the weights are stored in.
fn quantisation(header: &Header) -> &'static str {
    let mut bytes: BTreeMap<&'static str, u64> = BTreeMap::new();
    for tensor in &header.tensors {
        *bytes.entry(tensor.kind.name()).or_default() += tensor.byte_len();
    }
    bytes.into_iter().max_by_key(|(_, bytes)| *bytes).map_or("no weights", |(name, _)| name)
}
