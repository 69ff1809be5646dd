//! Models of the Hugging Face hub, downloaded into the cache that its own tools use.
//!
//! `HF_HOME`, `HF_HUB_CACHE`, `HF_ENDPOINT` and `HF_TOKEN` mean what they mean to those tools. What is in the cache is used
//! without asking the network for it; only the list of a repository's files is asked for, and where that fails the cache
//! has to do.

use std::path::{Path, PathBuf};

use hf_hub::api::sync::{Api, ApiBuilder, ApiError, ApiRepo};
use hf_hub::{Cache, Repo, RepoType};

use super::prompt::PROMPT_FILES;
use crate::error::{Error, Result};
use crate::progress::Download;
use crate::terminal;

/// Types to take where none is asked for, best first.
const PREFERRED: [&str; 21] = [
    "Q4_K_M", "Q5_K_M", "Q4_K_S", "Q5_K_S", "Q6_K", "Q8_0", "Q4_0", "BF16", "F16", "f16", "F32", "Q4_K_L",
    "IQ4_XS", "IQ4_NL", "Q5_1", "Q5_0", "Q4_1", "Q3_K_L", "Q3_K_M", "Q3_K_S", "Q2_K",
];
/// Files of a checkpoint beside its weights; the first two must be there.
const CHECKPOINT_FILES: [&str; 6] = [
    "config.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "generation_config.json",
    "chat_template.jinja",
    "model.safetensors.index.json",
];
/// How often a broken download is resumed.
const RETRIES: usize = 3;

/// A model of a repository, on this machine now.
#[derive(Debug)]
pub struct Found {
    /// Repository and file.
    pub name: String,
    /// Its weights.
    pub weights: Weights,
    /// The prompt file of the repository, where it has one.
    pub prompt: Option<PathBuf>,
}

/// Weights on this machine.
#[derive(Debug)]
pub enum Weights {
    /// A GGUF file.
    Gguf(PathBuf),
    /// A folder with a checkpoint.
    Checkpoint(PathBuf),
}

/// Gets a model by `owner/name` or `owner/name:TYPE`.
///
/// # Errors
/// A name that is none, a repository without a model that fits, no network.
pub fn model(spec: &str) -> Result<Found> {
    let (id, kind) = match spec.split_once(':') {
        Some((id, kind)) => (id, Some(kind)),
        None => (spec, None),
    };
    let problem = |problem: String| Error::Model { spec: format!("hf:{spec}"), problem };
    if !is_repository(id) || kind.is_some_and(str::is_empty) {
        return Err(problem("write it as hf:OWNER/NAME or hf:OWNER/NAME:TYPE".into()));
    }
    let repository = Hub::open()?.repository(id);
    let files = repository.files()?;
    let weights = match choose(&files, kind) {
        Choice::File(file) => Weights::Gguf(repository.get(file)?),
        Choice::NoGguf if kind.is_none() => Weights::Checkpoint(checkpoint(&repository, &files)?),
        Choice::NoGguf => {
            return Err(problem(
                "the repository has no GGUF file; without a type its checkpoint is converted".into(),
            ));
        }
        Choice::Unclear(there) => {
            let wanted = kind.map_or("say which".to_owned(), |kind| format!("there is no {kind}"));
            return Err(problem(format!("{wanted}; the repository has {}", there.join(", "))));
        }
    };
    let prompt = repository.prompt(&files);
    let name = match &weights {
        Weights::Gguf(path) => path.file_name().map_or(id.into(), |name| name.to_string_lossy()).into_owned(),
        Weights::Checkpoint(_) => id.to_owned(),
    };
    Ok(Found { name, weights, prompt })
}

/// The prompt file of the repository at an address, as a GGUF file names the model it was made from. With `network` it is
/// downloaded where the cache has it not.
pub fn prompt_of(address: &str, network: bool) -> Option<PathBuf> {
    let hub = Hub::open().ok()?;
    let id = repository_of(address)?;
    let cached = PROMPT_FILES.iter().find_map(|file| hub.cached(id, file));
    if cached.is_some() || !network {
        return cached;
    }
    let repository = hub.repository(id);
    match repository.files() {
        Ok(files) => repository.prompt(&files),
        Err(error) => {
            terminal::notice(&format!("the model's prompt could not be looked for: {error}"));
            None
        }
    }
}

/// `owner/name` out of an address such as `https://huggingface.co/owner/name`.
fn repository_of(address: &str) -> Option<&str> {
    let path = address
        .split_once("://")
        .map_or(address, |(_, rest)| rest.split_once('/').map_or("", |(_, path)| path));
    let path = path.trim_matches('/');
    is_repository(path).then_some(path)
}

/// Whether this is `owner/name`, in the letters that the hub allows: it becomes part of addresses and paths.
fn is_repository(id: &str) -> bool {
    let part = |part: &str| {
        !part.is_empty()
            && part.len() <= 96
            && !part.starts_with(['.', '-'])
            && part.chars().all(|letter| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_' | '.'))
    };
    id.split_once('/').is_some_and(|(owner, name)| part(owner) && part(name))
}

#[derive(Debug, PartialEq)]
enum Choice<'f> {
    File(&'f str),
    NoGguf,
    Unclear(Vec<&'f str>),
}

/// The GGUF file of a type; without one, the preferred of those that are there.
fn choose<'f>(files: &'f [String], kind: Option<&str>) -> Choice<'f> {
    let ggufs: Vec<&str> = files
        .iter()
        .map(String::as_str)
        // Vision parts are files of their own, and parts of a split file are no models.
        .filter(|file| file.ends_with(".gguf") && !file.contains("mmproj") && !file.contains("-of-"))
        .collect();
    let of_kind = |kind: &str| {
        ggufs.iter().copied().find(|file| {
            let name = file.rsplit('/').next().unwrap_or(file).trim_end_matches(".gguf");
            let start = name.len().checked_sub(kind.len());
            start.is_some_and(|start| {
                name.is_char_boundary(start)
                    && name[start..].eq_ignore_ascii_case(kind)
                    && (start == 0 || name[..start].ends_with(['-', '.', '_']))
            })
        })
    };
    let chosen = match (kind, ggufs.as_slice()) {
        (_, []) => return Choice::NoGguf,
        (Some(kind), _) => of_kind(kind),
        (None, [only]) => Some(*only),
        (None, _) => PREFERRED.iter().find_map(|kind| of_kind(kind)),
    };
    chosen.map_or(Choice::Unclear(ggufs), Choice::File)
}

/// Gets all files of a checkpoint; gives back their folder.
fn checkpoint(repository: &Repository, files: &[String]) -> Result<PathBuf> {
    let has = |name: &str| files.iter().any(|file| file == name);
    let weights: Vec<&String> =
        files.iter().filter(|file| file.ends_with(".safetensors") && !file.contains('/')).collect();
    if weights.is_empty() || !has("config.json") || !has("tokenizer.json") {
        return Err(Error::Model {
            spec: format!("hf:{}", repository.id),
            problem: "the repository has neither GGUF files nor a checkpoint (config.json, tokenizer.json, .safetensors)"
                .into(),
        });
    }
    let mut folder = None;
    for file in CHECKPOINT_FILES.into_iter().filter(|file| has(file)) {
        let path = repository.get(file)?;
        folder = folder.or_else(|| path.parent().map(Path::to_owned));
    }
    for file in weights {
        repository.get(file)?;
    }
    folder.ok_or_else(|| repository.error("config.json", "the cache has no folder for it".into()))
}

/// The hub and the cache of its files.
struct Hub {
    api: Api,
    cache: Cache,
    endpoint: String,
}

impl Hub {
    fn open() -> Result<Self> {
        let endpoint = std::env::var("HF_ENDPOINT").unwrap_or_else(|_| "https://huggingface.co".into());
        let hub_error =
            |problem: String| Error::Hub { what: "a model".into(), endpoint: endpoint.clone(), problem };
        let folder = cache_folder().ok_or_else(|| {
            hub_error("there is no home folder for the cache; set HF_HOME to a folder".into())
        })?;
        let cache = Cache::new(folder);
        let mut builder = ApiBuilder::from_cache(cache.clone())
            .with_endpoint(endpoint.trim_end_matches('/').to_owned())
            .with_progress(false)
            .with_retries(RETRIES);
        if let Ok(token) = std::env::var("HF_TOKEN") {
            builder = builder.with_token(Some(token));
        }
        let api = builder.build().map_err(|error| hub_error(error.to_string()))?;
        Ok(Self { api, cache, endpoint })
    }

    fn cached(&self, id: &str, file: &str) -> Option<PathBuf> {
        self.cache.repo(Repo::new(id.to_owned(), RepoType::Model)).get(file)
    }

    fn repository(self, id: &str) -> Repository {
        Repository { api: self.api.model(id.to_owned()), id: id.to_owned(), hub: self }
    }
}

/// Where Hugging Face's tools keep what they have downloaded.
fn cache_folder() -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    set("HF_HUB_CACHE")
        .or_else(|| set("HF_HOME").map(|home| home.join("hub")))
        .or_else(|| std::env::home_dir().map(|home| home.join(".cache/huggingface/hub")))
}

struct Repository {
    id: String,
    api: ApiRepo,
    hub: Hub,
}

impl Repository {
    /// The files of the repository; where the hub cannot be asked, those in the cache.
    fn files(&self) -> Result<Vec<String>> {
        let error = match self.api.info() {
            Ok(info) => return Ok(info.siblings.into_iter().map(|file| file.rfilename).collect()),
            Err(error) => error,
        };
        let cached = self.cached_files();
        if cached.is_empty() {
            return Err(self.error("the list of files", explain(&error)));
        }
        terminal::notice(&format!(
            "{} could not be asked ({error}); using what is in the cache",
            self.hub.endpoint
        ));
        Ok(cached)
    }

    /// Files of the snapshot in the cache, without those in folders.
    fn cached_files(&self) -> Vec<String> {
        let repo = Repo::new(self.id.clone(), RepoType::Model);
        let folder = self.hub.cache.path().join(repo.folder_name());
        let Ok(commit) = std::fs::read_to_string(folder.join("refs").join(repo.revision())) else {
            return Vec::new();
        };
        let snapshot = self.hub.cache.repo(repo).pointer_path(commit.trim());
        let entries = std::fs::read_dir(snapshot).into_iter().flatten().flatten();
        let mut files: Vec<String> =
            entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        files.sort();
        files
    }

    /// A file, from the cache or downloaded.
    fn get(&self, file: &str) -> Result<PathBuf> {
        if let Some(path) = self.hub.cached(&self.id, file) {
            return Ok(path);
        }
        let downloaded = self.api.download_with_progress(file, Download::new(file));
        downloaded.map_err(|error| self.error(file, explain(&error)))
    }

    /// The prompt file, where there is one. A model runs without, so failing to get it is no error.
    fn prompt(&self, files: &[String]) -> Option<PathBuf> {
        let file = PROMPT_FILES.into_iter().find(|name| files.iter().any(|file| file == name))?;
        match self.get(file) {
            Ok(path) => Some(path),
            Err(error) => {
                terminal::notice(&error.to_string());
                None
            }
        }
    }

    fn error(&self, file: &str, problem: String) -> Error {
        Error::Hub { what: format!("{file} of {}", self.id), endpoint: self.hub.endpoint.clone(), problem }
    }
}

/// The client's words and what to do about them.
fn explain(error: &ApiError) -> String {
    let text = error.to_string();
    let has = |code: &str| text.contains(&format!("status: {code}"));
    let advice = if has("401") || has("403") || has("404") {
        "check the name; a private or gated repository also needs a token in HF_TOKEN"
    } else if has("429") {
        "too many requests: try again in some minutes"
    } else {
        "check the network connection, or give a model file with --model FILE"
    };
    format!("{text}; {advice}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn the_file_of_a_type_is_found_and_no_other() {
        let files = files(&[
            "README.md",
            "m.IQ4_XS.gguf",
            "m.Q4_K_M.gguf",
            "m.Q4_K_S.gguf",
            "m.mmproj-f16.gguf",
            "m-00001-of-00002.gguf",
            "sub/m-F16.gguf",
        ]);
        assert_eq!(choose(&files, Some("q4_k_s")), Choice::File("m.Q4_K_S.gguf"));
        assert_eq!(choose(&files, Some("F16")), Choice::File("sub/m-F16.gguf"));
        assert_eq!(choose(&files, None), Choice::File("m.Q4_K_M.gguf"));
        // Not the end of another type's name.
        assert!(matches!(choose(&files, Some("K_M")), Choice::Unclear(_) | Choice::File(_)));
        let Choice::Unclear(there) = choose(&files, Some("Q8_0")) else { panic!() };
        assert_eq!(there.len(), 4);
        assert_eq!(choose(&files[..1], None), Choice::NoGguf);
    }

    #[test]
    fn one_file_needs_no_type() {
        assert_eq!(choose(&files(&["strange.gguf"]), None), Choice::File("strange.gguf"));
        assert!(matches!(choose(&files(&["a.gguf", "b.gguf"]), None), Choice::Unclear(_)));
    }

    #[test]
    fn names_and_addresses_of_repositories() {
        assert!(is_repository("trl-lab/qwen3.5-2b-grpo-sqale"));
        for wrong in ["", "a", "a/", "/b", "a/b/c", "../b", "a/..", "a b/c", "a/b?x"] {
            assert!(!is_repository(wrong), "{wrong}");
        }
        assert_eq!(repository_of("https://huggingface.co/o/n"), Some("o/n"));
        assert_eq!(repository_of("https://huggingface.co/o/n/"), Some("o/n"));
        assert_eq!(repository_of("o/n"), Some("o/n"));
        assert_eq!(repository_of("https://huggingface.co/o/n/tree/main"), None);
    }
}
