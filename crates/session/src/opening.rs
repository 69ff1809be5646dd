//! The opening of an episode: a model's own prompt and template around a question.

use glowworm_agent::prompt::user_turn;
use glowworm_agent::texts::{SYSTEM_PROMPT, USER_TEMPLATE, USER_TEMPLATE_WITH_SCHEMA};
use glowworm_agent::{EpisodeConfig, Prompt, PromptOrigin, SchemaMode, Segment, TurnMarkup};
use glowworm_model::{ChatTemplate, PromptSource, Rendered};

use crate::Result;

/// What is asked.
#[derive(Debug, Clone, Copy, Default)]
pub struct Question<'a> {
    /// The question.
    pub text: &'a str,
    /// Its evidence note.
    pub evidence: Option<&'a str>,
    /// The schema, where it is to be shown ([`crate::schema_text`]).
    pub schema: Option<&'a str>,
}

/// Everything about a model that decides the bytes of an opening.
#[derive(Debug)]
pub struct Opening {
    template: ChatTemplate,
    markup: TurnMarkup,
    derived: bool,
    prompt: glowworm_model::Prompt,
}

impl Opening {
    /// Openings in a model's template with a prompt.
    pub fn new(template: ChatTemplate, prompt: glowworm_model::Prompt) -> Self {
        let markup = template.turn_markup();
        let derived = markup.derived;
        let markup = TurnMarkup {
            turn_end: markup.turn_end + &markup.separator,
            user_start: markup.user_open,
            generation_prompt: markup.generation_prompt,
        };
        Self { template, markup, derived, prompt }
    }

    /// The prompt that stands in where a model's own is not to be had: our words, for
    /// [`glowworm_model::PromptSource::Reconstructed`].
    pub fn reconstruction() -> glowworm_model::Prompt {
        glowworm_model::Prompt {
            system: SYSTEM_PROMPT.to_owned(),
            source: PromptSource::Reconstructed,
            user_template: Some(USER_TEMPLATE.to_owned()),
        }
    }

    /// The prompt.
    pub fn prompt(&self) -> &glowworm_model::Prompt {
        &self.prompt
    }

    /// What a person should know about the openings, a sentence each: every word that is not the model's own.
    pub fn notices(&self, schema: SchemaMode) -> Vec<String> {
        let mut notices = Vec::new();
        if self.prompt.is_reconstructed() {
            notices.push(
                "the prompt that this model was trained with is not at hand; Glowworm's own words stand in for it, and \
                 answers are worse. Give the model's file with --prompt-file (sqale_agent.py, protocol.py)"
                    .to_owned(),
            );
        } else if self.prompt.user_template.is_none() {
            notices.push(
                "the prompt has no user template; the question is put in Glowworm's own words".to_owned(),
            );
        } else if schema == SchemaMode::Shown && !self.shows_schema() {
            notices.push(
                "the model's own user template has no place for a schema; the schema and the question are put in \
                 Glowworm's own words"
                    .to_owned(),
            );
        }
        if self.template.is_default() {
            notices.push("the model file has no chat template; ChatML stands in for it".to_owned());
        } else if !self.derived {
            notices.push(
                "how the model's chat template writes later turns could not be told; ChatML stands in for it"
                    .to_owned(),
            );
        }
        notices
    }

    fn shows_schema(&self) -> bool {
        self.prompt.user_template.as_deref().is_some_and(|template| template.contains("{schema}"))
    }

    /// The configuration of an episode for a question, with the limits and texts of the protocol's defaults.
    ///
    /// # Errors
    ///
    /// A user template with places that cannot be filled, or a chat template that cannot be rendered.
    pub fn config(&self, question: &Question<'_>) -> Result<EpisodeConfig> {
        let own = self.prompt.user_template.as_deref();
        let (template, is_own) = match (own, question.schema) {
            (Some(template), None) => (template, true),
            (Some(template), Some(_)) if self.shows_schema() => (template, true),
            (None, None) => (USER_TEMPLATE, false),
            (_, Some(_)) => (USER_TEMPLATE_WITH_SCHEMA, false),
        };
        let user = user_turn(template, question.text, question.evidence, question.schema)?;
        let rendered = self.template.prompt(&self.prompt.system, &user)?;
        let prompt = Prompt {
            system_from: origin(&self.prompt.source),
            user_from: match &self.prompt.source {
                _ if !is_own => PromptOrigin::Reconstruction,
                PromptSource::File { name, .. } => {
                    PromptOrigin::File { location: name.clone(), constant: "USER_TEMPLATE".into() }
                }
                source => origin(source),
            },
            segments: segments(&rendered),
        };
        let mut config = EpisodeConfig::new(question.text, prompt);
        config.evidence = question.evidence.map(str::to_owned);
        config.markup = self.markup.clone();
        if question.schema.is_some() {
            config.schema = SchemaMode::Shown;
        }
        Ok(config)
    }
}

fn origin(source: &PromptSource) -> PromptOrigin {
    match source {
        PromptSource::File { name, constant } => {
            PromptOrigin::File { location: name.clone(), constant: (*constant).to_owned() }
        }
        PromptSource::Metadata => PromptOrigin::ModelFile,
        PromptSource::Reconstructed => PromptOrigin::Reconstruction,
    }
}

fn segments(rendered: &Rendered) -> Vec<Segment> {
    rendered
        .segments()
        .into_iter()
        .map(|segment| match segment {
            glowworm_model::Segment::Markup(text) => Segment::Markup(text.to_owned()),
            glowworm_model::Segment::Text(text) => Segment::Text(text.to_owned()),
        })
        .filter(|segment| !segment.as_str().is_empty())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The built-in model's: the assistant writes its own `<think>`.
    const PLAIN: &str = "{%- for message in messages %}{{- '<|im_start|>' + message.role + '\\n' + message.content + \
                         '<|im_end|>\\n' }}{%- endfor %}{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}\
                         {%- endif %}";

    fn own(user_template: Option<&str>) -> glowworm_model::Prompt {
        glowworm_model::Prompt {
            system: "S".into(),
            source: PromptSource::Metadata,
            user_template: user_template.map(str::to_owned),
        }
    }

    fn flat(config: &EpisodeConfig) -> String {
        config.prompt.segments.iter().map(Segment::as_str).collect()
    }

    #[test]
    fn a_bare_question_in_a_plain_template() {
        let opening = Opening::new(ChatTemplate::new(PLAIN).unwrap(), own(Some("{question}")));
        let config = opening.config(&Question { text: "Q <|im_end|>?", ..Question::default() }).unwrap();
        assert_eq!(
            flat(&config),
            "<|im_start|>system\nS<|im_end|>\n<|im_start|>user\nQ <|im_end|>?<|im_end|>\n<|im_start|>assistant\n"
        );
        assert!(config.prompt.segments.contains(&Segment::Text("Q <|im_end|>?".into())));
        assert_eq!(
            config.markup,
            TurnMarkup {
                turn_end: "<|im_end|>\n".into(),
                user_start: "<|im_start|>user\n".into(),
                generation_prompt: "<|im_start|>assistant\n".into(),
            }
        );
        assert_eq!(config.prompt.system_from, PromptOrigin::ModelFile);
        assert_eq!(config.prompt.user_from, PromptOrigin::ModelFile);
        assert_eq!(opening.notices(SchemaMode::Withheld), Vec::<String>::new());
    }

    #[test]
    fn every_word_of_ours_has_a_notice() {
        let template = || ChatTemplate::new(PLAIN).unwrap();
        let question = Question { text: "Q", evidence: Some("E"), schema: Some("CREATE TABLE t (a)") };

        let opening = Opening::new(template(), own(Some("{question}")));
        assert_eq!(opening.notices(SchemaMode::Shown).len(), 1);
        let config = opening.config(&question).unwrap();
        assert!(flat(&config).contains("Database schema:\n\nCREATE TABLE t (a)\n\nQuestion: Q\nEvidence: E"));
        assert_eq!((config.schema, config.evidence.as_deref()), (SchemaMode::Shown, Some("E")));
        assert_eq!(config.prompt.user_from, PromptOrigin::Reconstruction);

        let opening = Opening::new(template(), own(Some("{schema} {question}")));
        assert_eq!(opening.notices(SchemaMode::Shown), Vec::<String>::new());

        let opening = Opening::new(template(), own(None));
        assert_eq!(opening.notices(SchemaMode::Withheld).len(), 1);

        let opening = Opening::new(template(), Opening::reconstruction());
        assert_eq!(opening.notices(SchemaMode::Withheld).len(), 1);
        let config = opening.config(&Question { text: "Q", ..Question::default() }).unwrap();
        assert_eq!(config.prompt.system_from, PromptOrigin::Reconstruction);
        assert_eq!(config.prompt.user_from, PromptOrigin::Reconstruction);
        assert!(flat(&config).contains("Question: Q<|im_end|>"));
    }

    #[test]
    fn a_template_without_a_place_for_the_question_is_an_error() {
        let opening = Opening::new(ChatTemplate::new(PLAIN).unwrap(), own(Some("no place")));
        let error = opening.config(&Question { text: "Q", ..Question::default() }).unwrap_err();
        assert!(error.to_string().contains("{question}"), "{error}");
    }
}
