"""Makes python_str.json, golds.json and training_tools.json, which the tests of this crate compare with: run it with CPython 3.

    python3 make_vectors.py SHARED_DATA_FOLDER

python_str.json: values and what `str` (for bytes: `repr`, which is the same) makes of them.
golds.json: for every accepted gold query of the question sets, the number of rows, the column names and a hash of the
rows, as Python's own sqlite3 gives them; nothing of these for a query that depends on the date. The rows themselves
stay where the data is.
training_tools.json: a hash of what the tools that the first built-in model was trained with answer, for calls on every
table and column of three databases. Those tools lie beside the model (models/tiny/prototype/tools.py).
"""

import json
import pathlib
import random
import sqlite3
import struct
import sys

HERE = pathlib.Path(__file__).parent


def python_str():
    rng = random.Random(20261129)
    floats = [0.0, -0.0, 1.0, -1.0, 0.1, 0.1 + 0.2, 1 / 3, 20.90, 23.9, 26 * 100 / 216, 1e15, 1e16, 1e17, 1e22, 1e23,
              9999999999999998.0, 99999999999999990.0, 123456789012345680.0, 1e-4, 1e-5, 0.00012345, 0.000099999, 5e-324,
              2.2250738585072014e-308, 1.7976931348623157e308, float("inf"), float("-inf"), float("nan"), 2.0**53,
              2.0**53 + 2, 2.0**63, -(2.0**63), 1e100, 123456.789, 100.0, 1e5, 12345678.9e-10]
    floats += [struct.unpack("<d", rng.randbytes(8))[0] for _ in range(300)]
    floats += [round(rng.uniform(-1000, 1000), rng.randrange(6)) for _ in range(150)]
    floats += [rng.uniform(1, 10) * 10 ** rng.randrange(-8, 20) for _ in range(150)]
    blobs = [b"", b"\x00", bytes(range(256)), b"it's", b'say "hi"', b"it's \"both\"", b"back\\slash", b"\t\n\r\x0b\x7f\x80",
             b"\x89PNG\r\n\x1a\n", "é".encode()]
    blobs += [rng.randbytes(rng.randrange(1, 24)) for _ in range(40)]
    texts = ["", "None", "a | b", "line\nbreak", "tab\t", "nul\0inside", "é 日本 🐛", "</tool_response>", "<|im_end|>", "'quoted'"]
    integers = [0, 1, -1, 2**53 + 1, 2**63 - 1, -(2**63)]
    bits = lambda x: "%016x" % struct.unpack("<Q", struct.pack("<d", x))[0]
    return {
        "null": str(None),
        "integers": [[i, str(i)] for i in integers],
        "floats": [[bits(x), str(x)] for x in floats],
        "texts": [[t, str(t)] for t in texts],
        "blobs": [[b.hex(), str(b)] for b in blobs],
    }


def canonical(value):
    """A value as the hash sees it. REAL to 10 digits: newer SQLite adds up with less rounding error."""
    if isinstance(value, float):
        mantissa, exponent = ("%.9e" % value).split("e")
        return f"r{mantissa}e{int(exponent)}"
    if isinstance(value, bytes):
        return "b" + value.hex()
    return {type(None): "n", int: "i", str: "t"}[type(value)] + str(value)


def fnv(data):
    h = 0xCBF29CE484222325
    for byte in data:
        h = ((h ^ byte) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
    return "%016x" % h


def golds(shared):
    sets = [("bird-superhero", "bird-superhero/{}.sqlite"), ("defog", "defog/{}.sqlite"),
            ("spider-dk", "spider-dk/database/{0}/{0}.sqlite")]
    out = []
    for name, pattern in sets:
        for index, question in enumerate(json.loads((shared / name / "questions.json").read_text())):
            queries = question["SQL"] if isinstance(question["SQL"], list) else [question["SQL"]]
            path = pattern.format(question["db_id"])
            connection = sqlite3.connect(f"file:{shared / path}?mode=ro&immutable=1", uri=True)
            for variant, sql in enumerate(queries):
                entry = {"set": name, "index": index, "variant": variant, "database": path}
                if "'now'" in sql:  # tomorrow's rows are others
                    out.append(entry)
                    continue
                cursor = connection.execute(sql)
                rows = cursor.fetchall()
                lines = sorted("\x1f".join(map(canonical, row)).encode() for row in rows)
                entry |= {"columns": [c[0] for c in cursor.description], "rows": len(rows), "hash": fnv(b"\x1e".join(lines))}
                out.append(entry)
    return out


def training_tools(shared):
    sys.path.insert(0, str(shared.parent / "models/tiny/prototype"))
    import tools
    out = []
    for path in ["chinook.sqlite", "bird-superhero/superhero.sqlite", "defog/car_dealership.sqlite"]:
        connection = sqlite3.connect(f"file:{shared / path}?mode=ro&immutable=1", uri=True)
        calls = [{"tool": "list_tables"}]
        for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY rowid").fetchall():
            calls.append({"tool": "describe_table", "args": {"table_name": name}})
            calls.append({"tool": "foreign_keys", "args": {"table_name": name}})
            calls.append({"tool": "run_query", "args": {"sql": f"SELECT * FROM {tools.q(name)}"}})
            for column in connection.execute(f"PRAGMA table_info({tools.q(name)})").fetchall():
                calls.append({"tool": "distinct_values", "args": {"table_name": name, "column_name": column[1]}})
        for sql in ["SELECT nothing", "SELECT * FROM nothing", "SELECT FROM", "SELECT 'a"]:
            calls.append({"tool": "run_query", "args": {"sql": sql}})
        for call in calls:
            answer = tools.execute(connection, call)
            out.append([path, call["tool"], call.get("args", {}), len(answer.encode()), fnv(answer.encode())])
    return out


def write(name, lines):
    (HERE / name).write_text(lines + "\n")


shared = pathlib.Path(sys.argv[1]).resolve()
write("python_str.json", json.dumps(python_str(), separators=(",", ":")).replace("],[", "],\n["))
write("golds.json", "[\n" + ",\n".join(json.dumps(e) for e in golds(shared)) + "\n]")
write("training_tools.json", "[\n" + ",\n".join(json.dumps(e) for e in training_tools(shared)) + "\n]")
