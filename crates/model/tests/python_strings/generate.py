"""Writes vectors.json: Python sources, and what CPython makes of the constant X in each.

Run with CPython 3.11 or later: python3 generate.py > vectors.json
Each vector has `source` and either `value` (what X is) or `refused` (a word that the error must hold: the source is
valid Python, but is not made of string literals only, or it is not valid). The random ones are made with a fixed seed.
"""

import ast
import json
import random
import sys
import warnings

warnings.simplefilter("ignore")

ACCEPTED = [
    "X = 'a'",
    'X = "a"',
    "X = '''a\nb'''",
    'X = """\n  "quoted" ""twice""\n"""',
    'X = """ends with \\""""',
    "X = ''",
    'X = ""',
    'X = """"""',
    "X = ''''a'''",
    "X = r'\\n\\'\\\"'",
    "X = R\"\\\\\"",
    "X = u'é'",
    "X = U'\\u00e9'",
    "X = f'plain'",
    "X = f'{{\"tool\": 1}}'",
    "X = rf'\\d{{2}}'",
    "X = fR'\\{{'",
    "X = f'\\{{a}}'",
    "X = f'\\x7bx\\x7d'",
    "X = '\\a\\b\\f\\n\\r\\t\\v\\\\\\'\\\"'",
    "X = '\\0\\7\\12\\101\\777\\18'",
    "X = '\\x41\\xe9\\u4e1c\\U0001f600'",
    "X = '\\q\\w\\ \\%'",
    "X = 'one \\\n  two'",
    "X = \"\"\"one \\\n  two\n\"\"\"",
    "X = 'a' 'b'",
    "X = 'a' \"b\" '''c''' r'\\d' f'{{'",
    "X = ('a'\n     'b'  # joined\n\n     'c')",
    "X = (\n    'a'\n    + 'b'\n    + ('c' + 'd')\n)",
    "X = 'a' \\\n    'b'",
    "X = 'a' 'b' + 'c' 'd'",
    "X = '  a  '.strip()",
    "X = '  a  '.lstrip() + '|' + '  a  '.rstrip()",
    "X = 'xxaxy'.strip('xy')",
    "X = 'xxaxy'.rstrip('x' 'y',)",
    "X = '[(a)]'.strip('[]').lstrip('(')",
    "X = '\\x1c\\x1f\\x85\\xa0\\u3000\\u200ba'.strip()",
    "X = ' a' 'b '.strip()",
    "X = ' a ' + ' b '.strip()",
    "X = (' a ' + ' b ').strip()",
    "import textwrap\nX = textwrap.dedent('''\n    a\n      b\n\n   \t\n    c\n    ''')",
    "from textwrap import dedent\nX = dedent('''\\\n    a\n  b\n''').strip()",
    "from textwrap import dedent\nX = dedent('\\ta\\n\\t b\\n\\t  c')",
    "from textwrap import dedent\nX = dedent('\\t a\\n  b')",
    "from textwrap import dedent\nX = dedent('  a\\r\\n  b\\n \\n')",
    "from textwrap import dedent\nX = dedent('   \\n  ')",
    "import textwrap\nX = (textwrap.dedent(' a' '\\n b') + 'c').strip()",
    "X: str = 'a'",
    "from typing import Final\nX: Final[str] = 'a'",
    "X: 'dict[str, int]' = 'a'",
    "Y = X = 'a'",
    "X = 'a'; Y = 'b'",
    "Y = 'b'; X = 'a'",
    "X = 'first'\nX = 'second'",
    "A = 'a'\nB = A + 'b'\nX = (B + A).strip('a')",
    "A = 'a'\nX = A\nA = 'b'",
    "# X = 'no'\nX = 'yes'  # X = 'no'",
    "'''\nX = 'no'\n'''\nX = 'yes'",
    "def f():\n    X = 'no'\n\nclass C:\n    X = 'no'\n    def g(self):\n        return f'{self.X!r:>{10}}'\n\nX = 'yes'",
    "Y = {'X': '}', 1: ['(']}\nX = 'yes'",
    "Y = f'{1:{2}}' f\"{'a'}\"\nX = 'yes'",
    "Y = f'{1:\">10}'\nX = 'yes'",
    "Y = f'{(lambda: \"}\")()}' f'''{{{1}}}'''\nX = 'yes'",
    "Y = rb'\\'' b\"\\\"\" Rb''''''\nX = 'yes'",
    "Y = 1_000.5e-3 if 0x1f else 1j\nX = 'yes'",
    "if True:\n    pass\nX = (  # comment with ' and (\n  'yes')",
    "été = 'a'\nX = été",
    "X = 'tab\there'\n\n\n",
    "X = 'no newline at the end'",
    "\n\n  # indented comment\nX = 'a'",
    "X = '''a\r\nb\rc'''",
    "Y = 5\nY = X = 'a'",
    "Z = 'a' == 'b'\nX = 'c'\nX == 'd'\nX <= 'e'",
    "async def f():\n    return [x async for x in y]\nX = 'a'",
    "@staticmethod\ndef f(): pass\nX = 'a'",
    "X = \"\"\"{\"tool\": \"<name>\", \"args\": {...}}\"\"\"",
    "X = '''it's \"fine\" \\'\\'\\' '''",
]

REFUSED = [
    ("X = f'{1}'", "f-string"),
    ("X = 'a' f'{1!r}'", "f-string"),
    ("X = rf'\\{1}'", "f-string"),
    ("X = f'\\{1}'", "f-string"),
    ("X = b'a'", "bytes"),
    ("X = '\\N{BULLET}'", "by its name"),
    ("X = 'a'.upper()", "upper"),
    ("X = 'a %s' % 'b'", "`%`"),
    ("X = 'a' * 2", "`*`"),
    ("X = '{}'.format('a')", "format"),
    ("X = 'abc'[1:]", "`[`"),
    ("X = str('a')", "str"),
    ("X = 'a' if True else 'b'", "if"),
    ("X = ('a', 'b')", "`,`"),
    ("X = ('a',)", "`,`"),
    ("X = 'a',", "`,`"),
    ("X = ['a']", "`[`"),
    ("X = {'a': 'b'}", "`{`"),
    ("X = 5", "`5`"),
    ("X = None", "None"),
    ("X = '\\n'.join(['a', 'b'])", "join"),
    ("X = 'a'\nX += 'b'", "`+`"),
    ("Y = 5\nX = Y", "`5`"),
    ("import os\nX = os.name", "os"),
    ("import textwrap\nX = textwrap.indent('a', ' ')", "textwrap"),
    ("from string import digits as X", "imported"),
    ("X = '\\ud83d\\ude00'", "no character"),
    ("X = lambda: 'a'", "lambda"),
    ("X = (yield_ := 'a')", "yield_"),
    ("X = 'a' and 'b'", "and"),
    ("X = not 'a'", "not"),
    ("X = '  a'.strip(None)", "None"),
]

INVALID = [
    ("X = 'a", "no end"),
    ("X = '''a''", "no end"),
    ("X = ('a'", "never closed"),
    ("X = 'a')", "closes nothing"),
    ("X = ('a']", "closes nothing"),
    ("X = '\\x4'", "hexadecimal"),
    ("X = '\\u12g4'", "hexadecimal"),
    ("X = '\\U00110000'", "no character"),
    ("X =", "not complete"),
    ("X = 'a' +", "not complete"),
    ("X = 'a'.strip(", "never closed"),
    ("X = f'{'", "no end"),
    ("X = f'}'", "f-string"),
]


def run(source):
    space = {}
    exec(compile(source, "vector", "exec"), space)
    return space["X"]


def random_literal(r):
    letters = ["a", "Z", " ", "é", "東", "😀", "{", "}", "#", "\t", "  ", "(", ";", "=", "\\n", "\\t", "\\\\", "\\x41",
               "\\u00e9", "\\101", "\\'", '\\"', "\\q", "\\\n", "'", '"', "\n", "%s"]
    raw = r.random() < 0.2
    quote = r.choice(["'", '"', "'''", '"""'])
    prefix = r.choice(["r", "R"]) if raw else r.choice(["", "", "u"])
    body = "".join(r.choice(letters) for _ in range(r.randrange(12)))
    return f"{prefix}{quote}{body}{quote}"


def random_expression(r, depth=0):
    kind = r.random()
    if depth > 3 or kind < 0.4:
        return random_literal(r)
    if kind < 0.55:
        return random_literal(r) + r.choice([" ", ""]) + random_literal(r)
    if kind < 0.7:
        return random_expression(r, depth + 1) + " + " + random_expression(r, depth + 1)
    if kind < 0.8:
        return "(" + r.choice(["", "\n  ", "# c (\n"]) + random_expression(r, depth + 1) + r.choice(["", "\n"]) + ")"
    if kind < 0.9:
        method = r.choice(["strip", "lstrip", "rstrip"])
        arguments = r.choice(["", "", "'a '", r'" \n\t"'])
        return "(" + random_expression(r, depth + 1) + f").{method}({arguments})"
    return r.choice(["dedent", "textwrap.dedent"]) + "(" + random_expression(r, depth + 1) + ")"


def is_plain(source):
    """Whether the source assigns X a value of the kind that is read, and no accident of quotes made it another."""
    try:
        body = ast.parse(source).body
    except SyntaxError:
        return False
    nodes = [type(node).__name__ for node in ast.walk(body[2].value)] if len(body) == 3 else ["Other"]
    return set(nodes) <= {"Constant", "BinOp", "Add", "Call", "Attribute", "Load", "Name"}


def main():
    vectors = [{"source": source, "value": run(source)} for source in ACCEPTED]
    for source, word in REFUSED:
        run(source)
        vectors.append({"source": source, "refused": word})
    for source, word in INVALID:
        try:
            run(source)
        except (SyntaxError, ValueError):
            vectors.append({"source": source, "refused": word})
        else:
            raise AssertionError(source)
    r = random.Random(20)
    head = "import textwrap\nfrom textwrap import dedent\n"
    while len(vectors) < 600:
        source = head + "X = " + random_expression(r) + "\n"
        if is_plain(source):
            vectors.append({"source": source, "value": run(source)})
    json.dump(vectors, sys.stdout, ensure_ascii=False, indent=0)
    print()


main()
