//! Decoders that recompute only what is new, on the software GPU.

use std::ops::ControlFlow;

use glowworm_agent::{GenerateRequest, Segment, Stop};
use glowworm_engine::{Engine, FileSource, Gpu, GpuOptions, LoadOptions};
use glowworm_session::{
    Decoded, Decoder, EngineDecoder, GenerateOptions, LanguageModel, Memory, ModelFile, Sampling, TokenModel,
};
use glowworm_tests::Fixture;
use pollster::block_on;

fn load() -> (Fixture, ModelFile, Engine) {
    let fixture = Fixture::open("eq");
    let gpu = block_on(Gpu::open(&GpuOptions { adapter: Some("llvmpipe".to_owned()) }))
        .expect("these tests need Mesa's lavapipe: install mesa-vulkan-drivers");
    let mut source = FileSource::open(&fixture.gguf("Q8_0")).unwrap();
    let file = block_on(ModelFile::read(&mut source)).unwrap();
    let options = LoadOptions { context: 320, ..LoadOptions::default() };
    let engine =
        block_on(Engine::load(&gpu, &mut source, &file.header, &file.config, options, &mut |_| {})).unwrap();
    (fixture, file, engine)
}

fn decode(decoder: &mut impl Decoder, context: &[u32], max_tokens: usize, stop_tokens: &[u32]) -> Decoded {
    let options = GenerateOptions { max_tokens, sampling: Sampling::GREEDY, stop_tokens, drafts: false };
    block_on(decoder.decode(context, &options, &mut |_| ControlFlow::Continue(()))).unwrap()
}

#[test]
fn only_what_is_new_is_computed_and_nothing_changes() {
    let (fixture, _, engine) = load();
    let first = fixture.prompt(70);
    let second = [&first[..50], &[3, 1, 4]].concat();
    let mut plain = EngineDecoder::new(engine);
    let expected: Vec<_> = [&first, &second].map(|context| decode(&mut plain, context, 12, &[])).into();

    let mut decoder = EngineDecoder::new(plain.into_engine());
    decoder.share_prefix(&first[..50]);
    let read = |decoder: &EngineDecoder| decoder.engine().counters().tokens;
    assert_eq!(decode(&mut decoder, &first, 12, &[]), expected[0]);
    let before = read(&decoder);
    let again = decode(&mut decoder, &second, 12, &[]);
    assert_eq!((again.tokens, again.reused), (expected[1].tokens.clone(), 50));
    // The three new tokens, and those generated but the last, which was not read yet.
    assert_eq!(read(&decoder) - before, 3 + 11);
    let again = decode(&mut decoder, &first, 12, &[]);
    assert_eq!((again.tokens, again.reused), (expected[0].tokens.clone(), 50));

    // A context that goes on from what was generated.
    let longer = [&first[..], &expected[0].tokens, &[7, 7]].concat();
    let went_on = decode(&mut decoder, &longer, 6, &[]);
    assert_eq!(went_on.reused, 82);
    let mut fresh = EngineDecoder::new(decoder.into_engine());
    let anew = decode(&mut fresh, &longer, 6, &[]);
    assert_eq!((went_on.tokens, anew.reused), (anew.tokens, 0));
}

#[test]
fn a_token_that_is_taken_back_leaves_no_trace() {
    let (fixture, _, engine) = load();
    let prompt = fixture.prompt(70);
    let mut decoder = EngineDecoder::new(engine);
    decoder.share_prefix(&prompt[..20]);
    let all = decode(&mut decoder, &prompt, 10, &[]).tokens;
    let stop = all[4];
    let place = all.iter().position(|token| *token == stop).unwrap();
    let ended = decode(&mut decoder, &prompt, 10, &[stop]).tokens;
    assert_eq!(ended, all[..=place]);
    // The stop token is dropped, and something else follows.
    let other = (stop + 1) % 500;
    let context = [&prompt[..], &ended[..place], &[other]].concat();
    let taken_back = decode(&mut decoder, &context, 5, &[]);
    let mut fresh = EngineDecoder::new(decoder.into_engine());
    assert_eq!(taken_back.tokens, decode(&mut fresh, &context, 5, &[]).tokens);
}

#[test]
fn an_error_leaves_a_decoder_that_still_works() {
    let (fixture, _, engine) = load();
    let prompt = fixture.prompt(70);
    let mut decoder = EngineDecoder::new(engine);
    let expected = decode(&mut decoder, &prompt, 5, &[]);
    let options =
        GenerateOptions { max_tokens: 5, sampling: Sampling::GREEDY, stop_tokens: &[], drafts: false };
    let mut ignore = |_: &[u32]| ControlFlow::Continue(());
    for wrong in [vec![], vec![9; 400], vec![100_000]] {
        assert!(block_on(decoder.decode(&wrong, &options, &mut ignore)).is_err());
    }
    assert_eq!(decode(&mut decoder, &prompt, 5, &[]).tokens, expected.tokens);
}

#[test]
fn a_language_model_counts_appends_and_keeps_its_context() {
    let (_, file, engine) = load();
    let mut model = TokenModel::new(EngineDecoder::new(engine), file.tokenizer, Sampling::GREEDY);
    let opening = |question: &str| {
        vec![
            Segment::Markup("<|im_start|>system\n".into()),
            Segment::Text("Be brief.".into()),
            Segment::Markup("<|im_end|>\n<|im_start|>user\n".into()),
            Segment::Text(question.into()),
            Segment::Markup("<|im_end|>\n<|im_start|>assistant\n<think>\n".into()),
        ]
    };
    let mut ask = |question: &str| {
        model.begin();
        let append = opening(question);
        let measured = model.measure(&append).unwrap();
        let request = GenerateRequest { append, max_tokens: 9, final_turn: false, turn: 1 };
        let mut streamed = String::new();
        let generated = block_on(model.generate(&request, &mut |text| {
            streamed.push_str(text);
            ControlFlow::Continue(())
        }))
        .unwrap();
        assert_eq!(generated.text, streamed);
        assert_eq!(generated.tokens.appended, measured);
        assert_eq!(model.context().len() as u64, measured + generated.tokens.generated);
        assert!(generated.stop == Stop::EndOfTurn || generated.tokens.generated == 9);
        generated
    };
    assert_eq!(ask("Who?").reused, 0);
    let second = ask("What is it, and where?");
    let third = ask("Who?");
    assert!(second.reused > 10, "the system turn is computed once, not {} tokens", second.reused);
    assert_eq!(second.reused, third.reused);
}

#[test]
fn memory_is_what_the_tensors_and_buffers_take() {
    let (_, file, _) = load();
    let memory = Memory::of(&file.header, &file.config, 320, 256);
    let config = &file.config;
    // Q8_0: 34 bytes for 32 weights; the vectors in f32 make it a little more.
    let least = config.parameters() * 34 / 32;
    assert!(memory.weights >= least && memory.weights < least * 11 / 10, "{memory:?}, {least}");
    assert_eq!(memory.sequence.kv, 2 * 320 * 4 * (config.full_layers() * config.kv_width()) as u64);
    assert_eq!(memory.total(), memory.weights + memory.sequence.total() + memory.activations);
}
