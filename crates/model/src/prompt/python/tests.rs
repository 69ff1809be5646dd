use proptest::prelude::*;

use super::*;

#[test]
fn values_are_those_of_cpython() {
    #[derive(serde::Deserialize)]
    struct Vector {
        source: String,
        value: Option<String>,
        refused: Option<String>,
    }
    let vectors: Vec<Vector> =
        serde_json::from_str(include_str!("../../../tests/python_strings/vectors.json")).unwrap();
    assert!(vectors.len() >= 600);
    for Vector { source, value, refused } in vectors {
        let found = Constants::read("x.py", &source)
            .and_then(|constants| constants.get("X").map(|value| value.map(str::to_owned)));
        match (value, refused) {
            (Some(value), None) => assert_eq!(found.unwrap(), Some(value), "{source}"),
            (None, Some(word)) => {
                let message = found.unwrap_err().to_string();
                assert!(message.contains(&word), "{source}\n{message}");
            }
            _ => panic!("a vector has a value or is refused: {source}"),
        }
    }
}

#[test]
fn faults_name_their_line() {
    let line = |source: &str| match Constants::read("x.py", source).and_then(|c| c.get("X").map(|_| ())) {
        Err(Error::PromptFile { line, .. }) => line,
        other => panic!("{source}: {other:?}"),
    };
    assert_eq!(line("\n\nX = (\n'a'\n+ b)"), 5);
    assert_eq!(line("X = '''\n\n\\N{BULLET}'''"), 3);
    assert_eq!(line("X = '''\\\n\n\\N{BULLET}'''"), 3);
    assert_eq!(line("Y = g()\nX = 'a'\nX = Y\n"), 1);
    assert_eq!(line("Y = 1\n'''\n"), 2);
    assert_eq!(line("Y = '''\n'''; Z = (\n"), 2);
}

#[test]
fn a_hostile_file_costs_an_error() {
    let doubling: String = (1..60)
        .fold("X0 = 'aaaaaaaa'\n".into(), |text, n| text + &format!("X{n} = X{m} + X{m}\n", m = n - 1));
    let constants = Constants::read("x.py", &doubling).unwrap();
    assert!(constants.get("X5").unwrap().is_some());
    assert!(constants.get("X59").unwrap_err().to_string().contains("come to more than"));
    let deep = format!("X = {}'a'{}", "(".repeat(100_000), ")".repeat(100_000));
    assert!(Constants::read("x.py", &deep).unwrap_err().to_string().contains("nested"));
    assert!(Constants::read("x.py", &"X = f'{".repeat(10_000)).is_err());
    assert!(Constants::read("x.py", &"x".repeat(MAX_BYTES + 1)).is_err());
    let chain: String = (1..20_000).fold("X0 = y\n".into(), |text, n| text + &format!("X{n} = X{}\n", n - 1));
    assert!(Constants::read("x.py", &chain).unwrap().get("X19999").is_err());
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(4_000) })]

    #[test]
    fn no_file_makes_it_panic(source in "(\\PC|[\n\r\t\\\\'\"(){}\\[\\]:;=+.#a-cfrbuNx0-9é東]|X = |'''|\"\"\"|f'|rb\"|\\.strip\\(|dedent\\(|X: |from |import ){0,60}") {
        if let Ok(constants) = Constants::read("x.py", &source) {
            let _ = constants.get("X");
        }
    }

    #[test]
    fn a_written_literal_is_read_back(text in any::<String>()) {
        // JSON's escapes are Python's as long as no surrogate pairs are written.
        let source = format!("X = {}", crate::python::JsonStyle::default().write(&serde_json::Value::String(text.clone())));
        // Carriage returns are written as escapes, other line ends are none for Python.
        let constants = Constants::read("x.py", &source).unwrap();
        prop_assert_eq!(constants.get("X").unwrap(), Some(text.as_str()));
    }
}
