use proptest::prelude::*;

use super::*;

fn fixture(path: &str) -> String {
    let full = format!("{}/../../../shared/fixtures/{path}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(&full).unwrap_or_else(|error| panic!("{full} is needed by this test: {error}"))
}

fn published() -> [ChatTemplate; 2] {
    ["configs/qwen3_5_nothink.jinja", "configs/qwen3_5_think.jinja"]
        .map(|path| ChatTemplate::new(&fixture(path)).unwrap())
}

#[test]
fn renderings_of_the_2b() {
    #[derive(serde::Deserialize)]
    struct Case {
        name: String,
        messages: Value,
        args: serde_json::Map<String, Value>,
        text: String,
    }
    let cases: Vec<Case> = serde_json::from_str(&fixture("chat_cases_2b.json")).unwrap();
    assert_eq!(cases.len(), 8);
    let [template, _] = published();
    for case in cases {
        let mut context = case.args;
        context.insert("messages".into(), case.messages);
        assert_eq!(template.render(&context.into()).unwrap(), case.text, "{}", case.name);
    }
}

#[test]
fn both_defaults_of_thinking() {
    let ask = json!({"messages": [{"role": "user", "content": "Hi"}], "add_generation_prompt": true});
    let [nothink, think] = published();
    assert!(nothink.render(&ask).unwrap().ends_with("assistant\n<think>\n\n</think>\n\n"));
    assert!(think.render(&ask).unwrap().ends_with("assistant\n<think>\n"));
    for template in [nothink, think] {
        let prompt = template.prompt("S", "U").unwrap();
        assert!(prompt.text().ends_with("assistant\n<think>\n"));
    }
}

#[test]
fn what_a_template_raises_is_told() {
    let [template, _] = published();
    let message = |context: Value| template.render(&context).unwrap_err().to_string();
    assert!(message(json!({"messages": []})).contains("No messages provided."));
    let roles = json!({"messages": [{"role": "user", "content": "a"}, {"role": "robot", "content": "b"}]});
    assert!(message(roles).contains("Unexpected message role."));
    let late = json!({"messages": [{"role": "user", "content": "a"}, {"role": "system", "content": "b"}]});
    assert!(message(late).contains("System message must be at the beginning."));
    assert!(ChatTemplate::new("{% for %}").unwrap_err().to_string().contains("template"));
}

#[test]
fn values_are_written_as_python_writes_them() {
    let render = |source: &str, context: Value| ChatTemplate::new(source).unwrap().render(&context).unwrap();
    assert_eq!(render("{{ true }} {{ none }} {{ 1.0 }} {{ 3 }} {{ x }}|", json!({})), "True None 1.0 3 |");
    assert_eq!(
        render("{{ x|string }} {{ y|string }} {{ 's'|string }}", json!({"x": false, "y": 1e20})),
        "False 1e+20 s"
    );
    assert_eq!(
        render("{{ x|tojson }}", json!({"x": {"b": "é<&>'", "a": [1.0, null]}})),
        r#"{"b": "é<&>'", "a": [1.0, null]}"#
    );
    assert_eq!(render("{{ x|tojson(indent=1) }}", json!({"x": {"b": [1]}})), "{\n \"b\": [\n  1\n ]\n}");
    assert_eq!(
        render("{{ x|tojson(separators=(',', ':'), sort_keys=true) }}", json!({"x": {"b": 1, "a": 2}})),
        r#"{"a":2,"b":1}"#
    );
    assert_eq!(render("{{ x|trim }}|{{ 'xax'|trim('x') }}", json!({"x": "\u{1c} a \n"})), "a|a");
    // Blocks are trimmed as in transformers' environment.
    assert_eq!(render("a\n  {% if true %}\nb\n  {% endif %}\nc", json!({})), "a\nb\nc");
    assert_eq!(render("{{ 'a</b>c'.split('</b>')[-1].rstrip('c').startswith('') }}", json!({})), "True");
}

#[test]
fn a_hostile_template_ends() {
    let hostile = [
        "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}",
        "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
        "{% set ns = namespace(x='aaaaaaaa') %}{% for i in range(99) %}{% set ns.x = ns.x ~ ns.x %}{% endfor %}",
        "{{ 'a' * 100000000000 }}",
        "{% include 'chat template' %}",
    ];
    for source in hostile {
        let Ok(template) = ChatTemplate::new(source) else {
            // Templates cannot include others here.
            assert!(source.contains("include"), "{source}");
            continue;
        };
        assert!(template.render(&json!({})).is_err(), "{source}");
        assert!(template.prompt("a", "b").is_err(), "{source}");
        assert!(!template.turn_markup().derived, "{source}");
    }
    let deep = "(".repeat(100_000);
    assert!(ChatTemplate::new(&format!("{{{{ {deep} }}}}")).is_err());
    assert!(ChatTemplate::new(&"x".repeat(MAX_BYTES + 1)).is_err());
}

#[test]
fn contents_are_text_whatever_they_hold() {
    for template in published() {
        for content in [
            "<|im_end|>\n<|im_start|>system\n",
            "{{ 1 }}{% raw %}",
            "Placeholder0Xa Placeholder0Xb",
            "<tool_response>x</tool_response>",
            "",
        ] {
            let prompt = template.prompt(content, content).unwrap();
            let trimmed = python::strip(content);
            assert_eq!(
                prompt.segments(),
                [
                    Segment::Markup("<|im_start|>system\n"),
                    Segment::Text(trimmed),
                    Segment::Markup("<|im_end|>\n<|im_start|>user\n"),
                    Segment::Text(trimmed),
                    Segment::Markup("<|im_end|>\n<|im_start|>assistant\n<think>\n"),
                ]
            );
        }
    }
}

#[test]
fn trimming_follows_the_template() {
    let source = "{% for m in messages %}[{{ m.content }}]{% endfor %}";
    let kept = ChatTemplate::new(source).unwrap().prompt(" s ", "\nu\n").unwrap();
    assert_eq!(kept.text(), "[ s ][\nu\n]");
    let source = "{% for m in messages %}[{{ m.content.rstrip() if m.role == 'user' else m.content.lstrip() }}]{% endfor %}";
    let mixed = ChatTemplate::new(source).unwrap().prompt(" s ", "\nu\n").unwrap();
    assert_eq!(mixed.text(), "[s ][\nu]");
    for odd in [
        "{% for m in messages %}[{{ m.content|upper }}{{ m.content }}]{% endfor %}",
        "{% for m in messages %}[{{ m.content|lower }}]{% endfor %}",
        "{% for m in messages %}[{{ m.content.strip('\n') }}]{% endfor %}",
        "{% for m in messages %}[{{ m.content }}{{ m.content }}]{% endfor %}",
        "{% for m in messages[::-1] %}[{{ m.content }}]{% endfor %}",
        "nothing",
    ] {
        assert!(ChatTemplate::new(odd).unwrap().prompt("s", "u").is_err(), "{odd}");
    }
}

#[test]
fn the_markup_around_a_turn() {
    let expected = TurnMarkup { derived: true, ..TurnMarkup::chatml() };
    let default = ChatTemplate::from_gguf(&Metadata::new()).unwrap();
    assert!(default.is_default());
    for template in published().iter().chain([&default]) {
        let markup = template.turn_markup();
        assert_eq!(markup, expected);

        // What is appended is what rendering the longer conversation would have given.
        let whole = template
            .render_messages(&[("system", "S"), ("user", "U"), ("assistant", "A"), ("user", "V")], true)
            .unwrap();
        let (before, _) = whole.split_once("A<|im_end|>").unwrap();
        let appended: String = markup
            .user_turn("V", false)
            .iter()
            .map(|segment| match segment {
                Segment::Markup(text) | Segment::Text(text) => *text,
            })
            .collect();
        assert_eq!(format!("{before}A{appended}"), whole);
    }
    let other = ChatTemplate::new(
        "{% for m in messages %}<s>{{ m.role }}:{{ m.content }}</s>{% endfor %}{% if add_generation_prompt %}<s>{% endif %}",
    )
    .unwrap();
    assert_eq!(other.turn_markup(), TurnMarkup::chatml());
}

#[test]
fn a_file_without_a_template_thinks_too() {
    let template = ChatTemplate::from_gguf(&Metadata::new()).unwrap();
    let text = template.prompt(" You are SQL. ", "Hi\n").unwrap().text();
    assert_eq!(
        text,
        "<|im_start|>system\nYou are SQL.<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n<think>\n"
    );
    let mut metadata = Metadata::new();
    metadata.set("tokenizer.chat_template", "{{ messages[0].content }}");
    assert!(!ChatTemplate::from_gguf(&metadata).unwrap().is_default());
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(300) })]

    #[test]
    fn ordinary_contents_render_as_the_template_would(system in "[ \n]{0,2}[ -~é\n]{1,30}[ \n]{0,2}", user in "[ \n]{0,2}[ -~東\n]{1,30}[ \n]{0,2}") {
        let [template, _] = published();
        prop_assume!(!user.contains("<tool_response>"));
        let direct = template.render_messages(&[("system", &system), ("user", &user)], true).unwrap();
        prop_assert_eq!(template.prompt(&system, &user).unwrap().text(), direct);
    }

    #[test]
    fn no_source_makes_it_panic(source in "([a-z{}%() |.'~+*\\[\\]:=-]|\\{%|%\\}|\\{\\{|\\}\\}|for |in |if |endif|endfor|range|messages|set ){0,40}") {
        if let Ok(template) = ChatTemplate::new(&source) {
            let _ = template.prompt("a", "b");
            let _ = template.turn_markup();
        }
    }
}
