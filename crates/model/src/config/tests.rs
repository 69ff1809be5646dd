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

mod gguf {
    use glowworm_gguf::write::Declaration;
    use glowworm_gguf::{Header, TensorInfo, TensorType, Value, Writer};

    use super::*;
    use crate::tensors;

    fn header(path: &str) -> Header {
        let full = format!("{}/../../../shared/fixtures/{path}", env!("CARGO_MANIFEST_DIR"));
        let bytes =
            std::fs::read(&full).unwrap_or_else(|error| panic!("{full} is needed by this test: {error}"));
        Header::read_from(&mut bytes.as_slice(), bytes.len() as u64).unwrap()
    }

    #[test]
    fn files_of_llama_cpp_agree_with_their_checkpoints() {
        for (name, files) in [("eq", &["Q8_0", "Q4_0", "Q4_K_M", "Q5_K_M", "Q6_K"][..]), ("grp", &["Q4_K_M"])]
        {
            let json = Config::from_hf_json(&fixture(&format!("{name}/config.json"))).unwrap();
            for file in files {
                let header = header(&format!("{name}/model-{file}.gguf"));
                let config = Config::from_gguf(&header).unwrap();
                tensors::check(&config, &header).unwrap();
                assert_eq!(config.value_heads_order, ValueHeadOrder::Tiled);
                // The order apart, and whether the prediction head was kept, it is the same model.
                let same = Config {
                    value_heads_order: ValueHeadOrder::Grouped,
                    mtp_layers: json.mtp_layers,
                    ..config.clone()
                };
                assert_eq!(same, json);
                assert_eq!(config.mtp_layers, usize::from(name == "grp"));
                assert_eq!(config.layers.len(), 4);
                // Every tensor of the file but the prediction head's is on the list.
                let trunk = tensors::trunk(&config);
                let rest: Vec<&str> = header
                    .tensors
                    .iter()
                    .map(|tensor| tensor.name.as_str())
                    .filter(|name| !trunk.iter().any(|tensor| tensor.name == *name))
                    .collect();
                assert!(rest.iter().all(|name| name.starts_with("blk.4.")), "{rest:?}");
                assert_eq!(rest.is_empty(), name == "eq");
            }
        }
    }

    #[test]
    fn a_prediction_head_may_be_declared_and_absent() {
        let mut header = header("grp/model-Q4_K_M.gguf");
        header.tensors.retain(|tensor| !tensor.name.starts_with("blk.4."));
        let header = rebuilt(header);
        let config = Config::from_gguf(&header).unwrap();
        assert_eq!((config.layers.len(), config.mtp_layers), (4, 1));
        tensors::check(&config, &header).unwrap();
    }

    /// The header as a file with these tensors would have it.
    fn rebuilt(header: Header) -> Header {
        let declare = |tensor: &TensorInfo| Declaration {
            name: tensor.name.clone(),
            dims: tensor.dims.clone(),
            kind: tensor.kind,
        };
        let mut bytes = Vec::new();
        let declarations = header.tensors.iter().map(declare).collect();
        drop(Writer::new(&mut bytes, &header.metadata, declarations).unwrap());
        Header::read_from(&mut bytes.as_slice(), 1 << 30).unwrap()
    }

    fn spoilt(key: &str, value: impl Into<Value>) -> Result<Config> {
        let mut header = header("eq/model-Q4_0.gguf");
        header.metadata.set(key, value);
        Config::from_gguf(&header)
    }

    #[test]
    fn the_list_of_layers_wins_and_must_fit_the_tensors() {
        assert!(spoilt("qwen35.full_attention_interval", 2u32).is_ok());
        let wrong = spoilt("qwen35.attention.recurrent_layers", vec![true, true, false, true]);
        assert!(wrong.unwrap_err().to_string().contains("blk.2"));
        assert!(spoilt("qwen35.attention.recurrent_layers", vec![1i32, 1, 1, 0]).is_ok());
        let short = spoilt("qwen35.attention.recurrent_layers", vec![true]);
        assert!(short.unwrap_err().to_string().contains("1 entries for 4"));
    }

    #[test]
    fn hostile_numbers_are_errors() {
        let cases: &[(&str, u32, &str)] = &[
            ("qwen35.block_count", 0, "no trunk"),
            ("qwen35.block_count", u32::MAX, "no trunk"),
            ("qwen35.nextn_predict_layers", 4, "no trunk"),
            ("qwen35.nextn_predict_layers", u32::MAX, "no trunk"),
            ("qwen35.embedding_length", u32::MAX, "hidden size"),
            ("qwen35.attention.head_count", 0, "attention heads"),
            ("qwen35.attention.head_count_kv", 0, "key-value heads"),
            ("qwen35.attention.value_length", 128, "differs"),
            ("qwen35.ssm.time_step_rank", 0, "inner_size"),
            ("qwen35.ssm.time_step_rank", 3, "inner_size"),
            ("qwen35.ssm.group_count", 0, "linear key heads"),
            ("qwen35.ssm.inner_size", 0, "value head size"),
            ("qwen35.ssm.conv_kernel", 0, "convolution kernel"),
            ("qwen35.rope.dimension_count", 63, "rotated"),
            ("qwen35.rope.dimension_count", 258, "rotated"),
        ];
        for (key, value, expected) in cases {
            let message = spoilt(key, *value).unwrap_err().to_string();
            assert!(message.contains(expected), "{key} = {value}: {message}");
        }
        assert!(spoilt("qwen35.rope.freq_base", f32::NAN).is_err());
        assert!(spoilt("qwen35.attention.layer_norm_rms_epsilon", -1f32).is_err());
        assert!(spoilt("qwen35.rope.scaling.type", "yarn").unwrap_err().to_string().contains("yarn"));
        assert!(spoilt("general.architecture", "qwen35moe").unwrap_err().to_string().contains("`qwen35moe`"));
        assert!(matches!(spoilt("qwen35.context_length", "long"), Err(Error::Gguf(_))));
    }

    #[test]
    fn a_missing_or_odd_tensor_is_named() {
        let original = header("eq/model-Q4_0.gguf");
        let config = Config::from_gguf(&original).unwrap();
        let change = |name: &str, change: &dyn Fn(&mut TensorInfo)| {
            let mut header = original.clone();
            header.tensors.iter_mut().filter(|tensor| tensor.name == name).for_each(change);
            tensors::check(&config, &rebuilt(header)).unwrap_err().to_string()
        };
        let gone = change("blk.3.attn_q_norm.weight", &|tensor| tensor.name = "x".into());
        assert!(gone.contains("`blk.3.attn_q_norm.weight` is missing"), "{gone}");
        let odd = change("blk.0.ssm_a", &|tensor| tensor.dims = vec![3]);
        assert!(odd.contains("`blk.0.ssm_a` has dims [3] where [2]"), "{odd}");
        let kind = change("token_embd.weight", &|tensor| tensor.kind = TensorType::IQ2_XS);
        assert!(kind.contains("token_embd.weight") && kind.contains("IQ2_XS"), "{kind}");
        // A trailing dim of 1 is none.
        let mut header = original.clone();
        header.tensors.iter_mut().for_each(|tensor| tensor.dims.push(1));
        tensors::check(&config, &rebuilt(header)).unwrap();
    }
}
