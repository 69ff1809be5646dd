//! Where the prompt comes from.
//!
//! The models that Glowworm runs were trained on exact prompt strings, which lie in a Python file of their
//! repositories and belong to their authors. They are taken verbatim at run time: from that file
//! ([`Prompt::from_python`]), or from the metadata of a GGUF that carries its own ([`Prompt::from_gguf`]). A host
//! that has neither falls back on a reconstruction, and says so on the screen and in the trace: that is what
//! [`Prompt::source`] is for. The words of the reconstruction are the agent's, not this crate's.

pub mod python;

use glowworm_gguf::Metadata;

use crate::error::{Error, Result};

/// Constants that hold a system prompt, the first that is there being taken.
const SYSTEM_NAMES: [&str; 2] = ["SYSTEM_PROMPT", "EXEC_PLAN_TOOL_INSTRUCTIONS"];
/// The constant that holds the user turn, with `{question}` in its place.
const USER_NAME: &str = "USER_TEMPLATE";
/// Metadata key of a system prompt that belongs to the model.
pub const SYSTEM_PROMPT_KEY: &str = "glowworm.system_prompt";
/// Metadata key of a template of the user's turn that belongs to the model.
pub const USER_TEMPLATE_KEY: &str = "glowworm.user_template";

/// Where a text of a prompt comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PromptSource {
    /// A Python file.
    File {
        /// Its name as the caller gave it.
        name: String,
        /// The constant.
        constant: &'static str,
    },
    /// The GGUF file's own metadata.
    Metadata,
    /// Not the text that the model was trained on: a notice is due.
    Reconstructed,
}

/// The texts that open an episode.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prompt {
    /// The system turn, as it is.
    pub system: String,
    /// Where it comes from.
    pub source: PromptSource,
    /// The user turn, with its placeholders; none where the source has only a system prompt.
    pub user_template: Option<String>,
}

impl Prompt {
    /// Reads the prompt out of a Python file: `SYSTEM_PROMPT`, or else `EXEC_PLAN_TOOL_INSTRUCTIONS`, and
    /// `USER_TEMPLATE` where there is one. `file` names it in messages.
    ///
    /// # Errors
    /// It has neither constant, or one is written in a way that [`python`] does not read.
    pub fn from_python(file: &str, source: &str) -> Result<Self> {
        let constants = python::Constants::read(file, source)?;
        let mut system = None;
        for constant in SYSTEM_NAMES {
            if let Some(text) = constants.get(constant)? {
                system = Some((text, constant));
                break;
            }
        }
        let Some((system, constant)) = system else {
            let [first, second] = SYSTEM_NAMES;
            return Err(Error::PromptFile {
                file: file.to_owned(),
                line: 0,
                problem: format!(
                    "no top-level assignment to {first} or {second}; give the file of the model's repository that \
                     has one, such as sqale_agent.py or protocol.py"
                ),
            });
        };
        Ok(Self {
            system: system.to_owned(),
            source: PromptSource::File { name: file.to_owned(), constant },
            user_template: constants.get(USER_NAME)?.map(str::to_owned),
        })
    }

    /// The prompt in a GGUF file's metadata, `glowworm.system_prompt` and `glowworm.user_template`; none where it
    /// has no system prompt.
    ///
    /// # Errors
    /// A key holds something else than text.
    pub fn from_gguf(metadata: &Metadata) -> Result<Option<Self>> {
        let Some(system) = metadata.opt_str(SYSTEM_PROMPT_KEY)? else { return Ok(None) };
        Ok(Some(Self {
            system: system.to_owned(),
            source: PromptSource::Metadata,
            user_template: metadata.opt_str(USER_TEMPLATE_KEY)?.map(str::to_owned),
        }))
    }

    /// The best prompt there is: of the Python file (its name and text) if one is given, else of the metadata, else
    /// `reconstruction`, the system turn that stands in for both.
    ///
    /// # Errors
    /// As [`Prompt::from_python`] and [`Prompt::from_gguf`]: a file that was given and cannot be read is not passed
    /// over.
    pub fn choose(file: Option<(&str, &str)>, metadata: &Metadata, reconstruction: &str) -> Result<Self> {
        if let Some((name, source)) = file {
            return Self::from_python(name, source);
        }
        Ok(Self::from_gguf(metadata)?.unwrap_or_else(|| Self {
            system: reconstruction.to_owned(),
            source: PromptSource::Reconstructed,
            user_template: None,
        }))
    }

    /// Whether the system turn is not what the model was trained on, so that a person should be told.
    pub fn is_reconstructed(&self) -> bool {
        self.source == PromptSource::Reconstructed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "import x\n\nSYSTEM_PROMPT = \"\"\"\nBe brief.\n\"\"\".strip()\nUSER_TEMPLATE = (\n    \"Q: {question}\"\n)\n";

    #[test]
    fn a_file_comes_first_then_the_metadata_then_the_reconstruction() {
        let mut metadata = Metadata::new();
        let prompt = Prompt::choose(None, &metadata, "ours").unwrap();
        assert_eq!((prompt.system.as_str(), prompt.is_reconstructed()), ("ours", true));

        metadata.set(SYSTEM_PROMPT_KEY, "its own");
        metadata.set(USER_TEMPLATE_KEY, "{question}");
        let prompt = Prompt::choose(None, &metadata, "ours").unwrap();
        assert_eq!(prompt.system, "its own");
        assert_eq!(prompt.user_template.as_deref(), Some("{question}"));
        assert_eq!(prompt.source, PromptSource::Metadata);

        let prompt = Prompt::choose(Some(("agent.py", FILE)), &metadata, "ours").unwrap();
        assert_eq!(prompt.system, "Be brief.");
        assert_eq!(prompt.user_template.as_deref(), Some("Q: {question}"));
        let source = PromptSource::File { name: "agent.py".into(), constant: "SYSTEM_PROMPT" };
        assert_eq!(prompt.source, source);

        // A file that cannot be read is not silently replaced.
        assert!(Prompt::choose(Some(("a.py", "x = 1")), &metadata, "ours").is_err());
    }

    #[test]
    fn instructions_alone_will_do() {
        let prompt = Prompt::from_python("protocol.py", "EXEC_PLAN_TOOL_INSTRUCTIONS: str = 'a'\n").unwrap();
        assert_eq!((prompt.system.as_str(), prompt.user_template), ("a", None));
        let both = "SYSTEM_PROMPT = 's'\nEXEC_PLAN_TOOL_INSTRUCTIONS = 'e'\n";
        assert_eq!(Prompt::from_python("p.py", both).unwrap().system, "s");
    }

    #[test]
    fn what_cannot_be_read_is_told_with_its_line() {
        let message = |source: &str| Prompt::from_python("p.py", source).unwrap_err().to_string();
        assert!(message("").contains("EXEC_PLAN_TOOL_INSTRUCTIONS"));
        // A constant inside a function or a text is none of the module's.
        assert!(message("def f():\n    SYSTEM_PROMPT = 'a'\n").contains("no top-level"));
        assert!(message("'''\nSYSTEM_PROMPT = \"a\"\n'''\n").contains("no top-level"));
        let text = message("X = 1\nSYSTEM_PROMPT = load()\n");
        assert!(text.contains("p.py") && text.contains("line 2") && text.contains("`load`"), "{text}");
        let user = "SYSTEM_PROMPT = 'a'\n\nUSER_TEMPLATE = f'{x}'\n";
        assert!(message(user).contains("line 3"));
    }
}
