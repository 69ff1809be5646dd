// The shaders' sources, put together from the files in shaders/: WGSL has no includes. A kernel over weights is the
// shared item definition, one weight format and the kernel itself. This file is also included by the build script,
// which validates every combination, so it names nothing of the rest of the crate.

/// A file of `shaders/`.
macro_rules! shader {
    ($name:literal) => {
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../shaders/", $name, ".wgsl"))
    };
}

/// The weight formats by their GGUF names.
pub const FORMATS: [(&str, &str); 15] = [
    ("F32", shader!("formats/f32")),
    ("F16", shader!("formats/f16")),
    ("BF16", shader!("formats/bf16")),
    ("Q8_0", shader!("formats/q8_0")),
    ("Q4_0", shader!("formats/q4_0")),
    ("Q4_1", shader!("formats/q4_1")),
    ("Q5_0", concat!(shader!("formats/fifth"), shader!("formats/q5_0"))),
    ("Q5_1", concat!(shader!("formats/fifth"), shader!("formats/q5_1"))),
    ("IQ4_NL", concat!(shader!("formats/codebook"), shader!("formats/iq4_nl"))),
    ("IQ4_XS", concat!(shader!("formats/codebook"), shader!("formats/iq4_xs"))),
    ("Q2_K", shader!("formats/q2_k")),
    ("Q3_K", shader!("formats/q3_k")),
    ("Q4_K", shader!("formats/q4_k")),
    ("Q5_K", shader!("formats/q5_k")),
    ("Q6_K", shader!("formats/q6_k")),
];

/// The kernels that read weights, once for each format.
pub const WEIGHT_KERNELS: [(&str, &str); 5] = [
    ("embed", shader!("embed")),
    ("matvec", shader!("matvec")),
    ("matvec_rows", shader!("matvec_rows")),
    ("matmul", shader!("matmul")),
    ("matmul_rows", shader!("matmul_rows")),
];

/// The other kernels.
pub const PLAIN_KERNELS: [(&str, &str); 9] = [
    ("rms_norm", shader!("rms_norm")),
    ("swiglu", shader!("swiglu")),
    ("delta_net", shader!("delta_net")),
    ("attention_prepare", shader!("attention_prepare")),
    ("attention", shader!("attention")),
    ("attention_heads", shader!("attention_heads")),
    ("attention_join", shader!("attention_join")),
    ("sample", shader!("sample")),
    ("draft", shader!("draft")),
];

const CONTROL: &str = shader!("control");
const ITEM: &str = shader!("item");

/// The WGSL of a kernel, over a weight format for those that read weights; `None` for a name that does not exist.
pub fn source(kernel: &str, format: Option<&str>) -> Option<String> {
    let find = |list: &[(&str, &'static str)], name: &str| {
        list.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
    };
    match format {
        None => find(&PLAIN_KERNELS, kernel).map(|text| [CONTROL, text].join("\n")),
        Some(format) => {
            let format = find(&FORMATS, format)?;
            find(&WEIGHT_KERNELS, kernel).map(|text| [CONTROL, ITEM, format, text].join("\n"))
        }
    }
}

/// Every combination of kernel and format.
#[allow(dead_code)] // used by the build script and the tests
pub fn all() -> Vec<(String, String)> {
    let mut all = Vec::new();
    for (kernel, _) in WEIGHT_KERNELS {
        for (format, _) in FORMATS {
            all.extend(source(kernel, Some(format)).map(|text| (format!("{kernel} over {format}"), text)));
        }
    }
    for (kernel, _) in PLAIN_KERNELS {
        all.extend(source(kernel, None).map(|text| (kernel.to_owned(), text)));
    }
    all
}
