//! One sample: a database, a question, an episode.

use crate::condition::Speaker;
use crate::error::{Error, Result};
use crate::lexicon::{Lexicon, Split};
use crate::oracle::{Piece, episode};
use crate::question::Question;
use crate::rng::Rng;
use crate::schema::{Builder, World};
use crate::tools;

/// A database, a question about it, and the ideal episode.
#[derive(Debug)]
pub struct Sample {
    /// The database.
    pub world: World,
    /// The question.
    pub question: Question,
    /// The episode.
    pub pieces: Vec<Piece>,
}

/// Draws the sample of a seed. The same seed always gives the same bytes.
///
/// # Errors
/// When 200 draws gave no database with a question (never seen).
pub fn sample(lexicon: &Lexicon, split: Split, seed: u64) -> Result<Sample> {
    let mut rng = Rng::new(seed ^ if split == Split::Test { 0x7e57_0000_0000_0000 } else { 0 });
    for _ in 0..200 {
        let builder = Builder::new(lexicon, split, &mut rng);
        // SQLite refuses two columns of one name and the like: such a draw is thrown away.
        let Ok(Some(world)) = builder.build(&mut rng) else { continue };
        for _ in 0..6 {
            let speaker =
                Speaker { world: &world, lexicon, split, rng: Rng::new(rng.bits()), qualify: false };
            let Some(question) = speaker.ask() else { continue };
            if tools::query(&world.connection, &question.sql, 2).is_err() {
                continue;
            }
            let pieces = episode(&world, &question, &mut rng)?;
            return Ok(Sample { world, question, pieces });
        }
    }
    Err(Error::NoQuestion(seed))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oracle::Source;

    fn text(s: &Sample) -> String {
        s.pieces.iter().map(|p| p.1.as_str()).collect()
    }

    #[test]
    fn the_same_seed_gives_the_same_bytes() {
        let lexicon = Lexicon::load().unwrap();
        for seed in 0..150 {
            for split in [Split::Train, Split::Test] {
                let (a, b) = (sample(&lexicon, split, seed).unwrap(), sample(&lexicon, split, seed).unwrap());
                assert_eq!(text(&a), text(&b));
                assert_eq!(a.world.image, b.world.image);
            }
        }
    }

    #[test]
    fn every_episode_ends_with_the_gold_query_and_it_runs() {
        let lexicon = Lexicon::load().unwrap();
        for seed in 0..400 {
            let s = sample(&lexicon, Split::Train, seed).unwrap();
            let Some(Piece(Source::Assistant, last)) =
                s.pieces.iter().rev().find(|p| p.0 == Source::Assistant)
            else {
                panic!("seed {seed}: nothing to learn")
            };
            let sql = serde_json::Value::String(s.question.sql.clone()).to_string();
            assert!(
                last.contains(&sql[1..sql.len() - 1]) || last.contains(&s.question.sql),
                "seed {seed}: {last}"
            );
            assert!(tools::same_result(&s.world.connection, &s.question.sql, &s.question.sql));
        }
    }

    #[test]
    fn no_held_out_word_is_said_in_training() {
        let lexicon = Lexicon::load().unwrap();
        for seed in 0..400 {
            let s = sample(&lexicon, Split::Train, seed).unwrap();
            for word in s.question.text.split(|c: char| !c.is_alphabetic()) {
                let word = word.to_lowercase();
                // A rare plural or a made-up word may look like one; only whole lexicon words count.
                assert!(
                    !lexicon.test_words.contains(&word) || lexicon.words.contains(&word),
                    "seed {seed}: {word}"
                );
            }
        }
    }

    #[test]
    fn held_out_questions_use_other_frames() {
        use crate::frames;
        for f in
            [&frames::COUNT, &frames::LIST, &frames::WHICH, &frames::TOP, &frames::LOOKUP, &frames::CHILDREN]
        {
            assert!(f.1.iter().all(|t| !f.0.contains(t)) && !f.1.is_empty());
        }
    }
}
