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
const NO_SECOND: &str = shader!("no_second");

/// The kernels that can read a second matrix of another format in the same dispatch.
pub const PAIR_KERNELS: [&str; 2] = ["matvec", "matvec_rows"];

/// The WGSL of a kernel: over no format for those that read no weights, over one for those that do, over two for a pair;
/// `None` for a name that does not exist.
pub fn source(kernel: &str, formats: &[&str]) -> Option<String> {
    let find = |list: &[(&str, &'static str)], name: &str| {
        list.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
    };
    let Some((first, others)) = formats.split_first() else {
        return find(&PLAIN_KERNELS, kernel).map(|text| [CONTROL, text].join("\n"));
    };
    let second = match others.first() {
        _ if !PAIR_KERNELS.contains(&kernel) => String::new(),
        Some(name) => second(find(&FORMATS, name)?),
        None => NO_SECOND.to_owned(),
    };
    let format = find(&FORMATS, first)?;
    find(&WEIGHT_KERNELS, kernel).map(|text| [CONTROL, ITEM, format, &second, text].join("\n"))
}

/// A format file as that of the second matrix: whatever it declares is called `…_2`, and its bindings are 7 and 8.
fn second(format: &str) -> String {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let declared: Vec<&str> = format
        .lines()
        .filter_map(|line| match line.split_once("var<storage, read> ") {
            Some((_, rest)) => Some(rest),
            None => line.strip_prefix("fn "),
        })
        .filter_map(|rest| rest.split(|c| !is_part(c)).next())
        .collect();
    let mut text = String::with_capacity(2 * format.len());
    let mut rest = format;
    while let Some(start) = rest.find(is_part) {
        let end = rest[start..].find(|c| !is_part(c)).map_or(rest.len(), |length| start + length);
        text.push_str(&rest[..end]);
        if declared.contains(&&rest[start..end]) {
            text.push_str("_2");
        }
        rest = &rest[end..];
    }
    text.push_str(rest);
    text.replace("@binding(0)", "@binding(7)").replace("@binding(1)", "@binding(8)")
}

/// Every kernel over every format, and each format in a pair.
#[allow(dead_code)] // used by the build script and the tests
pub fn all() -> Vec<(String, String)> {
    let mut all = Vec::new();
    for (kernel, _) in WEIGHT_KERNELS {
        for (format, _) in FORMATS {
            all.extend(source(kernel, &[format]).map(|text| (format!("{kernel} over {format}"), text)));
        }
    }
    // Every format as the second one; what it declares has names of its own, whatever the first is.
    for kernel in PAIR_KERNELS {
        for (index, (second, _)) in FORMATS.iter().enumerate() {
            let first = FORMATS[(index + 1) % FORMATS.len()].0;
            let name = format!("{kernel} over {first} and {second}");
            all.extend(source(kernel, &[first, second]).map(|text| (name, text)));
        }
    }
    for (kernel, _) in PLAIN_KERNELS {
        all.extend(source(kernel, &[]).map(|text| (kernel.to_owned(), text)));
    }
    all
}
