use super::*;

pub(crate) fn fixture(path: &str) -> String {
    let full = format!("{}/../../../shared/fixtures/{path}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(&full).unwrap_or_else(|error| panic!("{full} is needed by this test: {error}"))
}

/// A small valid configuration to spoil in one field.
fn small() -> serde_json::Value {
    serde_json::json!({
        "model_type": "qwen3_5_text", "architectures": ["Qwen3_5ForCausalLM"], "vocab_size": 512,
        "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 4, "num_attention_heads": 4,
        "num_key_value_heads": 2, "head_dim": 32, "linear_num_key_heads": 2, "linear_num_value_heads": 4,
        "linear_key_head_dim": 16, "linear_value_head_dim": 16, "linear_conv_kernel_dim": 4,
        "full_attention_interval": 4, "rms_norm_eps": 1e-6, "max_position_embeddings": 1024,
        "rope_parameters": {"rope_type": "default", "rope_theta": 1e7, "partial_rotary_factor": 0.25}
    })
}

fn read(json: &serde_json::Value) -> Result<Config> {
    Config::from_hf_json(&json.to_string())
}

#[test]
fn the_2b() {
    let config = Config::from_hf_json(&fixture("configs/Qwen3.5-2B.config.json")).unwrap();
    assert_eq!((config.hidden, config.intermediate, config.layers.len()), (2048, 6144, 24));
    assert_eq!((config.heads, config.kv_heads, config.head_dim), (8, 2, 256));
    assert_eq!((config.linear_key_heads, config.linear_value_heads), (16, 16));
    assert_eq!((config.rope_dim, config.rope_theta, config.norm_eps), (64, 1e7, 1e-6));
    assert_eq!((config.vocab_size, config.tied, config.mtp_layers), (248_320, true, 1));
    let full: Vec<usize> = (0..24).filter(|&i| config.layers[i] == LayerKind::Full).collect();
    assert_eq!(full, [3, 7, 11, 15, 19, 23]);
    // The count published for the text part alone.
    assert_eq!(config.parameters(), 1_881_825_088);
    // 18 × 72 KiB and 18 MiB of states, 12 KiB of f16 cache a token.
    let memory = config.memory(4096, 2);
    assert_eq!(memory.conv, 18 * 72 * 1024);
    assert_eq!(memory.recurrent, 18 << 20);
    assert_eq!(memory.kv_per_token, 12 * 1024);
    assert_eq!(memory.total(), memory.conv + memory.recurrent + (48 << 20));
}

#[test]
fn its_siblings() {
    let small = Config::from_hf_json(&fixture("configs/Qwen3.5-0.8B.config.json")).unwrap();
    assert_eq!((small.hidden, small.layers.len()), (1024, 24));
    let large = Config::from_hf_json(&fixture("configs/Qwen3.5-4B.config.json")).unwrap();
    assert_eq!((large.linear_key_heads, large.linear_value_heads), (16, 32));
    assert_eq!(large.conv_channels(), 8192);
    // Grouped order: two neighbouring value heads share a key head.
    assert_eq!((large.key_head_of(0), large.key_head_of(1), large.key_head_of(2)), (0, 0, 1));
    let tiled = Config { value_heads_order: ValueHeadOrder::Tiled, ..large };
    assert_eq!((tiled.key_head_of(0), tiled.key_head_of(1), tiled.key_head_of(16)), (0, 1, 0));
}

#[test]
fn text_only_and_older_rope_forms() {
    let config = read(&small()).unwrap();
    assert_eq!((config.rope_dim, config.tied), (8, false));

    let mut old = small();
    let fields = old.as_object_mut().unwrap();
    fields.remove("rope_parameters");
    fields.insert("rope_theta".into(), 1e6.into());
    fields.insert("partial_rotary_factor".into(), 0.5.into());
    fields.insert("rope_scaling".into(), serde_json::Value::Null);
    let config = read(&old).unwrap();
    assert_eq!((config.rope_dim, config.rope_theta), (16, 1e6));

    let mut nested = serde_json::json!({"model_type": "qwen3_5", "tie_word_embeddings": true});
    nested["text_config"] = small();
    assert!(read(&nested).unwrap().tied);
}

#[test]
fn each_bad_number_is_named() {
    let cases: &[(&str, serde_json::Value, &str)] = &[
        ("hidden_size", 0.into(), "hidden size: 0"),
        ("hidden_size", 10_000_000.into(), "hidden size"),
        ("num_hidden_layers", 1_000_000_000_000u64.into(), "num_hidden_layers"),
        ("num_key_value_heads", 3.into(), "no multiple"),
        ("linear_num_value_heads", 3.into(), "no multiple"),
        ("head_dim", 20.into(), "rotated dimensions: 5"),
        ("rms_norm_eps", 0.0.into(), "norm epsilon"),
        ("full_attention_interval", 0.into(), "full_attention_interval"),
        ("layer_types", serde_json::json!(["full_attention"]), "layer_types"),
        ("layer_types", serde_json::json!(["a", "b", "c", "d"]), "layer_types"),
        ("attention_bias", true.into(), "attention_bias"),
        ("attn_output_gate", false.into(), "attn_output_gate"),
        ("hidden_act", "gelu".into(), "hidden_act"),
        ("rope_parameters", serde_json::json!({"rope_type": "yarn", "rope_theta": 1e7}), "yarn"),
        ("rope_parameters", serde_json::json!({}), "rope_theta"),
        ("vocab_size", (-1).into(), "config.json"),
        ("linear_conv_kernel_dim", 17.into(), "convolution kernel"),
    ];
    for (key, value, expected) in cases {
        let mut json = small();
        json[*key] = value.clone();
        let message = read(&json).unwrap_err().to_string();
        assert!(message.contains(expected), "{key} = {value}: {message}");
    }
    let mut json = small();
    json.as_object_mut().unwrap().remove("vocab_size");
    assert!(read(&json).unwrap_err().to_string().contains("vocab_size"));
}

#[test]
fn other_architectures_are_refused_by_name() {
    for (model_type, class) in
        [("qwen3", "Qwen3ForCausalLM"), ("qwen3_5_moe", "x"), ("llama", "LlamaForCausalLM")]
    {
        let mut json = small();
        json["model_type"] = model_type.into();
        json["architectures"] = serde_json::json!([class]);
        assert!(read(&json).unwrap_err().to_string().contains(&format!("`{model_type}`")));
    }
    assert!(Config::from_hf_json("{}").unwrap_err().to_string().contains("(none given)"));
    assert!(matches!(Config::from_hf_json("[1"), Err(Error::Json { .. })));
}
